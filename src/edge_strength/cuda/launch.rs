//! Launches the kernels of `kernels/edge_strength.cu`: kernel, geometry and arguments. The kernels' contract (layouts,
//! limits) is at the top of that file; `kernels/edge_strength.h` has the block sizes.
#![allow(unsafe_code)]

use super::super::prepare::InitialValues;
use super::super::{FLUSH_THRESHOLD, Foreground, Plan, Variant, is_flushed};
use super::constants::MODULE;
use super::field_layout::FieldLayout;
use super::fused::Fused;
use crate::device::cuda::{Buffer, Cuda, DeviceSlices, Kernel, Stream, Texture, TextureShape, check_sides, geometry};
use crate::device::kernels::edge_strength::{
    PREPARE_PIXELS, PREPARE_WARPS, TILE_X, TILE_Y, TILE3_X, TILE3_Y, TILE3_Z, WARP, isoline_es_weights,
};
use crate::error::{Error, Result};
use crate::image::PixelType;
use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{DeviceRepr, LaunchConfig};

/// The sizes that every iteration kernel takes as arguments.
#[derive(Clone, Copy)]
struct Sizes {
    width: u32,
    height: u32,
    depth: u32,
    pitch: u64,
    mask_pitch: u32,
}

/// The kernels that iterate.
enum Kernels {
    /// A kernel of one iteration per launch.
    Single(Kernel),
    /// Kernels of several iterations per launch.
    Fused(Fused),
}

/// The kernels of one call, with the arguments that stay the same.
pub(super) struct Launcher<'a> {
    plan: &'a Plan,
    field: FieldLayout,
    sizes: Sizes,
    prepare: Kernel,
    kernels: Kernels,
    /// True if the first launch computes v⁰ from the mask (1 on the shape, 0 outside), so that no field is prepared.
    starts_from_mask: bool,
}

impl<'a> Launcher<'a> {
    pub(super) fn new(
        cuda: &Cuda,
        plan: &'a Plan,
        initial: &InitialValues,
        field: FieldLayout,
        pixel_type: PixelType,
    ) -> Result<Self> {
        /// The largest side, because kernels index columns, rows and slices with their halos in 32 bits.
        const MAX_SIDE: usize = 1 << 30;
        let [width, height, depth] = field.shape;
        check_sides(field.shape, MAX_SIDE)?;
        let axes = if plan.dimensions == 3 { "3d" } else { "2d" };
        let single = |name: &str| cuda.kernel(MODULE, &format!("isoline_es_{name}_{axes}")).map(Kernels::Single);
        let kernels = match plan.variant {
            Variant::Default | Variant::Fused => Kernels::Fused(Fused::new(cuda, plan, field)?),
            Variant::Shared => single("shared")?,
            Variant::Texture => {
                check_texture_limits(cuda, plan, field)?;
                single("texture")?
            }
            Variant::Scalar => unreachable!("it was refused"),
        };
        // The field is needed if v⁰ is the result (no iterations), and in the converged mode, which measures the change
        // from it.
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
            prepare: cuda.kernel(MODULE, &format!("isoline_es_prepare_{}", pixel_type.name()))?,
            kernels,
            starts_from_mask: initial.is_mask() && iterates && fused_2d,
        })
    }

    /// Creates the textures over both fields, for the variant that reads through them.
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

    /// Queues the kernel that computes the mask, and v⁰ if it is needed, of one slice, of the volume, or of some slices of
    /// it, at the given addresses.
    pub(super) fn prepare(
        &self,
        stream: &Stream,
        pixels: DeviceSlices,
        start: &InitialValues,
        values: u64,
        mask: u64,
    ) -> Result<()> {
        let [row_stride, slice_stride] = pixels.strides.map(|bytes| bytes as u64);
        let below = u32::from(self.plan.foreground == Foreground::Below);
        let values = if self.starts_from_mask { 0 } else { values };
        // The first column of blocks computes the words before and after each row.
        let grid = [1 + self.field.shape[0].div_ceil(PREPARE_PIXELS), self.field.rows().div_ceil(PREPARE_WARPS), 1];
        let Sizes { width, height, depth, pitch, mask_pitch } = &self.sizes;
        let (threshold, minimum, scale) = (&self.plan.threshold, &start.minimum, &start.scale);
        let source: [&dyn DeviceRepr; 6] = [&pixels.address, &row_stride, &slice_stride, width, height, depth];
        let arguments: [&dyn DeviceRepr; 9] =
            [threshold, &below, &start.unit, minimum, scale, &values, pitch, &mask, mask_pitch];
        let config = geometry(grid, [WARP, PREPARE_WARPS, 1]);
        // SAFETY: the arguments are the kernel's, in its order; `pixels` covers the slice with these strides (checked
        // for device inputs, uploaded whole for host inputs); `values` (or null) and `mask` have the field's bytes.
        unsafe { stream.launch(&self.prepare, config, &[source.as_slice(), &arguments].concat()) }
    }

    /// Returns the weights along y and z, which are arguments of the kernels for volumes.
    fn axis_weights(&self) -> impl Iterator<Item = &dyn DeviceRepr> {
        let axes = if self.plan.dimensions == 3 { 1..3 } else { 0..0 };
        self.plan.weights[axes].iter().map(|weight| weight as &dyn DeviceRepr)
    }

    /// Binds the iterations to the memory of one slot. They alternate between its two fields, starting from the first.
    pub(super) fn bind<'b>(
        &'b self,
        values: &'b [Buffer; 2],
        textures: Option<&'b [Texture; 2]>,
        mask: &'b Buffer,
    ) -> Binding<'b> {
        Binding { launcher: self, values, textures, mask, current: 0 }
    }
}

