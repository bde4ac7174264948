//! The launches of `kernels/edge_strength.cu`: which kernel, which geometry, which arguments. The kernels' contract
//! (layouts, block sizes, limits) is at the top of that file; the constants here repeat it.
#![allow(unsafe_code)]

use super::super::prepare::Start0;
use super::super::{Foreground, Plan, Variant};
use crate::device::cuda::{Buffer, Cuda, Stream, Texture, TextureShape, failed};
use crate::error::{Error, Result};
use crate::image::{DevicePixels, Image, PixelType};
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use std::ffi::c_void;

/// The module (kernel file) of this operation.
const MODULE: &str = "edge_strength";

/// Rows start at multiples of this many floats.
const PITCH_ALIGNMENT: usize = 32;

/// One word before and one after each row of the mask hold the row mirrored.
const MASK_PADS: usize = 2;

/// Threads of a warp.
const WARP: u32 = 32;

/// The largest grid in y and z.
const MAX_GRID_YZ: usize = 65535;

/// The size and layout of one field on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Width, height, depth; depth 1 in 2D.
    pub(super) shape: [usize; 3],
    /// Floats from row to row.
    pub(super) pitch: usize,
    /// Words from row to row of the mask.
    pub(super) mask_pitch: usize,
}

impl Field {
    pub(super) fn new(shape: [usize; 3]) -> Self {
        Self {
            shape,
            pitch: shape[0].next_multiple_of(PITCH_ALIGNMENT),
            mask_pitch: shape[0].div_ceil(u32::BITS as usize) + MASK_PADS,
        }
    }

    fn rows(&self) -> usize {
        self.shape[1] * self.shape[2]
    }

    pub(super) fn value_bytes(&self) -> usize {
        self.pitch * self.rows() * size_of::<f32>()
    }

    pub(super) fn mask_bytes(&self) -> usize {
        self.mask_pitch * self.rows() * size_of::<u32>()
    }
}

/// The arguments that every iteration kernel takes.
#[derive(Clone, Copy)]
struct Sizes {
    width: u32,
    height: u32,
    depth: u32,
    pitch: u64,
    mask_pitch: u32,
}

/// The centre weights of one fused launch: `isoline_es_weights` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Weights {
    k: [f32; 16],
}

// SAFETY: plain floats in the layout of the kernels' struct.
unsafe impl cudarc::driver::DeviceRepr for Weights {}

/// Which kernels iterate, with their functions.
enum Kernels {
    /// One iteration a launch.
    Single(CudaFunction),
    /// Several iterations a launch.
    Fused(Fused),
}

/// The launches of one job.
pub(super) struct Launcher<'a> {
    plan: &'a Plan,
    field: Field,
    sizes: Sizes,
    prepare: CudaFunction,
    kernels: Kernels,
    early_launches: bool,
}

fn kernel_launch(error: cudarc::driver::DriverError, kernel: &str) -> Error {
    failed(&format!("start the kernel {kernel}"), error)
}

/// A kernel argument as the driver takes it.
fn pointer<T>(argument: &T) -> *mut c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}

fn suffix(pixel_type: PixelType) -> &'static str {
    pixel_type.name()
}

impl<'a> Launcher<'a> {
    pub(super) fn new(cuda: &Cuda, plan: &'a Plan, field: Field, pixel_type: PixelType) -> Result<Self> {
        /// Kernels index columns, rows and slices with their halos in 32 bits.
        const MAX_SIDE: usize = 1 << 30;
        let [width, height, depth] = field.shape;
        if width.max(height).max(depth) > MAX_SIDE {
            return Err(Error::unsupported(format!(
                "an image on a CUDA device may have at most {MAX_SIDE} pixels a side, but this has {width} x {height} x {depth}; use the device cpu"
            )));
        }
        let axes = if plan.dimensions == 3 { "3d" } else { "2d" };
        let single = |name: &str| cuda.function(MODULE, &format!("isoline_es_{name}_{axes}")).map(Kernels::Single);
        let kernels = match plan.variant {
            Variant::Default | Variant::Fused => Kernels::Fused(Fused::new(cuda, plan, field)?),
            Variant::Shared => single("shared")?,
            Variant::Texture => {
                check_texture_limits(cuda, plan, field)?;
                single("texture")?
            }
            Variant::Scalar => return Err(Error::unsupported("the variant scalar runs on the CPU only")),
        };
        Ok(Self {
            plan,
            field,
            sizes: Sizes {
                width: width as u32,
                height: height as u32,
                depth: depth as u32,
                pitch: field.pitch as u64,
                mask_pitch: field.mask_pitch as u32,
            },
            prepare: cuda.function(MODULE, &format!("isoline_es_prepare_{}", suffix(pixel_type)))?,
            kernels,
            early_launches: cuda.early_launches(),
        })
    }

