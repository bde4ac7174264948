//! The launches of `kernels/level_set.cu`: kernel, geometry and arguments. The kernels' contract is in that file and in
//! those it includes.
#![allow(unsafe_code)]

use super::super::Variant;
use super::super::plan::{self, INTENSITY_GAIN_BOUNDS, Plan, REINITIALISATION_STEPS};
use super::super::types::Constants;
use super::dense_grid::DenseGrid;
use super::load::PixelKind;
use super::tables::{BARRIERS, Layout, STATISTICS, Tables};
use crate::device::cuda::{Buffer, Cuda, Kernel, Stream, geometry};
use crate::device::kernels::level_set::{
    DENSE_WARPS, ITERATION_WARPS, IterationArguments, LOOP_WARPS, LevelSetSetup, MARK_BLOCKS, MAX_PARTS, PAPER_X,
    PAPER_Y, REINIT_WARPS, RSQRT_SCALE, RegionLevels, SparsePhiArguments, StoppingCriterion, TILE_BITS,
    TileListArguments, WARP,
};
use crate::error::{Error, Result};
use crate::image::{DevicePixels, Dimensions};
use cudarc::driver::{DeviceRepr, LaunchConfig};
use std::ops::Range;

/// The module (kernel file) of this operation.
const MODULE: &str = "level_set";

/// The factor of the speed and its terms in the kernels: they compute with gradients that are four times as large, which
/// saves multiplications.
const QUARTER: f32 = 0.25;
const _: () =
    assert!(INTENSITY_GAIN_BOUNDS[0] * QUARTER as f64 >= f32::MIN_POSITIVE as f64, "the gain keeps its digits");

/// The kernels of one level set, with the arguments that do not change.
pub(super) struct Launcher {
    setup: LevelSetSetup,
    lists: TileListArguments,
    /// True if iterations use lists of tiles too, not only reinitialisations.
    band: bool,
    context: IterationArguments,
    iterate: Kernel,
    /// The grid of the dense kernel of volumes, whose blocks go along z; `None` if another kernel does the iterations.
    dense_grid: Option<DenseGrid>,
    reinitialise: Kernel,
    /// The numbers of blocks of `iterate` (without a dense grid) and of `reinitialise` that are resident on the device at
    /// the same time.
    resident: [u32; 2],
    /// The address of the counters of the grid barriers.
    barriers: u64,
    activate_near_front: Kernel,
    check_convergence: Kernel,
    /// The name of the image's type.
    pixels: &'static str,
    /// The prefix of the names of kernels that have a φ.
    prefix: &'static str,
    multiprocessors: u32,
    criterion: StoppingCriterion,
}

/// The buffers of an iteration or of a step of a reinitialisation: φ that it reads, φ that it writes, and the address of
/// the image.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub from: PhiArgument,
    pub to: PhiArgument,
    pub image: u64,
}

/// A φ, as an argument of kernels.
#[derive(Clone, Copy)]
pub(super) enum PhiArgument {
    /// The address of its first row.
    Rows(u64),
    Sparse(SparsePhiArguments),
}

impl PhiArgument {
    fn as_argument(&self) -> &dyn DeviceRepr {
        match self {
            Self::Rows(address) => address,
            Self::Sparse(phi) => phi,
        }
    }
}

/// The successive iterations of one launch: the first, their number, the number of the first set of tiles.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub first: u64,
    pub count: u32,
    pub set: u32,
}

