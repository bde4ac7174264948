//! The level set on the CPU: φ in tiles on all cores, or as a plain array on one.
//!
//! φ and its next values are two buffers that are swapped after every pass over tiles; a pass is an iteration or one step
//! of a reinitialisation. A pass computes the tiles of its list: all tiles, or those that the front can reach. It also
//! copies the tiles that the previous pass wrote and that are not in its list, so that both buffers are equal in all tiles
//! outside the list. A pass that is cancelled leaves φ unchanged. No result depends on the order of tiles, so none depends
//! on the number of threads.

mod edges;
mod formulas;
mod kernel;
mod plain;
mod task;
mod tiles;

use super::convergence::ConvergenceMonitor;
use super::plan::{Plan, REINITIALISATION_STEPS, SLICE_TILE, VOLUME_TILE};
use super::regions::{RegionSums, add_pixels};
use super::types::{Constants, Counts, Fit};
use super::{Variant, outcome, scalar};
use crate::device::kernels::level_set::RegionLevels;
use crate::device::{Context, PerThread};
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Image, on_host, view_of};
use crate::memory::{Array, collected, reserved, zeroed};
use crate::progress::{Progress, Ticker, run as run_with_progress};
pub(super) use edges::Edges;
use ndarray::{ArrayView3, ArrayViewMut3};
use plain::Plain;
use pulp::Arch;
use rayon::prelude::*;
use task::{Buffers, Task, Work};
pub(super) use tiles::Layout;

/// The pixels of the image in their own type, in the order of φ.
#[derive(Debug)]
enum Pixels {
    U8(Array<u8>),
    U16(Array<u16>),
    F32(Array<f32>),
}

/// The state of a level set in host memory.
#[derive(Debug)]
pub(super) struct Solver {
    plan: Plan,
    field: Field,
    /// The edges of the image, if the plan has an edge term.
    edges: Option<Edges>,
    inside: u64,
    /// The steps that remain of a reinitialisation that has begun.
    reinitialisation_steps_left: u32,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one for each level set")]
enum Field {
    Plain(Plain),
    Tiled(Tiled),
}

impl Solver {
    /// Starts from a mask, unless the ticker is cancelled.
    pub(super) fn new(
        context: &Context,
        plan: &Plan,
        input: &Image<'_>,
        mask: &Image<'_>,
        ticker: &Ticker,
    ) -> Result<Self> {
        let (field, inside) = if plan.variant == Variant::Scalar {
            let field = Plain::new(context, plan, input, mask, ticker)?;
            let inside = field.inside();
            (Field::Plain(field), inside)
        } else {
            let mut field = Tiled::new(context, plan, input, mask, ticker)?;
            let inside = context.pool().install(|| field.recount(&plan.constants, ticker))?;
            (Field::Tiled(field), inside)
        };
        let layout = field.layout(plan);
        let edges = plan.edges.map(|edges| Edges::new(context, plan, edges, input, &layout, ticker)).transpose()?;
        Ok(Self { plan: *plan, field, edges, inside, reinitialisation_steps_left: 0 })
    }

    /// Evolves by up to `iterations`, until the stopping criterion is met.
    pub(super) fn run(
        &mut self,
        context: &Context,
        monitor: &mut ConvergenceMonitor,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
        ticker: &Ticker,
    ) -> Result<()> {
        run_with_progress(context.pool(), progress, ticker, || {
            let mut left = iterations;
            loop {
                while self.reinitialisation_steps_left > 0 {
                    let first = self.reinitialisation_steps_left == REINITIALISATION_STEPS;
                    match &mut self.field {
                        Field::Plain(field) => field.reinitialisation_step(&self.plan, first, ticker)?,
                        Field::Tiled(field) => {
                            field.reinitialisation_step(
                                &self.plan.constants,
                                first,
                                self.reinitialisation_steps_left == 1,
                                ticker,
                            )?;
                        }
                    }
                    self.reinitialisation_steps_left -= 1;
                }
                // Nothing can move if no voxel, or every voxel, is inside.
                monitor.converged |= self.plan.front_vanished(self.inside);
                if left == 0 || monitor.converged {
                    return Ok(());
                }
                monitor.make_room(1)?;
                let edges = self.edges.as_ref();
                let counts = match &mut self.field {
                    Field::Plain(field) => field.iterate(&self.plan, edges, ticker)?,
                    Field::Tiled(field) => field.iterate(&self.plan.constants, edges, self.inside, ticker)?,
                };
                self.inside = counts.inside;
                monitor.record(counts);
                monitor.converged = monitor.should_stop();
                if monitor.should_reinitialise() {
                    self.reinitialisation_steps_left = REINITIALISATION_STEPS;
                }
                left -= 1;
                ticker.set(monitor.fraction());
            }
        })
    }

