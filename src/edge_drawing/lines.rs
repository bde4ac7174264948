//! Straight lines along segments: EDLines (Akinlar and Topal, "EDLines: a real-time line segment detector with a false
//! detection control", Pattern Recognition Letters 32, 2011).
//!
//! A run is a part of a segment whose points lie along a line. A segment is divided into runs in one pass: a run begins
//! where the smallest number of points of a line fits a line, and is extended by the following points as long as they are
//! near. Successive runs along the same line are joined. Each run is then tested by the Helmholtz principle: it is a line
//! if more of its pixels have a gradient across it than chance explains.
//!
//! The host computes this from finished segments and the pixels, whichever device the context has, so the result is the
//! same for every device. The sums of a run's coordinates are integers, so a fit does not depend on how the run was
//! assembled.

mod fit;

use super::parameters;
use super::search::{self, POINTS_PER_CHECK, Pixels, Tested};
use super::segments::{Point, Segment, Segments};
use crate::device::Context;
use crate::error::Result;
use crate::memory::{extend, push, reserved};
use crate::parallel::try_par_indexed;
use crate::progress::{Progress, Ticker};
use crate::report::Report;
use crate::slice_io::Input;
use fit::{Fit, Sums};
use std::f64::consts::LOG10_2;
use std::ops::Range;

/// The most successive points that may be farther from a line than the tolerance. After one more the line ends.
const MOST_OUTLIERS: usize = 4;

/// The parameters of [`lines`]; [`LineParams::default`] gives each its default.
#[derive(Clone, Debug, PartialEq)]
pub struct LineParams {
    /// The smallest number of points of a line, at least 2. `None` (default): the smallest number that can pass the test,
    /// ⌈2 log(width · height) / log 8⌉, which is 12 for 512 × 512 pixels. Higher: fewer, longer lines.
    pub min_length: Option<u32>,
    /// The largest distance of a point from its line, in pixels, greater than 0. Up to four successive points may be
    /// farther away; they are fitted, tested and counted, too. Default 1. Half of it limits the root mean square distance
    /// of the points with which a line begins, and of the points of two lines that are joined. Higher: longer lines, which
    /// follow bends.
    pub tolerance: f64,
    /// Two lines along a segment are joined if the distance between their ends is at most this, in pixels, at least 0.
    /// Default 6; 0 joins none. Higher: longer lines across larger gaps.
    pub gap: f64,
    /// If true (default), keeps only lines that chance would form at most once in the image; otherwise keeps all.
    pub validation: bool,
}

impl Default for LineParams {
    fn default() -> Self {
        Self {
            min_length: None,
            tolerance: parameters::LINE_TOLERANCE.default,
            gap: parameters::LINE_GAP.default,
            validation: parameters::LINE_VALIDATION.default != 0.0,
        }
    }
}

impl LineParams {
    fn check(&self) -> Result<()> {
        parameters::LINE_MIN_LENGTH.check_if_given(self.min_length)?;
        parameters::LINE_TOLERANCE.check(self.tolerance)?;
        parameters::LINE_GAP.check(self.gap)
    }

    /// Returns the smallest number of points of a line.
    fn shortest(&self, width: usize, height: usize) -> usize {
        // A random point is aligned with a chance of 1/8, so each aligned point offsets three bits of the number of tests.
        let tests = (width as u128 * height as u128).pow(2);
        let computed = || (u128::BITS - (tests - 1).leading_zeros()).div_ceil(3).max(2) as usize;
        self.min_length.map_or_else(computed, |length| length as usize)
    }
}

/// A straight line along a segment. Seen on a screen in the direction from the first end to the second, the brighter side
/// of the image is on the right.
///
/// Coordinates are in pixels: whole numbers are pixel centres, and (0, 0) is the centre of the top left pixel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The column of the first end.
    pub x0: f64,
    /// The row of the first end.
    pub y0: f64,
    /// The column of the second end.
    pub x1: f64,
    /// The row of the second end.
    pub y1: f64,
    /// The root mean square distance of its points from the line, in pixels.
    pub rms: f64,
    /// The decimal logarithm of its number of false alarms: how often chance is expected to form such a line in an image of
    /// this size. At most 0 with validation.
    pub log_false_alarms: f64,
    /// The index of its segment.
    pub segment: u64,
    /// The number of points that it was fitted to.
    pub points: u32,
    /// The slice of the stack, from 0.
    pub slice: u32,
}