/// Refuses an image that is too large for the index types of the kernels.
pub(super) fn check_indices(layout: &Layout, dimensions: Dimensions) -> Result<()> {
    /// The bounds of the kernels' indices: elements of a plane have 30 bits, halves of tiles and rows 32, and the
    /// position of a tile along an axis 21.
    const MAX_PLANE: u64 = 1 << 30;
    const MAX_ROWS: u64 = 1 << 32;
    let [width, height, depth] = layout.shape;
    let tiles = plan::tiles(layout.shape, dimensions);
    let count: u64 = tiles.into_iter().map(|n| n as u64).product();
    if layout.pitch as u64 * height as u64 > MAX_PLANE
        || tiles.into_iter().any(|n| n >= 1 << TILE_BITS)
        || count >= 1 << 31
        || layout.rows() as u64 > MAX_ROWS
    {
        return Err(Error::unsupported(format!(
            "a level set on a CUDA device may have at most {MAX_PLANE} pixels a slice and 2^32 rows, and fewer than 2^31 tiles, \
             of them 2^{TILE_BITS} along an axis, but this has {width} x {height} x {depth}; use the device cpu"
        )));
    }
    Ok(())
}

/// Queues the conversion of a mask (u16 or f32) in device memory to one byte per pixel, written from `address` on. The
/// caller has checked the mask.
pub(super) fn marks(cuda: &Cuda, stream: &Stream, mask: &DevicePixels<'_>, address: u64) -> Result<()> {
    let kernel = cuda.kernel(MODULE, &format!("isoline_ls_marks_{}", mask.pixel_type.name()))?;
    let [row_stride, slice_stride] = mask.strides.map(|bytes| bytes as u64);
    let [width, height, depth] = mask.shape.map(|side| side as u32);
    let config = loop_grid(cuda.multiprocessors(), u64::from(height) * u64::from(depth));
    let arguments: &[&dyn DeviceRepr] = &[&mask.address, &row_stride, &slice_stride, &width, &height, &depth, &address];
    // SAFETY: these are the kernel's arguments; the mask lies in one allocation, and the caller's buffer has a byte for
    // each of its pixels.
    unsafe { stream.launch(&kernel, config, arguments) }
}

/// Returns a grid for kernels whose warps loop over rows: no more blocks than are resident at the same time.
fn loop_grid(multiprocessors: u32, warps: u64) -> LaunchConfig {
    let most = u64::from(multiprocessors) * MARK_BLOCKS as u64;
    let blocks = warps.div_ceil(LOOP_WARPS as u64).clamp(1, most) as usize;
    geometry([blocks, 1, 1], [LOOP_WARPS * WARP, 1, 1])
}