    /// Replaces the plan, on the threads of the current pool. The new plan may differ only in the intensity range and the
    /// numbers that are computed from it. All of the front may move again, so the tiles of the whole band become active.
    pub(super) fn set_plan(&mut self, plan: &Plan) {
        self.plan = *plan;
        if let Field::Tiled(field) = &mut self.field {
            field.activate_band(&plan.constants);
        }
    }

    /// Sums the pixels inside and those outside, on the threads of the current pool, unless the ticker is cancelled.
    pub(super) fn sum_regions(&self, levels: &RegionLevels, ticker: &Ticker) -> Result<[RegionSums; 2]> {
        let (layout, phi, pixels) = self.contents();
        let tile = |index: usize| {
            let mut sums = [RegionSums::default(); 2];
            if ticker.is_cancelled() {
                return sums;
            }
            let [width, height, _] = layout.tile;
            let [columns, rows, planes] = layout.valid(layout.position(index));
            for row in (0..planes).flat_map(|k| (0..rows).map(move |j| k * height + j)) {
                let row = index * layout.tile_voxels() + row * width;
                let row = row..row + columns;
                match pixels {
                    Pixels::U8(pixels) => add_pixels(&mut sums, levels, &phi[row.clone()], &pixels[row], f32::from),
                    Pixels::U16(pixels) => add_pixels(&mut sums, levels, &phi[row.clone()], &pixels[row], f32::from),
                    Pixels::F32(pixels) => {
                        add_pixels(&mut sums, levels, &phi[row.clone()], &pixels[row], |pixel| pixel)
                    }
                }
            }
            sums
        };
        let add = |[a, b]: [RegionSums; 2], [c, d]: [RegionSums; 2]| [a.merged(c), b.merged(d)];
        let sums = (0..layout.count()).into_par_iter().with_min_len(16).map(tile).reduce(Default::default, add);
        ticker.check()?;
        Ok(sums)
    }

    /// Returns φ and the image, with the layout that they share.
    fn contents(&self) -> (Layout, &[f32], &Pixels) {
        let layout = self.field.layout(&self.plan);
        match &self.field {
            Field::Plain(field) => (layout, &field.phi, &field.pixels),
            Field::Tiled(field) => (layout, &field.phi, &field.pixels),
        }
    }

