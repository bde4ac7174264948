//! The launches of `kernels/distance.cu`: which kernel, which geometry, which arguments. The kernels' contract is in
//! `kernels/README.md`; the constants here repeat it.
#![allow(unsafe_code)]

use super::super::cpu::Metric;
use super::super::{Params, Region};
use crate::device::cuda::{Cuda, Stream, failed};
use crate::error::{Error, Result};
use crate::image::{Dimensions, Foreground, PixelType};
use crate::threshold::Pixel;
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaFunction, DriverError, LaunchConfig, PushKernelArg};

/// The module (kernel file) of this operation.
const MODULE: &str = "distance";

const WARP: u32 = 32;

/// Rows of a block of `rows`, a warp each.
const ROW_WARPS: u32 = 8;

/// Pixels of an octet; a column's thread has one at a time.
const OCTET: usize = 8;

/// Columns of a block, from the most that shared memory has room for; those from `TABLE_COLUMNS` on have a table too.
const BLOCK_COLUMNS: [usize; 6] = [32, 16, 8, 4, 2, 1];
const TABLE_COLUMNS: usize = 8;

/// The most columns of a block: (pixels of a column, columns), else the last. Fewer columns that are longer leave room for
/// other blocks.
const MOST_COLUMNS: [(usize, usize); 2] = [(512, 32), (1024, 16)];
const FEW_COLUMNS: usize = 8;

/// Of columns in global memory.
const FAR_COLUMNS: usize = 8;

const MAX_THREADS: usize = 1024;
const MIN_THREADS: usize = 64;

/// Octets of a column that a thread takes, one after the other.
const OCTETS_A_THREAD: usize = 4;

/// A thread's place for what it found of a point.
const FOUND_BYTES: usize = 12;

/// How many points or octets are wide.
const COUNT_BYTES: usize = 16;

/// Near a boundary, in 16-bit numbers: octets that an octet looks at on either side at most, so how large a least sum may
/// be; how many it may be to one with a small value, and the share of a least sum that their term may take; and what sums
/// are multiplied by at most to be whole numbers.
const NEAR_REACH: usize = 11;
const NEAR_MOST: f64 = ((2 * (NEAR_REACH * OCTET + 1) - 1) * (2 * (NEAR_REACH * OCTET + 1) - 1)) as f64;
const NEAR_AROUND: u32 = 8;
const NEAR_SHARE: f64 = 0.7;
const NEAR_FACTOR_BITS: i32 = 4;

/// Steps along a side are doubled in 32 bits.
const MAX_SIDE: usize = 1 << 29;

const MAX_GRID: usize = i32::MAX as usize;
const MAX_GRID_Y: usize = 65535;

/// Pixels of a launch: a cancel waits for two, which take 10 ms on a large GPU and 50 on a small one.
const PIXELS_A_LAUNCH: usize = 1 << 28;

/// Pixels on the device, with the bytes from row to row and from slice to slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixels {
    pub(super) address: u64,
    pub(super) strides: [usize; 2],
}

/// Floats on the device, with the floats from row to row and from slice to slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) address: u64,
    pub(super) strides: [usize; 2],
}

impl Field {
    pub(super) fn packed(address: u64, [width, height, _]: [usize; 3]) -> Self {
        Self { address, strides: [width, width * height] }
    }

    /// From row `y` and slice `z` on.
    fn at(self, y: usize, z: usize) -> u64 {
        self.address + ((y * self.strides[0] + z * self.strides[1]) * size_of::<f32>()) as u64
    }
}

/// `isoline_dt_rows` in `kernels/distance_rows.cuh`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RowsJob {
    pixels: u64,
    row_stride: u64,
    slice_stride: u64,
    to: u64,
    to_row: u64,
    to_slice: u64,
    width: u32,
    height: u32,
    rows: u64,
    below: u32,
    cut: u32,
    weight: f64,
}

// SAFETY: plain numbers in the layout of the kernels' struct.
unsafe impl cudarc::driver::DeviceRepr for RowsJob {}

