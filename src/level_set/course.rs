//! What has happened so far and what comes next, the same for every device: statistics, the stop rule, and when φ is made
//! a distance again.

use super::Statistics;
use super::plan::Plan;

/// Iterations whose statistics are kept.
const KEPT: usize = 1_000_000;

/// Squares of changes are added as integers in this unit, so that the sum does not depend on its order.
pub(super) const SQUARES_UNIT: f64 = 1.0 / 16_777_216.0;

/// Of the stop rule's sums of them: in this larger unit they cannot overflow.
pub(super) const SQUARES_SHIFT: u32 = 10;

/// The count of voxels inside may vary within a check interval by so many times what its mean may differ from that of the
/// interval before.
pub(super) const SWING: f64 = 50.0;

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
    /// Of the check interval that is under way: its iterations, and over these the sums of the counts; of the one
    /// before, the sum of the voxels inside, or 0 where there is none.
    watched: u32,
    inside: u64,
    near: u64,
    squares: u64,
    inside_before: u64,
    /// The fewest and the most voxels inside after an iteration of it.
    fewest: u64,
    most: u64,
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
            inside: 0,
            near: 0,
            squares: 0,
            inside_before: 0,
            fewest: u64::MAX,
            most: 0,
            check_interval: plan.check_interval,
            change_tolerance: plan.change_tolerance,
            rms_tolerance: plan.rms_tolerance,
            reinitialise_every: plan.reinitialise_every,
        }
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
        self.inside += inside;
        (self.fewest, self.most) = (self.fewest.min(inside), self.most.max(inside));
        self.near += near;
        self.squares += squares >> SQUARES_SHIFT;
    }

    /// The last million.
    pub(super) fn kept(&self) -> &[Statistics] {
        &self.statistics[self.statistics.len().saturating_sub(KEPT)..]
    }

    /// Whether φ is to be made a distance again now, after the iteration just recorded.
    pub(super) fn reinitialise_now(&self) -> bool {
        self.reinitialise_every > 0 && self.iterations.is_multiple_of(u64::from(self.reinitialise_every))
    }

    /// Whether the stop rule is met, after the iteration just recorded: tested at the end of every check interval but
    /// the first; the next then begins. `judge` in `kernels/level_set_rest.cuh` does the same sums.
    pub(super) fn stop_now(&mut self) -> bool {
        if self.watched < self.check_interval {
            return false;
        }
        // Means over whole intervals, of which each holds whole periods of the reinitialisation, with which a front at rest
        // may oscillate a little; but one that oscillates by much has not come to rest.
        let near = self.near.max(1) as f64;
        let drift = self.inside.abs_diff(self.inside_before) as f64 / near;
        let swing = (self.most - self.fewest) as f64 * f64::from(self.check_interval) / near;
        let rms = (self.squares as f64 * (SQUARES_UNIT * f64::from(1 << SQUARES_SHIFT)) / near).sqrt();
        let never = self.change_tolerance == 0.0 && self.rms_tolerance == 0.0;
        let first = self.inside_before == 0;
        let still = drift <= self.change_tolerance && swing <= SWING * self.change_tolerance;
        let met = !never && !first && still && rms <= self.rms_tolerance;
        let inside = self.inside;
        self.begin_interval();
        self.inside_before = inside;
        met
    }

    /// Begins anew: nothing is known of any interval.
    pub(super) fn begin_interval(&mut self) {
        (self.watched, self.inside, self.near, self.squares) = (0, 0, 0, 0);
        (self.fewest, self.most) = (u64::MAX, 0);
        self.inside_before = 0;
    }
}
