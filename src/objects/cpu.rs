//! The fronts on the CPU, on all threads. Only parts of rows in which or next to which something changes are updated.

use super::row::{PART, Row, values_around};
use super::scalar::{BACKGROUND, Constants, START_DISTANCE, Voxel, WAY_PARTS, way};
use super::statistics::{Statistics, Window};
use crate::error::Result;
use crate::memory::{Array, collected, zeroed};
use crate::parallel::try_par_copy;
use crate::progress::Ticker;
use pulp::Arch;
use rayon::prelude::*;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// If scores still change slightly, the fronts are at rest once no front has moved in this many successive tests.
const QUIET_TIMES: u32 = 2;

/// The fewest iterations between two tests whether the fronts have moved.
const LEAST_JUDGED: u64 = 10;

/// The iterations in which a moving front crosses the smallest spacing if its score is at least ½.
const ITERATIONS_PER_VOXEL: f64 = 4.0;

/// The approximate number of voxels of one task.
const TASK_VOXELS: usize = 1 << 14;

/// The order of voxels in memory, and the windows of objects.
#[derive(Debug)]
pub(super) struct Grid {
    pub shape: [usize; 3],
    /// The margin of a window in voxels along x, y, z.
    pub margin: [usize; 3],
}

impl Grid {
    /// Returns the voxels of a row.
    pub(super) fn row(&self, y: usize, z: usize) -> Range<usize> {
        let start = (z * self.shape[1] + y) * self.shape[0];
        start..start + self.shape[0]
    }

    /// Returns the window around a bounding box, which is given by its smallest x, y, z and the bitwise complements (`!`)
    /// of its largest ones.
    pub(super) fn window(&self, ends: [u32; 6]) -> Window {
        Window::new(std::array::from_fn(|axis| {
            let [low, high] = [ends[axis] as usize, !ends[axis + 3] as usize];
            low.saturating_sub(self.margin[axis])..(high + 1).saturating_add(self.margin[axis]).min(self.shape[axis])
        }))
    }

    /// Returns x, y, z of a voxel.
    pub(super) fn position(&self, index: usize) -> [usize; 3] {
        let [width, height, _] = self.shape;
        [index % width, index / width % height, index / width / height]
    }

    /// Calls `visit` for the voxels that share a face, an edge or a corner with a voxel.
    pub(super) fn for_each_neighbour(&self, index: usize, mut visit: impl FnMut(usize)) {
        let position = self.position(index);
        let [columns, rows, slices] =
            std::array::from_fn(|axis| position[axis].saturating_sub(1)..(position[axis] + 2).min(self.shape[axis]));
        for z in slices {
            for y in rows.clone() {
                let start = self.row(y, z).start;
                columns.clone().map(|x| start + x).filter(|neighbour| *neighbour != index).for_each(&mut visit);
            }
        }
    }

    fn rows(&self) -> usize {
        self.shape[1] * self.shape[2]
    }
}

/// The parts that do not change while the fronts move.
#[derive(Debug)]
pub(super) struct Plan {
    pub grid: Grid,
    pub constants: Constants,
    pub keep_starts: bool,
    pub iterations: u64,
    pub check_interval: u64,
    pub change_tolerance: f64,
    /// The largest spacing, in units of the smallest.
    pub anisotropy: f64,
    /// The number of objects.
    pub objects: usize,
}

impl Plan {
    /// The factor in [`Plan::has_moved`]: the tolerance times the surface of a ball with the volume of one voxel, to the
    /// power of 3; in a slice, the tolerance times the circumference of a disc with the area of one pixel, squared.
    pub(super) fn most_moved(&self) -> f64 {
        let (tolerance, is_slice) = (self.change_tolerance, self.grid.shape[2] == 1);
        if is_slice { tolerance.powi(2) * 4.0 * PI } else { tolerance.powi(3) * 36.0 * PI }
    }

