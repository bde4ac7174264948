//! When to stop: the error of a solve, estimated from how its cycles change the values.

use super::Goal;

/// Estimates the largest error from how much each cycle changes: when changes δ shrink by a factor q, what is left to
/// change after a cycle is δ·q/(1 − q). The worst of the last two factors and [`SMALLEST_FACTOR`] is taken.
pub(in crate::edge_strength) struct Watch {
    cycles: u64,
    change: f64,
    factor: f64,
    worst: f64,
    /// The estimate.
    pub(in crate::edge_strength) residual: f64,
}

/// Taken as long as there are no two changes to compare.
const FIRST_FACTOR: f64 = 0.9;

/// The first cycles can be quicker than the later ones, which still have the slowest errors to work on.
const SMALLEST_FACTOR: f64 = 0.2;
const LARGEST_FACTOR: f64 = 0.999;

/// Of smaller changes rounding may be a large part: they tell nothing of the factor, which is kept from before.
const ROUNDING: f64 = 2e-5;

impl Watch {
    pub(in crate::edge_strength) fn new() -> Self {
        Self { cycles: 0, change: 0.0, factor: 0.0, worst: FIRST_FACTOR, residual: f64::INFINITY }
    }

    /// Takes note of the largest change of any pixel in one whole cycle.
    pub(in crate::edge_strength) fn note(&mut self, change: f64) {
        self.cycles += 1;
        // What the first cycle changed is mostly the start.
        if self.cycles <= 2 {
            self.worst = FIRST_FACTOR;
        } else if self.change > ROUNDING {
            let factor = change / self.change;
            self.worst = factor.max(self.factor).clamp(SMALLEST_FACTOR, LARGEST_FACTOR);
            self.factor = factor;
        }
        self.change = change;
        self.residual = change * self.worst / (1.0 - self.worst);
    }

    /// How far the logarithm of the error has come, in 0..=1.
    pub(in crate::edge_strength) fn fraction(&self, goal: &Goal) -> f64 {
        (self.residual.min(1.0).ln() / goal.tolerance.ln()).clamp(0.0, 1.0)
    }
}