/// `isoline_dt_columns` in `kernels/distance_search.cuh`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ColumnsJob {
    from: u64,
    to: u64,
    from_stride: u64,
    to_stride: u64,
    from_line: u64,
    to_line: u64,
    weight: f64,
    width: u32,
    lines: u32,
    length: u32,
    step_bits: u32,
    outside: f32,
    inside: f32,
    last: u32,
    near: Near,
}

/// Where a pass has columns all of whose pixels are near a boundary, and sums that are whole numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Near {
    /// A power of two that makes sums whole, or 0; and 1 over it.
    factor: f32,
    part: f32,
    /// Each octet of a column has one whose least value is at most `small`, at most `around` octets away.
    small: f32,
    around: u32,
}

impl Near {
    /// Of the pass along the last of these axes, after those before it.
    fn new(weights: &[f64]) -> Self {
        let never = Self { factor: 0.0, part: 0.0, small: 0.0, around: 0 };
        let is_whole = |factor: &f64| weights.iter().all(|weight| (weight * factor).fract() == 0.0);
        let Some(factor) = (0..=NEAR_FACTOR_BITS).map(|bits| f64::from(1 << bits)).find(is_whole) else {
            return never;
        };
        let term = |around: u32| {
            let pixels = f64::from(around * OCTET as u32 + OCTET as u32 - 1);
            factor * weights[weights.len() - 1] * (2.0 * pixels - 1.0).powi(2)
        };
        let Some(around) = (0..=NEAR_AROUND).rev().find(|around| term(*around) <= NEAR_SHARE * NEAR_MOST) else {
            return never;
        };
        let small = (NEAR_MOST - term(around)) / factor;
        Self { factor: factor as f32, part: (1.0 / factor) as f32, small: small as f32, around }
    }
}

// SAFETY: as above.
unsafe impl cudarc::driver::DeviceRepr for ColumnsJob {}

fn kernel_launch(error: DriverError, kernel: &str) -> Error {
    failed(&format!("start the kernel {kernel}"), error)
}

/// The launches that compute a volume, or slices one by one.
pub(super) struct Transform {
    shape: [usize; 3],
    rows: CudaFunction,
    below: bool,
    cut: u32,
    weight: f64,
    /// Along y, along z; at least one.
    columns: Vec<Columns>,
    /// What the last pass multiplies distances by, outside and inside.
    factors: [f32; 2],
}

/// A pass along y or z.
struct Columns {
    /// 1 or 2.
    axis: usize,
    length: usize,
    weight: f64,
    near: Near,
    function: CudaFunction,
    geometry: Geometry,
}

/// How a pass is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Geometry {
    /// Columns of a block.
    columns: usize,
    threads: usize,
    /// Octets from point to point, a power of two.
    step: usize,
    /// Columns stay in global memory, so the pass reads and writes different memory.
    far: bool,
}

impl Geometry {
    fn new(length: usize, shared: usize) -> Self {
        let octets = length.div_ceil(OCTET);
        let rows = octets.div_ceil(OCTETS_A_THREAD).next_power_of_two();
        let most = MOST_COLUMNS.into_iter().find(|(pixels, _)| length <= *pixels).map_or(FEW_COLUMNS, |(_, most)| most);
        let with = |columns: usize| {
            let threads = (columns * rows).clamp(MIN_THREADS, MAX_THREADS);
            Self { columns, threads, step: 1, far: false }
        };
        let near = BLOCK_COLUMNS.into_iter().filter(|columns| *columns <= most).map(with);
        if let Some(fits) = near.into_iter().find(|geometry| geometry.shared_bytes(length) <= shared) {
            return fits;
        }
        let mut geometry = Self { columns: FAR_COLUMNS, threads: MAX_THREADS, step: 1, far: true };
        while geometry.shared_bytes(length) > shared {
            geometry.step *= 2;
        }
        geometry
    }

