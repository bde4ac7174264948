//! What has happened so far and what comes next, the same for every device: statistics, the stop rule, and when φ is made
//! a distance again.

use super::Statistics;
use super::plan::Plan;

/// Iterations whose statistics are kept.
const KEPT: usize = 1_000_000;

/// Squares of changes are added as integers in this unit, so that the sum does not depend on its order.
pub(super) const SQUARES_UNIT: f64 = 1.0 / 16_777_216.0;

/// What a device counts in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Voxels with φ < 0 after it.
    pub inside: u64,
    /// Voxels whose sign changed.
    pub changed: u64,
    /// Voxels with |φ| ≤ the largest spacing before it, in the tiles that it updated.
    pub near: u64,
    /// The sum of `scalar::square` over the latter.
    pub squares: u64,
}

/// The course of one level set.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub iterations: u64,
    pub statistics: Vec<Statistics>,
    pub converged: bool,
    /// Of the check interval that is under way: its iterations, the fewest and the most voxels inside after one, ...
    watched: u32,
    fewest_inside: u64,
    most_inside: u64,
    largest_near: u64,
    largest_rms: f64,
    check_interval: u32,
    change_tolerance: f64,
    rms_tolerance: f64,
    reinitialise_every: u32,
}

impl Course {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            iterations: 0,
            statistics: Vec::new(),
            converged: false,
            watched: 0,
            fewest_inside: u64::MAX,
            most_inside: 0,
            largest_near: 0,
            largest_rms: 0.0,
            check_interval: plan.check_interval,
            change_tolerance: plan.change_tolerance,
            rms_tolerance: plan.rms_tolerance,
            reinitialise_every: plan.reinitialise_every,
        }
    }

    /// How many of `left` iterations can be done before the stop rule is tested or φ is made a distance again.
    #[allow(dead_code, reason = "for devices that work ahead")]
    pub(super) fn until_event(&self, left: u64) -> u64 {
        let mut next = left.min(u64::from(self.check_interval - self.watched));
        if self.reinitialise_every > 0 {
            let every = u64::from(self.reinitialise_every);
            next = next.min(every - self.iterations % every);
        }
        next
    }

    /// Takes down an iteration. Its statistics are the last of [`statistics`](Self::statistics) then.
    pub(super) fn record(&mut self, counts: Counts) {
        let Counts { inside, changed, near, squares } = counts;
        let rms = if near == 0 { 0.0 } else { (squares as f64 * SQUARES_UNIT / near as f64).sqrt() };
        self.iterations += 1;
        if self.statistics.len() >= 2 * KEPT {
            self.statistics.drain(..KEPT);
        }
        self.statistics.push(Statistics { iteration: self.iterations, inside, changed, near, rms });
        self.watched += 1;
        self.fewest_inside = self.fewest_inside.min(inside);
        self.most_inside = self.most_inside.max(inside);
        self.largest_near = self.largest_near.max(near);
        self.largest_rms = self.largest_rms.max(rms);
    }

    /// The last million.
    pub(super) fn kept(&self) -> &[Statistics] {
        &self.statistics[self.statistics.len().saturating_sub(KEPT)..]
    }

    /// Whether φ is to be made a distance again now, after the iteration just recorded.
    pub(super) fn reinitialise_now(&self) -> bool {
        self.reinitialise_every > 0 && self.iterations.is_multiple_of(u64::from(self.reinitialise_every))
    }

    /// Whether the stop rule is met, after the iteration just recorded: tested at the end of every check interval, of
    /// which the next then begins.
    pub(super) fn stop_now(&mut self) -> bool {
        if self.watched < self.check_interval {
            return false;
        }
        // Per iteration, of 50 where there are more: in a longer interval a slow front need not go further.
        // Not the sum of the sign changes: on real images some voxels at the front flicker for ever.
        let spread = (self.most_inside - self.fewest_inside) as f64;
        let share = spread / self.largest_near.max(1) as f64 / f64::from(self.check_interval.min(50));
        let never = self.change_tolerance == 0.0 && self.rms_tolerance == 0.0;
        let met = !never && share <= self.change_tolerance && self.largest_rms <= self.rms_tolerance;
        self.begin_interval();
        met
    }

    /// Begins a check interval.
    pub(super) fn begin_interval(&mut self) {
        (self.watched, self.fewest_inside, self.most_inside) = (0, u64::MAX, 0);
        (self.largest_near, self.largest_rms) = (0, 0.0);
    }
}
