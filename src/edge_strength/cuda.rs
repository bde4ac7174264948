//! Edge strength on CUDA: the operation of the slice pipeline. Each slice in flight has two fields and a mask. [`launch`]
//! starts the kernels, [`multigrid`] solves the converged mode.
//!
//! A volume that does not fit the device memory is cut into slabs along z. Each is read with a halo of one slice per
//! iteration: the error from missing neighbours beyond the halo spreads by one slice with every iteration, so it never
//! reaches the slab's own slices. In the converged mode the halo covers the steps of a cycle.

mod constants;
mod field_layout;
mod fused;
mod launch;
mod multigrid;

use super::multigrid::SolveOptions;
use super::prepare::InitialValues;
use super::{Mode, Outcome, Plan, STAGE, Variant};
use crate::device::Context;
use crate::device::cuda::{
    Buffer, Cuda, DeviceSlices, Pipeline, ShortQueue, Side, SliceOperation, Slot, Stream, Texture, check_device_pixels,
    slices_together, useful_slots,
};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Progress;
use crate::report::Report;
use field_layout::FieldLayout;
use launch::Launcher;
use std::ops::Range;
use std::sync::Arc;

/// Returns the least device memory with which the call can run, in bytes: that of one slot or, for a volume, of its
/// thinnest slab.
pub(super) fn min_device_bytes(
    context: &Context,
    plan: &Plan,
    input: &Image<'_>,
    output: &ImageMut<'_>,
) -> Result<u64> {
    let (shape, whole) = (input.shape(), whole_bytes(plan, input));
    let Some(cuda) = context.cuda().filter(|_| plan.dimensions == 3) else { return Ok(whole) };
    // If the device is chosen automatically, the GPU is used only if slabs cause at most twice the work.
    let least = match (plan.halo(), context.is_automatic()) {
        (Some(halo), true) => (4 * halo).max(1),
        (Some(halo), false) => 2 * halo + 1,
        // Slabs of the converged mode keep the values in host memory between two cycles.
        (None, _) if matches!(output, ImageMut::Device(_)) => return Ok(whole),
        (None, true) => multigrid::LEAST_CHOSEN_SLICES,
        (None, false) => multigrid::LEAST_SLICES,
    };
    if least >= shape[2] || whole <= cuda.budget()? {
        return Ok(whole);
    }
    Ok(match plan.halo() {
        Some(_) => whole / shape[2] as u64 * least as u64,
        None => multigrid::bytes_in_slabs(shape, plan.operator(), least),
    })
}

/// Returns the device memory of a slot that holds a slice or the volume, in bytes.
fn whole_bytes(plan: &Plan, input: &Image<'_>) -> u64 {
    SlotLayout::new(plan, input, &(0..input.shape()[2])).slot_bytes(plan)
}

/// The sizes of one slot, which holds some slices, the volume, or a slab of it with its halo.
#[derive(Clone, Copy)]
struct SlotLayout {
    field: FieldLayout,
    /// The bytes of the packed input; 0 if it is on the device already.
    raw_bytes: usize,
    /// The number of slices of the input.
    depth: usize,
    /// The number of slices before the wanted ones, the number of wanted slices, and how many of these one slot computes.
    first: usize,
    wanted: usize,
    own: usize,
    /// The number of slices that a slot reads before its own, as far as the image has them.
    halo: usize,
}

impl SlotLayout {
    /// Makes the layout of slots that hold a slice, or the whole input if it is a volume.
    fn new(plan: &Plan, input: &Image<'_>, wanted: &Range<usize>) -> Self {
        let [slices, own] = if plan.dimensions == 3 { [input.shape()[2], wanted.len()] } else { [1, 1] };
        Self::of_slices(input, wanted, slices, own, 0)
    }

    /// Makes the layout of slots of `slices` slices, `own` of which they compute.
    fn of_slices(input: &Image<'_>, wanted: &Range<usize>, slices: usize, own: usize, halo: usize) -> Self {
        let [width, height, depth] = input.shape();
        let shape = [width, height, slices];
        let on_device = matches!(input, Image::Device(_));
        let raw_bytes = if on_device { 0 } else { shape.iter().product::<usize>() * input.pixel_type().bytes() };
        let (first, wanted) = (wanted.start, wanted.len());
        Self { field: FieldLayout::new(shape), raw_bytes, depth, first, wanted, own, halo }
    }

