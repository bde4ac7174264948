//! A level set whose list of statistics cannot grow: the call fails, and nothing is lost. Later steps end where a run ends
//! that had enough memory, also when they go on in the middle of a check interval.
//!
//! The allocator of this program refuses to make that list longer while it is armed. `out_of_memory.rs` begins each
//! operation anew after a failure; this test goes on.

#![allow(unsafe_code)]

mod common;

use common::everywhere;
use isoline::level_set::{LevelSet, Params, Regions, Statistics};
use isoline::{Context, ErrorKind};
use ndarray::Array3;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The size from which a list of statistics is refused, in bytes: it has some hundred iterations.
const LARGE: usize = 16 << 10;
const SHAPE: (usize, usize, usize) = (1, 60, 70);
const ITERATIONS: u64 = 3000;

/// Refuses longer lists of statistics while [`ARMED`].
struct Refusing;

static ARMED: AtomicBool = AtomicBool::new(false);

// SAFETY: the system's allocator does all the work; a refused request gives NULL, as an allocator may.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller ensures.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let refused = size >= LARGE && size.is_multiple_of(size_of::<Statistics>()) && ARMED.load(Ordering::Relaxed);
        // SAFETY: as the caller ensures.
        if refused { std::ptr::null_mut() } else { unsafe { System.realloc(memory, layout, size) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller ensures.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Returns a level set between two regions, whose range is measured at every check interval. It never comes to rest.
fn level_set(context: &Context) -> LevelSet {
    let image = Array3::from_shape_fn(SHAPE, |(_, y, x)| {
        let inside = (x as f64 - 36.0).hypot(y as f64 - 31.0) < 17.0;
        (if inside { 140 } else { 60 }) + (x * 7 + y * 13) as u8 % 32
    });
    let start = Array3::from_shape_fn(SHAPE, |(_, y, x)| u8::from(x.abs_diff(30) < 4 && y.abs_diff(28) < 4));
    let params = Params {
        regions: Some(Regions::ChanVese),
        alpha: Some(0.05),
        change_tolerance: 0.0,
        rms_tolerance: 0.0,
        // A slow front still moves when the list grows.
        cfl: 0.01,
        check_interval: Some(100),
        ..Params::default()
    };
    LevelSet::new(context, image.view().into(), start.view().into(), &params).unwrap()
}

fn phi(level_set: &LevelSet) -> Vec<u32> {
    let mut phi = Array3::<f32>::zeros(SHAPE);
    level_set.read_phi(phi.view_mut().into()).unwrap();
    phi.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_level_set_goes_on_after_its_statistics_did_not_fit() {
    everywhere(|context, name| {
        let mut whole = level_set(context);
        whole.step(ITERATIONS, None).unwrap();
        let mut refused = level_set(context);
        let mut failures = 0;
        while refused.state().iterations < ITERATIONS {
            let left = ITERATIONS - refused.state().iterations;
            ARMED.store(true, Ordering::Relaxed);
            let result = refused.step(left, None);
            ARMED.store(false, Ordering::Relaxed);
            let Err(error) = result else { break };
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{name}: {error}");
            assert_eq!(refused.statistics().len() as u64, refused.state().iterations, "{name}");
            phi(&refused);
            failures += 1;
            refused.step(1, None).unwrap();
        }
        assert!(failures > 1, "{name}: the list never grew");
        assert_eq!(refused.statistics(), whole.statistics(), "{name}, {failures} failures");
        assert_eq!(refused.state(), whole.state(), "{name}, {failures} failures");
        assert!(phi(&refused) == phi(&whole), "{name}, {failures} failures");
    });
}