    /// Counts the voxels in the middle of the object, on the threads of the current pool, unless the ticker is cancelled.
    pub(super) fn fit(&self, ticker: &Ticker) -> Result<Fit> {
        let (layout, phi, pixels) = self.contents();
        let (constants, inner) = (&self.plan.constants, self.plan.inner_deviation());
        let [width, height, depth] = self.plan.shape;
        let columns = collected((0..width).map(|x| layout.column(x)))?;
        let row = |index: usize| {
            let mut fit = Fit::default();
            if ticker.is_cancelled() {
                return fit;
            }
            let [y, z] = [index % height, index / height];
            // Beyond the border the image repeats its outermost pixels, so a missing neighbour counts as inside.
            let beside = [[y.saturating_sub(1), z], [(y + 1).min(height - 1), z]];
            let above = [[y, z.saturating_sub(1)], [y, (z + 1).min(depth - 1)]];
            let [own, rows @ ..] = [[y, z], beside[0], beside[1], above[0], above[1]].map(|row| layout.row(row));
            let rows = if constants.volume { &rows[..] } else { &rows[..2] };
            for x in 0..width {
                let at = own + columns[x];
                let is_middle = phi[at] < 0.0
                    && phi[own + columns[x.saturating_sub(1)]] < 0.0
                    && phi[own + columns[(x + 1).min(width - 1)]] < 0.0
                    && rows.iter().all(|row| phi[row + columns[x]] < 0.0);
                if is_middle {
                    let pixel = match pixels {
                        Pixels::U8(pixels) => f32::from(pixels[at]),
                        Pixels::U16(pixels) => f32::from(pixels[at]),
                        Pixels::F32(pixels) => pixels[at],
                    };
                    fit.middle += 1;
                    fit.at_limits += u64::from(outcome::is_at_limits(constants, inner, pixel));
                }
            }
            fit
        };
        let add = |a: Fit, b: Fit| Fit { middle: a.middle + b.middle, at_limits: a.at_limits + b.at_limits };
        let fit = (0..height * depth).into_par_iter().with_min_len(16).map(row).reduce(Fit::default, add);
        ticker.check()?;
        Ok(fit)
    }

    /// Writes the mask, on the threads of the current pool, unless the ticker is cancelled.
    pub(super) fn read_mask(&self, mask: ArrayViewMut3<'_, u8>, ticker: &Ticker) -> Result<()> {
        self.read(mask, ticker, |phi| if phi < 0.0 { 255 } else { 0 })
    }

    /// Writes φ, on the threads of the current pool, unless the ticker is cancelled.
    pub(super) fn read_phi(&self, phi: ArrayViewMut3<'_, f32>, ticker: &Ticker) -> Result<()> {
        self.read(phi, ticker, |phi| phi)
    }

    fn read<T: Send + Sync>(
        &self,
        to: ArrayViewMut3<'_, T>,
        ticker: &Ticker,
        convert: impl Fn(f32) -> T + Sync,
    ) -> Result<()> {
        let (layout, phi, _) = self.contents();
        layout.unpack(phi, to, ticker, convert)
    }

    /// Replaces φ, on the threads of the current pool, unless the ticker is cancelled; refuses values that are not finite.
    pub(super) fn write_phi(&mut self, phi: ArrayView3<'_, f32>, ticker: &Ticker) -> Result<()> {
        for (z, slice) in phi.outer_iter().enumerate() {
            for (y, row) in slice.outer_iter().enumerate() {
                ticker.check()?;
                if let Some((x, value)) = row.indexed_iter().find(|(_, value)| !value.is_finite()) {
                    return Err(Error::argument(format!(
                        "phi must be finite everywhere, but at x = {x}, y = {y}, z = {z} it is {value}"
                    )));
                }
            }
        }
        let most = self.plan.largest_phi;
        let clamp = |phi: f32| phi.clamp(-most, most);
        self.inside = match &mut self.field {
            Field::Plain(field) => {
                field.phi = Layout::plain(self.plan.shape).pack(phi, ticker, clamp)?;
                field.inside()
            }
            Field::Tiled(field) => {
                let former = std::mem::replace(&mut field.phi, field.layout.pack(phi, ticker, clamp)?);
                match field.recount(&self.plan.constants, ticker) {
                    Ok(inside) => inside,
                    Err(cancelled) => {
                        field.phi = former;
                        return Err(cancelled);
                    }
                }
            }
        };
        self.reinitialisation_steps_left = 0;
        Ok(())
    }

    pub(super) fn inside(&self) -> u64 {
        self.inside
    }

    /// Returns the contrast of the edge term, if the plan has one.
    pub(super) fn edge_contrast(&self) -> Option<f64> {
        self.edges.as_ref().map(|edges| edges.contrast)
    }

