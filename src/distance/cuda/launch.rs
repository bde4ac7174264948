//! Launches the kernels of `kernels/distance.cu`: kernel, geometry and arguments. The kernels' contract is in
//! `kernels/README.md`.
#![allow(unsafe_code)]

use super::super::cpu::Metric;
use super::super::{Params, Region};
use crate::device::cuda::{Cuda, DeviceSlices, Kernel, Stream, check_sides, geometry};
use crate::device::kernels::distance::{
    DT_COUNT, DT_FAR_COLUMNS, DT_FOUND_BYTES, DT_MAX_THREADS, DT_MIN_THREADS, DT_NEAR_MAX, DT_OCTET, DT_ROWS,
    DT_TABLE_COLUMNS, WARP, isoline_dt_columns, isoline_dt_near as Near, isoline_dt_rows,
};
use crate::error::Result;
use crate::image::{Dimensions, Foreground, PixelType};
use crate::threshold::Pixel;
use cudarc::driver::LaunchConfig;

/// The module (kernel file) of this operation.
const MODULE: &str = "distance";

/// The possible numbers of columns of a block, largest first. A block has the largest number that fits shared memory.
const BLOCK_COLUMNS: [usize; 6] = [32, 16, 8, 4, 2, 1];

/// The largest number of columns of a block, by the length of a column: (length up to, columns). Blocks of long columns
/// have fewer, which leaves shared memory for other blocks.
const MAX_COLUMNS: [(usize, usize); 2] = [(512, 32), (1024, 16)];
/// The largest number of columns of a block for longer columns.
const MAX_LONG_COLUMNS: usize = 8;

/// The number of octets of a column that a thread computes, one after the other.
const OCTETS_PER_THREAD: usize = 4;

/// The largest number of octets to an octet with a small value.
const NEAR_AROUND: u32 = 8;
/// The largest share of `DT_NEAR_MAX` that the squared distance of `NEAR_AROUND` octets may take.
const NEAR_SHARE: f64 = 0.7;
/// The largest power of two by which sums are multiplied to become whole numbers.
const NEAR_FACTOR_BITS: i32 = 4;

/// The largest side, because kernels double steps along a side in 32 bits.
const MAX_SIDE: usize = 1 << 29;

/// The largest number of blocks of a grid along x.
const MAX_GRID_X: usize = i32::MAX as usize;

/// The number of pixels of a launch. A cancellation waits for two launches, which take 10 ms on a large GPU and 50 ms
/// on a small one.
const PIXELS_PER_LAUNCH: usize = 1 << 28;

/// Floats on the device, with the floats from row to row and from slice to slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceField {
    pub(super) address: u64,
    pub(super) strides: [usize; 2],
}

impl DeviceField {
    pub(super) fn of(slices: DeviceSlices) -> Self {
        Self { address: slices.address, strides: slices.strides.map(|bytes| bytes / size_of::<f32>()) }
    }

    pub(super) fn packed(address: u64, [width, height, _]: [usize; 3]) -> Self {
        Self { address, strides: [width, width * height] }
    }

    /// Returns the address of row `y` of slice `z`.
    fn at(self, y: usize, z: usize) -> u64 {
        self.address + ((y * self.strides[0] + z * self.strides[1]) * size_of::<f32>()) as u64
    }
}

impl Near {
    /// Computes the conditions of the pass along the last of the axes with these weights, after the passes along the
    /// others.
    fn new(weights: &[f64]) -> Self {
        let never = Self::default();
        let most = DT_NEAR_MAX as f64;
        let is_whole = |factor: &f64| weights.iter().all(|weight| (weight * factor).fract() == 0.0);
        let Some(factor) = (0..=NEAR_FACTOR_BITS).map(|bits| f64::from(1 << bits)).find(is_whole) else {
            return never;
        };
        let term = |around: u32| {
            let pixels = f64::from(around * DT_OCTET as u32 + DT_OCTET as u32 - 1);
            factor * weights[weights.len() - 1] * (2.0 * pixels - 1.0).powi(2)
        };
        let Some(around) = (0..=NEAR_AROUND).rev().find(|around| term(*around) <= NEAR_SHARE * most) else {
            return never;
        };
        let small = (most - term(around)) / factor;
        Self { factor: factor as f32, part: (1.0 / factor) as f32, small: small as f32, around }
    }
}