impl Launcher {
    pub(super) fn new(
        cuda: &Cuda,
        plan: &Plan,
        layout: &Layout,
        pixels: PixelKind,
        is_sparse: bool,
        own: &Range<usize>,
        tables: &Tables,
    ) -> Result<Self> {
        let [width, height, depth] = plan.shape;
        let tiles = plan.tiles();
        let count: u64 = tiles.into_iter().map(|n| n as u64).product();
        let constants = &plan.constants;
        let [inv_dx, inv_dy, inv_dz] = constants.inverse_spacing;
        let [tiles_x, tiles_y, tiles_z] = tiles.map(|n| n as u32);
        let axes = if constants.volume { "3d" } else { "2d" };
        let axes_used = if constants.volume { 3 } else { 2 };
        let is_unit = constants.inverse_spacing[..axes_used].iter().all(|inverse| *inverse == 1.0);
        let has_edges = matches!(pixels, PixelKind::WithEdges);
        let unit = if is_unit && !has_edges && !is_sparse { "_unit" } else { "" };
        let prefix = if is_sparse { "isoline_ls_sparse_" } else { "isoline_ls_" };
        let name = pixels.name();
        let kernel = |name: &str| cuda.kernel(MODULE, name);
        // The number of blocks of a kernel that are resident on the device together. A grid with a barrier must not be
        // larger.
        let resident = |kernel: &Kernel, warps: usize| kernel.resident_blocks(cuda, warps * WARP, 0);
        let is_dense_volume =
            plan.variant == Variant::Dense && constants.volume && !has_edges && DenseGrid::fits(plan.shape);
        let iterate = if is_dense_volume {
            kernel(&format!("isoline_ls_dense_{name}{unit}"))?
        } else {
            kernel(&format!("{prefix}tiles_{axes}_{name}{unit}"))?
        };
        let (dense_grid, iterating) = if is_dense_volume {
            let own = [width, height, own.len()];
            (Some(DenseGrid::new(resident(&iterate, DENSE_WARPS)?.into(), own)), 0)
        } else {
            (None, resident(&iterate, ITERATION_WARPS)?)
        };
        let [entries, counts, stamps] = tables.lists.each_ref().map(Buffer::address);
        let reinitialise = kernel(&format!("{prefix}reinitialise_{axes}{unit}"))?;
        let resident = [iterating, resident(&reinitialise, REINIT_WARPS)?];
        let mut launcher = Self {
            setup: LevelSetSetup {
                width: width as u32,
                height: height as u32,
                depth: depth as u32,
                pitch: layout.pitch as u32,
                own_first: own.start as u32,
                own_depth: own.len() as u32,
                inv_dx,
                inv_dy,
                inv_dz,
                max_spacing: constants.max_spacing,
                rms_scale: constants.rms_scale,
                band_width: constants.band_width,
                second_order_width: constants.second_order_width,
                activity_threshold: constants.activity_threshold,
                reinit_time_step: constants.reinit_time_step,
                max_divergence: constants.max_divergence,
                ..LevelSetSetup::default()
            },
            lists: TileListArguments { entries, counts, stamps, tiles_x, tiles_y, tiles_z, tiles: count as u32 },
            band: plan.variant == Variant::Band,
            context: IterationArguments {
                convergence: tables.convergence.address(),
                statistics: tables.statistics.address(),
                iteration: 0,
                voxels: plan.voxels() as u64,
                ring: STATISTICS as u32 - 1,
            },
            iterate,
            dense_grid,
            reinitialise,
            resident,
            barriers: tables.barriers.address(),
            activate_near_front: kernel(&format!("{prefix}activate_near_front_{axes}"))?,
            check_convergence: kernel("isoline_ls_check_convergence")?,
            pixels: name,
            prefix,
            multiprocessors: cuda.multiprocessors(),
            criterion: plan.criterion,
        };
        launcher.set_constants(constants);
        Ok(launcher)
    }

    fn context(&self, iteration: u64) -> IterationArguments {
        IterationArguments { iteration, ..self.context }
    }

    /// Returns a grid whose blocks are resident together, for kernels that update tiles.
    fn resident_grid(&self, resident: u32, warps: usize) -> LaunchConfig {
        let blocks =
            (u64::from(self.lists.tiles) * MAX_PARTS as u64).div_ceil(warps as u64).min(resident.into()) as usize;
        geometry([blocks, 1, 1], [warps * WARP, 1, 1])
    }

    /// Replaces the constants after the intensity range has changed.
    pub(super) fn set_constants(&mut self, constants: &Constants) {
        self.setup = LevelSetSetup {
            intensity_centre: constants.intensity_centre,
            open_side: constants.open_side,
            max_deviation: constants.max_deviation,
            intensity_gain: QUARTER * constants.intensity_gain,
            intensity_offset: QUARTER * constants.intensity_offset,
            max_inward_term: QUARTER * constants.max_inward_term,
            curvature_weight: QUARTER * constants.curvature_weight,
            edge_weight: QUARTER * constants.edge_weight,
            ..self.setup
        };
    }

    /// Returns the address of the counter of a launch's grid barrier.
    fn barrier(&self, number: usize) -> u64 {
        assert!(number < BARRIERS, "at most as many launches as there are counters");
        self.barriers + 4 * number as u64
    }

    /// Tells whether one launch may do several iterations.
    pub(super) fn takes_many_iterations(&self) -> bool {
        self.dense_grid.is_none()
    }