    /// Tells whether the front of an object has moved by more than the tolerance, or would have at its present speed. The
    /// object has `voxels` voxels, and `moved` is the number of voxels that it has gained or lost, so its front has moved
    /// by about `moved` divided by the surface of a ball of its size (in a slice, the circumference of a disc). `ways`
    /// times `factor` replaces `moved` if it is larger, because a front that moves by less than a voxel changes no label;
    /// `ways` is the sum of the [`way`]s along the front in the last iteration. Powers are compared, because roots would
    /// not have the same bits on every device.
    fn has_moved(&self, moved: u64, ways: u64, factor: f64, voxels: u64) -> bool {
        let (moved, voxels) = ((moved as f64).max(ways as f64 * factor), voxels as f64);
        if self.grid.shape[2] == 1 {
            moved * moved > self.most_moved() * voxels
        } else {
            moved * moved * moved > self.most_moved() * voxels * voxels
        }
    }
}

/// Returns the factor from the sum of the [`way`]s in one iteration to the number of voxels that the front would pass in
/// `iterations` iterations.
pub(super) fn way_factor(iterations: u64) -> f64 {
    iterations as f64 / f64::from(WAY_PARTS)
}

/// The labels and distances of all voxels.
struct Fields {
    labels: Array<u32>,
    distances: Array<f32>,
}

impl Fields {
    fn new(voxels: usize) -> Result<Self> {
        Ok(Self { labels: Array::zeroed(voxels)?, distances: Array::zeroed(voxels)? })
    }
}

/// The result of the fronts' movement.
pub(super) struct Moved {
    pub labels: Array<u32>,
    pub statistics: Statistics,
    pub iterations: u64,
    pub converged: bool,
}

/// Moves the fronts from `starts`, the label of each voxel, until they are at rest. Call it on a thread of the context's
/// pool.
pub(super) fn evolve(plan: &Plan, starts: &[u32], levels: &[u16], ticker: &Ticker) -> Result<Moved> {
    let Plan { grid, .. } = plan;
    let voxels = starts.len();
    let mut fields = Fields::new(voxels)?;
    let mut next = Fields::new(voxels)?;
    let mut changes = Array::<u8>::zeroed(voxels)?;
    // The labels at the last test of the fronts.
    let mut judged = Array::<u32>::zeroed(voxels)?;
    try_par_copy(&mut judged, starts, ticker)?;
    try_par_copy(&mut fields.labels, starts, ticker)?;
    start_distances(plan, &mut fields, ticker)?;
    try_par_copy(&mut next.labels, &fields.labels, ticker)?;
    try_par_copy(&mut next.distances, &fields.distances, ticker)?;
    let mut statistics = Statistics::new(plan.objects)?;
    statistics.measure(grid, &fields.labels, levels, ticker)?;
    let mut parts = Parts::new(grid)?;
    let mut rest = Rest::new(plan);
    while let Some(count) = rest.next_interval() {
        for _ in 0..count {
            iterate(plan, &fields, &mut next, &mut changes, &mut parts, starts, levels, &statistics, ticker)?;
            std::mem::swap(&mut fields, &mut next);
            rest.iterations += 1;
            ticker.set(rest.iterations as f64 / plan.iterations as f64);
        }
        let scores_changed = statistics.measure(grid, &fields.labels, levels, ticker)?;
        if rest.is_due(scores_changed) {
            // `next` holds the fields before the last iteration.
            let factor = way_factor(rest.passed());
            let moved = have_moved(plan, [&fields, &next], &mut judged, &statistics.voxels, factor, ticker)?;
            rest.judge(moved || (plan.change_tolerance == 0.0 && parts.have_changed()));
        }
        if scores_changed {
            parts.activate_all();
        }
    }
    Ok(Moved { labels: fields.labels, statistics, iterations: rest.iterations, converged: rest.converged })
}

/// Counts the iterations, and tests the stopping criterion.
pub(super) struct Rest<'a> {
    plan: &'a Plan,
    pub iterations: u64,
    pub converged: bool,
    /// The number of iterations at the last test, and whether a score has changed since.
    judged: u64,
    scores_changed: bool,
    /// The number of successive tests, up to the last one, in which no front had moved.
    quiet: u32,
}