/// The passes that a launcher queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passes {
    /// All, over a volume or over slices one by one.
    All,
    /// Those along x and y, over some slices of a volume of `depth` slices.
    AlongXAndY { depth: usize },
    /// That along z, over some rows of a volume of `height` rows. It reads squared distances instead of pixels. The rows of
    /// a plane along x and z follow each other in memory, as if the plane were a slice, and the planes follow each other
    /// along y.
    AlongZ { height: usize },
}

/// The kernels that compute a volume, or slices one by one, with the arguments that stay the same.
pub(super) struct Launcher {
    shape: [usize; 3],
    /// The pass along x, unless squared distances are read.
    rows: Option<Kernel>,
    below: bool,
    threshold: u32,
    weight: f64,
    /// The passes along y and z.
    columns: Vec<ColumnPass>,
    /// Set if the last of them takes the root.
    finishes: bool,
    /// The factors by which the last pass multiplies distances, outside and inside.
    factors: [f32; 2],
}

/// A pass along y or z.
struct ColumnPass {
    /// The axis in memory: 1 or 2.
    axis: usize,
    length: usize,
    weight: f64,
    near: Near,
    kernel: Kernel,
    geometry: Geometry,
}

/// The division of a pass into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Geometry {
    /// The number of columns of a block.
    columns: usize,
    threads: usize,
    /// The number of octets from one point of the search to the next, a power of two.
    step: usize,
    /// Set if columns stay in global memory, so that the pass reads and writes different memory.
    in_global_memory: bool,
}

impl Geometry {
    fn new(length: usize, shared: usize) -> Self {
        let octets = length.div_ceil(DT_OCTET);
        let rows = octets.div_ceil(OCTETS_PER_THREAD).next_power_of_two();
        let most =
            MAX_COLUMNS.into_iter().find(|(pixels, _)| length <= *pixels).map_or(MAX_LONG_COLUMNS, |(_, most)| most);
        let with = |columns: usize| {
            let threads = (columns * rows).clamp(DT_MIN_THREADS, DT_MAX_THREADS);
            Self { columns, threads, step: 1, in_global_memory: false }
        };
        let near = BLOCK_COLUMNS.into_iter().filter(|columns| *columns <= most).map(with);
        if let Some(fits) = near.into_iter().find(|geometry| geometry.shared_bytes(length) <= shared) {
            return fits;
        }
        let mut geometry = Self { columns: DT_FAR_COLUMNS, threads: DT_MAX_THREADS, step: 1, in_global_memory: true };
        while geometry.shared_bytes(length) > shared {
            geometry.step *= 2;
        }
        geometry
    }

    /// Returns the bytes of shared memory of a block, which `ColumnBlock` lays out.
    fn shared_bytes(&self, length: usize) -> usize {
        let octets = length.div_ceil(DT_OCTET);
        let points = octets.div_ceil(self.step) + 1;
        let point_bytes = if self.in_global_memory { 2 * size_of::<u32>() } else { size_of::<u32>() };
        let kept = DT_COUNT * size_of::<u32>() + self.threads * DT_FOUND_BYTES + points * self.columns * point_bytes;
        if self.in_global_memory {
            return kept;
        }
        let table = if self.columns >= DT_TABLE_COLUMNS { 2 * (octets + 1) * DT_OCTET } else { 0 };
        kept + (table + octets * self.columns * (1 + DT_OCTET)) * size_of::<f32>()
    }

    fn name(&self) -> String {
        if self.in_global_memory {
            "isoline_dt_columns_far".into()
        } else {
            format!("isoline_dt_columns_{}", self.columns)
        }
    }
}

/// Returns the bits with which the kernel `rows` compares a pixel.
fn threshold_bits(pixel_type: PixelType, threshold: f64) -> u32 {
    // If no integer of the type is above the threshold, the result is larger than all of them.
    let integer = |(next, exists): (u32, bool)| if exists { next } else { u32::MAX };
    match pixel_type {
        PixelType::U8 => {
            let (next, exists) = u8::threshold(threshold);
            integer((next.into(), exists))
        }
        PixelType::U16 => {
            let (next, exists) = u16::threshold(threshold);
            integer((next.into(), exists))
        }
        PixelType::F32 => f32::threshold(threshold).to_bits(),
    }
}