    /// Queues the iterations of `span`. They update the tiles of the sets from `span.set` on, or all tiles. Each iteration
    /// adds the tiles that its changes affect to the next set; the last one does so only with `activate`. `barrier` is a
    /// number that no other launch has used since the counters were cleared.
    pub(super) fn iterate(
        &self,
        stream: &Stream,
        at: Fields,
        span: Span,
        activate: bool,
        barrier: usize,
    ) -> Result<()> {
        let context = self.context(span.first);
        let activate = u32::from(activate);
        if let Some(DenseGrid { grid, chunks }) = self.dense_grid {
            assert_eq!(span.count, 1, "one iteration per launch");
            let config = geometry(grid, [WARP, DENSE_WARPS, 1]);
            let (from, to) = (at.from.as_argument(), at.to.as_argument());
            let arguments: &[&dyn DeviceRepr] = &[from, to, &at.image, &self.setup, &context, &chunks];
            // SAFETY: these are the kernel's arguments; both φ and the image have the layout's elements, the φ are
            // different.
            return unsafe { stream.launch_early(&self.iterate, config, arguments) };
        }
        let lists = if self.band { self.lists } else { TileListArguments { entries: 0, ..self.lists } };
        let arrivals = self.barrier(barrier);
        let (from, to) = (at.from.as_argument(), at.to.as_argument());
        let arguments: &[&dyn DeviceRepr] =
            &[from, to, &at.image, &self.setup, &context, &lists, &span.set, &activate, &span.count, &arrivals];
        let config = self.resident_grid(self.resident[0], ITERATION_WARPS);
        // SAFETY: these are the kernel's arguments, with buffers as above; the lists hold all tiles, the counter is 0.
        unsafe {
            if span.count == 1 {
                stream.launch_early(&self.iterate, config, arguments)
            } else {
                stream.launch_cooperative(&self.iterate, config, arguments)
            }
        }
    }

    /// Queues the reinitialisation of the tiles in `set`, after `iteration`. The result is in the same φ buffer as before.
    /// `barrier` has the same meaning as for [`iterate`](Self::iterate).
    pub(super) fn reinitialise(
        &self,
        stream: &Stream,
        at: Fields,
        iteration: u64,
        set: u32,
        barrier: usize,
    ) -> Result<()> {
        const { assert!(REINITIALISATION_STEPS.is_multiple_of(2), "the result is in the same phi as before") }
        let context = self.context(iteration);
        let (steps, activate) = (REINITIALISATION_STEPS, u32::from(self.band));
        let arrivals = self.barrier(barrier);
        let (from, to) = (at.from.as_argument(), at.to.as_argument());
        let arguments: &[&dyn DeviceRepr] =
            &[from, to, &self.setup, &context, &self.lists, &set, &steps, &activate, &arrivals];
        let config = self.resident_grid(self.resident[1], REINIT_WARPS);
        // SAFETY: these are the kernel's arguments, with buffers as in `iterate`; the counter is 0.
        unsafe { stream.launch_cooperative(&self.reinitialise, config, arguments) }
    }

    /// Queues a kernel that adds all tiles that the band affects to a set, after `iteration`. If `copy` is given, φ is
    /// dense, and the kernel copies it there.
    pub(super) fn activate_near_front(
        &self,
        stream: &Stream,
        phi: PhiArgument,
        copy: Option<PhiArgument>,
        iteration: u64,
        set: u32,
    ) -> Result<()> {
        let context = self.context(iteration);
        let copy = copy.unwrap_or(PhiArgument::Rows(0));
        let (phi, copy) = (phi.as_argument(), copy.as_argument());
        let arguments: &[&dyn DeviceRepr] = &[phi, copy, &self.setup, &context, &self.lists, &set];
        let config = loop_grid(self.multiprocessors, self.lists.tiles.into());
        // SAFETY: these are the kernel's arguments; both φ have the layout's elements and are different.
        unsafe { stream.launch_early(&self.activate_near_front, config, arguments) }
    }