/// Finds straight lines along `segments`, which edge drawing found in `input`; replaces `found` on success.
///
/// The lines are in the order of their segments and, within a segment, in the order of its points. `segments` may come from
/// any profile and any parameters. `input` is u8, u16 or f32, in host or device memory, or a function that reads slices
/// ([`Source`](crate::Source)); it is called for the slices that have segments, in ascending order. Gradients next to a
/// pixel that is NaN or infinite count as random ones. The CPU computes this with every context, and the result has the
/// same bits for every number of threads.
///
/// # Errors
/// A parameter out of range, segments with points or slices outside of the image, out of memory, a device failure when
/// pixels are in device memory, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// use isoline::{Context, edge_drawing::{self, LineParams, Params, Segments}};
/// use ndarray::Array2;
///
/// // A bright square, its outline soft as a camera makes it.
/// let side = |at: usize| (at as f64 - 15.5).clamp(0.0, 1.0) * (48.5 - at as f64).clamp(0.0, 1.0);
/// let square = Array2::from_shape_fn((64, 64), |(y, x)| (40.0 + 160.0 * side(x) * side(y)) as u8);
/// let (context, mut segments, mut lines) = (Context::new("cpu")?, Segments::new(), Vec::new());
/// edge_drawing::run(
///     &context, square.view().into(), &Params::default(), None, None, Some(&mut segments))?;
/// edge_drawing::lines(
///     &context, square.view().into(), &segments, &LineParams::default(), None, &mut lines)?;
/// assert_eq!(lines.len(), 4);
/// // The brighter side is to the right: the lines run around the square clockwise.
/// assert!(lines.iter().all(|line| (line.x0 - 32.0) * (line.y1 - 32.0) > (line.x1 - 32.0) * (line.y0 - 32.0)));
/// # Ok::<(), isoline::Error>(())
/// ```
pub fn lines(
    context: &Context,
    input: Input<'_>,
    segments: &Segments,
    params: &LineParams,
    progress: Option<&mut Progress<'_>>,
    found: &mut Vec<Line>,
) -> Result<Report> {
    params.check()?;
    search::run(("lines", 1), context, input, segments, progress, found, |pixels, indices, ticker| {
        let [width, height] = pixels.size;
        let finder = Finder {
            pixels,
            params,
            shortest: params.shortest(width, height),
            log_tests: log_tests(width, height),
            ticker,
        };
        let lists = |at| finder.lines(segments.at(indices.start + at), indices.start + at);
        let mut all = Vec::new();
        try_par_indexed(indices.len(), lists)?.into_iter().try_for_each(|list| extend(&mut all, list))?;
        Ok(all)
    })
}

/// Returns the binary logarithm of the number of tests: all pairs of a first and a second end. It is exact for powers of
/// two.
fn log_tests(width: usize, height: usize) -> f64 {
    2.0 * (width as f64 * height as f64).log2()
}

/// The search for lines along a segment.
pub(super) struct Finder<'a, 'i> {
    pub pixels: &'a Pixels<'a, 'i>,
    pub params: &'a LineParams,
    /// The smallest number of points of a line.
    pub shortest: usize,
    pub log_tests: f64,
    pub ticker: &'a Ticker,
}

impl Finder<'_, '_> {
    /// Returns the lines of a segment.
    fn lines(&self, segment: Segment<'_>, index: usize) -> Result<Vec<Line>> {
        self.pixels.check(segment.points, index)?;
        let runs = joined(self.runs(&segment)?, &segment, self.params)?;
        let mut lines = reserved(runs.len())?;
        for run in runs {
            let line = self.line(&segment, index, &run)?;
            if !self.params.validation || line.log_false_alarms <= 0.0 {
                lines.push(line);
            }
        }
        self.ticker.add(segment.points.len() as u64);
        Ok(lines)
    }

    /// Divides a segment into runs.
    pub fn runs(&self, segment: &Segment<'_>) -> Result<Vec<Run>> {
        let Self { params, shortest, .. } = *self;
        let mut runs: Vec<Run> = Vec::new();
        let count = segment.points.len();
        // A run of a closed segment may continue past the segment's first point, up to the first run.
        let mut end = count;
        let mut start = 0;
        // The sums for the next start, if they can be updated from the sums for this one.
        let mut next_sums = None;
        while start + shortest <= end && start < count {
            // 1. Find successive points that fit a line, starting one point later each time.
            let mut sums: Sums = match next_sums.take() {
                Some(sums) => sums,
                None => (start..start + shortest).map(|at| Sums::of(point(segment, at))).sum(),
            };
            let mut fit = sums.fit();
            if fit.rms > params.tolerance / 2.0 {
                if start + shortest < end {
                    sums.remove(point(segment, start));
                    sums.add(point(segment, start + shortest));
                    next_sums = Some(sums);
                }
                start += 1;
                if start % POINTS_PER_CHECK == 0 {
                    self.ticker.check()?;
                }
                continue;
            }
            // 2. Add the following points, with the few between them that are farther away.
            let mut run = start..start + shortest;
            let mut next = run.end;
            while next < end && next - run.end <= MOST_OUTLIERS {
                if next % POINTS_PER_CHECK == 0 {
                    self.ticker.check()?;
                }
                let [from, last, to] = [run.start, run.end - 1, next].map(|at| point(segment, at));
                if fit.distance(to) <= params.tolerance && fit.goes_on([from, last, to]) {
                    (run.end..=next).for_each(|at| sums.add(point(segment, at)));
                    run.end = next + 1;
                    fit = sums.fit();
                }
                next += 1;
            }
            // 3. Remove points at the ends from which the last fit has moved away.
            while run.len() > shortest && fit.distance(point(segment, run.start)) > params.tolerance {
                sums.remove(point(segment, run.start));
                run.start += 1;
            }
            while run.len() > shortest && fit.distance(point(segment, run.end - 1)) > params.tolerance {
                run.end -= 1;
                sums.remove(point(segment, run.end));
            }
            // 4. Keep the run, and continue after it. The last run of a closed segment may reach up to the first one.
            if segment.closed && runs.is_empty() {
                end = count + run.start;
            }
            start = run.end;
            push(&mut runs, Run { points: run, sums })?;
        }
        Ok(runs)
    }