/// A pass along y or z: the axis of the volume, that in memory, and the length of a column.
type Columns = (usize, usize, usize);

/// Returns the passes along y and z of [`Launcher::new`].
fn columns_of([_, height, depth]: [usize; 3], dimensions: Dimensions, passes: Passes) -> Vec<Columns> {
    let (along_y, along_z) = ((1, 1, height), (2, 2, depth));
    match passes {
        Passes::AlongZ { .. } => vec![(2, 1, height)],
        Passes::AlongXAndY { .. } if height > 1 => vec![along_y],
        Passes::AlongXAndY { .. } => vec![],
        Passes::All if dimensions == Dimensions::Slices || depth == 1 => {
            // The last pass takes the root, so there is at least one.
            vec![along_y]
        }
        Passes::All if height > 1 => vec![along_y, along_z],
        Passes::All => vec![along_z],
    }
}

/// Returns the bytes that [`Launcher::queue`] needs beside the output: 0 unless columns are too long for shared memory.
pub(super) fn workspace_bytes(cuda: &Cuda, shape: [usize; 3], dimensions: Dimensions, passes: Passes) -> Result<usize> {
    let shared = cuda.shared_memory()?;
    let in_global_memory = columns_of(shape, dimensions, passes)
        .iter()
        .any(|(.., length)| Geometry::new(*length, shared).in_global_memory);
    // The pass along z of a volume that is cut has other memory to read than to write.
    let in_place = !matches!(passes, Passes::AlongZ { .. });
    Ok(if in_global_memory && in_place { shape.iter().product::<usize>() * size_of::<f32>() } else { 0 })
}

impl Launcher {
    /// Makes a launcher for images of `shape`, in memory, or for parts of a volume that is cut.
    pub(super) fn new(
        cuda: &Cuda,
        params: &Params,
        pixel_type: PixelType,
        shape: [usize; 3],
        passes: Passes,
    ) -> Result<Self> {
        check_sides(shape, MAX_SIDE)?;
        let [width, height, depth] = match passes {
            Passes::All => shape,
            Passes::AlongXAndY { depth } => [shape[0], shape[1], depth],
            Passes::AlongZ { height } => [shape[0], height, shape[1]],
        };
        let lengths = [width, height, if params.dimensions == Dimensions::Volume { depth } else { 1 }];
        let metric = Metric::new(lengths, params.spacing);
        let shared = cuda.shared_memory()?;
        let columns = columns_of(shape, params.dimensions, passes).into_iter().map(|(axis, in_memory, length)| {
            let geometry = Geometry::new(length, shared);
            let kernel = cuda.kernel(MODULE, &geometry.name())?;
            // The kernel gets all shared memory, not only that of this pass, because other passes share it.
            kernel.reserve_shared_memory(shared)?;
            // The sums so far have the weights of the axes before this one, without those of one pixel.
            let weights: Vec<f64> =
                (0..=axis).filter(|a| *a == axis || lengths[*a] > 1).map(|a| metric.weights[a]).collect();
            let near = Near::new(&weights);
            Ok(ColumnPass { axis: in_memory, length, weight: metric.weights[axis], near, kernel, geometry })
        });
        let scale = metric.scale;
        let reads_pixels = !matches!(passes, Passes::AlongZ { .. });
        let rows = || cuda.kernel(MODULE, &format!("isoline_dt_rows_{}", pixel_type.name()));
        Ok(Self {
            shape,
            rows: reads_pixels.then(rows).transpose()?,
            below: params.foreground == Foreground::Below,
            threshold: threshold_bits(pixel_type, params.threshold),
            weight: metric.weights[0],
            columns: columns.collect::<Result<_>>()?,
            finishes: !matches!(passes, Passes::AlongXAndY { .. }),
            factors: match params.region {
                Region::Signed => [scale, -scale],
                Region::Outside => [scale, 0.0],
                Region::Inside => [0.0, scale],
            },
        })
    }

