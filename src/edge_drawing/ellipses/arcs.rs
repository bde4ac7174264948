//! Arcs: parts of segments along a circle or an ellipse, and their joining to whole ones.

use super::super::lines::{Finder, Run, point};
use super::super::search::POINTS_PER_CHECK;
use super::super::segments::{Segment, Segments};
use super::fit::{Fit, Shape, order};
use super::{Shapes, Slice};
use crate::error::Result;
use crate::memory::{collected, extend, push, reserved};
use crate::parallel::try_par_indexed;
use std::f64::consts::{PI, SQRT_2};
use std::ops::Range;

/// The smallest number of lines of an arc.
const LEAST_LINES: usize = 3;

/// The cosine of the largest angle between successive lines of an arc, 60 degrees, and the sine of the smallest angle, 3
/// degrees.
const COS_MOST_TURN: f64 = 0.5;
const SIN_LEAST_TURN: f64 = 0.052_335_956_242_943_84;

/// The most points between successive lines of an arc.
const MOST_BETWEEN: usize = 6;

/// An arc is tried with another one if it is at most this far from the circle, or the ellipse, of the other, as a share of
/// the shape's smaller semi-axis.
const NEAR_CIRCLE: f64 = 0.25;
const NEAR_ELLIPSE: f64 = 0.5;

/// An ellipse replaces a circle only if its root mean square distance is less than this share of the circle's.
const MUCH_NEARER: f64 = 0.75;

/// The most arcs per thread that are tried in parallel as seeds.
const MOST_SEEDS: usize = 64;

/// A seed gives up after this many arcs near it, tried from the longest one on, have failed to fit. In images with many
/// parallel curves, thousands of arcs are near each seed.
const MOST_MISSES: usize = 32;

/// The most points that a shape is fitted to. If there are more, only every second point is used, or every third, and so
/// on.
const MOST_FITTED: usize = 1 << 8;

/// A part of a segment along a circle or an ellipse.
#[derive(Clone, Debug)]
pub(super) struct Arc {
    pub segment: usize,
    /// The indices of its points; see [`point`].
    pub points: Range<usize>,
    fit: Fit,
    /// Its first point, the one in its middle, and its last one.
    marks: [[f64; 2]; 3],
}

/// A circle or an ellipse with its arcs, the longest one first.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub arcs: Vec<Arc>,
    pub fit: Fit,
    pub coverage: f64,
}

impl Slice<'_, '_> {
    /// Fits a circle or an ellipse to points, if it is near enough to them and neither too small nor too large.
    fn fit(&self, points: &[[f64; 2]], shapes: Shapes) -> Result<Option<Fit>> {
        let (params, size) = (self.params, self.pixels.size);
        self.ticker.check()?;
        let some = collected(points.iter().copied().step_by(points.len().div_ceil(MOST_FITTED)))?;
        let good = |fit: &Fit| {
            let [a, b] = fit.shape.axes;
            b >= params.min_radius && a <= size[0].max(size[1]) as f64
        };
        let circle = Fit::circle(&some, params.tolerance).filter(good);
        if shapes == Shapes::Circles || params.shapes == Shapes::Circles {
            return Ok(circle);
        }
        let most = circle.map_or(params.tolerance, |circle| MUCH_NEARER * circle.rms);
        Ok(Fit::ellipse(&some, most).filter(good).or(circle))
    }

    /// Returns the share of a shape's outline that points cover.
    fn coverage(&self, shape: &Shape, points: &[[f64; 2]]) -> Result<f64> {
        let mut orders = Vec::new();
        extend(&mut orders, shape.outline().map(|sample| sample.order))?;
        let mut beside = collected(orders.iter().map(|_| false))?;
        for points in points.chunks(POINTS_PER_CHECK) {
            self.ticker.check()?;
            for point in points {
                let at = orders.partition_point(|next| *next <= order(shape.nearest(*point).anomaly));
                // Each point covers the two samples on both sides of it and one more on either side, because points are a
                // pixel apart.
                (0..4).for_each(|i| beside[(at + orders.len() * 2 - 2 + i) % orders.len()] = true);
            }
        }
        Ok(beside.iter().filter(|beside| **beside).count() as f64 / orders.len() as f64)
    }
}

