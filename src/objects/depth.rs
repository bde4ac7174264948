//! The depth of voxels inside a threshold: their distance from the nearest crossing, the point between two voxels that
//! share a face where the linearly interpolated image equals the threshold. The boundary of a mask would always be half way
//! between two voxels, so that the thickness of smooth shapes would vary by up to a voxel.
//!
//! Crossings along each axis have a separate field of squared distances. It is computed by scanning lines along that axis,
//! and then, along the other axes, by lower envelopes of parabolas (Felzenszwalb and Huttenlocher 2012). The depth is the
//! square root of the smallest value of these fields.

use super::cpu::Grid;
use crate::device::PerThread;
use crate::error::Result;
use crate::memory::{Array, push, resize};
use crate::parallel::{try_par_copy, try_par_each, try_par_parts};
use crate::progress::Ticker;
use ndarray::{ArrayViewMut2, Axis};

/// The approximate number of voxels in one task of rows.
const TASK_VOXELS: usize = 1 << 14;

/// The number of lines along y or z that a thread copies together, which is the number of values in a cache line.
const LINES: usize = 16;

/// Returns the depth of each voxel in the unit of the spacing. It is 0 where the value is not above the threshold, and
/// infinite elsewhere if there is no crossing. Call it on a thread of the context's pool.
pub(super) fn depths(
    grid: &Grid,
    spacing: [f64; 3],
    values: &[f32],
    threshold: f64,
    ticker: &Ticker,
) -> Result<Array<f32>> {
    let used = || (0..3).filter(|axis| grid.shape[*axis] > 1);
    // Lengths are in units of the smallest spacing, so that their squares fit f32.
    let unit = used().map(|axis| spacing[axis]).fold(f64::INFINITY, f64::min);
    let mut depths = Array::<f32>::zeroed(values.len())?;
    try_par_parts(&mut depths, ticker, |_, depths| depths.fill(f32::INFINITY))?;
    let mut field = Array::<f32>::zeroed(values.len())?;
    for axis in used() {
        try_par_copy(&mut field, values, ticker)?;
        let step = spacing[axis] / unit;
        for_each_line(grid, &mut field, axis, ticker, |line, work| scan(line, step, threshold, work))?;
        for other in used().filter(|other| *other != axis) {
            let step = spacing[other] / unit;
            for_each_line(grid, &mut field, other, ticker, |line, work| envelope(line, step, work))?;
        }
        try_par_parts(&mut depths, ticker, |first, depths| {
            depths.iter_mut().zip(&field[first..]).for_each(|(least, square)| *least = least.min(*square));
        })?;
    }
    try_par_parts(&mut depths, ticker, |first, depths| {
        for (depth, value) in depths.iter_mut().zip(&values[first..]) {
            *depth = if f64::from(*value) > threshold { (f64::from(*depth).sqrt() * unit) as f32 } else { 0.0 };
        }
    })?;
    Ok(depths)
}

/// The buffers of one thread.
#[derive(Default)]
struct Work {
    lines: Vec<f32>,
    parabolas: Vec<Parabola>,
    crossings: Vec<f64>,
}

/// A parabola of the envelope: its position in voxels, its value there, and the position from which on it is the lowest.
#[derive(Clone, Copy)]
struct Parabola {
    place: f64,
    value: f64,
    from: f64,
}

/// Calls `change` with each line of voxels along an axis.
fn for_each_line(
    grid: &Grid,
    field: &mut [f32],
    axis: usize,
    ticker: &Ticker,
    change: impl Fn(&mut [f32], &mut Work) -> Result<()> + Sync,
) -> Result<()> {
    let [width, height, depth] = grid.shape;
    let threads = PerThread::new(|| Ok(Work::default()))?;
    if axis == 0 {
        return try_par_each(field.chunks_mut(width * TASK_VOXELS.div_ceil(width)), ticker, |_, rows| {
            threads.with(|work| rows.chunks_mut(width).try_for_each(|line| change(line, work)))
        });
    }
    // The lines along y of a slice, or along z of the volume, are the columns of a 2D array.
    let [piece, length] = if axis == 1 { [width * height, height] } else { [field.len(), depth] };
    field.chunks_mut(piece).try_for_each(|piece| {
        let columns = piece.len() / length;
        let mut array = ArrayViewMut2::from_shape((length, columns), piece)
            .unwrap_or_else(|_| unreachable!("a view of its own size"));
        try_par_each(array.axis_chunks_iter_mut(Axis(1), LINES), ticker, |_, mut columns| {
            threads.with(|work| {
                let mut lines = std::mem::take(&mut work.lines);
                resize(&mut lines, length * LINES, 0.0)?;
                for (column, line) in columns.columns_mut().into_iter().zip(lines.chunks_exact_mut(length)) {
                    column.iter().zip(&mut *line).for_each(|(from, to)| *to = *from);
                    change(line, work)?;
                }
                for (mut column, line) in columns.columns_mut().into_iter().zip(lines.chunks_exact(length)) {
                    column.iter_mut().zip(line).for_each(|(to, from)| *to = *from);
                }
                work.lines = lines;
                Ok(())
            })
        })
    })
}