    /// Queues the passes for the first `depth` slices of the shape. `pixels` and `output` cover them, `workspace`
    /// (packed) has [`workspace_bytes`]; all must live until the stream is done. `poll` is called between launches with
    /// the share of the work that is queued.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        depth: usize,
        pixels: DeviceSlices,
        output: DeviceField,
        workspace: Option<u64>,
        poll: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let [_, height, _] = self.shape;
        let workspace = workspace.map(|address| DeviceField::packed(address, self.shape));
        // 1. Choose the memory that each pass reads and writes, from the last pass, which writes the output, to the
        // first.
        let mut fields = vec![output];
        for pass in self.columns.iter().rev() {
            let to = fields[fields.len() - 1];
            let from = match workspace {
                Some(workspace) if pass.geometry.in_global_memory => {
                    if to.address == workspace.address {
                        output
                    } else {
                        workspace
                    }
                }
                _ => to,
            };
            fields.push(from);
        }
        fields.reverse();
        // 2. Queue the passes.
        let share = 1.0 / fields.len() as f64;
        match &self.rows {
            Some(rows) => self.along_x(rows, stream, depth, pixels, fields[0], &mut |done| poll(share * done))?,
            None => fields[0] = DeviceField::of(pixels),
        }
        for (index, pass) in self.columns.iter().enumerate() {
            let sheets = if pass.axis == 1 { depth } else { height };
            let last = self.finishes && index + 1 == self.columns.len();
            let before = (index + 1) as f64;
            self.along(pass, stream, sheets, [fields[index], fields[index + 1]], last, &mut |done| {
                poll(share * (before + done))
            })?;
        }
        Ok(())
    }

    /// Queues the pass along x.
    fn along_x(
        &self,
        kernel: &Kernel,
        stream: &Stream,
        depth: usize,
        pixels: DeviceSlices,
        to: DeviceField,
        poll: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let [width, height, _] = self.shape;
        let together = (PIXELS_PER_LAUNCH / (width * height)).max(1);
        for z in (0..depth).step_by(together) {
            let slices = together.min(depth - z);
            let rows = height * slices;
            let arguments = isoline_dt_rows {
                pixels: pixels.address + (z * pixels.strides[1]) as u64,
                row_stride: pixels.strides[0] as u64,
                slice_stride: pixels.strides[1] as u64,
                to: to.at(0, z),
                to_row: to.strides[0] as u64,
                to_slice: to.strides[1] as u64,
                width: width as u32,
                height: height as u32,
                rows: rows as u64,
                below: self.below.into(),
                cut: self.threshold,
                weight: self.weight,
            };
            let config = geometry([rows.div_ceil(DT_ROWS).min(MAX_GRID_X), 1, 1], [WARP, DT_ROWS, 1]);
            // SAFETY: the kernel's one argument; pixels and field cover these slices, as `queue` requires.
            unsafe { stream.launch(kernel, config, &[&arguments]) }?;
            poll((z + slices) as f64 / depth as f64)?;
        }
        Ok(())
    }

    /// Queues a pass along y or z over `sheets` planes of columns.
    fn along(
        &self,
        pass: &ColumnPass,
        stream: &Stream,
        sheets: usize,
        [from, to]: [DeviceField; 2],
        last: bool,
        poll: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let Geometry { columns, threads, step, in_global_memory } = pass.geometry;
        assert!(
            !in_global_memory || from.address != to.address,
            "columns in global memory are not overwritten while they are read"
        );
        let [width, ..] = self.shape;
        let along_z = pass.axis == 2;
        let together = (PIXELS_PER_LAUNCH / (width * pass.length)).max(1);
        for sheet in (0..sheets).step_by(together) {
            let lines = together.min(sheets - sheet);
            let [y, z] = if along_z { [sheet, 0] } else { [0, sheet] };
            let [stride, line] = if along_z { [1, 0] } else { [0, 1] };
            let arguments = isoline_dt_columns {
                from: from.at(y, z),
                to: to.at(y, z),
                from_stride: from.strides[stride] as u64,
                to_stride: to.strides[stride] as u64,
                from_line: from.strides[line] as u64,
                to_line: to.strides[line] as u64,
                weight: pass.weight,
                width: width as u32,
                lines: lines as u32,
                length: pass.length as u32,
                step_bits: step.trailing_zeros(),
                outside: self.factors[0],
                inside: self.factors[1],
                last: last.into(),
                near: pass.near,
            };
            let config = LaunchConfig {
                shared_mem_bytes: pass.geometry.shared_bytes(pass.length) as u32,
                ..geometry([width.div_ceil(columns), lines, 1], [threads, 1, 1])
            };
            // SAFETY: the kernel's one argument; both fields cover these sheets, as `queue` requires, and are the same
            // or, for columns in global memory, different (checked above).
            unsafe { stream.launch(&pass.kernel, config, &[&arguments]) }?;
            poll((sheet + lines) as f64 / sheets as f64)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_volume_has_the_passes_of_a_whole_one() {
        let of = |shape, passes| columns_of(shape, Dimensions::Volume, passes);
        for [width, height, depth] in [[5, 7, 9], [1, 7, 9], [5, 1, 9], [5, 7, 2]] {
            let mut cut = of([width, height, 3], Passes::AlongXAndY { depth });
            // In memory, the planes along x and z of some rows are slices.
            cut.extend(of([width, depth, 2], Passes::AlongZ { height }));
            let [cut, whole] = [cut, of([width, height, depth], Passes::All)]
                .map(|passes| passes.into_iter().map(|(axis, _, length)| (axis, length)).collect::<Vec<_>>());
            assert_eq!(cut, whole, "{width} x {height} x {depth}");
        }
        assert_eq!(of([5, 7, 1], Passes::All), [(1, 1, 7)]);
        assert_eq!(columns_of([5, 1, 9], Dimensions::Slices, Passes::All), [(1, 1, 1)]);
    }

    /// The shared memory of a block on an H100.
    const LARGE: usize = 227 << 10;
    /// The shared memory of a block on a Turing GPU.
    const SMALL: usize = 64 << 10;

    #[test]
    fn every_column_length_has_a_geometry_that_fits() {
        for shared in [SMALL, LARGE] {
            for length in [1, 2, 8, 9, 181, 512, 1024, 1025, 4096, 5000, 6000, 20_000, 100_000, MAX_SIDE] {
                let geometry = Geometry::new(length, shared);
                let Geometry { columns, threads, .. } = geometry;
                assert!(geometry.shared_bytes(length) <= shared, "{length}: {geometry:?}");
                assert!(threads % columns == 0 && (DT_MIN_THREADS..=DT_MAX_THREADS).contains(&threads), "{geometry:?}");
            }
        }
        assert_eq!(Geometry::new(512, LARGE).columns, 32);
        assert_eq!(Geometry::new(1024, LARGE).columns, 16);
        assert_eq!(Geometry::new(4096, LARGE).columns, 8);
        assert_eq!(Geometry::new(40_000, LARGE).columns, 1);
        assert!(Geometry::new(60_000, LARGE).in_global_memory);
    }

    #[test]
    fn sums_near_a_boundary_are_whole_numbers_and_fit() {
        assert_eq!(Near::new(&[1.0, 1.0]), Near { factor: 1.0, part: 1.0, small: 11448.0, around: 8 });
        assert_eq!(Near::new(&[1.0, 2.25]), Near { factor: 4.0, part: 0.25, small: 3276.0, around: 2 });
        assert_eq!(Near::new(&[1.0, 2.25, 6.25]), Near { factor: 4.0, part: 0.25, small: 2576.0, around: 1 });
        assert_eq!(Near::new(&Metric::new([9; 3], [0.2, 0.2, 0.3]).weights).factor, 4.0);
        assert_eq!(Near::new(&[1.0, 1.0, 1.21]).factor, 0.0);
        assert_eq!(Near::new(&[1.0, 1e18]).factor, 0.0);
    }

    #[test]
    fn threshold_above_all_pixels_selects_none() {
        assert_eq!(threshold_bits(PixelType::U8, 0.0), 1);
        assert_eq!(threshold_bits(PixelType::U8, 255.0), u32::MAX);
        assert_eq!(threshold_bits(PixelType::U16, 65534.5), 65535);
        assert_eq!(f32::from_bits(threshold_bits(PixelType::F32, 1.0)), 1.0f32.next_up());
    }
}
