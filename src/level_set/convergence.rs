//! The monitor of a run, which is the same for every device. It keeps the statistics, tests the stopping criterion, and
//! tells when φ is to be reinitialised.

use super::plan::Plan;
use super::types::Counts;
use super::{Params, Statistics, parameters};
use crate::device::kernels::level_set::{MAX_OSCILLATION, SQUARE_ONE, SQUARES_SHIFT, StoppingCriterion};
use crate::error::Result;
use crate::memory::reserve;

/// The number of iterations whose statistics are kept.
const KEPT: usize = 1_000_000;

/// The estimate for a front whose movement does not decrease: it is expected to be at rest after this many more check
/// intervals, or after a quarter of the intervals done so far, if that is more.
const EXPECTED_INTERVALS: f64 = 12.0;
/// The number of check intervals over which the decrease of the front's movement is measured.
const TREND_INTERVALS: usize = 4;

/// The unit of the sums of squared changes. They are summed as integers, so that the sum does not depend on the order of
/// the voxels.
pub(super) const SQUARES_UNIT: f64 = 1.0 / SQUARE_ONE as f64;

/// The statistics of one level set and the state of its stopping criterion.
#[derive(Clone, Debug)]
pub(super) struct ConvergenceMonitor {
    pub iterations: u64,
    pub statistics: Vec<Statistics>,
    pub converged: bool,
    /// The number of iterations of the current check interval.
    interval_iterations: u32,
    /// The sums of the counts over the current check interval.
    inside_sum: u64,
    near_sum: u64,
    squares_sum: u64,
    /// The sum of the voxels inside over the check interval before, or 0 where there is none.
    previous_inside_sum: u64,
    /// The fewest and the most voxels inside after an iteration of the current check interval.
    fewest: u64,
    most: u64,
    /// For each of the last check intervals, newest last, the logarithm of the factor by which it exceeded the tolerances.
    excesses: [f64; TREND_INTERVALS + 1],
    /// The estimated number of check intervals, from the end of the last one, until the criterion is met.
    intervals_left: f64,
    /// The step under way.
    step: Step,
    plan: Plan,
}

/// A call of `LevelSet::step`: the iterations done before it, the most that it may do, and the largest fraction that was
/// reported.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    before: u64,
    iterations: u64,
    fraction: f64,
}

impl Params {
    /// Returns the stopping criterion, with a check interval of 0 where it is automatic, or the error of a parameter.
    pub(super) fn criterion(&self) -> Result<StoppingCriterion> {
        let Self { change_tolerance, rms_tolerance, check_interval, .. } = *self;
        parameters::CHANGE_TOLERANCE.check(change_tolerance)?;
        parameters::RMS_TOLERANCE.check(rms_tolerance)?;
        parameters::CHECK_INTERVAL.check_if_given(check_interval)?;
        Ok(StoppingCriterion { change_tolerance, rms_tolerance, check_interval: check_interval.unwrap_or(0) })
    }
}

