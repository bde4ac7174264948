//! The launches of `kernels/edge_strength.cu`: which kernel, which geometry, which arguments. The kernels' contract
//! (layouts, block sizes, limits) is at the top of that file; the constants here repeat it.
#![allow(unsafe_code)]

use super::super::prepare::Start0;
use super::super::{Foreground, LEAST, Plan, Start, Variant, is_flushed};
use super::field::Field;
use super::fused::{Fused, Weights};
use crate::device::cuda::{Buffer, Cuda, Stream, Texture, TextureShape, failed};
use crate::error::{Error, Result};
use crate::image::{Image, PixelType};
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{CudaFunction, DriverError, LaunchConfig, PushKernelArg};
use std::ffi::c_void;

/// The module (kernel file) of this operation.
pub(super) const MODULE: &str = "edge_strength";

/// Threads of a warp.
pub(super) const WARP: u32 = 32;

/// The largest grid in y and z.
pub(super) const MAX_GRID_YZ: usize = 65535;

/// The arguments that every iteration kernel takes.
#[derive(Clone, Copy)]
struct Sizes {
    width: u32,
    height: u32,
    depth: u32,
    pitch: u64,
    mask_pitch: u32,
}

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
    /// The first launch knows v⁰ from the mask: 1 on the shape, 0 beside it. So no field is prepared.
    starts_from_mask: bool,
}

pub(super) fn kernel_launch(error: DriverError, kernel: &str) -> Error {
    failed(&format!("start the kernel {kernel}"), error)
}

/// A kernel argument as the driver takes it.
fn pointer<T>(argument: &T) -> *mut c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}

impl<'a> Launcher<'a> {
    pub(super) fn new(cuda: &Cuda, plan: &'a Plan, start: Start, field: Field, pixel_type: PixelType) -> Result<Self> {
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
        // Without an iteration v⁰ is the result, and the converged mode measures the change from it.
        let iterates = !plan.centre_weights.is_empty();
        let fused_2d = plan.dimensions == 2 && matches!(kernels, Kernels::Fused(_));
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
            prepare: cuda.function(MODULE, &format!("isoline_es_prepare_{}", pixel_type.name()))?,
            kernels,
            early_launches: cuda.early_launches(),
            starts_from_mask: start == Start::Mask && iterates && fused_2d,
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

    /// Queues the making of the mask, and of v⁰ where it is needed, of one slice or of the volume. `raw`: the packed
    /// pixels on the device, or `None` for an input that is there already.
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
        /// Rows of a block, a warp each, and pixels of a warp.
        const ROWS: u32 = 8;
        const COLUMNS: usize = 1024;
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
        let values = if self.starts_from_mask { 0 } else { values.address() };
        let mask = mask.address();
        let config = LaunchConfig {
            // A column of blocks for the words before and after each row.
            grid_dim: (
                1 + width.div_ceil(COLUMNS) as u32,
                self.field.rows().div_ceil(ROWS as usize).min(MAX_GRID_YZ) as u32,
                1,
            ),
            block_dim: (WARP, ROWS, 1),
            shared_mem_bytes: 0,
        };
        let sizes = &self.sizes;
        // SAFETY: the arguments are the kernel's, in its order; `pixels` covers the slice with these strides (checked
        // for device inputs, uploaded whole for host inputs); `values` (or null) and `mask` have the field's bytes.
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
        let steps = match &self.launcher.kernels {
            Kernels::Single(function) => {
                self.single(stream, function, done)?;
                1
            }
            Kernels::Fused(fused) => self.fused(stream, fused, done)?,
        };
        self.current = 1 - self.current;
        Ok(steps)
    }

    /// The iteration after `done`: `shared` or `texture`.
    fn single(&self, stream: &Stream, function: &CudaFunction, done: usize) -> Result<()> {
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
        let weight = launcher.plan.centre_weights[done];
        let least = if is_flushed(done + 1) { LEAST } else { 0.0 }.to_bits();
        let mut launch = stream.raw().launch_builder(function);
        launch.arg(&from).arg(&to).arg(&mask).arg(&sizes.width).arg(&sizes.height);
        if volume {
            launch.arg(&sizes.depth);
        }
        launch.arg(&sizes.pitch).arg(&sizes.mask_pitch).arg(&launcher.plan.time_step).arg(&weight).arg(&least);
        let config = single_geometry(launcher.field, volume);
        // SAFETY: the arguments are the kernel's, in its order; both fields and the mask have the field's bytes, the
        // fields are different buffers, and the textures are bound to them.
        unsafe { launch.launch(config) }.map(|_| ()).map_err(|e| kernel_launch(e, "shared or texture"))
    }

    /// The next few iterations after `done`, in one pass over memory.
    fn fused(&self, stream: &Stream, fused: &Fused, done: usize) -> Result<usize> {
        let launcher = self.launcher;
        let sizes = &launcher.sizes;
        let left = &launcher.plan.centre_weights[done..];
        let from_mask = launcher.starts_from_mask && done == 0;
        let choice = fused.choose(done, left.len(), from_mask)?;
        let weights = Weights::of(&left[..choice.steps]);
        let from = if from_mask { 0 } else { self.values[self.current].address() };
        let to = self.values[1 - self.current].address();
        let mask = self.mask.address();
        let volume = launcher.plan.dimensions == 3;
        // The kernels of 2D wait for the launch ahead by themselves.
        if launcher.early_launches && !volume {
            let flushed_level = choice.flushed_level.unwrap_or_default();
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
                pointer(&flushed_level),
            ];
            // SAFETY: as in `single`; `choice` gives the geometry and the argument that the kernel asks for; one without a
            // last argument leaves ours unread, a kernel that gets no field reads none, and all 2D kernels begin by
            // waiting for the launch ahead.
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
        if let Some(level) = &choice.flushed_level {
            launch.arg(level);
        }
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