    /// Returns the number of tiles that the last iteration updated.
    pub(super) fn active_tiles(&self) -> u64 {
        match &self.field {
            Field::Plain(_) => self.plan.tile_count(),
            Field::Tiled(field) => field.active_tiles,
        }
    }
}

impl Field {
    /// Returns the order of φ.
    fn layout(&self, plan: &Plan) -> Layout {
        match self {
            Self::Plain(_) => Layout::plain(plan.shape),
            Self::Tiled(field) => field.layout,
        }
    }
}

/// Returns the image in the order of `layout`, and writes the distance to the mask's boundary in the order of an image.
fn prepare(
    context: &Context,
    plan: &Plan,
    input: &Image<'_>,
    mask: &Image<'_>,
    layout: &Layout,
    distances: &mut [f32],
    ticker: &Ticker,
) -> Result<Pixels> {
    let pixels = context.pool().install(|| match input {
        Image::U8(view) => layout.pack(*view, ticker, |pixel| pixel).map(Pixels::U8),
        Image::U16(view) => layout.pack(*view, ticker, |pixel| pixel).map(Pixels::U16),
        Image::F32(view) => layout.pack(*view, ticker, |pixel| pixel).map(Pixels::F32),
        Image::Device(_) => Err(Error::in_cuda_memory("image")),
    })?;
    let whole = Layout::plain(plan.shape);
    let marks = context.pool().install(|| {
        let device = Err(Error::in_cuda_memory("image"));
        on_host!(Image, mask, view => whole.pack(*view, ticker, |pixel| u8::from(pixel > Default::default())), device)
    })?;
    distance::cpu::signed_into(context, view_of(&marks, plan.shape), plan.spacing, plan.dimensions, distances, ticker)?;
    Ok(pixels)
}

/// The state of the band and dense variants, with φ in tiles.
#[derive(Debug)]
struct Tiled {
    layout: Layout,
    volume: bool,
    /// True if only the tiles that the front can reach are updated.
    band: bool,
    pixels: Pixels,
    phi: Array<f32>,
    next: Array<f32>,
    /// For each tile, the neighbouring tiles that its changes within the band affected in the last iteration, as the bits
    /// of a word; see `tiles::affected_tiles`.
    affected: Vec<u32>,
    /// For each tile, true if it holds a voxel within the band.
    in_band: Vec<bool>,
    /// True if the list was made for an iteration, and `affected` has not changed since.
    listed: bool,
    /// The tiles of a pass, in order.
    list: Vec<u32>,
    /// The tiles in which `next` differs from φ, in order.
    written: Vec<u32>,
    /// The number of tiles that the last iteration updated.
    active_tiles: u64,
    /// For each tile, 1 if it is in the word of affected tiles of any tile. Only [`list_tiles`](Self::list_tiles) uses it.
    is_active: Vec<u8>,
    buffers: PerThread<Buffers>,
}

impl Tiled {
    /// Sets φ. The caller must then call [`recount`](Self::recount), which sets the state that depends on φ.
    fn new(context: &Context, plan: &Plan, input: &Image<'_>, mask: &Image<'_>, ticker: &Ticker) -> Result<Self> {
        let layout = Layout { shape: plan.shape, tile: plan.tile(), tiles: plan.tiles() };
        if layout.count() > u32::MAX as usize {
            return Err(Error::size(format!("an image of {} tiles is too large for a level set", layout.count())));
        }
        let mut next = Array::zeroed(layout.count() * layout.tile_voxels())?;
        let distances = &mut next[..plan.voxels()];
        let pixels = prepare(context, plan, input, mask, &layout, distances, ticker)?;
        let distances = view_of(distances, plan.shape);
        let far = plan.far;
        let phi = context.pool().install(|| layout.pack(distances, ticker, |phi| phi.clamp(-far, far)))?;
        Ok(Self {
            layout,
            volume: plan.constants.volume,
            band: plan.variant == Variant::Band,
            pixels,
            phi,
            next,
            affected: zeroed(layout.count())?,
            in_band: Vec::new(),
            listed: false,
            list: reserved(layout.count())?,
            written: reserved(layout.count())?,
            active_tiles: 0,
            is_active: zeroed(layout.count())?,
            buffers: context.pool().install(|| PerThread::new(|| Ok(Buffers::new())))?,
        })
    }