    /// The texture objects over both fields, for the variant that reads through them.
    pub(super) fn textures(&self, values: &[Buffer; 2]) -> Result<Option<[Texture; 2]>> {
        if self.plan.variant != Variant::Texture {
            return Ok(None);
        }
        let [width, height, _] = self.field.shape;
        let shape = if self.plan.dimensions == 3 {
            TextureShape::Linear { bytes: self.field.value_bytes() }
        } else {
            TextureShape::Rows { width, height, pitch: self.field.pitch * size_of::<f32>() }
        };
        Ok(Some([Texture::new(&values[0], shape)?, Texture::new(&values[1], shape)?]))
    }

    /// Queues the making of v⁰ and the mask of one slice, or of the volume. `raw`: the packed pixels on the device, or
    /// `None` for an input that is there already.
    #[allow(clippy::too_many_arguments, reason = "the kernel's own arguments")]
    pub(super) fn prepare(
        &self,
        stream: &Stream,
        input: &Image<'_>,
        raw: Option<u64>,
        slice: usize,
        start: &Start0,
        values: &Buffer,
        mask: &Buffer,
    ) -> Result<()> {
        const THREADS: usize = 256;
        const ROWS_AT_A_TIME: usize = 4;
        let [width, height, _] = self.field.shape;
        let pixel = input.pixel_type().bytes();
        let (pixels, row_stride, slice_stride) = match (input, raw) {
            (Image::Device(own), _) => {
                (own.address + (slice * own.strides[1]) as u64, own.strides[0] as u64, own.strides[1] as u64)
            }
            (_, Some(raw)) => (raw, (width * pixel) as u64, (width * height * pixel) as u64),
            (_, None) => unreachable!("host pixels are uploaded before they are prepared"),
        };
        let below = u32::from(self.plan.foreground == Foreground::Below);
        let from_input = u32::from(start.from_input);
        let (values, mask) = (values.address(), mask.address());
        let config = LaunchConfig {
            grid_dim: (
                (self.field.mask_pitch * u32::BITS as usize).div_ceil(THREADS) as u32,
                self.field.rows().div_ceil(ROWS_AT_A_TIME).min(MAX_GRID_YZ) as u32,
                1,
            ),
            block_dim: (THREADS as u32, 1, 1),
            shared_mem_bytes: 0,
        };
        let sizes = &self.sizes;
        // SAFETY: the arguments are the kernel's, in its order; `pixels` covers the slice with these strides (checked
        // for device inputs, uploaded whole for host inputs); `values` and `mask` have the field's bytes.
        unsafe {
            stream
                .raw()
                .launch_builder(&self.prepare)
                .arg(&pixels)
                .arg(&row_stride)
                .arg(&slice_stride)
                .arg(&sizes.width)
                .arg(&sizes.height)
                .arg(&sizes.depth)
                .arg(&self.plan.threshold)
                .arg(&below)
                .arg(&from_input)
                .arg(&start.minimum)
                .arg(&start.scale)
                .arg(&values)
                .arg(&sizes.pitch)
                .arg(&mask)
                .arg(&sizes.mask_pitch)
                .launch(config)
        }
        .map(|_| ())
        .map_err(|e| kernel_launch(e, "prepare"))
    }

