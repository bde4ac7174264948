//! A sparse φ stores only the tiles near the front, for volumes whose two dense buffers of φ do not fit the device memory.
//! The whole image is on the device; masks and φ are transferred in slabs of whole tiles.

use super::super::plan::{self, Plan, VOLUME_TILE};
use super::super::{Params, Variant};
use super::launch::PhiArgument;
use super::{Solver, load, transfer};
use crate::device::cuda::{Buffer, Cuda, Stream};
use crate::device::kernels::level_set::{SparsePhiArguments, TILE, TILE_VOXELS};
use crate::distance::cuda::{signed_on_device, signed_workspace_bytes};
use crate::error::{Error, Result, human_bytes};
use crate::image::{Dimensions, Image, smallest_and_largest};
use crate::progress::Ticker;
use rayon::ThreadPool;
use std::ops::Range;

/// The number of iterations between two releases of tiles that are far from the front. A front moves by less than a voxel
/// per iteration.
pub(super) const RELEASED_EVERY: u64 = 16;

/// |φ| where no tile is stored, in units of the largest spacing.
const FAR: f64 = 10.0;
/// A tile is stored at the start if it has a voxel with |φ| up to this, in units of the largest spacing: the band's half
/// width, and two voxels along each axis (2·√3), so that all tiles that the band affects have exact distances.
const STORED_WIDTH: f64 = 5.5;
/// A tile is released only if all its voxels are at least this far from the band, in units of the smallest spacing. The
/// band is two voxels away when a tile is no longer active.
const RELEASED_MARGIN: f64 = 1.5;

/// The device memory for one stored tile, in bytes: two buffers of φ, and an entry in the list of free places.
const PLACE_BYTES: u64 = 2 * (TILE_VOXELS * size_of::<f32>()) as u64 + 4;
/// The most layers of tiles of a slab.
const MOST_LAYERS: usize = 8;
/// A slab of several layers takes at most the memory budget divided by this number.
const SLAB_SHARE: u64 = 8;
/// A sparse φ needs memory for at least as many tiles as the volume has, divided by this number.
const LEAST_STORED: u64 = 64;

/// A slab: planes of whole tiles, and as many planes beside them as distances up to `FAR` depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slab {
    planes: usize,
    halo: usize,
    /// The bytes of the buffers: the mask, φ, and the workspace of the distance.
    bytes: [usize; 3],
}

impl Slab {
    /// Returns a slab of a volume with this spacing that fits the budget, if any does.
    fn new(cuda: &Cuda, [width, height, depth]: [usize; 3], spacing: [f64; 3], budget: u64) -> Result<Self> {
        let [_, largest] = smallest_and_largest(&spacing);
        let halo = (FAR * largest / spacing[2]).ceil() as usize + 1;
        let slab = |layers: usize| {
            let planes = layers * TILE;
            let shape = [width, height, (planes + 2 * halo).min(depth)];
            let voxels = shape.iter().product::<usize>();
            let workspace = signed_workspace_bytes(cuda, shape, Dimensions::Volume)?;
            Ok(Self { planes, halo, bytes: [voxels, voxels * size_of::<f32>(), workspace] })
        };
        let mut layers = MOST_LAYERS.min(depth.div_ceil(TILE));
        while layers > 1 && slab(layers)?.total() > budget / SLAB_SHARE {
            layers -= 1;
        }
        slab(layers)
    }

    /// Returns the bytes of all buffers.
    pub(super) fn total(&self) -> u64 {
        self.bytes.iter().map(|bytes| *bytes as u64).sum()
    }

    /// Returns the ranges of planes of the slabs of a volume.
    fn ranges(&self, depth: usize) -> impl Iterator<Item = Range<usize>> {
        let planes = self.planes;
        (0..depth).step_by(planes).map(move |first| first..depth.min(first + planes))
    }
}

