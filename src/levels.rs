//! Float pixels as integer levels, for operations that compute in integers. Edge drawing quantises the same pixels many
//! times and uses the faster single precision ([`Quantise`]); region snakes promise exact sums of levels and use double
//! precision ([`QuantiseF64`]).

use crate::device::kernels::common::MAX_FLOAT;
pub(crate) use crate::device::kernels::common::MAX_LEVEL;

/// Converts a number that may be larger than any f32 to the nearest one that is finite, as the CUDA kernels do.
pub(crate) fn finite_f32(value: f64) -> f32 {
    value.min(MAX_FLOAT) as f32
}

/// The scaling of float pixels to levels of edge drawing: q = floor(clamp((p/2 − minimum/2)·2·scale, 0, 65535) + 0.5), all
/// in f32; NaN gives 0. The halves keep the difference from overflowing whatever the range is, and change no bit unless the
/// range is below 1e-33. The CUDA kernels take the same numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantise {
    pub(crate) half_minimum: f32,
    pub(crate) double_scale: f32,
}

impl Quantise {
    /// Makes the scaling of the range from `low` to `high`; a range without extent has level 0 only.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        let extent = high - low;
        let double_scale = if extent > 0.0 { (2.0 * MAX_LEVEL / extent) as f32 } else { 0.0 };
        Self { half_minimum: (0.5 * low) as f32, double_scale }
    }

    /// Returns the level of a pixel.
    pub(crate) fn value(&self, pixel: f32) -> u16 {
        let scaled = (0.5 * pixel - self.half_minimum) * self.double_scale;
        // NaN and 0 · ∞ become 0, in the same way as in the kernels.
        let scaled = if scaled > 0.0 { scaled.min(MAX_LEVEL as f32) } else { 0.0 };
        (scaled + 0.5) as u16
    }
}

/// The scaling of float pixels to levels of region snakes: q = floor(clamp((p − minimum)·scale, 0, 65535) + 0.5), all in
/// f64, so that a level is off by at most half a step. The CUDA kernels take the same numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuantiseF64 {
    pub(crate) minimum: f64,
    pub(crate) scale: f64,
}

impl QuantiseF64 {
    /// Makes the scaling of the range from `low` to `high`; a range without extent has level 0 only.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        let extent = high - low;
        Self { minimum: low, scale: if extent > 0.0 { MAX_LEVEL / extent } else { 0.0 } }
    }

    /// Returns the level of a pixel.
    pub(crate) fn value(&self, pixel: f32) -> u16 {
        let scaled = (f64::from(pixel) - self.minimum) * self.scale;
        // NaN and 0 · ∞ become 0, in the same way as in the kernels.
        let scaled = if scaled > 0.0 { scaled.min(MAX_LEVEL) } else { 0.0 };
        (scaled + 0.5) as u16
    }
}