    /// The iterations of one slot: ping-pong between its two fields, starting from the first.
    pub(super) fn bind<'b>(
        &'b self,
        values: &'b [Buffer; 2],
        textures: Option<&'b [Texture; 2]>,
        mask: &'b Buffer,
    ) -> Binding<'b> {
        Binding { launcher: self, values, textures, mask, current: 0 }
    }
}

/// The variant `texture` is bound by the texture unit's limits.
fn check_texture_limits(cuda: &Cuda, plan: &Plan, field: Field) -> Result<()> {
    use CUdevice_attribute as A;
    let limit = |which| cuda.attribute(which).map(|value| value.max(0) as usize);
    let [width, height, _] = field.shape;
    let too_large = |what: &str, is: usize, limit: usize| {
        Err(Error::unsupported(format!(
            "the variant texture takes {what} of at most {limit} on this device, but the image has {is}; use the default variant"
        )))
    };
    if plan.dimensions == 3 {
        let texels = field.value_bytes() / size_of::<f32>();
        let most = limit(A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)?;
        return if texels > most { too_large("a number of pixels (rows padded to 32)", texels, most) } else { Ok(()) };
    }
    for (what, is, which) in [
        ("a width", width, A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
        ("a height", height, A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
        (
            "a row length in bytes",
            field.pitch * size_of::<f32>(),
            A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH,
        ),
    ] {
        let most = limit(which)?;
        if is > most {
            return too_large(what, is, most);
        }
    }
    Ok(())
}

/// Two fields in ping-pong.
pub(super) struct Binding<'a> {
    launcher: &'a Launcher<'a>,
    values: &'a [Buffer; 2],
    textures: Option<&'a [Texture; 2]>,
    mask: &'a Buffer,
    current: usize,
}

impl Binding<'_> {
    /// Which field holds the newest values.
    pub(super) fn result(&self) -> usize {
        self.current
    }

    /// Queues one launch, of as many iterations as fit from iteration `done` on; returns how many.
    pub(super) fn launch(&mut self, stream: &Stream, done: usize) -> Result<usize> {
        let left = &self.launcher.plan.centre_weights[done..];
        let steps = match &self.launcher.kernels {
            Kernels::Single(function) => {
                self.single(stream, function, left[0])?;
                1
            }
            Kernels::Fused(fused) => self.fused(stream, fused, left)?,
        };
        self.current = 1 - self.current;
        Ok(steps)
    }

    /// One iteration: `shared` or `texture`.
    fn single(&self, stream: &Stream, function: &CudaFunction, weight: f32) -> Result<()> {
        let launcher = self.launcher;
        let sizes = &launcher.sizes;
        // A texture object and a device address are both 64-bit numbers to the launch.
        let from = match self.textures {
            Some(textures) => textures[self.current].handle(),
            None => self.values[self.current].address(),
        };
        let to = self.values[1 - self.current].address();
        let mask = self.mask.address();
        let volume = launcher.plan.dimensions == 3;
        let mut launch = stream.raw().launch_builder(function);
        launch.arg(&from).arg(&to).arg(&mask).arg(&sizes.width).arg(&sizes.height);
        if volume {
            launch.arg(&sizes.depth);
        }
        launch.arg(&sizes.pitch).arg(&sizes.mask_pitch).arg(&launcher.plan.time_step).arg(&weight);
        let config = single_geometry(launcher.field, volume);
        // SAFETY: the arguments are the kernel's, in its order; both fields and the mask have the field's bytes, the
        // fields are different buffers, and the textures are bound to them.
        unsafe { launch.launch(config) }.map(|_| ()).map_err(|e| kernel_launch(e, "shared or texture"))
    }

    /// The next few iterations in one pass over memory.
    fn fused(&self, stream: &Stream, fused: &Fused, left: &[f32]) -> Result<usize> {
        let launcher = self.launcher;
        let sizes = &launcher.sizes;
        let choice = fused.choose(left.len())?;
        let mut weights = Weights { k: [0.0; 16] };
        weights.k[..choice.steps].copy_from_slice(&left[..choice.steps]);
        let from = self.values[self.current].address();
        let to = self.values[1 - self.current].address();
        let mask = self.mask.address();
        let volume = launcher.plan.dimensions == 3;
        // The kernels of 2D wait for the launch ahead by themselves.
        if launcher.early_launches && !volume {
            let mut arguments = [
                pointer(&from),
                pointer(&to),
                pointer(&mask),
                pointer(&sizes.width),
                pointer(&sizes.height),
                pointer(&sizes.pitch),
                pointer(&sizes.mask_pitch),
                pointer(&choice.argument),
                pointer(&launcher.plan.time_step),
                pointer(&weights),
            ];
            // SAFETY: as in `single`; `choice` gives the geometry and the argument that the kernel asks for, and both
            // 2D kernels begin by waiting for the launch ahead.
            unsafe { stream.launch_early(choice.function, choice.config, &mut arguments) }
                .map_err(|e| kernel_launch(e, "fused"))?;
            return Ok(choice.steps);
        }
        let mut launch = stream.raw().launch_builder(choice.function);
        launch.arg(&from).arg(&to).arg(&mask).arg(&sizes.width).arg(&sizes.height);
        if volume {
            launch.arg(&sizes.depth);
        }
        launch
            .arg(&sizes.pitch)
            .arg(&sizes.mask_pitch)
            .arg(&choice.argument)
            .arg(&launcher.plan.time_step)
            .arg(&weights);
        // SAFETY: as in `single`; `choice` gives the geometry and the argument that the kernel asks for.
        unsafe { launch.launch(choice.config) }.map_err(|e| kernel_launch(e, "fused"))?;
        Ok(choice.steps)
    }
}

