//! The brightness of each object and of its background. All sums are integers, so they do not depend on the order of
//! summation.

use super::cpu::Grid;
use super::scalar::{BACKGROUND, Score};
use crate::device::kernels::objects::{
    OB_FIRST_ROUNDS as FIRST_ROUNDS, OB_SAMPLES as SAMPLES, OB_SMALLEST_SHIFT as SMALLEST_SHIFT,
};
use crate::error::Result;
use crate::memory::{collected, zeroed};
use crate::progress::Ticker;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The sums over the voxels of each label, to which all threads add.
pub(super) struct Sums {
    voxels: Vec<AtomicU64>,
    levels: Vec<AtomicU64>,
    /// The bounding boxes: the smallest x, y, z, and the bitwise complements (`!`) of the largest ones, so that all are
    /// minima.
    boxes: Vec<[AtomicU32; 6]>,
}

impl Sums {
    fn new(labels: usize) -> Result<Self> {
        Ok(Self {
            voxels: collected((0..labels).map(|_| AtomicU64::default()))?,
            levels: collected((0..labels).map(|_| AtomicU64::default()))?,
            boxes: collected((0..labels).map(|_| std::array::from_fn(|_| AtomicU32::new(u32::MAX))))?,
        })
    }

    /// Adds a run of voxels of one label in a row.
    fn add(&self, label: u32, run: std::ops::Range<usize>, [y, z]: [usize; 2], levels: u64) {
        let index = label as usize;
        self.voxels[index].fetch_add(run.len() as u64, Relaxed);
        self.levels[index].fetch_add(levels, Relaxed);
        if label != BACKGROUND {
            let ends = [run.start, y, z, !(run.end - 1), !y, !z].map(|end| end as u32);
            for (least, end) in self.boxes[index].iter().zip(ends) {
                least.fetch_min(end, Relaxed);
            }
        }
    }
}

/// The statistics of each object; index 0 is not used.
#[derive(Debug)]
pub(super) struct Statistics {
    /// The number of voxels.
    pub voxels: Vec<u64>,
    /// The mean level inside at the last measurement.
    pub means: Vec<f64>,
    /// The mean level of the background, NaN where there is none.
    pub backgrounds: Vec<f64>,
    /// The means of object and background from which the present scores were computed.
    used: Vec<[f64; 2]>,
    pub scores: Vec<Score>,
}

impl Statistics {
    pub(super) fn new(objects: usize) -> Result<Self> {
        let labels = objects + 1;
        Ok(Self {
            voxels: zeroed(labels)?,
            means: zeroed(labels)?,
            backgrounds: collected((0..labels).map(|_| f64::NAN))?,
            used: collected((0..labels).map(|_| [f64::NAN; 2]))?,
            scores: collected((0..labels).map(|_| Score::default()))?,
        })
    }

