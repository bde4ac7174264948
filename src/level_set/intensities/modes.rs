//! The modes of the histogram of a start and its surroundings.

use super::{Object, median};
use crate::error::Result;
use crate::memory::{collected, extend};
use std::ops::Range;

/// The share of pixels at each end of the histogram that are clamped to the last value within it.
const TAIL: f64 = 0.005;
/// The most bins of the histogram between its ends. A bin is at least half of the grain.
const BINS: f64 = 128.0;
/// The weights with which a histogram is smoothed.
const SMOOTHING: [f64; 5] = [1.0, 2.0, 3.0, 2.0, 1.0];
/// Two modes are separate where the histogram between them falls to this share of each.
const VALLEY: f64 = 0.7;
/// A mode ends where the histogram has fallen to this share of its height.
const END: f64 = 0.5;

/// Returns the modes of the pixels' histogram that are nearest to the object's median, on the darker and on the brighter
/// side. A mode holds at least `fewest` pixels.
pub(super) fn modes(pixels: &[f64], object: Object, fewest: usize) -> Result<[Option<f64>; 2]> {
    let mut sorted = collected(pixels.iter().copied())?;
    let (low, high) = match sorted.len() {
        0 => return Ok([None; 2]),
        count => {
            let end = (TAIL * count as f64) as usize;
            let low = *sorted.select_nth_unstable_by(end, f64::total_cmp).1;
            (low, *sorted.select_nth_unstable_by(count - 1 - end, f64::total_cmp).1)
        }
    };
    let mut bin = (object.grain / 2.0).max((high - low) / BINS);
    if pixels.iter().all(|pixel| pixel.fract() == 0.0) {
        // For integer pixels a bin must hold a whole number of values; otherwise bins with more values than others would
        // look like modes.
        bin = bin.round().max(1.0);
    }
    if !(bin > 0.0 && bin.is_finite()) {
        return Ok([None; 2]);
    }
    let side = |sign: f64| {
        // Bin 0 is centred on the object's median. Pixels on its other side are in no bin.
        let place = |pixel: f64| ((pixel.clamp(low, high) - object.median) * sign / bin).round();
        let last = place(if sign < 0.0 { low } else { high });
        let bins = last.clamp(0.0, 4.0 * BINS) as usize + 1;
        let mut counts = vec![0usize; bins];
        for place in pixels.iter().map(|pixel| place(*pixel)).filter(|place| *place >= 0.0) {
            counts[(place as usize).min(bins - 1)] += 1;
        }
        let Some(mode) = next_mode(&counts, (object.own / bin) as usize, fewest) else { return Ok(None) };
        let within = |pixel: &f64| place(*pixel) >= 0.0 && mode.contains(&(place(*pixel) as usize).min(bins - 1));
        let mut of_mode = Vec::new();
        extend(&mut of_mode, pixels.iter().copied().filter(within))?;
        Ok(median(&mut of_mode))
    };
    Ok([side(-1.0)?, side(1.0)?])
}

/// Returns the bins of the first mode after the object's own, which has its peak in the bins up to `last_own`. The mode
/// extends from the valley before it to the bin where it has fallen to half its height.
fn next_mode(counts: &[usize], last_own: usize, fewest: usize) -> Option<Range<usize>> {
    let count = |bin: usize, by: usize| (bin + by).checked_sub(SMOOTHING.len() / 2).and_then(|at| counts.get(at));
    let height = |bin: usize| -> f64 {
        (0..).zip(SMOOTHING).map(|(by, weight)| weight * count(bin, by).copied().unwrap_or(0) as f64).sum()
    };
    let (mut own, mut valley, mut begin, mut peak) = (height(0), height(0), 0, 0.0);
    for bin in 1..=counts.len() + SMOOTHING.len() {
        let here = height(bin);
        if peak > 0.0 {
            // Within a mode. It ends where it has fallen to its end, and is skipped if it has too few pixels.
            peak = here.max(peak);
            if here <= END * peak {
                let end = bin.min(counts.len());
                if counts[begin.min(end)..end].iter().sum::<usize>() >= fewest {
                    return Some(begin..end);
                }
                (valley, begin, peak) = (here, bin, 0.0);
            }
        } else if here < valley {
            (valley, begin) = (here, bin);
        } else if bin <= last_own || valley > VALLEY * own {
            // No valley has been passed yet, so this rise still belongs to the object's own mode.
            if here > own {
                (own, valley, begin) = (here, here, bin);
            }
        } else if here > 0.0 && here * VALLEY >= valley {
            // The histogram has risen enough above the valley for a mode.
            peak = here;
        }
    }
    None
}