/// Block and grid of `shared` and `texture`: a thread a pixel; blocks loop over what exceeds the grid.
fn single_geometry(field: Field, volume: bool) -> LaunchConfig {
    let block: [usize; 3] = if volume { [32, 4, 4] } else { [32, 8, 1] };
    let tiles = |axis: usize| field.shape[axis].div_ceil(block[axis]);
    LaunchConfig {
        grid_dim: (tiles(0) as u32, tiles(1).min(MAX_GRID_YZ) as u32, tiles(2).min(MAX_GRID_YZ) as u32),
        block_dim: (block[0] as u32, block[1] as u32, block[2] as u32),
        shared_mem_bytes: 0,
    }
}

/// One launch of a fused kernel.
struct Choice<'a> {
    function: &'a CudaFunction,
    steps: usize,
    /// `chunk_rows`, `chunk_slices` or `levels`.
    argument: u32,
    config: LaunchConfig,
}

/// The fused kernels of a job and how it uses them.
enum Fused {
    /// 2D, large: strips that blocks run down, and tiles for the last few iterations.
    Stream { stream: CudaFunction, tile: CudaFunction, field: Field, multiprocessors: usize },
    /// 2D, small: tiles only.
    Tile { tile: CudaFunction, field: Field },
    /// 3D: columns that blocks run through, by their number of iterations, most first.
    Volume { by_steps: Vec<(usize, CudaFunction)>, field: Field, multiprocessors: usize },
}

/// Iterations of one launch of the stream kernel, columns that a block of it writes, and the blocks that a
/// multiprocessor holds.
const STREAM_STEPS: usize = 8;
const STREAM_VALID: usize = 112;
const STREAM_BLOCKS: usize = 12;

/// A chunk of the stream kernel has at least this many rows: its halo of 16 rows is computed as well.
const STREAM_LEAST_ROWS: usize = 16;

/// Images with a shorter side than this, or fewer pixels than that, are tiled.
const STREAM_LEAST_SIDE: usize = 128;
const STREAM_LEAST_PIXELS: usize = 1 << 22;

/// A tile's side, the warps of its block, and the most iterations of one launch.
const TILE_SIDE: usize = 128;
const TILE_WARPS: u32 = 16;
const TILE_MOST_STEPS: usize = 16;

/// In 3D: the side of a column and the warps of its block.
const COLUMN_SIDE: usize = 64;
const COLUMN_WARPS: u32 = 8;