impl ConvergenceMonitor {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            iterations: 0,
            statistics: Vec::new(),
            converged: false,
            interval_iterations: 0,
            inside_sum: 0,
            near_sum: 0,
            squares_sum: 0,
            previous_inside_sum: 0,
            fewest: u64::MAX,
            most: 0,
            excesses: [f64::NAN; TREND_INTERVALS + 1],
            intervals_left: EXPECTED_INTERVALS,
            step: Step::default(),
            plan: *plan,
        }
    }

    /// Makes room for the statistics of `count` iterations, or returns an error when out of memory.
    pub(super) fn make_room(&mut self, count: usize) -> Result<()> {
        reserve(&mut self.statistics, count)
    }

    /// Tells whether the stopping criterion is never met.
    fn never_stops(&self) -> bool {
        let StoppingCriterion { change_tolerance, rms_tolerance, .. } = self.plan.criterion;
        change_tolerance == 0.0 && rms_tolerance == 0.0
    }

    /// Returns the iteration after which the stopping criterion is likely to be met; `u64::MAX` if it never is.
    pub(super) fn expected_iterations(&self) -> u64 {
        if self.converged {
            return self.iterations;
        }
        if self.never_stops() {
            return u64::MAX;
        }
        let interval = self.plan.criterion.check_interval;
        let begin = self.iterations - u64::from(self.interval_iterations);
        let expected = begin + (self.intervals_left * f64::from(interval)).ceil() as u64;
        expected.max(self.iterations + 1)
    }

    /// Begins a step of at most `iterations`.
    pub(super) fn begin_step(&mut self, iterations: u64) {
        self.converged = false;
        self.step = Step { before: self.iterations, iterations, fraction: 0.0 };
    }

    /// Returns the number of iterations of the step that are done.
    pub(super) fn step_done(&self) -> u64 {
        self.iterations - self.step.before
    }

    /// Returns the number of iterations until the check interval ends.
    pub(super) fn until_check(&self) -> u64 {
        u64::from(self.plan.criterion.check_interval - self.interval_iterations)
    }

    /// Tells whether the next iteration is the first of a check interval.
    pub(super) fn begins_interval(&self) -> bool {
        self.interval_iterations == 0
    }

    /// Returns the fraction of the step that is done, from 0 to less than 1. It never decreases. The step itself reports 1
    /// when it ends.
    pub(super) fn fraction(&mut self) -> f64 {
        let Step { before, iterations, fraction } = self.step;
        let done = self.step_done();
        let until = iterations.min(self.expected_iterations().saturating_sub(before));
        self.step.fraction = if done < until { fraction.max(done as f64 / until as f64) } else { fraction };
        self.step.fraction
    }

    /// Updates the estimate of when the front comes to rest. `excess` is the factor by which the last interval exceeded the
    /// tolerances. Near the end of a run its logarithm decreases about linearly, so that it can be extrapolated to 0.
    fn extrapolate(&mut self, excess: f64) {
        let intervals = (self.iterations / u64::from(self.plan.criterion.check_interval)) as f64;
        self.excesses.rotate_left(1);
        self.excesses[TREND_INTERVALS] = excess.ln();
        let [first, .., last] = self.excesses;
        let fall = (first - last) / TREND_INTERVALS as f64;
        let left = if fall > 0.0 { (last / fall).max(1.0) } else { f64::INFINITY };
        self.intervals_left = left.min(EXPECTED_INTERVALS.max(intervals / 4.0));
    }

    /// Records an iteration. Its statistics are then the last of [`statistics`](Self::statistics).
    pub(super) fn record(&mut self, counts: Counts) {
        let Counts { inside, changed, near, squares } = counts;
        let rms = if near == 0 { 0.0 } else { (squares as f64 * SQUARES_UNIT / near as f64).sqrt() };
        self.iterations += 1;
        if self.statistics.len() >= 2 * KEPT {
            self.statistics.drain(..KEPT);
        }
        self.statistics.push(Statistics { iteration: self.iterations, inside, changed, near, rms });
        self.interval_iterations += 1;
        self.inside_sum += inside;
        (self.fewest, self.most) = (self.fewest.min(inside), self.most.max(inside));
        self.near_sum += near;
        self.squares_sum += squares >> SQUARES_SHIFT;
    }

    /// Returns the statistics that are kept, of the last million iterations.
    pub(super) fn kept(&self) -> &[Statistics] {
        &self.statistics[self.statistics.len().saturating_sub(KEPT)..]
    }

    /// Tells whether φ is to be reinitialised now, after the iteration just recorded.
    pub(super) fn should_reinitialise(&self) -> bool {
        self.plan.reinitialises_after(self.iterations)
    }

    /// Tells whether the iteration just recorded meets the stopping criterion. The criterion compares a check interval with
    /// the one before, so it is tested at the end of every check interval but the first; a new interval then begins.
    /// `check_convergence` in `kernels/level_set_support.cuh` computes the same.
    pub(super) fn should_stop(&mut self) -> bool {
        let StoppingCriterion { change_tolerance, rms_tolerance, check_interval } = self.plan.criterion;
        if self.interval_iterations < check_interval {
            return false;
        }
        // A front at rest may oscillate a little with the period of the reinitialisation. An interval holds whole periods,
        // so its means do not show this. A front that oscillates by more than the bound is not at rest.
        let near = self.near_sum.max(1) as f64;
        let drift = self.inside_sum.abs_diff(self.previous_inside_sum) as f64 / near;
        let oscillation = (self.most - self.fewest) as f64 * f64::from(check_interval) / near;
        let rms = (self.squares_sum as f64 * (SQUARES_UNIT * f64::from(1 << SQUARES_SHIFT)) / near).sqrt();
        let never = self.never_stops();
        let first = self.previous_inside_sum == 0;
        let still = drift <= change_tolerance && oscillation <= MAX_OSCILLATION * change_tolerance;
        let met = !never && !first && still && rms <= rms_tolerance;
        if !never && !first {
            let over = |value: f64, tolerance: f64| if value > tolerance { value / tolerance } else { 1.0 };
            let moving = over(drift, change_tolerance).max(over(oscillation, MAX_OSCILLATION * change_tolerance));
            self.extrapolate(moving.max(over(rms, rms_tolerance)));
        }
        let inside = self.inside_sum;
        self.begin_interval();
        self.previous_inside_sum = inside;
        met
    }

    /// Begins a check interval without one before it to compare with.
    pub(super) fn begin_interval(&mut self) {
        (self.interval_iterations, self.inside_sum, self.near_sum, self.squares_sum) = (0, 0, 0, 0);
        (self.fewest, self.most) = (u64::MAX, 0);
        self.previous_inside_sum = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::intensities::Intensities;
    use super::super::plan::Plan;
    use super::super::{Side, TargetRange};
    use super::*;

    const INTERVAL: u64 = 100;
    const NEAR: u64 = 1000;

    fn plan(params: Params) -> Plan {
        let range = TargetRange { target: 1.0, epsilon: 1.0 };
        let intensities = Intensities { range, side: Side::Within, balance: 1.0, extremes: [0.0, 1.0] };
        let params = Params { check_interval: Some(INTERVAL as u32), reinitialise_every: 20, ..params };
        params.resolve([64; 3], &intensities).expect("good parameters")
    }

    /// Returns the iteration after which a run with these voxels inside, and this rms change of φ, is called converged.
    fn stop(params: Params, inside: impl Fn(u64) -> u64, rms: f64) -> Option<u64> {
        let mut monitor = ConvergenceMonitor::new(&plan(params));
        let squares = (rms * rms * NEAR as f64 / SQUARES_UNIT) as u64;
        (1..=20 * INTERVAL).find(|i| {
            monitor.record(Counts { inside: inside(*i), changed: 0, near: NEAR, squares });
            monitor.should_stop()
        })
    }

    #[test]
    fn a_front_that_does_not_change_has_converged_after_two_intervals() {
        assert_eq!(stop(Params::default(), |_| 5000, 0.0), Some(2 * INTERVAL));
        let late_rest = |i: u64| if i <= 3 * INTERVAL { 50 * i } else { 15_000 };
        assert_eq!(stop(Params::default(), late_rest, 0.0), Some(5 * INTERVAL));
    }

    #[test]
    fn two_tolerances_of_0_never_stop() {
        assert_eq!(stop(Params::default().without_stopping(), |_| 5000, 0.0), None);
        // A single tolerance of 0 is a tolerance like any other.
        let exact = Params { change_tolerance: 0.0, ..Params::default() };
        assert_eq!(stop(exact.clone(), |_| 5000, 0.25), Some(2 * INTERVAL));
        assert_eq!(stop(exact, |i| 5000 + i / INTERVAL, 0.25), None);
    }

    #[test]
    fn a_front_that_drifts_has_not_converged() {
        // The mean grows by `share` of the voxels near the front from one interval to the next.
        let drifting = |share: f64| move |i: u64| 5000 + (share * NEAR as f64 * i as f64 / INTERVAL as f64) as u64;
        let params = Params { change_tolerance: 2e-2, ..Params::default() };
        assert_eq!(stop(params.clone(), drifting(1.2 * 2e-2), 0.0), None);
        assert_eq!(stop(params, drifting(0.8 * 2e-2), 0.0), Some(2 * INTERVAL));
    }

    #[test]
    fn a_front_that_oscillates_about_a_constant_mean_has_not_converged() {
        // The count oscillates with every reinitialisation, so that each interval has the same mean.
        let oscillating = |by: u64| move |i: u64| 5000 + if i % 20 < 10 { by } else { 0 };
        let bound = (MAX_OSCILLATION * Params::default().change_tolerance * NEAR as f64) as u64;
        assert_eq!(bound, 100, "a tenth of the voxels near the front");
        assert_eq!(stop(Params::default(), oscillating(bound + 1), 0.0), None);
        assert_eq!(stop(Params::default(), oscillating(bound - 1), 0.0), Some(2 * INTERVAL));
        // Each interval is tested separately.
        let calmed = |i: u64| if i <= 4 * INTERVAL { oscillating(bound + 1)(i) } else { 5000 + bound / 2 };
        assert_eq!(stop(Params::default(), calmed, 0.0), Some(5 * INTERVAL));
    }

    #[test]
    fn a_front_beside_which_phi_changes_by_much_has_not_converged() {
        let params = Params { rms_tolerance: 0.5, ..Params::default() };
        assert_eq!(stop(params.clone(), |_| 5000, 0.51), None);
        assert_eq!(stop(params, |_| 5000, 0.49), Some(2 * INTERVAL));
    }

    #[test]
    fn a_new_interval_begins_where_phi_is_replaced() {
        let mut monitor = ConvergenceMonitor::new(&plan(Params::default()));
        let record = |monitor: &mut ConvergenceMonitor| {
            monitor.record(Counts { inside: 5000, changed: 0, near: NEAR, squares: 0 });
            monitor.should_stop()
        };
        assert!((1..2 * INTERVAL).all(|_| !record(&mut monitor)));
        monitor.begin_interval();
        assert!((1..2 * INTERVAL).all(|_| !record(&mut monitor)));
        assert!(record(&mut monitor));
    }
}