/// Returns points of a segment as positions.
fn positions<'a>(segment: &'a Segment<'a>, points: Range<usize>) -> impl ExactSizeIterator<Item = [f64; 2]> + 'a {
    points.map(move |at| position(segment, at))
}

fn position(segment: &Segment<'_>, at: usize) -> [f64; 2] {
    let point = point(segment, at);
    [point.x.into(), point.y.into()]
}

/// Returns the circle or ellipse of a closed segment.
pub(super) fn closed(slice: &Slice<'_, '_>, segment: &Segment<'_>, index: usize) -> Result<Option<Candidate>> {
    let points = collected(positions(segment, 0..segment.points.len()))?;
    let Some(fit) = slice.fit(&points, Shapes::All)? else { return Ok(None) };
    let mut arcs = reserved(1)?;
    arcs.push(Arc::new(segment, index, 0..points.len(), fit));
    let coverage = slice.coverage(&fit.shape, &points)?;
    Ok((coverage >= slice.params.coverage).then_some(Candidate { arcs, fit, coverage }))
}

/// Returns the arcs of a segment, from its lines.
pub(super) fn arcs(
    slice: &Slice<'_, '_>,
    finder: &Finder<'_, '_>,
    segment: &Segment<'_>,
    index: usize,
) -> Result<Vec<Arc>> {
    // 1. Divide the segment into lines.
    let mut runs = finder.runs(segment)?;
    let mut arcs = Vec::new();
    if runs.len() < LEAST_LINES {
        return Ok(arcs);
    }
    let count = segment.points.len();
    // 2. Make the lines of a closed segment begin at a place where no arc continues from one line to the next, so that no
    //    arc is cut in two.
    if segment.closed {
        let first = runs[0].around(count);
        let ends_arc = |at: &usize| bend(segment, [&runs[*at], runs.get(at + 1).unwrap_or(&first)]) == 0.0;
        let begin = (0..runs.len()).find(ends_arc).map_or(0, |at| (at + 1) % runs.len());
        runs.rotate_left(begin);
        let from = runs[0].points.start;
        for run in runs.iter_mut().filter(|run| run.points.start < from) {
            *run = run.around(count);
        }
    }
    let mut start = 0;
    while start < runs.len() {
        // 3. Find the lines that turn in one direction.
        let mut end = start + 1;
        let turn = if end < runs.len() { bend(segment, [&runs[start], &runs[end]]) } else { 0.0 };
        while turn != 0.0 && end < runs.len() && bend(segment, [&runs[end - 1], &runs[end]]) == turn {
            end += 1;
        }
        // 4. Define the two ways to form arcs. The first is a single arc from all successive lines, if a shape fits its
        //    points.
        let fit = |lines: Range<usize>, shapes: Shapes| -> Result<Option<Arc>> {
            let (first, last) = (runs[lines.start].points.start, runs[lines.end - 1].points.end);
            let range = first..last.min(first + count);
            let points = collected(positions(segment, range.clone()))?;
            let fit = slice.fit(&points, shapes)?;
            Ok(fit.map(|fit| Arc::new(segment, index, range, fit)))
        };
        // The second is several arcs, each as long as possible: of circles only, or of ellipses, too.
        let divided = |shapes: Shapes| -> Result<Vec<Arc>> {
            let (mut some, mut from) = (Vec::new(), start);
            while from + LEAST_LINES <= end {
                let mut to = from + LEAST_LINES;
                let Some(mut arc) = fit(from..to, shapes)? else {
                    from += 1;
                    continue;
                };
                while to < end {
                    let Some(longer) = fit(from..to + 1, shapes)? else { break };
                    arc = longer;
                    to += 1;
                }
                push(&mut some, arc)?;
                from = to;
            }
            Ok(some)
        };
        // 5. Prefer a single arc. Otherwise take several arcs: of circles, unless the longest arc with ellipses allowed is
        //    longer.
        if end - start >= LEAST_LINES {
            match fit(start..end, Shapes::All)? {
                Some(arc) => push(&mut arcs, arc)?,
                None => {
                    let longest = |arcs: &Vec<Arc>| arcs.iter().map(|arc| arc.points.len()).max();
                    let [circles, any] = [divided(Shapes::Circles)?, divided(Shapes::All)?];
                    extend(&mut arcs, if longest(&circles) >= longest(&any) { circles } else { any })?;
                }
            }
        }
        // 6. Continue with the last line, which may also begin a bend in the other direction.
        start = if end == start + 1 { end } else { end - 1 };
    }
    Ok(arcs)
}