impl Fused {
    fn new(cuda: &Cuda, plan: &Plan, field: Field) -> Result<Self> {
        let function = |name: String| cuda.function(MODULE, &format!("isoline_es_fused_{name}"));
        let multiprocessors = cuda.multiprocessors().max(1) as usize;
        let [width, height, _] = field.shape;
        if plan.dimensions == 3 {
            let by_steps = [4, 2, 1]
                .into_iter()
                .map(|steps| Ok((steps, function(format!("3d_{steps}"))?)))
                .collect::<Result<_>>()?;
            return Ok(Self::Volume { by_steps, field, multiprocessors });
        }
        let tile = function("2d_tile".into())?;
        if width.min(height) < STREAM_LEAST_SIDE || width * height < STREAM_LEAST_PIXELS {
            return Ok(Self::Tile { tile, field });
        }
        Ok(Self::Stream { stream: function("2d_stream".into())?, tile, field, multiprocessors })
    }

    /// The next launch when `left` iterations are to be done.
    fn choose(&self, left: usize) -> Result<Choice<'_>> {
        match self {
            Self::Stream { stream, field, multiprocessors, .. } if left >= STREAM_STEPS => {
                Ok(stream_choice(stream, *field, *multiprocessors))
            }
            Self::Stream { tile, field, .. } | Self::Tile { tile, field } => tile_choice(tile, *field, left),
            Self::Volume { by_steps, field, multiprocessors } => {
                let (steps, function) = by_steps
                    .iter()
                    .find(|(steps, _)| *steps <= left)
                    .expect("there is a kernel for one iteration, and at least one is left");
                volume_choice(function, *steps, *field, *multiprocessors)
            }
        }
    }
}

fn stream_choice(function: &CudaFunction, field: Field, multiprocessors: usize) -> Choice<'_> {
    let [width, height, _] = field.shape;
    let strips = width.div_ceil(STREAM_VALID);
    // As many chunks as fill the device once.
    let chunks = (multiprocessors * STREAM_BLOCKS / strips).max(1);
    let chunk_rows = height.div_ceil(chunks).max(STREAM_LEAST_ROWS);
    Choice {
        function,
        steps: STREAM_STEPS,
        argument: chunk_rows as u32,
        config: LaunchConfig {
            grid_dim: ((strips * height.div_ceil(chunk_rows)) as u32, 1, 1),
            block_dim: (WARP, 1, 1),
            shared_mem_bytes: 0,
        },
    }
}

fn tile_choice(function: &CudaFunction, field: Field, left: usize) -> Result<Choice<'_>> {
    let [width, height, _] = field.shape;
    // Equal launches: the halo of each is then as small as can be.
    let launches = left.div_ceil(TILE_MOST_STEPS);
    let steps = left.div_ceil(launches);
    let inner = TILE_SIDE - 2 * steps.next_multiple_of(4);
    let rows = height.div_ceil(inner);
    if rows > MAX_GRID_YZ {
        return Err(Error::unsupported(format!(
            "an image of {width} x {height} pixels is too tall and narrow for the fused variant on CUDA; transpose it, or use the variant shared or the device cpu"
        )));
    }
    Ok(Choice {
        function,
        steps,
        argument: steps as u32,
        config: LaunchConfig {
            grid_dim: (width.div_ceil(inner) as u32, rows as u32, 1),
            block_dim: (WARP, TILE_WARPS, 1),
            shared_mem_bytes: 0,
        },
    })
}