    /// Returns the line of a run, with its number of false alarms.
    fn line(&self, segment: &Segment<'_>, index: usize, run: &Run) -> Result<Line> {
        let fit = run.fit(segment);
        let [mut start, mut end] = run.ends(segment, &fit);
        // The normal points to the right of the line.
        let normal = [-fit.direction[1], fit.direction[0]];
        let mut tested = Tested::default();
        for at in run.points.clone() {
            if at % POINTS_PER_CHECK == 0 {
                self.ticker.check()?;
            }
            let Point { x, y } = point(segment, at);
            tested.add(self.pixels, segment.slice, [x as usize, y as usize], normal);
        }
        if tested.against > tested.along {
            (start, end) = (end, start);
        }
        Ok(Line {
            x0: start[0],
            y0: start[1],
            x1: end[0],
            y1: end[1],
            rms: fit.rms,
            log_false_alarms: (self.log_tests + tested.log_chance()) * LOG10_2,
            segment: index as u64,
            points: u32::try_from(run.sums.count).unwrap_or(u32::MAX),
            slice: segment.slice,
        })
    }
}

/// Returns a point of a segment. In a closed segment, indices beyond the last point continue with the first ones.
pub(super) fn point(segment: &Segment<'_>, at: usize) -> Point {
    segment.points[if at < segment.points.len() { at } else { at - segment.points.len() }]
}

/// A part of a segment whose points lie along a line.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The indices of the points from its first to its last; see [`point`]. They are all tested.
    pub points: Range<usize>,
    /// The sums of the points that it is fitted to, without the points between runs that were joined.
    sums: Sums,
}

impl Run {
    /// Returns the same run with indices that are one turn around a closed segment of `count` points larger.
    pub fn around(&self, count: usize) -> Self {
        Self { points: self.points.start + count..self.points.end + count, ..self.clone() }
    }

    /// Returns the direction of the line through the run, which points along the segment.
    pub fn direction(&self, segment: &Segment<'_>) -> [f64; 2] {
        self.fit(segment).direction
    }

    /// Returns the line through the run, in the direction of the segment.
    fn fit(&self, segment: &Segment<'_>) -> Fit {
        let [first, last] = [self.points.start, self.points.end - 1].map(|at| point(segment, at));
        let [dx, dy] = [f64::from(last.x) - f64::from(first.x), f64::from(last.y) - f64::from(first.y)];
        let fit = self.sums.fit();
        let [x, y] = fit.direction;
        if x * dx + y * dy < 0.0 { Fit { direction: [-x, -y], ..fit } } else { fit }
    }

    /// Returns the points of the line that are nearest to the first and to the last point.
    fn ends(&self, segment: &Segment<'_>, fit: &Fit) -> [[f64; 2]; 2] {
        [self.points.start, self.points.end - 1].map(|at| fit.nearest(point(segment, at)))
    }
}

/// Joins successive runs along the same line.
fn joined(runs: Vec<Run>, segment: &Segment<'_>, params: &LineParams) -> Result<Vec<Run>> {
    let mut result: Vec<Run> = reserved(runs.len())?;
    for run in runs {
        match result.last().and_then(|last| join(last, &run, segment, params)) {
            Some(both) => *result.last_mut().unwrap_or_else(|| unreachable!("it was joined")) = both,
            None => result.push(run),
        }
    }
    // The last run of a closed segment is followed by its first.
    if let ([first, .., last], true) = (&result[..], segment.closed)
        && let Some(both) = join(last, &first.around(segment.points.len()), segment, params)
    {
        result.pop();
        result[0] = both;
    }
    Ok(result)
}

