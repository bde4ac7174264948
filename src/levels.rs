//! Float pixels as integer levels, for operations that compute in integers: edge drawing's, which it makes again and again, in
//! single precision; region snakes', of which sums are promised, in double ([`Exact`]).

/// The largest level.
pub(crate) const LARGEST: f64 = 65535.0;

/// How a float pixel becomes a level of edge drawing: q = floor(clamp((p − minimum)·scale, 0, 65535) + 0.5), all in f32; NaN gives 0.
/// The same numbers drive the CUDA kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantise {
    pub(crate) minimum: f32,
    pub(crate) scale: f32,
}

impl Quantise {
    /// Levels for the range from `low` to `high`; a range without extent has level 0 only.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        let extent = high - low;
        let scale = if extent > 0.0 { (LARGEST / extent) as f32 } else { 0.0 };
        Self { minimum: low as f32, scale }
    }

    pub(crate) fn value(&self, pixel: f32) -> u16 {
        let scaled = (pixel - self.minimum) * self.scale;
        // As the kernels do it: NaN, and 0 · ∞, are 0.
        let scaled = if scaled > 0.0 { scaled.min(LARGEST as f32) } else { 0.0 };
        (scaled + 0.5) as u16
    }
}

/// How a float pixel becomes a level of region snakes: as [`Quantise`], but all in f64, so that a level is off by half a step
/// and no more. The same numbers drive the CUDA kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exact {
    pub(crate) minimum: f64,
    pub(crate) scale: f64,
}

impl Exact {
    /// Levels for the range from `low` to `high`; a range without extent has level 0 only.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        let extent = high - low;
        Self { minimum: low, scale: if extent > 0.0 { LARGEST / extent } else { 0.0 } }
    }

    pub(crate) fn value(&self, pixel: f32) -> u16 {
        let scaled = (f64::from(pixel) - self.minimum) * self.scale;
        // As the kernels do it: NaN, and 0 · ∞, are 0.
        let scaled = if scaled > 0.0 { scaled.min(LARGEST) } else { 0.0 };
        (scaled + 0.5) as u16
    }
}