fn volume_choice(function: &CudaFunction, steps: usize, field: Field, multiprocessors: usize) -> Result<Choice<'_>> {
    let [width, height, depth] = field.shape;
    let inner = COLUMN_SIDE - 2 * steps.next_multiple_of(2);
    let (columns_x, columns_y) = (width.div_ceil(inner), height.div_ceil(inner));
    // While columns are few, as many chunks as fill the device once, but not so thin that their halo of `steps` slices
    // at both ends outweighs them; else chunks that keep the halo small and the end of the launch short.
    const LEAST_SLICES: usize = 8;
    const SLICES: usize = 64;
    let columns = columns_x * columns_y;
    let chunk = if 2 * columns <= multiprocessors {
        depth.div_ceil(multiprocessors / columns).max(LEAST_SLICES)
    } else {
        SLICES
    };
    let chunks = depth.div_ceil(chunk);
    if columns_y > MAX_GRID_YZ || chunks > MAX_GRID_YZ {
        return Err(Error::unsupported(format!(
            "a volume of {width} x {height} x {depth} pixels is too long and narrow for the fused variant on CUDA; use the variant shared or the device cpu"
        )));
    }
    Ok(Choice {
        function,
        steps,
        argument: chunk as u32,
        config: LaunchConfig {
            grid_dim: (columns_x as u32, columns_y as u32, chunks as u32),
            block_dim: (WARP, COLUMN_WARPS, 1),
            shared_mem_bytes: 0,
        },
    })
}

/// The smallest and largest finite pixel of a device image (u16 or f32); `[0, 0]` when there is none.
pub(super) fn measure_range(cuda: &Cuda, pixels: &DevicePixels<'_>) -> Result<[f64; 2]> {
    let stream = cuda.stream()?;
    let range = cuda.memory().device(2 * size_of::<u32>())?;
    let back = cuda.memory().pinned(2 * size_of::<u32>())?;
    stream.fill(&range, 0, size_of::<u32>(), 0xFF)?;
    stream.fill(&range, size_of::<u32>(), size_of::<u32>(), 0)?;
    let name = format!("isoline_es_minmax_{}", suffix(pixels.pixel_type));
    let function = cuda.function(MODULE, &name)?;
    let [width, height, depth] = pixels.shape;
    let [row_stride, slice_stride] = pixels.strides.map(|bytes| bytes as u64);
    let address = range.address();
    let config = LaunchConfig {
        grid_dim: (width.div_ceil(256).min(64) as u32, (height * depth).min(1024) as u32, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the arguments are the kernel's, in its order; the pixels were checked to lie in one allocation, and
    // `range` holds two words.
    unsafe {
        stream
            .raw()
            .launch_builder(&function)
            .arg(&pixels.address)
            .arg(&row_stride)
            .arg(&slice_stride)
            .arg(&(width as u32))
            .arg(&(height as u32))
            .arg(&(depth as u32))
            .arg(&address)
            .launch(config)
    }
    .map_err(|e| kernel_launch(e, &name))?;
    let bytes = 2 * size_of::<u32>();
    stream.copy(range.side(0), back.side(), bytes, 1, [bytes, bytes])?;
    stream.synchronize()?;
    let keys: &[u32] = bytemuck::cast_slice(&back.as_slice()[..bytes]);
    Ok(if keys[0] > keys[1] {
        [0.0, 0.0]
    } else {
        [decode(keys[0], pixels.pixel_type), decode(keys[1], pixels.pixel_type)]
    })
}

/// A pixel from its sorting key: 16-bit pixels are their own, floats have their sign turned over.
fn decode(key: u32, pixel_type: PixelType) -> f64 {
    if pixel_type != PixelType::F32 {
        return f64::from(key);
    }
    const SIGN: u32 = 0x8000_0000;
    f64::from(f32::from_bits(if key & SIGN != 0 { key ^ SIGN } else { !key }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_decode_to_the_floats_they_came_from() {
        for value in [0.0f32, 1.5, -1.5, f32::MAX, f32::MIN, -0.0] {
            let bits = value.to_bits();
            let key = bits ^ if bits >> 31 == 1 { u32::MAX } else { 0x8000_0000 };
            assert_eq!(decode(key, PixelType::F32), f64::from(value));
        }
    }

    #[test]
    fn rows_are_aligned_and_masks_padded() {
        let field = Field::new([33, 5, 2]);
        assert_eq!((field.pitch, field.mask_pitch), (64, 4));
        assert_eq!(field.value_bytes(), 64 * 10 * 4);
        assert_eq!(field.mask_bytes(), 4 * 10 * 4);
    }
}