/// Returns the least device memory that a sparse φ needs in addition to the image and the lists of tiles, in bytes; `None`
/// if this level set cannot be sparse.
pub(super) fn min_bytes(cuda: &Cuda, params: &Params, shape: [usize; 3], budget: u64) -> Result<Option<u64>> {
    let is_band = matches!(params.variant, Variant::Default | Variant::Band);
    let has_one_level = params.pyramid_levels <= 1;
    if params.dimensions != Dimensions::Volume || !is_band || params.has_edge_pixels() || !has_one_level {
        return Ok(None);
    }
    let tiles: u64 = plan::tiles(shape, params.dimensions).into_iter().map(|n| n as u64).product();
    let slab = Slab::new(cuda, shape, params.spacing, budget)?;
    Ok(Some(slab.total() + tiles * size_of::<u32>() as u64 + (tiles / LEAST_STORED).max(1) * PLACE_BYTES))
}

/// A sparse φ on the device.
pub(super) struct SparsePhi {
    values: Buffer,
    counts: Buffer,
    /// The table of the tiles and the list of free places, which only kernels use.
    _tables: [Buffer; 2],
    pub(super) slab: Slab,
    arguments: SparsePhiArguments,
}

impl SparsePhi {
    /// Allocates places for as many tiles as the available memory holds. The image and the lists of tiles have been
    /// allocated before.
    pub(super) fn new(cuda: &Cuda, plan: &Plan) -> Result<Self> {
        let [tiles_x, tiles_y, tiles_z] = plan.tiles().map(|n| n as u32);
        let tiles = plan.tile_count();
        let available = cuda.available()?;
        let slab = Slab::new(cuda, plan.shape, plan.spacing, available)?;
        let left = available.saturating_sub(slab.total() + tiles * size_of::<u32>() as u64);
        let places = (left / PLACE_BYTES).clamp(1, tiles) as usize;
        let memory = cuda.memory();
        let values = memory.device(places * 2 * TILE_VOXELS * size_of::<f32>())?;
        let table = memory.device(tiles as usize * size_of::<u32>())?;
        let free_places = memory.device(places * size_of::<u32>())?;
        let counts = memory.device(2 * size_of::<u32>())?;
        let largest = f64::from(plan.constants.max_spacing);
        let [smallest, _] = smallest_and_largest(&plan.spacing);
        let arguments = SparsePhiArguments {
            values: values.address(),
            table: table.address(),
            free_places: free_places.address(),
            counts: counts.address(),
            tiles_x,
            tiles_y,
            tiles_z,
            places: places as u32,
            which: 0,
            first_slice: 0,
            far: (FAR * largest) as f32,
            stored_width: (STORED_WIDTH * largest) as f32,
            released_width: plan.constants.band_width + (RELEASED_MARGIN * smallest) as f32,
        };
        log::info!(
            "level set: phi is stored in tiles near the front, of which {places} of {tiles} fit the device memory; the \
             initial mask is read in slabs of {} planes",
            slab.planes
        );
        Ok(Self { values, counts, _tables: [table, free_places], slab, arguments })
    }

    /// Returns φ `which` from a slice on as an argument of kernels.
    pub(super) fn argument(&self, which: usize, first_slice: usize) -> PhiArgument {
        PhiArgument::Sparse(SparsePhiArguments {
            which: which as u32,
            first_slice: first_slice as u32,
            ..self.arguments
        })
    }

    /// Waits, and returns the number of stored tiles, and whether a tile has found no free place since the last call.
    pub(super) fn stored_tiles(&self, cuda: &Cuda, stream: &Stream) -> Result<(u64, bool)> {
        const BYTES: usize = 2 * size_of::<u32>();
        let back = cuda.memory().pinned(BYTES)?;
        stream.copy_bytes(self.counts.side(0), back.side(), BYTES)?;
        stream.fill(&self.counts, size_of::<u32>(), size_of::<u32>(), 0)?;
        stream.synchronize()?;
        let counts: &[u32] = bytemuck::cast_slice(&back.as_slice()[..BYTES]);
        Ok((u64::from(self.arguments.places - counts[0]), counts[1] != 0))
    }

    /// Does what [`stored_tiles`](Self::stored_tiles) does, but a tile without a place is an error.
    pub(super) fn stored_tiles_of_all(&self, cuda: &Cuda, stream: &Stream) -> Result<u64> {
        let (stored, lacks_places) = self.stored_tiles(cuda, stream)?;
        if lacks_places { Err(self.no_place()) } else { Ok(stored) }
    }

