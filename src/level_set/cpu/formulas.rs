//! The formulas of the level set on vectors of floats.

use crate::device::kernels::level_set::{RSQRT_REST, RSQRT_SHIFT, RSQRT_START, TINY};
use crate::vector::Floats;
use pulp::Simd;

impl<S: Simd> Floats<S> {
    /// Returns the same as [`crate::level_set::scalar::scaled_rsqrt`].
    #[inline(always)]
    pub(super) fn scaled_rsqrt(self) -> Self {
        let simd = self.simd();
        let doubled = simd.sub_u32s(simd.splat_u32s(RSQRT_START as u32), self.bits());
        let start = Self::of_bits(simd, simd.wrapping_dyn_shr_u32s(doubled, simd.splat_u32s(1)));
        let [b, c] = [RSQRT_SHIFT, RSQRT_REST].map(|value| Self::splat(simd, value));
        let off = (self * start).mul_add(start, b);
        start * off.mul_add(off, c)
    }

    /// Returns the same as [`crate::level_set::scalar::normal`]. In slices `b` is not used.
    #[inline(always)]
    pub(super) fn normal<const VOLUME: bool>(self, a: Self, b: Self) -> Self {
        let tiny = Self::splat(self.simd(), TINY);
        let d = Self::splat(self.simd(), 4.0) * self;
        let rest = if VOLUME { b.mul_add(b, tiny) } else { tiny };
        d * d.mul_add(d, a.mul_add(a, rest)).scaled_rsqrt()
    }

    /// Returns the same as [`crate::level_set::scalar::clamp`].
    #[inline(always)]
    pub(super) fn clamp(self, limit: f32) -> Self {
        self.min(Self::splat(self.simd(), limit)).max(Self::splat(self.simd(), -limit))
    }
}
