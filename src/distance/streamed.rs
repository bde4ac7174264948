//! The distance of a volume whose slices functions of the host read or write, on the CPU.
//!
//! 1. Batches of slices go through the passes along x and y, while others are read.
//! 2. Groups of columns, each with all of its slices, go through the pass along z.
//! 3. The slices are handed to the function that writes them, if there is one.
//!
//! Between these steps the values are in the output, if that is an image, else in a temporary file. Columns are computed
//! together with the same others as in memory, so that the bits are those of a volume in memory.

use super::{Params, STAGE, cpu};
use crate::device::Context;
use crate::error::{Error, Result};
use crate::image::{ImageMut, PixelType, write_packed};
use crate::memory::file::TemporaryFile;
use crate::progress::{Progress, Ticker, part, run as run_with_progress};
use crate::report::Report;
use crate::slice_io::{Input, Output, Sink};
use ndarray::{ArrayViewMut3, Axis};
use std::time::Instant;

/// The shares of the whole that are done after the passes along x and y, and after that along z.
const SHARES: [f64; 2] = [0.5, 0.8];

/// The bytes of a group of columns, where [`cpu::ALIGNED_COLUMNS`] have less.
const GROUP_BYTES: usize = 128 << 20;

/// Computes the whole volume; see [`super::run`].
pub(super) fn run(
    context: &Context,
    params: &Params,
    mask: Input<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    output: Output<'_>,
) -> Result<Report> {
    let (started, volume) = (Instant::now(), mask.shape());
    let call = Call { context, params, volume };
    match output {
        Output::Image(ImageMut::F32(mut values)) => {
            call.within_slices(mask, values.view_mut().into(), progress)?;
            part(progress, [SHARES[0], 1.0], STAGE, |progress| call.across_slices_of_image(values, progress))?;
        }
        Output::Image(_) => return Err(Error::in_cuda_memory("output")),
        Output::Sink(sink) => {
            let file = TemporaryFile::new(volume)?;
            let ticker = Ticker::of_copies();
            let keep =
                |slice: usize, values: &[u8]| file.write((slice * volume[0] * volume[1], values), &ticker, &mut None);
            call.within_slices(mask, Sink::internal(PixelType::F32, volume, keep).into(), progress)?;
            part(progress, SHARES, STAGE, |progress| call.across_slices_of_file(&file, progress))?;
            part(progress, [SHARES[1], 1.0], STAGE, |progress| call.hand_on(&file, sink, progress))?;
        }
    }
    Ok(Report::on_cpu(context, started, volume[2]))
}

/// A call in progress.
struct Call<'a> {
    context: &'a Context,
    params: &'a Params,
    volume: [usize; 3],
}

impl Call<'_> {
    /// Computes the passes along x and y.
    fn within_slices(
        &self,
        mask: Input<'_>,
        values: Output<'_>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        part(progress, [0.0, SHARES[0]], STAGE, |progress| {
            self.context.by_slices(
                STAGE,
                Some(0),
                (mask, [Some(values)]),
                progress,
                |context, mask, _, [values], progress| {
                    let values = values.unwrap_or_else(|| unreachable!("it was given"));
                    cpu::within_slices(context, (self.params, self.volume), mask, progress, values)
                },
                |_, _| Ok(()),
            )
        })
    }

    /// Computes the pass along z of an image, in groups of rows if it is not packed.
    fn across_slices_of_image(
        &self,
        mut values: ArrayViewMut3<'_, f32>,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let &Self { context, params, volume: volume @ [width, height, depth] } = self;
        let ticker = Ticker::following(STAGE);
        if let Some(field) = values.as_slice_mut() {
            ticker.expect(field.len() as u64);
            let work = || cpu::across_slices(params, volume, field, &ticker);
            return run_with_progress(context.pool(), progress, &ticker, work);
        }
        let together = height.min(aligned(GROUP_BYTES / (width * depth * size_of::<f32>())));
        let mut field = context.buffer_pool().acquire(together * width * depth)?;
        for (group, rows) in values.axis_chunks_iter_mut(Axis(1), together).enumerate() {
            let field = &mut field[..rows.len()];
            ticker.section(group, height.div_ceil(together));
            ticker.expect(field.len() as u64);
            run_with_progress(context.pool(), progress, &ticker, || {
                cpu::pack(rows.view(), field, &ticker)?;
                cpu::across_slices(params, volume, field, &ticker)?;
                write_packed(field, rows, &ticker, |value| value)
            })?;
        }
        Ok(())
    }

    /// Computes the pass along z of the values in a file.
    fn across_slices_of_file(&self, file: &TemporaryFile, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        let &Self { context, params, volume: volume @ [width, height, depth] } = self;
        let plane = width * height;
        let together = plane.min(aligned(GROUP_BYTES / (depth * size_of::<f32>())));
        let mut field = context.buffer_pool().acquire(together * depth)?;
        let ticker = Ticker::following(STAGE);
        for first in (0..plane).step_by(together) {
            let columns = together.min(plane - first);
            let field = &mut field[..columns * depth];
            ticker.section(first / together, plane.div_ceil(together));
            ticker.expect(3 * field.len() as u64);
            for (slice, values) in field.chunks_exact_mut(columns).enumerate() {
                file.read((slice * plane + first, values), &ticker, progress)?;
                ticker.add(columns as u64);
            }
            let work = || cpu::across_slices(params, volume, field, &ticker);
            run_with_progress(context.pool(), progress, &ticker, work)?;
            for (slice, values) in field.chunks_exact(columns).enumerate() {
                file.write((slice * plane + first, bytemuck::cast_slice(values)), &ticker, progress)?;
                ticker.add(columns as u64);
            }
        }
        Ok(())
    }

    /// Hands the slices in a file to the function that writes them.
    fn hand_on(&self, file: &TemporaryFile, sink: Sink<'_>, progress: &mut Option<&mut Progress<'_>>) -> Result<()> {
        let [width, height, depth] = self.volume;
        let ticker = Ticker::following(STAGE);
        self.context.make_each_slice(sink.into(), &ticker, progress, |slice, image, progress| {
            ticker.section(slice, depth);
            let ImageMut::F32(mut image) = image else { unreachable!("the type was checked") };
            let values = image.as_slice_mut().unwrap_or_else(|| unreachable!("a slice of its own is packed"));
            file.read((slice * width * height, values), &ticker, progress)
        })
    }
}

/// Returns a number of columns, or of rows, that may be computed by themselves.
fn aligned(count: usize) -> usize {
    (count / cpu::ALIGNED_COLUMNS).max(1) * cpu::ALIGNED_COLUMNS
}