/// Returns the direction in which two successive lines turn, 1 or −1; 0 if they cannot be in one arc.
fn bend(segment: &Segment<'_>, [a, b]: [&Run; 2]) -> f64 {
    let [p, q] = [a, b].map(|run| run.direction(segment));
    let (across, along) = (p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1]);
    let between = b.points.start.saturating_sub(a.points.end);
    let is_arc = along >= COS_MOST_TURN && across.abs() >= SIN_LEAST_TURN && between <= MOST_BETWEEN;
    if is_arc { across.signum() } else { 0.0 }
}

impl Arc {
    fn new(segment: &Segment<'_>, index: usize, points: Range<usize>, fit: Fit) -> Self {
        let marks = [points.start, (points.start + points.end) / 2, points.end - 1];
        Self { segment: index, points, fit, marks: marks.map(|at| position(segment, at)) }
    }

    /// Tells whether the arc is near to a shape and bends towards the same side.
    fn is_near(&self, shape: &Shape, most: f64) -> bool {
        let [_, middle, _] = self.marks;
        let [own, other] =
            [self.fit.shape.centre, shape.centre].map(|centre| [centre[0] - middle[0], centre[1] - middle[1]]);
        own[0] * other[0] + own[1] * other[1] > 0.0
            && self.marks.iter().all(|mark| shape.nearest(*mark).distance.abs() <= most * shape.axes[1])
    }
}

/// Joins the arcs of a slice to circles, and the remaining ones to ellipses, from the longest arc on. Each arc belongs to
/// one candidate at most. The ticker counts `units`.
pub(super) fn joined(
    slice: &Slice<'_, '_>,
    segments: &Segments,
    mut arcs: Vec<Arc>,
    units: usize,
) -> Result<Vec<Candidate>> {
    arcs.sort_unstable_by_key(|arc| (std::cmp::Reverse(arc.points.len()), arc.segment, arc.points.start));
    let mut by_column: Vec<usize> = collected(0..arcs.len())?;
    let column = |arc: &usize| arcs[*arc].marks[1][0];
    by_column.sort_unstable_by(|a, b| column(a).total_cmp(&column(b)).then(a.cmp(b)));
    let used = collected(arcs.iter().map(|_| false))?;
    let mut joining = Joining { slice, segments, arcs, by_column, used };
    let mut candidates = Vec::new();
    let threads = rayon::current_num_threads();
    let most = if threads == 1 { 1 } else { MOST_SEEDS * threads };
    for (shapes, near) in [(Shapes::Circles, NEAR_CIRCLE), (Shapes::All, NEAR_ELLIPSE)] {
        let (mut seed, mut batch) = (0, threads);
        while seed < joining.arcs.len() {
            // Seeds are tried in parallel. A seed is tried again if an earlier one of the batch has taken any of its arcs.
            let count = batch.min(joining.arcs.len() - seed);
            let tried = try_par_indexed(count, |index| joining.around(seed + index, shapes, near))?;
            slice.ticker.add((units * count / (2 * joining.arcs.len())) as u64);
            // Every arc of a shape would find the same shape as a seed, so a batch is small after a shape was found, and
            // grows while none is.
            batch = (2 * batch).min(most);
            for mut attempt in tried {
                if attempt.arcs.iter().any(|arc| joining.used[*arc]) {
                    attempt = joining.around(seed, shapes, near)?;
                }
                if let Some(candidate) = attempt.candidate {
                    attempt.joined.iter().for_each(|arc| joining.used[*arc] = true);
                    push(&mut candidates, candidate)?;
                    batch = threads;
                }
                seed += 1;
            }
        }
    }
    Ok(candidates)
}