    /// As `columns_kernel` lays it out.
    fn shared_bytes(&self, length: usize) -> usize {
        let octets = length.div_ceil(OCTET);
        let points = octets.div_ceil(self.step) + 1;
        let place = if self.far { 2 * size_of::<u32>() } else { size_of::<u32>() };
        let kept = COUNT_BYTES + self.threads * FOUND_BYTES + points * self.columns * place;
        if self.far {
            return kept;
        }
        let table = if self.columns >= TABLE_COLUMNS { 2 * (octets + 1) * OCTET } else { 0 };
        kept + (table + octets * self.columns * (1 + OCTET)) * size_of::<f32>()
    }

    fn name(&self) -> String {
        if self.far { "isoline_dt_columns_far".into() } else { format!("isoline_dt_columns_{}", self.columns) }
    }
}

/// The bits that `rows` compares a pixel with.
fn cut(pixel_type: PixelType, threshold: f64) -> u32 {
    // Of whole numbers, one above all of them where there is none above the threshold.
    let whole = |(cut, exists): (u32, bool)| if exists { cut } else { u32::MAX };
    match pixel_type {
        PixelType::U8 => {
            let (cut, exists) = u8::cut(threshold);
            whole((cut.into(), exists))
        }
        PixelType::U16 => {
            let (cut, exists) = u16::cut(threshold);
            whole((cut.into(), exists))
        }
        PixelType::F32 => f32::cut(threshold).to_bits(),
    }
}

/// The bytes of shared memory that a block may have.
fn shared_memory(cuda: &Cuda) -> Result<usize> {
    let bytes = cuda.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
    Ok(bytes.max(0) as usize)
}

/// The passes along y and z: axis, length.
fn passes([_, height, depth]: [usize; 3], dimensions: Dimensions) -> Vec<(usize, usize)> {
    let along_z = dimensions == Dimensions::Volume && depth > 1;
    let mut passes = Vec::new();
    // The last one takes the root, so there is one.
    if height > 1 || !along_z {
        passes.push((1, height));
    }
    if along_z {
        passes.push((2, depth));
    }
    passes
}

/// Bytes that [`Transform::queue`] needs beside the output: 0 unless columns are too long for shared memory.
pub(super) fn scratch_bytes(cuda: &Cuda, shape: [usize; 3], dimensions: Dimensions) -> Result<usize> {
    let shared = shared_memory(cuda)?;
    let far = passes(shape, dimensions).iter().any(|(_, length)| Geometry::new(*length, shared).far);
    Ok(if far { shape.iter().product::<usize>() * size_of::<f32>() } else { 0 })
}

impl Transform {
    pub(super) fn new(cuda: &Cuda, params: &Params, pixel_type: PixelType, shape: [usize; 3]) -> Result<Self> {
        let [width, height, depth] = shape;
        if width.max(height).max(depth) > MAX_SIDE {
            return Err(Error::unsupported(format!(
                "an image on a CUDA device may have at most {MAX_SIDE} pixels a side, but this has {width} x {height} x \
                 {depth}; use the device cpu"
            )));
        }
        let lengths = [width, height, if params.dimensions == Dimensions::Volume { depth } else { 1 }];
        let metric = Metric::new(lengths, params.spacing);
        let shared = shared_memory(cuda)?;
        let columns = passes(shape, params.dimensions).into_iter().map(|(axis, length)| {
            let geometry = Geometry::new(length, shared);
            let function = cuda.function(MODULE, &geometry.name())?;
            // All there is, not what this pass takes: other passes share the function.
            function
                .set_attribute(
                    CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    shared as i32,
                )
                .map_err(|e| failed("set aside shared memory", e))?;
            // What came before this axis: axes of one pixel gave nothing.
            let weights: Vec<f64> =
                (0..=axis).filter(|a| *a == axis || lengths[*a] > 1).map(|a| metric.weights[a]).collect();
            let near = Near::new(&weights);
            Ok(Columns { axis, length, weight: metric.weights[axis], near, function, geometry })
        });
        let scale = metric.scale;
        Ok(Self {
            shape,
            rows: cuda.function(MODULE, &format!("isoline_dt_rows_{}", pixel_type.name()))?,
            below: params.foreground == Foreground::Below,
            cut: cut(pixel_type, params.threshold),
            weight: metric.weights[0],
            columns: columns.collect::<Result<_>>()?,
            factors: match params.region {
                Region::Signed => [scale, -scale],
                Region::Outside => [scale, 0.0],
                Region::Inside => [0.0, scale],
            },
        })
    }