    /// Sets the state that depends on φ, after φ was replaced, unless the ticker is cancelled. Returns the number of voxels
    /// inside.
    fn recount(&mut self, constants: &Constants, ticker: &Ticker) -> Result<u64> {
        let Self { layout, phi, .. } = self;
        let [width, height, _] = layout.tile;
        let mut in_band = zeroed(layout.count())?;
        let counts =
            phi.par_chunks(layout.tile_voxels()).zip(&mut in_band).enumerate().map(|(index, (tile, in_band))| {
                if ticker.is_cancelled() {
                    return 0;
                }
                let [columns, rows, planes] = layout.valid(layout.position(index));
                let (mut inside, mut closest) = (0u64, f32::INFINITY);
                for row in (0..planes).flat_map(|k| (0..rows).map(move |j| k * height + j)) {
                    for phi in &tile[row * width..][..columns] {
                        inside += u64::from(*phi < 0.0);
                        closest = closest.min(phi.abs());
                    }
                }
                *in_band = closest <= constants.band_width;
                inside
            });
        let inside = counts.sum();
        ticker.check()?;
        self.in_band = in_band;
        self.activate_band(constants);
        self.written.clear();
        self.written.extend(0..self.layout.count() as u32);
        Ok(inside)
    }

    /// Marks every voxel within the band as changed, so that the next list holds all tiles that the band affects.
    fn activate_band(&mut self, constants: &Constants) {
        let Self { layout, volume, phi, affected, in_band, .. } = self;
        let affected_by = |index: usize, tile: &[f32]| {
            if *volume {
                layout.affected_by_band::<{ VOLUME_TILE[0] }>(index, tile, constants.band_width)
            } else {
                layout.affected_by_band::<{ SLICE_TILE[0] }>(index, tile, constants.band_width)
            }
        };
        let tiles = phi.par_chunks(layout.tile_voxels()).zip(in_band.par_iter()).zip(affected.par_iter_mut());
        tiles.enumerate().with_min_len(64).for_each(|(index, ((tile, in_band), affected))| {
            *affected = if *in_band { affected_by(index, tile) } else { 0 };
        });
        self.listed = false;
    }

    /// Lists the tiles of the next pass: all tiles, or those that the changes of the last iteration affect.
    fn list_tiles(&mut self, all: bool) {
        let Self { layout, volume, affected, list, is_active, .. } = self;
        list.clear();
        if all {
            list.extend(0..layout.count() as u32);
        } else {
            layout.mark_affected(affected, *volume, is_active);
            list.extend((0..).zip(&*is_active).filter(|(_, is_active)| **is_active != 0).map(|(index, _)| index));
        }
    }

    /// Computes one iteration.
    fn iterate(
        &mut self,
        constants: &Constants,
        edges: Option<&Edges>,
        inside: u64,
        ticker: &Ticker,
    ) -> Result<Counts> {
        if !self.listed {
            self.list_tiles(!self.band);
            self.listed = true;
        }
        let active_tiles = self.list.len() as u64;
        let counts = self.pass(constants, PassKind::Iterate(edges), inside, ticker)?;
        self.active_tiles = active_tiles;
        Ok(counts)
    }

    /// Computes one step of a reinitialisation. All steps update the same tiles: those that the band affects before the
    /// first step.
    fn reinitialisation_step(&mut self, constants: &Constants, first: bool, last: bool, ticker: &Ticker) -> Result<()> {
        if first {
            self.activate_band(constants);
            self.list_tiles(false);
        }
        self.pass(constants, PassKind::Reinitialise(first), 0, ticker)?;
        if last {
            self.activate_band(constants);
        }
        Ok(())
    }