/// Replaces the values of a line by the squared distances to its nearest crossing, or infinity if it has none. `step` is
/// the distance of two voxels.
fn scan(line: &mut [f32], step: f64, threshold: f64, work: &mut Work) -> Result<()> {
    work.crossings.clear();
    for (at, pair) in line.windows(2).enumerate() {
        let [before, behind] = [pair[0], pair[1]].map(f64::from);
        if (before > threshold) != (behind > threshold) {
            let share = (threshold - before) / (behind - before);
            // Beside a NaN there is nothing to interpolate, so the crossing is half way.
            let share = if (0.0..=1.0).contains(&share) { share } else { 0.5 };
            push(&mut work.crossings, (at as f64 + share) * step)?;
        }
    }
    let mut next = 0;
    for (at, value) in line.iter_mut().enumerate() {
        let place = at as f64 * step;
        while next < work.crossings.len() && work.crossings[next] < place {
            next += 1;
        }
        let around =
            [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|index| work.crossings.get(index));
        let nearest = around.map(|crossing| (crossing - place).abs()).fold(f64::INFINITY, f64::min);
        *value = (nearest * nearest) as f32;
    }
    Ok(())
}

/// Replaces each value of a line by the minimum, over the line, of a value plus the squared distance to it.
fn envelope(line: &mut [f32], step: f64, work: &mut Work) -> Result<()> {
    let (parabolas, square) = (&mut work.parabolas, step * step);
    parabolas.clear();
    for (at, value) in line.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let (place, value) = (at as f64, f64::from(*value) / square);
        let mut from = f64::NEG_INFINITY;
        while let Some(last) = parabolas.last() {
            from = ((value + place * place) - (last.value + last.place * last.place)) / (2.0 * (place - last.place));
            if from > last.from {
                break;
            }
            parabolas.pop();
            from = f64::NEG_INFINITY;
        }
        push(parabolas, Parabola { place, value, from })?;
    }
    let mut lowest = 0;
    for (at, value) in line.iter_mut().enumerate().take(if parabolas.is_empty() { 0 } else { usize::MAX }) {
        let place = at as f64;
        while parabolas.get(lowest + 1).is_some_and(|next| next.from < place) {
            lowest += 1;
        }
        let parabola = parabolas[lowest];
        *value = (((place - parabola.place).powi(2) + parabola.value) * square) as f32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_is_the_distance_to_the_nearest_crossing() {
        // Values that fall and rise linearly along oblique directions: crossings are where the formula says.
        let shape = [13usize, 11, 9];
        let grid = Grid { shape, margin: [1; 3] };
        let spacing = [1.0, 1.5, 0.5];
        let value = |[x, y, z]: [f64; 3]| 3.0 - (x - 6.2).abs() - 0.7 * (y - 7.1).abs() - 0.9 * (z - 2.3).abs();
        let place = |index: usize| grid.position(index).map(|at| at as f64);
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|index| {
                let at = place(index);
                value([at[0], at[1] * 1.5, at[2] * 0.5]) as f32
            })
            .collect();
        let found = depths(&grid, spacing, &values, 0.5, &Ticker::new("test")).unwrap();
        let mut crossings = Vec::new();
        let steps = [1, shape[0], shape[0] * shape[1]];
        for index in 0..values.len() {
            for axis in 0..3 {
                let mut at = place(index);
                if at[axis] as usize + 1 < shape[axis] {
                    let [a, b] = [values[index], values[index + steps[axis]]].map(f64::from);
                    if (a > 0.5) != (b > 0.5) {
                        at[axis] += (0.5 - a) / (b - a);
                        crossings.push(at);
                    }
                }
            }
        }
        assert!(crossings.len() > 30);
        for (index, depth) in found.iter().enumerate() {
            let at = place(index);
            let distance = |crossing: &[f64; 3]| {
                (0..3).map(|axis| ((crossing[axis] - at[axis]) * spacing[axis]).powi(2)).sum::<f64>().sqrt()
            };
            let nearest = crossings.iter().map(distance).fold(f64::INFINITY, f64::min);
            let expected = if values[index] > 0.5 { nearest } else { 0.0 };
            assert!((f64::from(*depth) - expected).abs() < 1e-5, "{index}: {depth} {expected}");
        }
    }

    #[test]
    fn nan_is_outside_and_an_image_without_a_crossing_has_no_end() {
        let grid = Grid { shape: [4, 1, 1], margin: [1; 3] };
        let depths = |values: [f32; 4]| depths(&grid, [2.0; 3], &values, 1.0, &Ticker::new("test")).unwrap();
        assert_eq!(depths([5.0, 5.0, f32::NAN, 0.0])[..], [3.0, 1.0, 0.0, 0.0]);
        assert_eq!(depths([5.0; 4])[..], [f32::INFINITY; 4]);
        assert_eq!(depths([0.0; 4])[..], [0.0; 4]);
    }
}