    /// Makes the layout of a slot that fits the budget: for a volume, the whole or the deepest slab that fits; for slices,
    /// as many as the same launches compute.
    fn fitting(plan: &Plan, input: &Image<'_>, wanted: &Range<usize>, budget: u64) -> Self {
        let whole = Self::new(plan, input, wanted);
        let bytes = whole.slot_bytes(plan);
        match plan.halo() {
            Some(halo) if plan.dimensions == 3 && bytes > budget && 2 * halo + 1 < whole.depth => {
                // If not even the thinnest slab fitted, the call has been refused before.
                let slices = usize::try_from(budget / (bytes / whole.depth as u64)).unwrap_or(usize::MAX);
                let slices = slices.clamp(2 * halo + 1, whole.depth);
                Self::of_slices(input, wanted, slices, slices - 2 * halo, halo)
            }
            _ if plan.has_shared_launches() => {
                let slices = slices_together(wanted.len(), whole.packed_result_bytes(), budget / bytes);
                Self::of_slices(input, wanted, slices, slices, 0)
            }
            _ => whole,
        }
    }

    /// Returns the number of slots that the image takes.
    fn count(&self) -> usize {
        self.wanted.div_ceil(self.own)
    }

    /// Returns the slices of the output that a slot computes.
    fn slices(&self, slot: usize) -> Range<usize> {
        slot * self.own..self.wanted.min((slot + 1) * self.own)
    }

    /// Returns the slices of the input that a slot reads. All slots read the same number, so slots at the ends of the
    /// volume have a larger halo on one side.
    fn reads(&self, slot: usize) -> Range<usize> {
        let slices = self.field.shape[2];
        let first = (self.first + self.slices(slot).start).saturating_sub(self.halo).min(self.depth - slices);
        first..first + slices
    }

    fn slot_bytes(&self, plan: &Plan) -> u64 {
        let extra = match plan.mode {
            Mode::Iterate { .. } => 0,
            Mode::Converged { .. } => multigrid::extra_bytes(self.field.shape, plan.operator()),
        };
        (self.raw_bytes + 2 * self.field.value_bytes() + self.field.mask_bytes()) as u64 + extra
    }

    fn packed_result_bytes(&self) -> usize {
        self.field.shape.iter().product::<usize>() * size_of::<f32>()
    }
}

impl Plan {
    /// Tells whether one launch computes several slices, which only the fused kernels do.
    fn has_shared_launches(&self) -> bool {
        let is_fused = matches!(self.variant, Variant::Default | Variant::Fused);
        self.dimensions == 2 && is_fused && matches!(self.mode, Mode::Iterate { .. })
    }
}

/// The memory of one slot in flight.
struct Buffers {
    values: [Buffer; 2],
    mask: Buffer,
    /// The textures over `values`, for the variant `texture`.
    textures: Option<[Texture; 2]>,
    /// The index in `values` of the current result, the bytes of the halo before it, and its bytes from row to row.
    result: usize,
    before: usize,
    pitch: usize,
}