/// The arcs of a slice while they are joined.
struct Joining<'a, 's, 'i> {
    slice: &'a Slice<'s, 'i>,
    segments: &'a Segments,
    /// The arcs, the longest one first.
    arcs: Vec<Arc>,
    /// The indices of the arcs, sorted by the column of their middle, for a fast search for arcs that may be near.
    by_column: Vec<usize>,
    /// True for arcs that belong to a candidate.
    used: Vec<bool>,
}

/// The result of joining arcs with a seed.
#[derive(Default)]
struct Attempt {
    /// The seed and the unused arcs near it, on which alone the result depends.
    arcs: Vec<usize>,
    /// The arcs that one shape fits.
    joined: Vec<usize>,
    candidate: Option<Candidate>,
}

impl Joining<'_, '_, '_> {
    /// Joins the arcs that are near a seed to one shape with it.
    fn around(&self, seed: usize, shapes: Shapes, near: f64) -> Result<Attempt> {
        let Self { slice, segments, arcs, by_column, used } = self;
        slice.ticker.check()?;
        if used[seed] {
            return Ok(Attempt::default());
        }
        let add = |points: &mut Vec<[f64; 2]>, arc: &Arc| {
            extend(points, positions(&segments.at(arc.segment), arc.points.clone()))
        };
        // 1. Begin with the seed's own shape. If only circles are sought, an ellipse is replaced by a circle through its
        //    points.
        let mut attempt = Attempt::default();
        push(&mut attempt.arcs, seed)?;
        let mut points = Vec::new();
        add(&mut points, &arcs[seed])?;
        let own = arcs[seed].fit;
        let known = shapes == Shapes::All || own.shape.is_circle();
        let start = if known { Some(own) } else { slice.fit(&points, shapes)? };
        let Some(mut fit) = start else { return Ok(attempt) };
        // 2. List the arcs that are near this shape, among those whose middle is in a column within its reach.
        let reach = (1.0 + near) * fit.shape.axes[0];
        let [from, to] = [-reach, reach]
            .map(|reach| by_column.partition_point(|arc| arcs[*arc].marks[1][0] < fit.shape.centre[0] + reach));
        let possible = |other: &usize| *other != seed && !used[*other] && arcs[*other].is_near(&fit.shape, near);
        extend(&mut attempt.arcs, by_column[from..to].iter().copied().filter(possible))?;
        attempt.arcs[1..].sort_unstable();
        // 3. Add them, from the longest one on, if one shape fits all. As the shape changes, some are no longer near.
        push(&mut attempt.joined, seed)?;
        let mut misses = 0;
        for other in &attempt.arcs[1..] {
            if misses == MOST_MISSES {
                break;
            }
            if !arcs[*other].is_near(&fit.shape, near) {
                continue;
            }
            let before = points.len();
            add(&mut points, &arcs[*other])?;
            match slice.fit(&points, shapes)? {
                Some(both) => {
                    fit = both;
                    push(&mut attempt.joined, *other)?;
                }
                None => {
                    points.truncate(before);
                    misses += 1;
                }
            }
        }
        // 4. Give up if the points cannot cover enough of the outline: the step from one point to the next is at most √2
        //    long.
        let (params, outline) = (slice.params, PI * (fit.shape.axes[0] + fit.shape.axes[1]));
        if SQRT_2 * (points.len() as f64) < params.coverage * outline {
            return Ok(attempt);
        }
        // 5. Replace a circle by an ellipse that is much nearer. The arcs are a candidate if they cover enough of it.
        if shapes == Shapes::Circles {
            fit = slice.fit(&points, Shapes::All)?.unwrap_or(fit);
        }
        let coverage = slice.coverage(&fit.shape, &points)?;
        if coverage >= params.coverage {
            // The longest arc comes first. It is not always the seed: a longer arc that found no shape as a seed may be
            // joined to a shorter one.
            attempt.joined.sort_unstable();
            let arcs = collected(attempt.joined.iter().map(|arc| arcs[*arc].clone()))?;
            attempt.candidate = Some(Candidate { arcs, fit, coverage });
        }
        Ok(attempt)
    }
}
