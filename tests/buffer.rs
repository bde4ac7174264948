//! Tests of host buffers through the public Rust API; `tests/c/buffer.c` has the C API, misuse, forks and all operations.

mod common;

use common::contexts;
use isoline::distance::{self, Params};
use isoline::{Context, DeviceKind, ErrorKind, HostBuffer};
use ndarray::{ArrayView3, ArrayViewMut3};

const SIDES: (usize, usize, usize) = (20, 31, 43);
const PIXELS: usize = SIDES.0 * SIDES.1 * SIDES.2;

/// Computes distances from one buffer to another.
fn distances(context: &Context, mask: &HostBuffer, output: &mut HostBuffer) {
    let mask = ArrayView3::from_shape(SIDES, mask.pixels::<u8>()).unwrap();
    let output = ArrayViewMut3::from_shape(SIDES, output.pixels_mut::<f32>()).unwrap();
    distance::run(context, mask.into(), &Params::default(), None, output.into()).unwrap();
}

#[test]
fn buffers_are_memory_of_any_pixel_type() {
    for context in contexts() {
        let mut buffer = context.host_buffer(11).unwrap();
        assert_eq!(buffer.bytes(), 11);
        assert_eq!(
            [buffer.pixels::<u8>().len(), buffer.pixels::<u16>().len(), buffer.pixels::<f32>().len()],
            [11, 5, 2]
        );
        buffer.pixels_mut::<f32>().copy_from_slice(&[1.5, -2.0]);
        assert_eq!(buffer.pixels::<u8>()[..8], bytemuck::cast::<[f32; 2], [u8; 8]>([1.5, -2.0]));
        buffer.pixels_mut::<u8>()[10] = 9;
        assert_eq!(buffer.pixels::<u8>()[10], 9);
        assert_eq!(buffer.is_page_locked(), context.device().kind == DeviceKind::Cuda);
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for context in contexts() {
        for bytes in [0, usize::MAX, isize::MAX as usize, isize::MAX as usize / 2 + 1] {
            let error = context.host_buffer(bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSize);
            assert!(error.message().contains(&format!("(got {bytes})")), "{error}");
        }
        let error = context.host_buffer(isize::MAX as usize / 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    }
}

#[test]
fn calls_take_and_fill_buffers_of_any_context() {
    let mut results: Vec<Vec<f32>> = Vec::new();
    for owner in contexts() {
        let mut mask = owner.host_buffer(PIXELS).unwrap();
        let mut output = owner.host_buffer(PIXELS * size_of::<f32>()).unwrap();
        for (index, pixel) in mask.pixels_mut::<u8>().iter_mut().enumerate() {
            *pixel = u8::from(index % 97 == 5);
        }
        for context in contexts() {
            output.pixels_mut::<f32>().fill(f32::NAN);
            distances(&context, &mask, &mut output);
            results.push(output.pixels().to_vec());
        }
        drop(owner);
        // The buffers outlive their context.
        output.pixels_mut::<f32>().fill(f32::NAN);
        distances(&Context::new("cpu").unwrap(), &mask, &mut output);
        results.push(output.pixels().to_vec());
    }
    assert!(results.iter().all(|result| *result == results[0] && result.contains(&-0.5)));
}

#[test]
fn dropped_buffers_are_used_again_until_the_trim() {
    for context in contexts() {
        let mut first = context.host_buffer(10 << 20).unwrap();
        first.pixels_mut::<u8>().fill(7);
        let address = first.pixels::<u8>().as_ptr();
        drop(first);
        let again = context.host_buffer(9 << 20).unwrap();
        assert_eq!((again.pixels::<u8>().as_ptr(), again.bytes()), (address, 9 << 20));
        assert!(again.pixels::<u8>().iter().all(|byte| *byte == 7), "what is kept is not cleared");
        drop(again);
        // Sizes that take the same memory are served from it.
        let small = context.host_buffer(1).unwrap();
        let address = small.pixels::<u8>().as_ptr();
        drop(small);
        assert_eq!(context.host_buffer(60_000).unwrap().pixels::<u8>().as_ptr(), address);
        context.trim();
        let fresh = context.host_buffer(10 << 20).unwrap();
        assert!(fresh.pixels::<u8>().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn threads_share_the_kept_memory() {
    for context in contexts() {
        std::thread::scope(|scope| {
            for number in 0..8u8 {
                let context = &context;
                scope.spawn(move || {
                    for bytes in (1..200).map(|round| round * 3001) {
                        let mut buffer = context.host_buffer(bytes).unwrap();
                        buffer.pixels_mut::<u8>().fill(number);
                        assert!(buffer.pixels::<u8>().iter().all(|byte| *byte == number));
                    }
                });
            }
        });
    }
}
