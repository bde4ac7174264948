//! Helpers for the tests of all operations.
#![allow(dead_code, reason = "each test program uses a part of it")]

use isoline::distance::Params;
use isoline::{Context, Dimensions};
use ndarray::{Array2, Array3};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

thread_local! {
    /// Set once this thread has printed why there is no CUDA device; each test has a thread of its own.
    static PRINTED: Cell<bool> = const { Cell::new(false) };
}

/// Returns the CPU, and a CUDA device if there is one; otherwise prints the reason.
pub fn contexts() -> Vec<Context> {
    let mut contexts = vec![Context::new("cpu").expect("the CPU is always there")];
    match Context::new("cuda") {
        Ok(context) => contexts.push(context),
        Err(error) => PRINTED.with(|printed| {
            if !printed.replace(true) {
                eprintln!("skipped on CUDA: {error}");
            }
        }),
    }
    contexts
}

/// Returns a CUDA context, or prints why there is none and returns `None`.
pub fn cuda() -> Option<Context> {
    Context::new("cuda").inspect_err(|error| eprintln!("skipped, needs CUDA: {error}")).ok()
}

/// Returns contexts on CUDA and on the CPU, or prints why there is no CUDA device and returns `None`.
pub fn cuda_and_cpu() -> Option<[Context; 2]> {
    Some([cuda()?, Context::new("cpu").expect("the CPU is always there")])
}

/// Returns the distance below which distances in an image of this depth, height and width are exact: 4 d² in units of
/// the smallest spacing, times a power of two, is a whole number of at most 24 bits. Returns 0 if no power of two up to
/// 16 makes the squares of the ratios of spacings whole numbers.
pub fn exact_distance((depth, height, width): (usize, usize, usize), params: &Params) -> f64 {
    let lengths = [width, height, if params.dimensions == Dimensions::Volume { depth } else { 1 }];
    // Axes of one pixel contribute nothing.
    let spacing: Vec<f64> = (0..3).filter(|axis| lengths[*axis] > 1).map(|axis| params.spacing[axis]).collect();
    let least = spacing.iter().copied().fold(f64::INFINITY, f64::min);
    let is_whole = |value: f64| (value - value.round()).abs() < 8.0 * f64::EPSILON * value;
    let factor =
        [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().find(|f| spacing.iter().all(|h| is_whole((h / least).powi(2) * f)));
    factor.map_or(0.0, |factor: f64| 2048.0 / factor.sqrt() * least)
}

/// Returns the least of the times that three calls of `once` give: other processes may delay a thread.
pub fn least_of_three(once: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(once).take(3).min().expect("three times")
}

/// Returns a progress callback that notes the fractions that it gets, which must not fall.
pub fn noting(seen: &mut Vec<f64>) -> impl FnMut(f64, &str) -> ControlFlow<()> {
    cancelling_after(usize::MAX, seen)
}

/// Returns a progress callback that notes the fractions as [`noting`] does, and cancels the call after `calls` calls.
pub fn cancelling_after(calls: usize, seen: &mut Vec<f64>) -> impl FnMut(f64, &str) -> ControlFlow<()> {
    move |fraction, stage| {
        let last = seen.last().copied().unwrap_or(0.0);
        assert!((last..=1.0).contains(&fraction) && !stage.is_empty(), "{stage}: {fraction} after {seen:?}");
        seen.push(fraction);
        if seen.len() > calls { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs `test` on every device.
pub fn everywhere(mut test: impl FnMut(&Context, &str)) {
    for context in contexts() {
        test(&context, &context.device().id.clone());
    }
}

/// Returns the folder of the test images: the one that `ISOLINE_TEST_DATA` names, for programs that do not run where
/// they were built, else `tests/data`.
pub fn data_folder() -> PathBuf {
    std::env::var_os("ISOLINE_TEST_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")), PathBuf::from)
}

/// Reads the 8-bit image `name.pgm` of the test images.
pub fn photograph(name: &str) -> Array2<u8> {
    let path = data_folder().join(format!("{name}.pgm"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // "P5\nwidth height\n255\n" and the pixels.
    let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
    let mut text = || std::str::from_utf8(lines.next().expect("a header")).expect("ASCII").to_owned();
    let (magic, size, most) = (text(), text(), text());
    assert!(magic == "P5" && most == "255", "{}", path.display());
    let size: Vec<usize> = size.split(' ').map(|number| number.parse().expect("a size")).collect();
    let pixels = lines.next().expect("pixels").to_vec();
    Array2::from_shape_vec((size[1], size[0]), pixels).expect("as many pixels as the header says")
}

/// Returns whether a `sanitizer_` test should use the fewest and smallest images that still reach every kernel, because
/// the slowest tool of NVIDIA's compute-sanitizer (racecheck) takes a thousand times as long. `scripts/gpu-run.sh` sets
/// the variable.
pub fn few_sizes() -> bool {
    std::env::var_os("ISOLINE_FEW_SIZES").is_some_and(|value| value == "1")
}

/// Returns whether the fast paths have fused multiply-add on this CPU; without it their last bits differ from those of
/// CUDA.
pub fn fused_multiply_add() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

/// Fails unless the CPU's fast path and CUDA gave the same bits, or, where the CPU has no fused multiply-add, the same
/// to 1e-6.
pub fn assert_same(got: &Array3<f32>, expected: &Array3<f32>, what: &str) {
    if fused_multiply_add() {
        assert_bits(got, expected, what);
    } else {
        assert_close(got, &expected.mapv(f64::from), 1e-6, what);
    }
}

/// Returns the bits of all values.
pub fn bits(values: &Array3<f32>) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Fails unless the two are equal bit for bit.
pub fn assert_bits(got: &Array3<f32>, expected: &Array3<f32>, what: &str) {
    assert_eq!(got.dim(), expected.dim(), "{what}");
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        assert_eq!(got.to_bits(), expected.to_bits(), "{what}: {got:e} instead of {expected:e} at {index:?}");
    }
}

/// Fails where the two differ by more than `tolerance`, or where `got` is not a number.
pub fn assert_close(got: &Array3<f32>, expected: &Array3<f64>, tolerance: f64, what: &str) {
    assert_eq!(got.dim(), expected.dim(), "{what}");
    for ((index, got), expected) in got.indexed_iter().zip(expected) {
        let off = (f64::from(*got) - expected).abs();
        assert!(off <= tolerance, "{what}: {got:e} instead of {expected:e} at {index:?}, off by {off:e}");
    }
}

/// Pseudo-random whole numbers, the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// Returns a uniform number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.next(1 << 31) as f64 / f64::from(1u32 << 31)
    }

    /// Returns a number from -1 to 1 or, in 6 of `cases` cases, NaN, an infinity, an immense number or a zero.
    pub fn rough(&mut self, cases: u64) -> f32 {
        match self.next(cases) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => -1e30,
            4 => 0.0,
            5 => -0.0,
            _ => self.next(2001) as f32 / 1000.0 - 1.0,
        }
    }
}

/// Returns a generator of pseudo-random numbers of 32 bits, the same in every run; the upper bits are the better ones.
pub fn random_words(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    }
}

/// A generator of pseudo-random numbers, the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a uniform number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normal number of mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = ((1.0 - self.uniform()).ln() * -2.0, self.uniform() * std::f64::consts::TAU);
        radius.sqrt() * angle.cos()
    }
}
