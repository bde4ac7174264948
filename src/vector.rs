//! A SIMD vector of floats with arithmetic operators, so that formulas can be written as usual.

use pulp::Simd;
use std::ops::{Add, Div, Mul, Sub};

/// A vector with as many floats as a SIMD register holds.
#[derive(Clone, Copy)]
pub(crate) struct Floats<S: Simd> {
    simd: S,
    values: S::f32s,
}

/// A truth value for each float of a vector.
#[derive(Clone, Copy)]
pub(crate) struct Truths<S: Simd> {
    simd: S,
    values: S::m32s,
}

impl<S: Simd> Floats<S> {
    #[inline(always)]
    pub(crate) fn simd(self) -> S {
        self.simd
    }

    #[inline(always)]
    pub(crate) fn splat(simd: S, value: f32) -> Self {
        Self { simd, values: simd.splat_f32s(value) }
    }

    #[inline(always)]
    pub(crate) fn load(simd: S, from: &[f32], at: usize) -> Self {
        Self { simd, values: S::as_simd_f32s(&from[at..at + S::F32_LANES]).0[0] }
    }

    #[inline(always)]
    pub(crate) fn store(self, to: &mut [f32], at: usize) {
        S::as_mut_simd_f32s(&mut to[at..at + S::F32_LANES]).0[0] = self.values;
    }

    /// Returns the floats with these bits.
    #[inline(always)]
    pub(crate) fn of_bits(simd: S, bits: S::u32s) -> Self {
        Self { simd, values: simd.transmute_f32s_u32s(bits) }
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> S::u32s {
        self.simd.transmute_u32s_f32s(self.values)
    }

    #[inline(always)]
    fn with(self, values: S::f32s) -> Self {
        Self { simd: self.simd, values }
    }

    /// Returns self · b + c, rounded once.
    #[inline(always)]
    pub(crate) fn mul_add(self, b: Self, c: Self) -> Self {
        self.with(self.simd.mul_add_f32s(self.values, b.values, c.values))
    }

    #[inline(always)]
    pub(crate) fn max(self, other: Self) -> Self {
        self.with(self.simd.max_f32s(self.values, other.values))
    }

    #[inline(always)]
    pub(crate) fn min(self, other: Self) -> Self {
        self.with(self.simd.min_f32s(self.values, other.values))
    }

    /// Returns the absolute value. pulp's own function is not inlined with the vector unit's instructions, and would cost a
    /// call for each operation.
    #[inline(always)]
    pub(crate) fn abs(self) -> Self {
        Self::of_bits(self.simd, self.simd.and_u32s(self.bits(), self.simd.splat_u32s(i32::MAX as u32)))
    }

    /// Returns the value with the other sign.
    #[inline(always)]
    pub(crate) fn negated(self) -> Self {
        Self::of_bits(self.simd, self.simd.xor_u32s(self.bits(), self.simd.splat_u32s(1 << 31)))
    }

    #[inline(always)]
    pub(crate) fn equals(self, other: Self) -> Truths<S> {
        Truths { simd: self.simd, values: self.simd.equal_f32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(crate) fn less_than(self, other: Self) -> Truths<S> {
        Truths { simd: self.simd, values: self.simd.less_than_f32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(crate) fn at_most(self, other: Self) -> Truths<S> {
        Truths { simd: self.simd, values: self.simd.less_than_or_equal_f32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(crate) fn smallest(self) -> f32 {
        self.simd.reduce_min_f32s(self.values)
    }

    /// Returns √x, rounded once.
    #[inline(always)]
    pub(crate) fn sqrt(self) -> Self {
        self.with(self.simd.sqrt_f32s(self.values))
    }
}

impl<S: Simd> Truths<S> {
    #[inline(always)]
    pub(crate) fn select(self, yes: Floats<S>, no: Floats<S>) -> Floats<S> {
        yes.with(self.simd.select_f32s(self.values, yes.values, no.values))
    }

    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Self { simd: self.simd, values: self.simd.or_m32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { simd: self.simd, values: self.simd.and_m32s(self.values, other.values) }
    }

    /// Returns the opposite.
    #[inline(always)]
    pub(crate) fn not(self) -> Self {
        Self { simd: self.simd, values: self.simd.not_m32s(self.values) }
    }

    #[inline(always)]
    pub(crate) fn differs(self, other: Self) -> Self {
        Self { simd: self.simd, values: self.simd.xor_m32s(self.values, other.values) }
    }

    #[inline(always)]
    pub(crate) fn any(self) -> bool {
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

impl<S: Simd> Div for Floats<S> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.with(self.simd.div_f32s(self.values, other.values))
    }
}

impl<S: Simd> Mul for Floats<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(self.simd.mul_f32s(self.values, other.values))
    }
}