impl<'a> Rest<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self { plan, iterations: 0, converged: false, judged: 0, scores_changed: false, quiet: 0 }
    }

    /// Returns the number of iterations until the next check, or `None` at the end.
    pub(super) fn next_interval(&self) -> Option<u64> {
        let left = self.plan.iterations - self.iterations;
        if self.converged || left == 0 { None } else { Some(self.plan.check_interval.min(left)) }
    }

    /// Returns the number of iterations since the last test.
    pub(super) fn passed(&self) -> u64 {
        self.iterations - self.judged
    }

    /// Tells after a check whether the fronts are to be tested, which needs enough iterations for a moving front to cross
    /// the largest spacing.
    pub(super) fn is_due(&mut self, scores_changed: bool) -> bool {
        self.scores_changed |= scores_changed;
        let passed = self.passed();
        passed >= LEAST_JUDGED.max(self.plan.check_interval)
            && passed as f64 >= ITERATIONS_PER_VOXEL * self.plan.anisotropy
    }

    /// Decides whether the fronts are at rest. `have_moved` tells whether any has moved since the last test.
    pub(super) fn judge(&mut self, have_moved: bool) {
        self.quiet = if have_moved { 0 } else { self.quiet + 1 };
        self.converged = self.quiet >= if self.scores_changed { QUIET_TIMES } else { 1 };
        (self.judged, self.scores_changed) = (self.iterations, false);
    }
}

/// Tells whether a front has moved since the last test: the front of an object by more than the tolerance, or any front by
/// two voxels at some place, such as the tip of a long object. `judged` holds the labels at the last test, and is set to
/// those of `now`. `before` holds the fields before the last iteration; for `factor` see [`Plan::has_moved`].
fn have_moved(
    plan: &Plan,
    [now, before]: [&Fields; 2],
    judged: &mut [u32],
    voxels: &[u64],
    factor: f64,
    ticker: &Ticker,
) -> Result<bool> {
    let width = plan.grid.shape[0];
    // For each object the number of voxels that it has gained or lost, and the sum of the ways along its front.
    let moved: Vec<[AtomicU64; 2]> = collected(voxels.iter().map(|_| Default::default()))?;
    let moved_far = AtomicBool::new(false);
    now.labels.par_chunks(width).enumerate().for_each(|(row, labels)| {
        if ticker.is_cancelled() {
            return;
        }
        let places = rows_around(&plan.grid, row);
        let own = places[0].clone();
        let rows = places.each_ref().map(|row| &judged[row.clone()]);
        for (x, (label, old)) in labels.iter().zip(rows[0]).enumerate().filter(|(_, (label, old))| label != old) {
            for index in [label, old] {
                moved[*index as usize][0].fetch_add(1, Relaxed);
            }
            if !values_around(&rows, x).contains(label) {
                moved_far.store(true, Relaxed);
            }
        }
        let rows = places.map(|row| &now.labels[row]);
        let voxel =
            |fields: &Fields, index: usize| Voxel { label: fields.labels[index], distance: fields.distances[index] };
        for (x, index) in own.enumerate() {
            let way = way(voxel(now, index), voxel(before, index));
            if way > 0 && labels[x] != BACKGROUND && values_around(&rows, x).iter().any(|label| *label != labels[x]) {
                moved[labels[x] as usize][1].fetch_add(way, Relaxed);
            }
        }
    });
    ticker.check()?;
    try_par_copy(judged, &now.labels, ticker)?;
    let mut objects = moved.into_iter().map(|sums| sums.map(AtomicU64::into_inner)).zip(voxels).skip(1);
    Ok(moved_far.into_inner() || objects.any(|([moved, ways], voxels)| plan.has_moved(moved, ways, factor, *voxels)))
}

/// Sets the initial distances: next to a front a share of the spacing across it, elsewhere [`Constants::far`]. The
/// iterations correct them.
fn start_distances(plan: &Plan, fields: &mut Fields, ticker: &Ticker) -> Result<()> {
    let Fields { labels, distances } = fields;
    let width = plan.grid.shape[0];
    distances.par_chunks_mut(width).enumerate().for_each(|(row, to)| {
        if ticker.is_cancelled() {
            return;
        }
        let rows = rows_around(&plan.grid, row).map(|row| &labels[row]);
        for (x, to) in to.iter_mut().enumerate() {
            let around = values_around(&rows, x);
            let across = around.chunks_exact(2).zip(plan.constants.spacing);
            let across = across.filter(|(two, _)| two.iter().any(|label| *label != rows[0][x]));
            *to = across.fold(plan.constants.far, |least, (_, spacing)| least.min(START_DISTANCE * spacing));
        }
    });
    ticker.check()
}