/// Computes the slices `own` of the image; see [`super::compute`].
pub(super) fn run(
    context: &Context,
    cuda: &Arc<Cuda>,
    (plan, initial): (&Plan, &InitialValues),
    (input, own): (&Image<'_>, &Range<usize>),
    progress: &mut Option<&mut Progress<'_>>,
    output: &mut ImageMut<'_>,
) -> Result<Report> {
    check_request(cuda, plan, input, output)?;
    if let (true, ImageMut::F32(output)) = (is_solved_in_slabs(cuda, plan, input)?, &mut *output) {
        return multigrid::solve_in_slabs(context, cuda, (plan, initial), input, progress, output.view_mut());
    }
    let layout = SlotLayout::fitting(plan, input, own, cuda.budget()?);
    let mut pipeline = Pipeline::new(context, cuda, STAGE, layout.count(), progress)?;
    // 1. Prepare the kernels.
    let launcher = Launcher::new(cuda, plan, initial, layout.field, input.pixel_type())?;
    let mut call = Call { launcher: &launcher, initial: *initial, outcome: Outcome::none(plan), cuda, plan, layout };
    // 2. Allocate as many slots as are useful and fit the memory budget.
    let most = useful_slots(input, Some(output), layout.packed_result_bytes()).min(layout.count());
    let wanted = cuda.slots_that_fit(layout.slot_bytes(plan), most)?;
    let slots = (0..wanted).map(|_| Slot::new(cuda, input, layout.field.shape[2], 1, call.buffers()?));
    let mut slots = slots.collect::<Result<Vec<_>>>()?;
    // 3. Run the pipeline.
    pipeline.run(context, cuda, &mut call, &mut slots, Some(input), Some(output))?;
    drop(slots);
    let mut report = pipeline.end(cuda);
    report.iterations = call.outcome.iterations;
    report.residual = call.outcome.residual;
    report.converged = call.outcome.converged;
    report.slices_done = own.len() as u64;
    report.part_count = if plan.dimensions == 3 { layout.count() as u64 } else { 1 };
    Ok(report)
}

/// Tells whether the converged mode of a volume needs slabs and can use them, which it can with an output in host memory.
fn is_solved_in_slabs(cuda: &Cuda, plan: &Plan, input: &Image<'_>) -> Result<bool> {
    let may_be = plan.halo().is_none() && input.shape()[2] > multigrid::LEAST_SLICES;
    Ok(may_be && whole_bytes(plan, input) > cuda.budget()?)
}

/// Refuses a variant that CUDA does not have, and images outside the memory of the device.
fn check_request(cuda: &Cuda, plan: &Plan, input: &Image<'_>, output: &ImageMut<'_>) -> Result<()> {
    if plan.variant == Variant::Scalar {
        return Err(Error::unsupported(
            "cannot compute on a CUDA device: the variant scalar is the CPU reference; use the device cpu or another variant",
        ));
    }
    if let Image::Device(pixels) = input {
        check_device_pixels(cuda, "the input", pixels)?;
    }
    if let ImageMut::Device(pixels) = output {
        check_device_pixels(cuda, "the output", pixels)?;
    }
    Ok(())
}

/// A call in progress.
struct Call<'a> {
    cuda: &'a Arc<Cuda>,
    plan: &'a Plan,
    layout: SlotLayout,
    launcher: &'a Launcher<'a>,
    initial: InitialValues,
    outcome: Outcome,
}

impl SliceOperation for Call<'_> {
    type Buffers = Buffers;

    fn slices(&self, slice: usize) -> Range<usize> {
        self.layout.slices(slice)
    }

    fn reads(&self, slice: usize) -> Range<usize> {
        self.layout.reads(slice)
    }

    fn compute(
        &mut self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &mut Slot<Buffers>,
        pixels: DeviceSlices,
        slice: usize,
        _output: Option<&ImageMut<'_>>,
    ) -> Result<()> {
        let Slot { stream, buffers, .. } = slot;
        let [values, mask] = [&buffers.values[0], &buffers.mask].map(Buffer::address);
        self.launcher.prepare(stream, pixels, &self.initial, values, mask)?;
        buffers.result = 0;
        let before = self.layout.first + self.slices(slice).start - self.reads(slice).start;
        buffers.before = before * self.layout.field.shape[1] * buffers.pitch;
        match self.plan.mode {
            Mode::Iterate { iterations } => {
                buffers.result = self.iterate(pipeline, stream, buffers, slice)?;
                self.outcome.iterations = iterations;
            }
            Mode::Converged { tolerance, max_cycles } => {
                let options = SolveOptions { operator: self.plan.operator(), tolerance, max_cycles };
                let field = multigrid::FieldBuffers {
                    values: &buffers.values[0],
                    workspace: &buffers.values[1],
                    mask: &buffers.mask,
                    layout: self.layout.field,
                };
                let outcome = multigrid::solve(self.cuda, stream, &field, &options, &mut |fraction| {
                    pipeline.poll(slice, fraction)
                })?;
                self.outcome = self.outcome.worst(outcome);
            }
        }
        Ok(())
    }

    fn result(buffers: &Buffers) -> Option<(Side, usize)> {
        Some((buffers.values[buffers.result].side(buffers.before), buffers.pitch))
    }
}