    /// Queues everything for the first `depth` slices of the shape. `pixels` and `output` cover them, `scratch` (packed)
    /// is asked for by [`scratch_bytes`]; all live until the stream is done. `look` is called between launches with the
    /// share of the work that is queued.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        depth: usize,
        pixels: Pixels,
        output: Field,
        scratch: Option<u64>,
        look: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let [_, height, _] = self.shape;
        let scratch = scratch.map(|address| Field::packed(address, self.shape));
        // What each pass reads and writes, so that the last one writes the output.
        let mut fields = vec![output];
        for pass in self.columns.iter().rev() {
            let to = fields[fields.len() - 1];
            let from = match scratch {
                Some(scratch) if pass.geometry.far => {
                    if to.address == scratch.address {
                        output
                    } else {
                        scratch
                    }
                }
                _ => to,
            };
            fields.push(from);
        }
        fields.reverse();
        let share = 1.0 / fields.len() as f64;
        self.along_x(stream, depth, pixels, fields[0], &mut |done| look(share * done))?;
        for (index, pass) in self.columns.iter().enumerate() {
            let sheets = if pass.axis == 1 { depth } else { height };
            let last = index + 1 == self.columns.len();
            let before = (index + 1) as f64;
            self.along(pass, stream, sheets, [fields[index], fields[index + 1]], last, &mut |done| {
                look(share * (before + done))
            })?;
        }
        Ok(())
    }

    fn along_x(
        &self,
        stream: &Stream,
        depth: usize,
        pixels: Pixels,
        to: Field,
        look: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let [width, height, _] = self.shape;
        let together = (PIXELS_A_LAUNCH / (width * height)).max(1);
        for z in (0..depth).step_by(together) {
            let slices = together.min(depth - z);
            let rows = height * slices;
            let job = RowsJob {
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
                cut: self.cut,
                weight: self.weight,
            };
            let config = LaunchConfig {
                grid_dim: (rows.div_ceil(ROW_WARPS as usize).min(MAX_GRID) as u32, 1, 1),
                block_dim: (WARP, ROW_WARPS, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: the kernel's one argument; pixels and field cover these slices, as `queue` demands.
            unsafe { stream.raw().launch_builder(&self.rows).arg(&job).launch(config) }
                .map_err(|e| kernel_launch(e, "rows"))?;
            look((z + slices) as f64 / depth as f64)?;
        }
        Ok(())
    }

    fn along(
        &self,
        pass: &Columns,
        stream: &Stream,
        sheets: usize,
        [from, to]: [Field; 2],
        last: bool,
        look: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let Geometry { columns, threads, step, far } = pass.geometry;
        assert!(!far || from.address != to.address, "columns in global memory are not overwritten while they are read");
        let [width, ..] = self.shape;
        let along_z = pass.axis == 2;
        let together = (PIXELS_A_LAUNCH / (width * pass.length)).max(1);
        for sheet in (0..sheets).step_by(together) {
            let lines = together.min(sheets - sheet);
            let [y, z] = if along_z { [sheet, 0] } else { [0, sheet] };
            let [stride, line] = if along_z { [1, 0] } else { [0, 1] };
            let job = ColumnsJob {
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
                grid_dim: (width.div_ceil(columns) as u32, lines.min(MAX_GRID_Y) as u32, 1),
                block_dim: (threads as u32, 1, 1),
                shared_mem_bytes: pass.geometry.shared_bytes(pass.length) as u32,
            };
            // SAFETY: the kernel's one argument; both fields cover these sheets, as `queue` demands, and are the same or,
            // for columns in global memory, different (checked above).
            unsafe { stream.raw().launch_builder(&pass.function).arg(&job).launch(config) }
                .map_err(|e| kernel_launch(e, &pass.geometry.name()))?;
            look((sheet + lines) as f64 / sheets as f64)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cuda::source::constant;

    /// Of a block, on an H100 and on a Turing card.
    const LARGE: usize = 227 << 10;
    const SMALL: usize = 64 << 10;

    #[test]
    fn every_column_has_a_geometry_that_fits() {
        for shared in [SMALL, LARGE] {
            for length in [1, 2, 8, 9, 181, 512, 1024, 1025, 4096, 5000, 6000, 20_000, 100_000, MAX_SIDE] {
                let geometry = Geometry::new(length, shared);
                let Geometry { columns, threads, .. } = geometry;
                assert!(geometry.shared_bytes(length) <= shared, "{length}: {geometry:?}");
                assert!(threads % columns == 0 && (MIN_THREADS..=MAX_THREADS).contains(&threads), "{geometry:?}");
            }
        }
        assert_eq!(Geometry::new(512, LARGE).columns, 32);
        assert_eq!(Geometry::new(1024, LARGE).columns, 16);
        assert_eq!(Geometry::new(4096, LARGE).columns, 8);
        assert_eq!(Geometry::new(40_000, LARGE).columns, 1);
        assert!(Geometry::new(60_000, LARGE).far);
    }

    #[test]
    fn the_constants_are_the_kernels() {
        let search = include_str!("../../../kernels/distance_search.cuh");
        let rows = include_str!("../../../kernels/distance_rows.cuh");
        assert_eq!(constant(search, "DT_OCTET"), OCTET as f64);
        assert_eq!(constant(search, "DT_MIN_THREADS"), MIN_THREADS as f64);
        assert_eq!(constant(search, "DT_COUNT") * size_of::<u32>() as f64, COUNT_BYTES as f64);
        assert_eq!(constant(rows, "DT_ROWS"), f64::from(ROW_WARPS));
        let near = include_str!("../../../kernels/distance_near.cuh");
        assert_eq!(constant(near, "DT_NEAR_REACH"), NEAR_REACH as f64);
    }

    #[test]
    fn sums_near_a_boundary_are_whole_and_fit() {
        assert_eq!(Near::new(&[1.0, 1.0]), Near { factor: 1.0, part: 1.0, small: 11448.0, around: 8 });
        assert_eq!(Near::new(&[1.0, 2.25]), Near { factor: 4.0, part: 0.25, small: 3276.0, around: 2 });
        assert_eq!(Near::new(&[1.0, 2.25, 6.25]), Near { factor: 4.0, part: 0.25, small: 2576.0, around: 1 });
        assert_eq!(Near::new(&Metric::new([9; 3], [0.2, 0.2, 0.3]).weights).factor, 4.0);
        assert_eq!(Near::new(&[1.0, 1.0, 1.21]).factor, 0.0);
        assert_eq!(Near::new(&[1.0, 1e18]).factor, 0.0);
    }

    /// The kernels' files assert these sizes of theirs.
    #[test]
    fn the_structs_have_the_kernels_sizes() {
        assert_eq!([size_of::<RowsJob>(), size_of::<ColumnsJob>(), FOUND_BYTES], [80, 104, 12]);
    }

    #[test]
    fn a_cut_above_all_pixels_is_above_all() {
        assert_eq!(cut(PixelType::U8, 0.0), 1);
        assert_eq!(cut(PixelType::U8, 255.0), u32::MAX);
        assert_eq!(cut(PixelType::U16, 65534.5), 65535);
        assert_eq!(f32::from_bits(cut(PixelType::F32, 1.0)), 1.0f32.next_up());
    }
}