/// Joins run `a` and its successor `b` if one line fits both.
fn join(a: &Run, b: &Run, segment: &Segment<'_>, params: &LineParams) -> Option<Run> {
    let both = Run { points: a.points.start..b.points.end, sums: [a.sums, b.sums].into_iter().sum() };
    let [of_a, of_b] = [a.fit(segment), b.fit(segment)];
    let [ends_of_a, ends_of_b] = [a.ends(segment, &of_a), b.ends(segment, &of_b)];
    let [dx, dy] = [0, 1].map(|axis| ends_of_b[0][axis] - ends_of_a[1][axis]);
    let gap = (dx * dx + dy * dy).sqrt();
    // The two sides of a thin structure lie along one line, but have opposite directions.
    let turn = of_a.direction[0] * of_b.direction[0] + of_a.direction[1] * of_b.direction[1];
    if gap > params.gap || turn <= 0.0 {
        return None;
    }
    let fit = both.fit(segment);
    let near = ends_of_a.iter().chain(&ends_of_b).all(|end| fit.distance_of(*end) <= params.tolerance);
    (near && fit.rms <= params.tolerance / 2.0).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::super::search::{ALIGNED, log_tail};
    use super::*;

    fn points(of: &[[u32; 2]]) -> Vec<Point> {
        of.iter().map(|[x, y]| Point { x: *x, y: *y }).collect()
    }

    #[test]
    fn the_shortest_line_is_the_shortest_that_can_pass() {
        for (width, height) in [(64, 64), (512, 512), (640, 480), (3000, 5000), (1, 1)] {
            let shortest = LineParams::default().shortest(width, height) as u64;
            let best = |count: u64| log_tests(width, height) + log_tail(count, count, ALIGNED);
            assert!(best(shortest) <= 0.0, "{width} {height}");
            assert!(shortest == 2 || best(shortest - 1) > 0.0, "{width} {height}");
        }
        assert_eq!(LineParams::default().shortest(512, 512), 12);
        assert_eq!(LineParams { min_length: Some(5), ..LineParams::default() }.shortest(512, 512), 5);
    }

    /// Returns the runs of a chain, joined.
    fn runs_of(chain: &[Point], closed: bool, params: &LineParams) -> Vec<Range<usize>> {
        let segment = Segment { points: chain, closed, slice: 0, mean_gradient: 0.0 };
        let pixels = ndarray::Array2::<u8>::zeros((256, 256));
        let finder = Finder {
            pixels: &Pixels { image: &pixels.view().into(), size: [256, 256], slices_before: 0, name: "lines" },
            params,
            shortest: params.shortest(256, 256),
            log_tests: 0.0,
            ticker: &Ticker::new("lines"),
        };
        let runs = joined(finder.runs(&segment).unwrap(), &segment, params).unwrap();
        runs.into_iter().map(|run| run.points).collect()
    }

    #[test]
    fn a_chain_with_corners_gives_a_line_for_each_side() {
        let params = LineParams { min_length: Some(8), ..LineParams::default() };
        // Around a square that begins in the middle of its upper side.
        let mut chain = Vec::new();
        chain.extend((40..80).map(|x| [x, 20]));
        chain.extend((20..80).map(|y| [80, y]));
        chain.extend((21..=80).rev().map(|x| [x, 80]));
        chain.extend((21..=80).rev().map(|y| [20, y]));
        chain.extend((20..40).map(|x| [x, 20]));
        let open = runs_of(&points(&chain), false, &params);
        assert_eq!(open.len(), 5, "{open:?}");
        let closed = runs_of(&points(&chain), true, &params);
        assert_eq!(closed.len(), 4, "{closed:?}");
        // The upper side, of 61 pixels, goes on beyond the first point.
        assert!(closed.iter().any(|run| run.end > chain.len() && run.len() >= 58), "{closed:?}");
    }

    #[test]
    fn runs_are_joined_across_a_gap_but_not_around_the_end_of_something_thin() {
        let params = LineParams { min_length: Some(8), ..LineParams::default() };
        // A bump, five points wide and five high.
        let mut chain: Vec<[u32; 2]> = (0..30).map(|x| [x, 50]).collect();
        chain.extend([[30, 51], [31, 52], [31, 53], [31, 54], [32, 55], [33, 54], [33, 53], [33, 52], [34, 51]]);
        chain.extend((35..60).map(|x| [x, 50]));
        let whole = 0..chain.len();
        assert_eq!(runs_of(&points(&chain), false, &params), [whole]);
        let apart = LineParams { gap: 0.0, ..params.clone() };
        assert_eq!(runs_of(&points(&chain), false, &apart).len(), 2);
        // Along one side of a bar and back along the other, one pixel farther down.
        let mut chain: Vec<[u32; 2]> = (10..50).map(|x| [x, 50]).collect();
        chain.extend((10..50).rev().map(|x| [x, 51]));
        assert_eq!(runs_of(&points(&chain), false, &params).len(), 2);
    }
}
