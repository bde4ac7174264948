//! A vector of floats with operators, in which formulas can be written as such.

use crate::device::kernels::level_set::{RSQRT_REST, RSQRT_SHIFT, RSQRT_START, TINY};
use pulp::Simd;
use std::ops::{Add, Mul, Sub};

/// A vector of as many floats as the vector unit takes at once.
#[derive(Clone, Copy)]
pub(super) struct Floats<S: Simd> {
    simd: S,
    values: S::f32s,
}

/// A truth value for each float of a vector.
#[derive(Clone, Copy)]
pub(super) struct Truths<S: Simd> {
    simd: S,
    values: S::m32s,
}

impl<S: Simd> Floats<S> {
    #[inline(always)]
    pub(super) fn simd(self) -> S {
        self.simd
    }

    #[inline(always)]
    pub(super) fn splat(simd: S, value: f32) -> Self {
        Self { simd, values: simd.splat_f32s(value) }
    }

    #[inline(always)]
    pub(super) fn load(simd: S, from: &[f32], at: usize) -> Self {
        Self { simd, values: S::as_simd_f32s(&from[at..at + S::F32_LANES]).0[0] }
    }

    #[inline(always)]
    pub(super) fn store(self, to: &mut [f32], at: usize) {
        S::as_mut_simd_f32s(&mut to[at..at + S::F32_LANES]).0[0] = self.values;
    }

    #[inline(always)]
    fn with(self, values: S::f32s) -> Self {
        Self { simd: self.simd, values }
    }

    /// Returns self · b + c, rounded once.
    #[inline(always)]
    pub(super) fn mul_add(self, b: Self, c: Self) -> Self {
        self.with(self.simd.mul_add_f32s(self.values, b.values, c.values))
    }

    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.with(self.simd.max_f32s(self.values, other.values))
    }

    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        self.with(self.simd.min_f32s(self.values, other.values))
    }

    /// Returns the value without its sign. pulp's own function is not compiled for the vector unit: a call for each operation.
    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        let simd = self.simd;
        let bits = simd.and_u32s(simd.transmute_u32s_f32s(self.values), simd.splat_u32s(i32::MAX as u32));
        self.with(simd.transmute_f32s_u32s(bits))
    }

    #[inline(always)]
    pub(super) fn less_than(self, other: Self) -> Truths<S> {
        Truths { simd: self.simd, values: self.simd.less_than_f32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(super) fn at_most(self, other: Self) -> Truths<S> {
        Truths { simd: self.simd, values: self.simd.less_than_or_equal_f32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(super) fn smallest(self) -> f32 {
        self.simd.reduce_min_f32s(self.values)
    }

    /// Returns the same as [`crate::level_set::scalar::scaled_rsqrt`].
    #[inline(always)]
    pub(super) fn scaled_rsqrt(self) -> Self {
        let simd = self.simd;
        let bits = simd.transmute_u32s_f32s(self.values);
        let doubled = simd.sub_u32s(simd.splat_u32s(RSQRT_START as u32), bits);
        let start = self.with(simd.transmute_f32s_u32s(simd.wrapping_dyn_shr_u32s(doubled, simd.splat_u32s(1))));
        let [b, c] = [RSQRT_SHIFT, RSQRT_REST].map(|value| Self::splat(simd, value));
        let off = (self * start).mul_add(start, b);
        start * off.mul_add(off, c)
    }

    /// Returns √x, rounded once.
    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        self.with(self.simd.sqrt_f32s(self.values))
    }

    /// Returns the same as [`crate::level_set::scalar::normal`]; in slices without `b`.
    #[inline(always)]
    pub(super) fn normal<const VOLUME: bool>(self, a: Self, b: Self) -> Self {
        let tiny = Self::splat(self.simd, TINY);
        let d = Self::splat(self.simd, 4.0) * self;
        let rest = if VOLUME { b.mul_add(b, tiny) } else { tiny };
        d * d.mul_add(d, a.mul_add(a, rest)).scaled_rsqrt()
    }

    /// Returns the same as [`crate::level_set::scalar::clamp`].
    #[inline(always)]
    pub(super) fn clamp(self, limit: f32) -> Self {
        self.min(Self::splat(self.simd, limit)).max(Self::splat(self.simd, -limit))
    }
}

impl<S: Simd> Truths<S> {
    #[inline(always)]
    pub(super) fn select(self, yes: Floats<S>, no: Floats<S>) -> Floats<S> {
        yes.with(self.simd.select_f32s(self.values, yes.values, no.values))
    }

    #[inline(always)]
    pub(super) fn or(self, other: Self) -> Self {
        Self { simd: self.simd, values: self.simd.or_m32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        Self { simd: self.simd, values: self.simd.and_m32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(super) fn differs(self, other: Self) -> Self {
        Self { simd: self.simd, values: self.simd.xor_m32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(super) fn any(self) -> bool {
        self.simd.first_true_m32s(self.values) < S::F32_LANES
    }
}

impl<S: Simd> Add for Floats<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(self.simd.add_f32s(self.values, other.values))
    }
}

impl<S: Simd> Sub for Floats<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(self.simd.sub_f32s(self.values, other.values))
    }
}

impl<S: Simd> Mul for Floats<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(self.simd.mul_f32s(self.values, other.values))
    }
}