/// Returns the positions of a row, and of its neighbours along y and z. At the border of the image the row itself stands
/// for a missing neighbour.
fn rows_around(grid: &Grid, row: usize) -> [Range<usize>; 5] {
    let [_, height, depth] = grid.shape;
    let [y, z] = [row % height, row / height];
    [
        grid.row(y, z),
        grid.row(y.saturating_sub(1), z),
        grid.row((y + 1).min(height - 1), z),
        grid.row(y, z.saturating_sub(1)),
        grid.row(y, (z + 1).min(depth - 1)),
    ]
}

/// The division of rows into parts, and the parts that are to be updated.
struct Parts {
    /// The parts of a row.
    per_row: usize,
    /// The number of rows of a slice, and of all rows.
    rows: [usize; 2],
    /// 1 for a part in which something changed in the last iteration, or may change in the next one.
    changed: Vec<u8>,
    active: Vec<u8>,
}

impl Parts {
    fn new(grid: &Grid) -> Result<Self> {
        let per_row = grid.shape[0].div_ceil(PART);
        let count = per_row * grid.rows();
        let mut parts =
            Self { per_row, rows: [grid.shape[1], grid.rows()], changed: zeroed(count)?, active: zeroed(count)? };
        parts.activate_all();
        Ok(parts)
    }

    fn activate_all(&mut self) {
        self.changed.fill(1);
    }

    /// Returns whether any voxel has changed in the last iteration.
    fn have_changed(&self) -> bool {
        self.changed.iter().any(|changed| *changed != 0)
    }

    /// Makes the parts active in which something changed, and their neighbours.
    fn activate(&mut self) {
        let Self { per_row, rows: [height, rows], changed, active, .. } = self;
        active.par_chunks_mut(*per_row).with_min_len(64).enumerate().for_each(|(row, active)| {
            let of = |row: usize| &changed[row * *per_row..(row + 1) * *per_row];
            let (own, y) = (of(row), row % *height);
            let before = of(if y > 0 { row - 1 } else { row });
            let behind = of(if y + 1 < *height { row + 1 } else { row });
            let above = of(row.checked_sub(*height).unwrap_or(row));
            let below = of(if row + *height < *rows { row + *height } else { row });
            for (part, active) in active.iter_mut().enumerate() {
                *active = own[part]
                    | own[part.saturating_sub(1)]
                    | own[(part + 1).min(own.len() - 1)]
                    | before[part]
                    | behind[part]
                    | above[part]
                    | below[part];
            }
        });
    }
}

/// Computes one iteration, from `fields` to `next`. Parts that are not active are equal in both.
#[allow(clippy::too_many_arguments)]
fn iterate(
    plan: &Plan,
    fields: &Fields,
    next: &mut Fields,
    changes: &mut [u8],
    parts: &mut Parts,
    starts: &[u32],
    levels: &[u16],
    statistics: &Statistics,
    ticker: &Ticker,
) -> Result<()> {
    parts.activate();
    let Parts { per_row, changed, active, .. } = parts;
    let width = plan.grid.shape[0];
    let rows =
        next.labels.par_chunks_mut(width).zip(next.distances.par_chunks_mut(width)).zip(changes.par_chunks_mut(width));
    let flags = changed.par_chunks_mut(*per_row).zip(active.par_chunks(*per_row));
    let arch = Arch::new();
    let rows = rows.zip(flags).enumerate().with_min_len((TASK_VOXELS / width).max(1));
    rows.for_each(|(row, (((new_labels, new_distances), changes), (changed, active)))| {
        if ticker.is_cancelled() {
            return;
        }
        let rows = rows_around(&plan.grid, row);
        let labels = rows.each_ref().map(|row| &fields.labels[row.clone()]);
        let distances = rows.each_ref().map(|row| &fields.distances[row.clone()]);
        let (starts, levels) = (&starts[rows[0].clone()], &levels[rows[0].clone()]);
        arch.dispatch(Row {
            constants: &plan.constants,
            scores: &statistics.scores,
            labels,
            distances,
            levels,
            starts: plan.keep_starts.then_some(starts),
            new_labels,
            new_distances,
            changes,
            active,
            changed,
        });
    });
    ticker.check()
}
