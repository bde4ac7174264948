//! Automatic starts: balls around those maxima of the depth inside a threshold that are prominent.

use super::Params;
use super::cpu::Grid;
use super::depth::depths;
use super::scalar::BACKGROUND;
use crate::error::Result;
use crate::image::Image;
use crate::memory::{Array, push, sort_while, zeroed};
use crate::parallel::{try_par_copy, try_par_parts};
use crate::progress::Ticker;
use ndarray::s;
use rayon::prelude::*;

/// The radius of a start as a share of the depth at its maximum: it is far from the boundary, and large enough not to be
/// held back by its curvature.
const START_SHARE: f64 = 0.5;

/// The reach of the Gaussian, in standard deviations.
const REACH: f64 = 3.0;

/// The number of levels.
const LEVELS: usize = 1 << 16;
/// The least number of bins of the histogram between the smallest pixel and the largest.
const LEAST_BINS: f32 = 64.0;

/// The number of voxels between two polls for cancellation.
const PART: usize = 1 << 16;

/// Returns the starts in an image of levels, as the index of each voxel's object, and their number, which may be 0.
/// `threshold` is a level; `None` uses Otsu's threshold of the square roots of the smoothed levels. Call it on a thread of
/// the context's pool.
pub(super) fn automatic(
    params: &Params,
    (grid, image): (&Grid, &Image<'_>),
    threshold: Option<f64>,
    levels: &[u16],
    ticker: &Ticker,
) -> Result<(Array<u32>, u32)> {
    let [width, height, _] = grid.shape;
    let mut smooth = Array::<f32>::zeroed(levels.len())?;
    try_par_parts(&mut smooth, ticker, |first, values| {
        values.iter_mut().zip(&levels[first..]).for_each(|(value, level)| *value = f32::from(*level));
    })?;
    let mut smooth = smoothed(params, grid, smooth, params.sigma(), ticker)?;
    if let Image::F32(view) = image {
        // NaN is above no threshold.
        smooth.par_chunks_mut(width).enumerate().try_for_each(|(row, levels)| {
            let pixels = view.slice(s![row / height, row % height, ..]);
            pixels.iter().zip(levels).filter(|(pixel, _)| pixel.is_nan()).for_each(|(_, level)| *level = f32::NAN);
            ticker.check()
        })?;
    }
    let threshold = match threshold {
        Some(threshold) => threshold,
        None => otsu(&smooth, ticker)?,
    };
    let depths = depths(grid, params.spacing, &smooth, threshold, ticker)?;
    // Reuse the memory of the levels for the smoothed depths.
    try_par_copy(&mut smooth, &depths, ticker)?;
    let smooth = smoothed(params, grid, smooth, params.smallest_spacing(), ticker)?;
    let peaks = peaks(params, grid, &depths, &smooth, ticker)?;
    drop(smooth);
    let mut starts = Array::<u32>::zeroed(levels.len())?;
    // Every maximum gets its own voxel, even if the ball of another one covers it.
    peaks.iter().enumerate().for_each(|(index, peak)| starts[*peak] = index as u32 + 1);
    let largest = (0..3).filter(|axis| grid.shape[*axis] > 1).map(|axis| params.spacing[axis]).fold(0.0, f64::max);
    for (index, peak) in peaks.iter().enumerate() {
        let depth = f64::from(depths[*peak]);
        let radius = (START_SHARE * depth).max(largest).min(depth);
        fill_ball(params, grid, *peak, radius, ticker, |place| {
            if depths[place] > 0.0 && starts[place] == BACKGROUND {
                starts[place] = index as u32 + 1;
            }
        })?;
    }
    Ok((starts, peaks.len() as u32))
}

/// Returns values smoothed by a Gaussian.
fn smoothed(params: &Params, grid: &Grid, values: Array<f32>, sigma: f64, ticker: &Ticker) -> Result<Array<f32>> {
    if sigma == 0.0 {
        return Ok(values);
    }
    let mut values = values;
    let mut other = Array::<f32>::zeroed(values.len())?;
    let [width, height, _] = grid.shape;
    for axis in (0..3).filter(|axis| grid.shape[*axis] > 1) {
        let sigma = sigma / params.spacing[axis];
        let reach = (REACH * sigma).ceil() as isize;
        let weights: Vec<f64> = (-reach..=reach).map(|step| (-0.5 * (step as f64 / sigma).powi(2)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let taps: Vec<f32> = weights.iter().map(|weight| (weight / sum) as f32).collect();
        other.par_chunks_mut(width).enumerate().for_each(|(row, to)| {
            if ticker.is_cancelled() {
                return;
            }
            let [y, z] = [row % height, row / height];
            to.fill(0.0);
            for (step, tap) in (-reach..=reach).zip(&taps) {
                let moved = |place: usize| place.saturating_add_signed(step).min(grid.shape[axis] - 1);
                if axis == 0 {
                    let from = &values[grid.row(y, z)];
                    to.iter_mut().enumerate().for_each(|(x, to)| *to += from[moved(x)] * tap);
                } else {
                    let from = if axis == 1 { grid.row(moved(y), z) } else { grid.row(y, moved(z)) };
                    to.iter_mut().zip(&values[from]).for_each(|(to, from)| *to += from * tap);
                }
            }
        });
        ticker.check()?;
        std::mem::swap(&mut values, &mut other);
    }
    Ok(values)
}

/// Returns the threshold with the largest between-class variance (Otsu 1979) of the square roots of the levels' height
/// above the lowest one. NaN does not count. The criterion assumes that both classes have equal noise, which the square
/// roots of photon counts have. Without the roots, a few bright objects would raise the threshold above the dim ones.
fn otsu(values: &[f32], ticker: &Ticker) -> Result<f64> {
    // If there are only few levels, divide them into finer bins: smoothed pixels of a binary image, or of single photons,
    // lie between levels.
    let [mut least, mut most] = [f32::INFINITY, 0.0];
    for part in values.chunks(PART) {
        ticker.check()?;
        least = part.iter().copied().fold(least, f32::min);
        most = part.iter().copied().fold(most, f32::max);
    }
    let first = least.min(most).floor();
    let bins_per_level = (LEAST_BINS / (most - first).max(1.0)).max(1.0).log2().ceil().exp2();
    let mut counts = zeroed::<u64>(LEVELS)?;
    for part in values.chunks(PART) {
        ticker.check()?;
        let bin = |value: &f32| ((value - first) * bins_per_level + 0.5) as usize % LEVELS;
        part.iter().filter(|value| !value.is_nan()).for_each(|value| counts[bin(value)] += 1);
    }
    let all = counts.iter().sum::<u64>() as f64;
    let lowest = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let root = |level: usize| (level as f64 - lowest as f64).sqrt();
    let present = || counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let total: f64 = present().map(|(level, count)| root(level) * *count as f64).sum();
    let [mut below, mut sum, mut largest] = [0.0; 3];
    // With a single level, no voxel is above the threshold.
    let mut best = f64::INFINITY;
    for (level, count) in present() {
        below += *count as f64;
        sum += root(level) * *count as f64;
        if below == all {
            break;
        }
        let between = (total * below - sum * all).powi(2) / (below * (all - below));
        if between > largest {
            // The middle between this bin and the next.
            (largest, best) = (between, f64::from(first) + (level as f64 + 0.5) / f64::from(bins_per_level));
        }
    }
    Ok(best)
}

/// Returns the voxels of those maxima of the smoothed depth whose prominence is large enough: on every path to a higher
/// maximum the depth decreases by at least `prominence`. They are in the order of the image.
///
/// Voxels are added in the order of decreasing smoothed depth. A voxel without an added neighbour begins a new part. Where
/// parts meet, a part whose maximum is not prominent joins the part with the highest maximum; others stay separate.
fn peaks(params: &Params, grid: &Grid, depths: &[f32], smooth: &[f32], ticker: &Ticker) -> Result<Vec<usize>> {
    const NONE: usize = usize::MAX;
    const NOT_ADDED: usize = 0;
    let prominence = params.prominence() as f32;
    let mut order = Vec::new();
    for (place, depth) in depths.iter().enumerate() {
        if place % PART == 0 {
            ticker.check()?;
        }
        if *depth > 0.0 {
            push(&mut order, (-smooth[place], place))?;
        }
    }
    sort_while(&mut order, ticker, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
    // A union-find forest: for each voxel, 1 plus the next voxel towards the maximum of its part; 0 if it has not been
    // added. A maximum points to itself.
    let mut towards = Array::<usize>::zeroed(depths.len())?;
    let towards = &mut *towards;
    let mut peaks = Vec::new();
    for (done, &(height, place)) in order.iter().enumerate() {
        if done % PART == 0 {
            ticker.check()?;
        }
        let mut main = NONE;
        let mut others = [NONE; 26];
        let mut count = 0;
        grid.for_each_neighbour(place, |neighbour| {
            if towards[neighbour] == NOT_ADDED {
                return;
            }
            let root = root(towards, neighbour);
            if root == main || others[..count].contains(&root) {
                return;
            }
            let is_higher = main == NONE || (-smooth[root], root) < (-smooth[main], main);
            let lower = if is_higher { std::mem::replace(&mut main, root) } else { root };
            if lower != NONE {
                others[count] = lower;
                count += 1;
            }
        });
        if main == NONE {
            towards[place] = place + 1;
            push(&mut peaks, place)?;
            continue;
        }
        towards[place] = main + 1;
        for lower in &others[..count] {
            if height + smooth[*lower] < prominence {
                towards[*lower] = main + 1;
            }
        }
    }
    // A part that is nowhere this thick is noise. In an image without a boundary depths are infinite.
    let thick = prominence.max(params.smallest_spacing() as f32);
    peaks.retain(|peak| towards[*peak] == *peak + 1 && depths[*peak] >= thick && depths[*peak].is_finite());
    peaks.sort_unstable();
    Ok(peaks)
}

/// Returns the maximum of a voxel's part, and shortens the path to it.
fn root(towards: &mut [usize], place: usize) -> usize {
    let mut root = place;
    while towards[root] != root + 1 {
        root = towards[root] - 1;
    }
    let mut place = place;
    while towards[place] != root + 1 {
        place = std::mem::replace(&mut towards[place], root + 1) - 1;
    }
    root
}

/// Calls `fill` for all voxels whose centres are within `radius` of the centre of voxel `place`.
fn fill_ball(
    params: &Params,
    grid: &Grid,
    place: usize,
    radius: f64,
    ticker: &Ticker,
    mut fill: impl FnMut(usize),
) -> Result<()> {
    let centre = grid.position(place);
    let ranges: [_; 3] = std::array::from_fn(|axis| {
        let reach = (radius / params.spacing[axis]) as usize;
        centre[axis].saturating_sub(reach)..(centre[axis] + reach + 1).min(grid.shape[axis])
    });
    let [columns, rows, slices] = ranges;
    let square = |axis: usize, at: usize| (at.abs_diff(centre[axis]) as f64 * params.spacing[axis]).powi(2);
    for z in slices {
        ticker.check()?;
        for y in rows.clone() {
            let start = grid.row(y, z).start;
            for x in columns.clone() {
                if square(0, x) + square(1, y) + square(2, z) <= radius * radius {
                    fill(start + x);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_lies_between_two_levels() {
        let values: Vec<f32> = (0..1000).map(|i| if i % 4 == 0 { 300.0 } else { 100.0 }).collect();
        let threshold = otsu(&values, &Ticker::new("test")).unwrap();
        assert!((100.0..300.0).contains(&threshold), "{threshold}");
        assert_eq!(otsu(&[7.0; 10], &Ticker::new("test")).unwrap(), f64::INFINITY);
    }

    #[test]
    fn the_threshold_of_few_levels_lies_between_them() {
        // A smoothed binary image, bright or dark on the other.
        for first in [0.0, 65534.0] {
            let values: Vec<f32> = (0..1000).map(|i| first + if i % 4 == 0 { 0.4 } else { 0.1 }).collect();
            let threshold = otsu(&values, &Ticker::new("test")).unwrap() - f64::from(first);
            assert!((0.1..0.4).contains(&threshold), "{threshold}");
        }
        assert_eq!(otsu(&[f32::NAN; 10], &Ticker::new("test")).unwrap(), f64::INFINITY);
    }

    #[test]
    fn the_threshold_is_below_dim_objects_among_bright_ones() {
        // The variance of the levels themselves is largest above the dim ones.
        let values: Vec<f32> = (0..1000)
            .map(|i| match i % 20 {
                0 => 210.0,
                1..4 => 50.0,
                _ => 10.0,
            })
            .collect();
        let threshold = otsu(&values, &Ticker::new("test")).unwrap();
        assert!((10.0..50.0).contains(&threshold), "{threshold}");
    }

    #[test]
    fn maxima_that_do_not_stand_out_are_left_out() {
        let grid = Grid { shape: [9, 1, 1], margin: [1; 3] };
        let params = Params { prominence: Some(1.0), ..Params::default() };
        let depths = [1.0, 3.0, 2.5, 2.8, 1.0, 2.5, 0.0, 0.5, 0.0];
        assert_eq!(peaks(&params, &grid, &depths, &depths, &Ticker::new("test")).unwrap(), [1, 5]);
    }
}
