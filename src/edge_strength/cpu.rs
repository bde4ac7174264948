use super::Steps;
use crate::error::Result;
use crate::progress::Ticker;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

const PAD: usize = 16;

#[derive(Clone, Copy)]
struct Panels<'a> {
    data: &'a [f32],
    panel: usize,
    width: usize,
    height: usize,
}
impl<'a> Panels<'a> {
    #[inline(always)]
    fn copy_row(&self, y: usize, from: usize, to: usize, out: &mut [f32]) {
        let mut x = from;
        while x < to {
            let p = x / self.panel;
            let start = p * self.panel;
            let w = self.panel.min(self.width - start);
            let end = (start + w).min(to);
            let base = start * self.height + y * w;
            out[x - from..end - from].copy_from_slice(&self.data[base + (x - start)..base + (end - start)]);
            x = end;
        }
    }
}

struct Task<'a> {
    x0: usize,
    x1: usize,
    y0: usize,
    y1: usize,
    out: &'a mut [f32],
}

struct Pass<'a> {
    source: Panels<'a>,
    fixed: &'a [u8],
    time_step: f32,
    centre: &'a [f32],
}

struct March<'p, 'a, 't, 'o> {
    pass: &'p Pass<'a>,
    task: &'t mut Task<'o>,
}

impl WithSimd for March<'_, '_, '_, '_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        march::<true>(self.pass, self.task)
    }
}

#[inline(always)]
fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn update<const FUSED: bool>(k: f32, up: &mut [f32], row: &[f32], down: &[f32], m: &[f32]) {
    let n = up.len();
    let left = &row[..n];
    let centre = &row[1..n + 1];
    let right = &row[2..n + 2];
    let down = &down[..n];
    let m = &m[..n];
    for i in 0..n {
        let s = (left[i] + right[i]) + (up[i] + down[i]);
        let t = fma::<FUSED>(-k, centre[i], s);
        up[i] = fma::<FUSED>(m[i], t, centre[i]);
    }
}

#[inline(always)]
fn march<const FUSED: bool>(pass: &Pass<'_>, task: &mut Task<'_>) {
    let Panels { width, height, .. } = pass.source;
    let levels = pass.centre.len();
    let xa = task.x0.saturating_sub(levels);
    let xb = (task.x1 + levels).min(width);
    let n = xb - xa;
    let stride = (n + PAD).next_multiple_of(16) + 16;
    let slots = 2 * levels + 2;
    let mut store = vec![0f32; slots * stride + levels * stride + 16];
    let off = store.as_ptr().align_offset(64);
    let (ring, masks) = store[off..].split_at_mut(slots * stride);
    let ya = task.y0.saturating_sub(levels);
    let yb = (task.y1 + levels).min(height);
    // slot(t, y) = y - t; offset so that it is never negative
    let slot = |t: usize, y: isize| ((y + (2 * slots) as isize - t as isize) as usize % slots) * stride;
    let mrow = |y: usize| (y % levels) * stride;
    let out_w = task.x1 - task.x0;
    for y_new in ya..yb + levels {
        // level 0
        if y_new < yb {
            let s = slot(0, y_new as isize);
            let row = &mut ring[s..s + stride];
            pass.source.copy_row(y_new, xa, xb, &mut row[PAD..]);
            row[PAD - 1] = row[PAD];
            row[PAD + n] = row[PAD + n - 1];
            // the mask is for row y_new, used first at level 1 when y_new+1 arrives
        }
        for t in 1..=levels {
            // the row of this level
            if y_new < ya + t {
                break;
            }
            let y = y_new - t;
            let last = t == levels;
            let margin = levels - t;
            if y >= (task.y1 + margin).min(height) {
                continue;
            }
            if y < task.y0.saturating_sub(margin) {
                continue;
            }
            if t == 1 {
                let m = &mut masks[mrow(y)..][..n];
                for (m, &f) in m.iter_mut().zip(&pass.fixed[y * width + xa..y * width + xb]) {
                    *m = if f != 0 { 0.0 } else { pass.time_step };
                }
            }
            let (a, b, c) = (slot(t - 1, y as isize - 1), slot(t - 1, y as isize), slot(t - 1, y as isize + 1));
            let [up, row, down] = ring.get_disjoint_mut([a..a + stride, b..b + stride, c..c + stride]).unwrap();
            if y == 0 {
                up.copy_from_slice(row);
            }
            if y + 1 == height {
                down.copy_from_slice(row);
            }
            let start = if xa == 0 { 0 } else { t & !7 };
            let end = if xb == width { n.next_multiple_of(8) } else { (n - t).next_multiple_of(8) };
            let m = &masks[mrow(y)..][start..end];
            update::<FUSED>(
                pass.centre[t - 1],
                &mut up[PAD + start..PAD + end],
                &row[PAD + start - 1..PAD + end + 1],
                &down[PAD + start..PAD + end],
                m,
            );
            if last {
                let o = (y - task.y0) * out_w;
                task.out[o..o + out_w].copy_from_slice(&up[PAD + task.x0 - xa..PAD + task.x1 - xa]);
            } else {
                up[PAD - 1] = up[PAD];
                up[PAD + n] = up[PAD + n - 1];
            }
        }
    }
}

pub(super) fn iterate(
    field: &mut Vec<f32>,
    fixed: &[u8],
    shape: [usize; 3],
    steps: &Steps<'_>,
    ticker: &Ticker,
) -> Result<()> {
    if steps.dimensions == 3 {
        return super::scalar::iterate(field, fixed, shape, steps, ticker);
    }
    let [width, height, _] = shape;
    let tmax = 16;
    let b = 1024;
    let total = steps.centre_weights.len();
    if total == 0 {
        return Ok(());
    }
    let threads = rayon::current_num_threads();
    let strips = width.div_ceil(b);
    let panel = width.div_ceil(strips).next_multiple_of(16).min(width);
    let strips = width.div_ceil(panel);
    let chunks = (3 * threads).div_ceil(strips).min(height / (4 * tmax)).max(1);
    let chunk = height.div_ceil(chunks);
    let passes = total.div_ceil(tmax);
    let mut other = vec![0f32; width * height];
    let mut src_panel = width;
    let mut done = 0;
    let arch = Arch::new();
    for p in 0..passes {
        let t = (total - done).div_ceil(passes - p);
        let centre = &steps.centre_weights[done..done + t];
        done += t;
        let pass = Pass {
            source: Panels { data: field, panel: src_panel, width, height },
            fixed,
            time_step: steps.time_step,
            centre,
        };
        let mut tasks = Vec::new();
        let mut rest = &mut other[..];
        for s in 0..strips {
            let x0 = s * panel;
            let x1 = (x0 + panel).min(width);
            let mut y0 = 0;
            while y0 < height {
                let y1 = (y0 + chunk).min(height);
                let (out, r) = rest.split_at_mut((x1 - x0) * (y1 - y0));
                rest = r;
                tasks.push(Task { x0, x1, y0, y1, out });
                y0 = y1;
            }
        }
        tasks.into_par_iter().with_max_len(1).try_for_each(|mut task| {
            ticker.check()?;
            arch.dispatch(March { pass: &pass, task: &mut task });
            ticker.add(((task.x1 - task.x0) * (task.y1 - task.y0) * t) as u64);
            Ok(())
        })?;
        std::mem::swap(field, &mut other);
        src_panel = panel;
    }
    if panel != width {
        let source = Panels { data: field, panel, width, height };
        other.par_chunks_mut(width).enumerate().for_each(|(y, row)| source.copy_row(y, 0, width, row));
        std::mem::swap(field, &mut other);
    }
    Ok(())
}