/// Refuses an image beyond the limits of the texture unit, for the variant `texture`.
fn check_texture_limits(cuda: &Cuda, plan: &Plan, field: FieldLayout) -> Result<()> {
    use CUdevice_attribute as A;
    let limit = |which| cuda.attribute(which).map(|value| value.max(0) as usize);
    let [width, height, _] = field.shape;
    let too_large = |what: &str, is: usize, limit: usize| {
        Err(Error::unsupported(format!(
            "cannot compute with the variant texture: this device takes {what} of at most {limit} (got {is}); use the \
             default variant"
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

/// The iterations of one slot, which alternate between two fields.
pub(super) struct Binding<'a> {
    launcher: &'a Launcher<'a>,
    values: &'a [Buffer; 2],
    textures: Option<&'a [Texture; 2]>,
    mask: &'a Buffer,
    current: usize,
}

impl Binding<'_> {
    /// Returns the index of the field that holds the newest values.
    pub(super) fn result(&self) -> usize {
        self.current
    }

    /// Queues one launch of as many iterations as possible after `done` iterations; returns their number.
    pub(super) fn launch(&mut self, stream: &Stream, done: usize) -> Result<usize> {
        let steps = match &self.launcher.kernels {
            Kernels::Single(kernel) => {
                self.single(stream, kernel, done)?;
                1
            }
            Kernels::Fused(fused) => self.fused(stream, fused, done)?,
        };
        self.current = 1 - self.current;
        Ok(steps)
    }

    /// Queues the iteration after `done` iterations with the kernel of `shared` or `texture`.
    fn single(&self, stream: &Stream, kernel: &Kernel, done: usize) -> Result<()> {
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
        let flush_below = if is_flushed(done + 1) { FLUSH_THRESHOLD } else { 0.0 }.to_bits();
        let mut arguments: Vec<&dyn DeviceRepr> = vec![&from, &to, &mask, &sizes.width, &sizes.height];
        if volume {
            arguments.push(&sizes.depth);
        }
        arguments.extend([&sizes.pitch as &dyn DeviceRepr, &sizes.mask_pitch]);
        arguments.extend(launcher.axis_weights());
        arguments.extend([&launcher.plan.time_step as &dyn DeviceRepr, &weight, &flush_below]);
        let config = single_geometry(launcher.field, volume);
        // SAFETY: the arguments are the kernel's, in its order; both fields and the mask have the field's bytes, the
        // fields are different buffers, and the textures are bound to them.
        unsafe { stream.launch(kernel, config, &arguments) }
    }

    /// Queues the next few iterations after `done` iterations, in one pass over memory.
    fn fused(&self, stream: &Stream, fused: &Fused, done: usize) -> Result<usize> {
        let launcher = self.launcher;
        let sizes = &launcher.sizes;
        let left = &launcher.plan.centre_weights[done..];
        let from_mask = launcher.starts_from_mask && done == 0;
        let choice = fused.choose(done, left.len(), from_mask)?;
        let mut weights = isoline_es_weights::default();
        weights.k[..choice.steps].copy_from_slice(&left[..choice.steps]);
        let from = if from_mask { 0 } else { self.values[self.current].address() };
        let to = self.values[1 - self.current].address();
        let mask = self.mask.address();
        let volume = launcher.plan.dimensions == 3;
        let mut arguments: Vec<&dyn DeviceRepr> = vec![&from, &to, &mask, &sizes.width, &sizes.height];
        if volume {
            arguments.push(&sizes.depth);
        }
        let flushed_level = choice.flushed_level.unwrap_or_default();
        arguments.extend([&sizes.pitch as &dyn DeviceRepr, &sizes.mask_pitch, &choice.argument]);
        arguments.extend(launcher.axis_weights());
        arguments.extend([&launcher.plan.time_step as &dyn DeviceRepr, &weights, &flushed_level]);
        // SAFETY: as in `single`; `choice` gives the geometry and the argument that the kernel requires. A kernel
        // without the last argument does not read it, a kernel that gets no field reads none, and all 2D kernels begin
        // by waiting for the launch ahead.
        unsafe {
            if volume {
                stream.launch(choice.kernel, choice.config, &arguments)?;
            } else {
                stream.launch_early(choice.kernel, choice.config, &arguments)?;
            }
        }
        Ok(choice.steps)
    }
}

/// Returns the geometry of `shared` and `texture`: one thread per pixel; blocks loop over tiles beyond the largest
/// grid.
fn single_geometry(field: FieldLayout, volume: bool) -> LaunchConfig {
    let block: [usize; 3] = if volume { [TILE3_X, TILE3_Y, TILE3_Z] } else { [TILE_X, TILE_Y, 1] };
    let tiles = [0, 1, 2].map(|axis| field.shape[axis].div_ceil(block[axis]));
    geometry(tiles, block)
}