    /// Measures all objects, and returns whether a score has changed.
    ///
    /// The background of an object consists of the voxels without an object, in its bounding box widened by the margin,
    /// whose level is nearer to the background's mean than to the object's mean. This excludes parts of the object that its
    /// front has not reached yet, and objects without a start.
    pub(super) fn measure(&mut self, grid: &Grid, labels: &[u32], levels: &[u16], ticker: &Ticker) -> Result<bool> {
        let sums = Sums::new(self.voxels.len())?;
        let [width, height, _] = grid.shape;
        labels.par_chunks(width).zip(levels.par_chunks(width)).enumerate().for_each(|(row, (labels, levels))| {
            if ticker.is_cancelled() {
                return;
            }
            let mut start = 0;
            for run in labels.chunk_by(|a, b| a == b) {
                let end = start + run.len();
                let sum = levels[start..end].iter().map(|level| u64::from(*level)).sum();
                sums.add(run[0], start..end, [row % height, row / height], sum);
                start = end;
            }
        });
        ticker.check()?;
        let each = self.voxels.par_iter_mut().zip(&mut self.means).zip(&mut self.backgrounds);
        let each = each.zip(&mut self.used).zip(&mut self.scores).enumerate().skip(1);
        let changed = each.map(|(index, ((((voxels, mean), background), used), score))| {
            if ticker.is_cancelled() {
                return false;
            }
            *voxels = sums.voxels[index].load(Relaxed);
            if *voxels == 0 {
                // Keep the last means for the results.
                return false;
            }
            *mean = sums.levels[index].load(Relaxed) as f64 / *voxels as f64;
            let window = grid.window(sums.boxes[index].each_ref().map(|end| end.load(Relaxed)));
            let is_first = used[0].is_nan();
            for _ in 0..if is_first { FIRST_ROUNDS } else { 1 } {
                let limit = if background.is_nan() { f64::INFINITY } else { (*mean + *background) / 2.0 };
                *background = mean_below(grid, &window, labels, levels, limit).unwrap_or(*background);
            }
            let now = [*mean, *background];
            let shift = SMALLEST_SHIFT * (now[0] - now[1]).abs();
            // Without a background its mean is NaN, and the score does not depend on the object's mean.
            let stays = (now[1].is_nan() && used[1].is_nan())
                || now.iter().zip(*used).all(|(now, used)| (now - used).abs() <= shift);
            if stays && !is_first {
                return false;
            }
            *used = now;
            *score = Score::between(now);
            true
        });
        let any = changed.reduce(|| false, |a, b| a | b);
        ticker.check()?;
        Ok(any)
    }
}

impl Score {
    /// Returns the score for the mean levels of an object and its background. An object without a background is moved by
    /// curvature only; an object that is not brighter than its background shrinks.
    fn between([mean, background]: [f64; 2]) -> Self {
        if background.is_nan() {
            return Self::default();
        }
        if mean <= background {
            return Self { gain: 0.0, offset: -1.0 };
        }
        let gain = 2.0 / (mean - background);
        Self { gain: gain as f32, offset: (-gain * (mean + background) / 2.0) as f32 }
    }
}

/// A window of voxels along x, y and z, which is sampled on a grid with the given steps.
pub(super) struct Window {
    pub ranges: [std::ops::Range<usize>; 3],
    pub steps: [usize; 3],
}

impl Window {
    /// Returns a window with steps that limit the number of sampled voxels: the axis with the most samples is thinned
    /// first.
    pub(super) fn new(ranges: [std::ops::Range<usize>; 3]) -> Self {
        let mut steps = [1; 3];
        let counts =
            |steps: [usize; 3]| std::array::from_fn::<_, 3, _>(|axis| ranges[axis].len().div_ceil(steps[axis]));
        while counts(steps).iter().product::<usize>() > SAMPLES {
            let counts = counts(steps);
            let longest = (0..3).fold(0, |longest, axis| if counts[axis] > counts[longest] { axis } else { longest });
            steps[longest] += 1;
        }
        Self { ranges, steps }
    }
}

/// Returns the mean level of the voxels of a window that are in no object and have a level of at most `limit`; `None` if
/// there are none.
fn mean_below(grid: &Grid, window: &Window, labels: &[u32], levels: &[u16], limit: f64) -> Option<f64> {
    let Window { ranges: [columns, rows, slices], steps } = window;
    // Levels are integers, so the limit can be rounded down.
    let limit = if limit < f64::from(u16::MAX) { limit as u16 } else { u16::MAX };
    let [mut sum, mut count] = [0u64; 2];
    for z in slices.clone().step_by(steps[2]) {
        for y in rows.clone().step_by(steps[1]) {
            let row = grid.row(y, z);
            let row = row.start + columns.start..row.start + columns.end;
            for (label, level) in labels[row.clone()].iter().zip(&levels[row]).step_by(steps[0]) {
                let counts = (*label == BACKGROUND) & (*level <= limit);
                count += u64::from(counts);
                sum += if counts { u64::from(*level) } else { 0 };
            }
        }
    }
    (count > 0).then(|| sum as f64 / count as f64)
}