    /// Computes a pass over the tiles of the list. `inside` is the number of voxels inside before it. The counts are
    /// meaningful for an iteration only.
    fn pass(&mut self, constants: &Constants, kind: PassKind<'_>, inside: u64, ticker: &Ticker) -> Result<Counts> {
        let Self { layout, phi, next, pixels, list, written, buffers, .. } = self;
        let (layout, pixels) = (&*layout, &*pixels);
        let (arch, tile_voxels) = (Arch::new(), layout.tile_voxels());
        // Both lists are sorted, so one walk through `next` finds the tiles of both.
        let mut tasks = reserved(list.len() + written.len())?;
        let (mut listed, mut stale) = (list.iter().copied().peekable(), written.iter().copied().peekable());
        let mut tiles = next.chunks_exact_mut(tile_voxels);
        let mut ahead = 0;
        loop {
            let index = match (listed.peek(), stale.peek()) {
                (Some(a), Some(b)) => *a.min(b),
                (Some(a), None) => *a,
                (None, Some(b)) => *b,
                (None, None) => break,
            };
            let compute = listed.next_if_eq(&index).is_some();
            stale.next_if_eq(&index);
            let Some(out) = tiles.nth(index as usize - ahead) else { break };
            ahead = index as usize + 1;
            tasks.push((index, compute, out));
        }
        let mut touched: Vec<u32> = reserved(tasks.len())?;
        touched.extend(tasks.iter().map(|task| task.0));
        let phi = &phi[..];
        let mut statistics = reserved(tasks.len())?;
        let work = |(index, compute, out): (u32, bool, &mut [f32])| {
            let index = index as usize;
            if ticker.check().is_err() {
                return None;
            }
            if !compute {
                out.copy_from_slice(&phi[index * tile_voxels..][..tile_voxels]);
                return None;
            }
            macro_rules! run {
                ($pixels:expr) => {{
                    let work = match kind {
                        PassKind::Iterate(edges) => {
                            let edges = edges.map(|edges| edges.at(index * tile_voxels, tile_voxels));
                            Work::Iterate(edges)
                        }
                        PassKind::Reinitialise(first) => Work::Reinitialise(first),
                    };
                    let task = Task { constants, layout, work, field: phi, index, out };
                    buffers.with(|buffers| task.run(arch, buffers, &$pixels[..]))
                }};
            }
            Some(match pixels {
                Pixels::U8(pixels) => run!(pixels),
                Pixels::U16(pixels) => run!(pixels),
                Pixels::F32(pixels) => run!(pixels),
            })
        };
        // A thread takes at most eight tiles at a time, so that the others wait only briefly for a thread that started
        // late.
        tasks.into_par_iter().with_max_len(8).map(work).collect_into_vec(&mut statistics);
        if let Err(cancelled) = ticker.check() {
            written.clone_from(&touched);
            return Err(cancelled);
        }
        let mut counts = Counts { inside, ..Counts::default() };
        for (index, tile) in touched.iter().zip(&statistics) {
            let Some(tile) = tile else { continue };
            let index = *index as usize;
            let [entered, left, near] = [tile.entered, tile.left, tile.near].map(u64::from);
            counts.inside = counts.inside + entered - left;
            counts.changed += entered + left;
            counts.near += near;
            counts.squares += tile.squares;
            self.in_band[index] = tile.in_band;
            if matches!(kind, PassKind::Iterate(_)) {
                self.listed &= self.affected[index] == tile.affected;
                self.affected[index] = tile.affected;
            }
        }
        std::mem::swap(&mut self.phi, &mut self.next);
        self.written.clone_from(&self.list);
        Ok(counts)
    }
}

/// The kind of a pass over tiles.
#[derive(Clone, Copy)]
enum PassKind<'a> {
    /// An iteration, with the edges of the image if the plan has an edge term.
    Iterate(Option<&'a Edges>),
    /// A step of a reinitialisation; true for the first.
    Reinitialise(bool),
}