    /// The error of a tile that found no place.
    pub(super) fn no_place(&self) -> Error {
        let (places, [x, y, z]) = (self.arguments.places, VOLUME_TILE);
        Error::memory(format!(
            "cannot store phi near the front: it takes more than the {places} tiles of {x} x {y} x {z} voxels ({}) that fit the \
             device memory beside the image; use a smaller part of the volume, a larger memory limit or device, or the \
             device cpu",
            human_bytes(self.values.bytes() as u64)
        ))
    }

    /// Returns buffers for a slab.
    pub(super) fn slab_buffers(&self, cuda: &Cuda) -> Result<[Buffer; 3]> {
        let [mask, phi, workspace] = self.slab.bytes;
        let memory = cuda.memory();
        Ok([memory.device(mask)?, memory.device(phi)?, memory.device(workspace)?])
    }
}

impl Solver {
    /// Sets a sparse φ to the signed distance to the boundary of the initial mask. Returns the number of voxels inside.
    pub(super) fn start_sparse(
        &self,
        phi: &SparsePhi,
        pool: &ThreadPool,
        mask: &Image<'_>,
        ticker: &Ticker,
    ) -> Result<u64> {
        let Self { stream, cuda, plan, launcher, .. } = self;
        let [width, height, depth] = plan.shape;
        let [marks, values, workspace] = &phi.slab_buffers(cuda)?;
        launcher.clear_sparse(cuda, stream, phi.argument(0, 0))?;
        let back = self.found(2 * size_of::<u64>(), |found| {
            for own in phi.slab.ranges(depth) {
                ticker.check()?;
                let with_halo = own.start.saturating_sub(phi.slab.halo)..depth.min(own.end + phi.slab.halo);
                load::put_mask(cuda, stream, pool, mask, with_halo.clone(), marks)?;
                let shape = [width, height, with_halo.len()];
                let dimensions = Dimensions::Volume;
                signed_on_device(cuda, stream, marks, shape, plan.spacing, dimensions, values, Some(workspace))?;
                let skipped = (own.start - with_halo.start) * width * height * size_of::<f32>();
                let from = values.address() + skipped as u64;
                launcher.import_sparse(cuda, stream, phi.argument(0, own.start), from, own.len(), true, found)?;
            }
            Ok(())
        })?;
        let counts: &[u64] = bytemuck::cast_slice(&back.as_slice()[..2 * size_of::<u64>()]);
        Ok(counts[0])
    }

    /// Returns the index of the first value that is not finite in a φ that the caller wants to write, if there is one.
    pub(super) fn first_not_finite(
        &self,
        phi: &SparsePhi,
        pool: &ThreadPool,
        source: &Image<'_>,
    ) -> Result<Option<u64>> {
        let [_, not_finite] = self.import_sparse(phi, pool, source, false)?;
        Ok((not_finite != 0).then_some(!not_finite))
    }

    /// Replaces a sparse φ. Returns the numbers of voxels inside and of tiles that are stored. After an error φ is not known.
    pub(super) fn write_sparse(&self, phi: &SparsePhi, pool: &ThreadPool, source: &Image<'_>) -> Result<[u64; 2]> {
        self.launcher.clear_sparse(&self.cuda, &self.stream, phi.argument(0, 0))?;
        let [inside, _] = self.import_sparse(phi, pool, source, true)?;
        Ok([inside, phi.stored_tiles_of_all(&self.cuda, &self.stream)?])
    }

    /// Imports a φ or, without `stores`, only checks its values; see the kernel `import_tiles`. Returns the two numbers
    /// that the kernel found.
    fn import_sparse(&self, phi: &SparsePhi, pool: &ThreadPool, source: &Image<'_>, stores: bool) -> Result<[u64; 2]> {
        let Self { stream, cuda, plan, launcher, .. } = self;
        let [_, values, _] = &phi.slab_buffers(cuda)?;
        let back = self.found(2 * size_of::<u64>(), |found| {
            for slices in phi.slab.ranges(plan.shape[2]) {
                transfer::put_slices(cuda, pool, stream, source, slices.clone(), values)?;
                let at = phi.argument(0, slices.start);
                launcher.import_sparse(cuda, stream, at, values.address(), slices.len(), stores, found)?;
            }
            Ok(())
        })?;
        let words: &[u64] = bytemuck::cast_slice(&back.as_slice()[..2 * size_of::<u64>()]);
        Ok([words[0], words[1]])
    }
}