    /// Queues the release of tiles of a sparse φ after `iteration`: those that are far from the front, not in `set` (the
    /// next set), and were in one of the `sets` sets before it.
    pub(super) fn release(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        phi: PhiArgument,
        iteration: u64,
        set: u32,
        sets: u32,
    ) -> Result<()> {
        let (kernel, context) = (cuda.kernel(MODULE, "isoline_ls_sparse_release")?, self.context(iteration));
        let config = loop_grid(self.multiprocessors, u64::from(self.lists.tiles).div_ceil(WARP as u64));
        // SAFETY: these are the kernel's arguments, whose tables are those of one sparse φ.
        unsafe { stream.launch_early(&kernel, config, &[phi.as_argument(), &context, &self.lists, &set, &sets]) }
    }

    /// Queues the clearing of a sparse φ, after which it stores no tile.
    pub(super) fn clear_sparse(&self, cuda: &Cuda, stream: &Stream, phi: PhiArgument) -> Result<()> {
        let kernel = cuda.kernel(MODULE, "isoline_ls_sparse_clear")?;
        let config = loop_grid(self.multiprocessors, u64::from(self.lists.tiles).div_ceil(WARP as u64));
        // SAFETY: this is the kernel's argument, whose tables have an element for each tile and place.
        unsafe { stream.launch(&kernel, config, &[phi.as_argument()]) }
    }

    /// Queues the import of packed planes at `from` to a sparse φ, see `import_tiles` of the kernels.
    #[allow(clippy::too_many_arguments, reason = "the kernel's")]
    pub(super) fn import_sparse(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        phi: PhiArgument,
        from: u64,
        planes: usize,
        stores: bool,
        found: &Buffer,
    ) -> Result<()> {
        let kernel = cuda.kernel(MODULE, "isoline_ls_sparse_import")?;
        let (planes, stores, found) = (planes as u32, u32::from(stores), found.address());
        let arguments: &[&dyn DeviceRepr] = &[phi.as_argument(), &self.setup, &from, &planes, &stores, &found];
        let config = loop_grid(self.multiprocessors, self.lists.tiles.into());
        // SAFETY: these are the kernel's arguments; the caller's buffer has as many planes, and `found` two counts.
        unsafe { stream.launch(&kernel, config, arguments) }
    }

    /// Tells whether iterations use lists of tiles.
    pub(super) fn band(&self) -> bool {
        self.band
    }

    /// Queues a kernel that adds the statistics of iterations `first` to `last` to the check interval. With `test` the
    /// interval ends there, and the stopping criterion is tested.
    pub(super) fn check_convergence(&self, stream: &Stream, first: u64, last: u64, test: bool) -> Result<()> {
        let context = self.context(last);
        let test = u32::from(test);
        let arguments: &[&dyn DeviceRepr] = &[&context, &first, &test, &self.criterion];
        let config = geometry([1, 1, 1], [WARP, 1, 1]);
        // SAFETY: these are the kernel's arguments; the statistics are those of at most as many iterations as the ring
        // holds.
        unsafe { stream.launch_early(&self.check_convergence, config, arguments) }
    }

    /// Queues an iteration of the paper's kernel. φ and the image's -D(I) (f32) have rows of `pitch` elements, without
    /// gaps between planes.
    pub(super) fn paper(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        at: Fields,
        pitch: u32,
        constants: &Constants,
    ) -> Result<()> {
        let Constants { intensity_gain, intensity_offset, curvature_weight, max_divergence, .. } = *constants;
        // The normals of this kernel are unit vectors.
        let curvature_weight = (f64::from(curvature_weight) / RSQRT_SCALE) as f32;
        let max_divergence = (f64::from(max_divergence) * RSQRT_SCALE) as f32;
        let setup =
            LevelSetSetup { pitch, intensity_gain, intensity_offset, curvature_weight, max_divergence, ..self.setup };
        let arguments: &[&dyn DeviceRepr] = &[at.from.as_argument(), at.to.as_argument(), &at.image, &setup];
        let grid = [(setup.width as usize).div_ceil(PAPER_X), (setup.height as usize).div_ceil(PAPER_Y), 1];
        // SAFETY: these are the kernel's arguments; both φ and -D(I) have as many pixels as the setup says, in rows of
        // this pitch.
        unsafe {
            stream.launch(&cuda.kernel(MODULE, "isoline_ls_paper")?, geometry(grid, [PAPER_X, PAPER_Y, 1]), arguments)
        }
    }

