//! The stopping criterion: the error of a solve, estimated from the changes in its cycles.

use super::{Outcome, SolveOptions};

/// Estimates the largest error from the change of each cycle: if changes δ shrink by a factor q, the changes of all
/// later cycles add up to δ·q/(1 − q). The largest of the last two factors and [`MIN_FACTOR`] is used as q.
pub(in crate::edge_strength) struct ConvergenceMonitor {
    /// The number of cycles.
    pub(in crate::edge_strength) cycles: u64,
    /// The change of the last cycle.
    change: f64,
    /// The last factor by which the changes shrank.
    factor: f64,
    /// The factor q of the estimate.
    worst: f64,
    /// The estimated largest error.
    pub(in crate::edge_strength) residual: f64,
    /// The smallest change so far, without that of the first cycle.
    smallest: f64,
    /// The number of cycles since `smallest` last decreased.
    idle: u64,
}

/// The solve ends if the smallest change has not decreased for this many cycles: the accuracy is then limited by rounding,
/// not by the number of cycles.
pub(in crate::edge_strength) const IDLE_CYCLES: u64 = 100;

/// The factor that is used until there are two changes to compare.
const FIRST_FACTOR: f64 = 0.9;

/// The bounds of the factor. The first cycles may converge faster than the later ones, which have to reduce the slowest
/// errors.
const MIN_FACTOR: f64 = 0.2;
const MAX_FACTOR: f64 = 0.999;

/// The change below which rounding may dominate; such changes do not update the factor.
const ROUNDING: f64 = 2e-5;

impl ConvergenceMonitor {
    /// Makes a monitor before the first cycle.
    pub(in crate::edge_strength) fn new() -> Self {
        Self {
            cycles: 0,
            change: 0.0,
            factor: 0.0,
            worst: FIRST_FACTOR,
            residual: f64::INFINITY,
            smallest: f64::INFINITY,
            idle: 0,
        }
    }

    /// Updates the estimate with the largest change of any pixel in one whole cycle.
    pub(in crate::edge_strength) fn note(&mut self, change: f64) {
        self.cycles += 1;
        // The change of the first cycle depends mostly on the initial values.
        if self.cycles <= 2 {
            self.worst = FIRST_FACTOR;
        } else if self.change > ROUNDING {
            let factor = change / self.change;
            self.worst = factor.max(self.factor).clamp(MIN_FACTOR, MAX_FACTOR);
            self.factor = factor;
        }
        self.change = change;
        self.residual = change * self.worst / (1.0 - self.worst);
        if self.cycles > 1 && change < self.smallest {
            self.smallest = change;
            self.idle = 0;
        } else {
            self.idle += 1;
        }
    }

    /// Tells whether another cycle is needed, and can be expected to reduce the estimated error.
    pub(in crate::edge_strength) fn goes_on(&self, options: &SolveOptions) -> bool {
        self.cycles < options.max_cycles && self.residual > options.tolerance && self.idle < IDLE_CYCLES
    }

    /// Returns the outcome after the last cycle.
    pub(in crate::edge_strength) fn outcome(&self, options: &SolveOptions) -> Outcome {
        let Self { cycles: iterations, residual, .. } = *self;
        Outcome { iterations, residual, converged: residual <= options.tolerance }
    }

    /// Returns the progress of the solve, measured by the logarithm of the error, in 0..=1.
    pub(in crate::edge_strength) fn fraction(&self, options: &SolveOptions) -> f64 {
        (self.residual.min(1.0).ln() / options.tolerance.ln()).clamp(0.0, 1.0)
    }
}