impl Call<'_> {
    fn buffers(&self) -> Result<Buffers> {
        let memory = self.cuda.memory();
        let field = &self.layout.field;
        let values = [memory.device(field.value_bytes())?, memory.device(field.value_bytes())?];
        Ok(Buffers {
            textures: self.launcher.textures(&values)?,
            values,
            mask: memory.device(field.mask_bytes())?,
            result: 0,
            before: 0,
            pitch: field.pitch * size_of::<f32>(),
        })
    }

    /// Queues all iterations. Waits for the device at intervals, so that the queue stays short and a cancellation takes
    /// effect in time.
    fn iterate(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        stream: &Stream,
        buffers: &Buffers,
        slice: usize,
    ) -> Result<usize> {
        /// The number of pixel updates between two polls: about a millisecond on a large GPU, 20 on a small one.
        const UPDATES_PER_POLL: u64 = 4_000_000_000;
        let pixels = self.layout.field.shape.iter().product::<usize>() as u64;
        let total = self.plan.centre_weights.len();
        let launcher = self.launcher;
        let mut binding = launcher.bind(&buffers.values, buffers.textures.as_ref(), &buffers.mask);
        let mut queue = ShortQueue::new(self.cuda)?;
        let (mut done, mut since) = (0, 0u64);
        while done < total {
            let steps = binding.launch(stream, done)?;
            done += steps;
            since += steps as u64 * pixels;
            if since >= UPDATES_PER_POLL && done < total {
                since = 0;
                queue.follow(stream)?;
                pipeline.poll(slice, done as f64 / total as f64)?;
            }
        }
        Ok(binding.result())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Params;
    use super::*;
    use crate::image::Dimensions;
    use ndarray::Array3;

    #[test]
    fn slabs_cover_the_volume_and_have_their_halos() {
        for (depth, iterations) in [(40, 3), (41, 5), (300, 50), (7, 3), (12, 0)] {
            let volume = Array3::<u8>::zeros((depth, 5, 33));
            let input = Image::from(volume.view());
            let plan = |mode| Params { dimensions: Dimensions::Volume, mode, ..Params::default() }.plan().unwrap();
            let plan = plan(Mode::Iterate { iterations: iterations as u64 });
            // All slices, or those that a device or a batch has between those on which they depend.
            for wanted in [0..depth, iterations..depth, 0..depth - iterations, iterations..depth - iterations] {
                let whole = SlotLayout::new(&plan, &input, &wanted);
                let bytes = |slices: usize| whole.slot_bytes(&plan) / depth as u64 * slices as u64;
                for slices in 2 * iterations + 1..depth {
                    let layout = SlotLayout::fitting(&plan, &input, &wanted, bytes(slices) + 3);
                    assert!(layout.slot_bytes(&plan) <= bytes(slices), "{depth} {iterations} {slices}");
                    let mut next = 0;
                    for slot in 0..layout.count() {
                        let (own, reads) = (layout.slices(slot), layout.reads(slot));
                        assert_eq!((own.start, reads.len()), (next, slices), "{depth} {iterations} {slices}");
                        next = own.end;
                        let own = wanted.start + own.start..wanted.start + own.end;
                        assert!(reads.start <= own.start.saturating_sub(iterations) && reads.end <= depth);
                        assert!(reads.end >= depth.min(own.end + iterations) && !own.is_empty());
                    }
                    assert_eq!(next, wanted.len());
                }
                let layout = SlotLayout::fitting(&plan, &input, &wanted, bytes(depth));
                assert_eq!((layout.count(), layout.slices(0), layout.reads(0)), (1, 0..wanted.len(), 0..depth));
            }
        }
    }
}