    /// Queues the preparation of a φ that the caller wrote: values are clamped to ±`far` and repeated beyond the borders.
    /// `report_nonfinite` and `found` are described at the kernel `sanitize_phi`.
    pub(super) fn sanitize_phi(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        phi: u64,
        (far, report_nonfinite): (f32, bool),
        found: &Buffer,
    ) -> Result<()> {
        let (found, report_nonfinite) = (found.address(), u32::from(report_nonfinite));
        let arguments: [&dyn DeviceRepr; 5] = [&phi, &self.setup, &far, &report_nonfinite, &found];
        self.launch_over_rows(cuda, stream, "isoline_ls_sanitize_phi", self.setup, &arguments)
    }

    /// Queues the computation of `what`, `mask` or, of a sparse φ, `phi`, of `slices` slices from `phi` on.
    pub(super) fn write(
        &self,
        what: &str,
        cuda: &Cuda,
        stream: &Stream,
        phi: PhiArgument,
        slices: usize,
        (to, strides): (u64, [usize; 2]),
    ) -> Result<()> {
        let setup = LevelSetSetup { depth: slices as u32, ..self.setup };
        let [row, slice] = strides.map(|bytes| bytes as u64);
        let arguments: [&dyn DeviceRepr; 5] = [phi.as_argument(), &to, &row, &slice, &setup];
        self.launch_over_rows(cuda, stream, &format!("{}write_{what}", self.prefix), setup, &arguments)
    }

    /// Queues the count of the voxels in the middle of the object; see the kernel `count_fit`. `found` holds two u64, which
    /// must be 0 before.
    pub(super) fn count_fit(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        at: Fields,
        plan: &Plan,
        found: &Buffer,
    ) -> Result<()> {
        let (inner, volume, found) = (plan.inner_deviation(), u32::from(plan.constants.volume), found.address());
        let arguments: [&dyn DeviceRepr; 6] = [at.from.as_argument(), &at.image, &self.setup, &inner, &volume, &found];
        self.launch_over_rows(cuda, stream, &format!("{}fit_{}", self.prefix, self.pixels), self.setup, &arguments)
    }

    /// Queues the sums of the pixels inside and outside; see the kernel `sum_regions`. `found` must hold zeros before.
    pub(super) fn sum_regions(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        at: Fields,
        levels: &RegionLevels,
        found: &Buffer,
    ) -> Result<()> {
        let found = found.address();
        let arguments: [&dyn DeviceRepr; 5] = [at.from.as_argument(), &at.image, &self.setup, levels, &found];
        self.launch_over_rows(cuda, stream, &format!("{}regions_{}", self.prefix, self.pixels), self.setup, &arguments)
    }

    /// Queues a kernel whose warps each process row after row of φ.
    fn launch_over_rows(
        &self,
        cuda: &Cuda,
        stream: &Stream,
        name: &str,
        setup: LevelSetSetup,
        arguments: &[&dyn DeviceRepr],
    ) -> Result<()> {
        let config = loop_grid(self.multiprocessors, u64::from(setup.height) * u64::from(setup.depth));
        // SAFETY: the caller's arguments are the kernel's, in its order, with buffers of the layout's size.
        unsafe { stream.launch(&cuda.kernel(MODULE, name)?, config, arguments) }
    }
}
