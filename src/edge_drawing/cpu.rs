//! The CPU backend, which processes the slices of a stack.
//!
//! The threads of the pool compute; the calling thread meanwhile calls the progress callback.

mod maps;

pub(super) use maps::maps;

use super::edge_map::{EdgeMap, Ranks};
use super::gradient::{Pixel, Source};
use super::paper::{self, CodedGradient};
use super::prepare::Plan;
use super::reference::{self, Word};
use super::scalar::{self, Grid};
use super::segments::{Point, extract};
use super::{Params, Profile, Segments, Variant};
use crate::device::{Context, slices_side_by_side};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::memory::{collected, extend, reserved, try_par_collected, zeroed};
use crate::parallel::try_par_each;
use crate::progress::{Progress, Ticker, run as run_with_progress};
use crate::report::Report;
use ndarray::{ArrayViewMut2, Axis};
use rayon::prelude::*;
use std::time::Instant;

/// The number of rows that one worker writes at a time.
const ROWS_PER_WORKER: usize = 64;

/// Implements [`super::run`].
pub(super) fn run(
    context: &Context,
    params: &Params,
    input: &Image<'_>,
    progress: &mut Option<&mut Progress<'_>>,
    edges: &mut Option<ImageMut<'_>>,
    want_segments: bool,
) -> Result<(Report, Option<Segments>)> {
    if matches!(edges, Some(ImageMut::Device(_))) {
        return Err(Error::in_cuda_memory("image"));
    }
    let plan = resolve(context, params, input)?;
    let call = Call { context, plan: &plan, shape: input.shape(), want_segments };
    match input {
        Image::U8(view) => call.slices(|z| view.index_axis(Axis(0), z), progress, edges),
        Image::U16(view) => call.slices(|z| view.index_axis(Axis(0), z), progress, edges),
        Image::F32(view) => call.slices(|z| plan.quantised(view.index_axis(Axis(0), z)), progress, edges),
        Image::Device(_) => Err(Error::in_cuda_memory("image")),
    }
}

/// Returns the plan for pixels in host memory. An automatic range needs a pass over all of them.
fn resolve(context: &Context, params: &Params, input: &Image<'_>) -> Result<Plan> {
    if matches!(input, Image::Device(_)) {
        return Err(Error::in_cuda_memory("image"));
    }
    Ok(params.plan(input.pixel_type(), super::prepare::range(context, params, &mut (*input).into(), &mut None)?))
}

/// Returns a slice's pixels as u32, for the variant `scalar`.
fn working_image<P: Pixel>(source: &impl Source<P>, ticker: &Ticker) -> Result<Grid<u32>> {
    let [width, height] = source.size();
    let mut row: Vec<P> = zeroed(width)?;
    Grid::from_fn(width, height, ticker, |x, y| {
        if x == 0 {
            source.read(y, &mut row);
        }
        row[x].into()
    })
}

/// The pixel types of working images, which both profiles process.
trait WorkingPixel: Pixel<Gradient: CodedGradient + Word> {}

impl<P: Pixel<Gradient: CodedGradient + Word>> WorkingPixel for P {}

/// One call in progress.
struct Call<'a> {
    context: &'a Context,
    plan: &'a Plan,
    shape: [usize; 3],
    want_segments: bool,
}

/// The workspace of one slice, which is reused for the next ones.
struct Scratch<'a, G> {
    paper: paper::Scratch<'a>,
    /// The workspace of the reference profile, which holds the edge map as well.
    reference: reference::Scratch<'a, G>,
}

/// The result of one slice. Its edge map is in the workspace.
struct SliceResult {
    map: Option<EdgeMap>,
    /// The parts of the segments, in their order.
    segments: Vec<Segments>,
}

impl Call<'_> {
    /// Processes all slices, a few at a time.
    fn slices<P: WorkingPixel, S: Source<P>>(
        &self,
        source: impl Fn(usize) -> S + Sync,
        progress: &mut Option<&mut Progress<'_>>,
        edges: &mut Option<ImageMut<'_>>,
    ) -> Result<(Report, Option<Segments>)> {
        let started = Instant::now();
        let pool = self.context.pool();
        let ticker = Ticker::new(super::STAGE);
        let [width, height, depth] = self.shape;
        let batch_size = slices_side_by_side(pool, width * height).min(depth);
        let buffers = self.context.buffer_pool();
        let scratch = |_| Scratch { paper: paper::Scratch::new(buffers), reference: reference::Scratch::new(buffers) };
        let mut scratch: Vec<Scratch<'_, P::Gradient>> = collected((0..batch_size).map(scratch))?;
        // 1. Announce the work as the number of passes over all pixels. Segments of the paper profile need one more, which
        //    computes the gradients of the edges again.
        let passes = match self.plan.profile {
            Profile::Paper if self.want_segments => 3,
            Profile::Paper => 1,
            Profile::Reference => 2,
        };
        let (mut segments, mut joined) = (Vec::new(), None);
        for first in (0..depth).step_by(batch_size) {
            let batch = &mut scratch[..batch_size.min(depth - first)];
            ticker.section(first / batch_size, depth.div_ceil(batch_size));
            ticker.expect(passes * (batch.len() * width * height) as u64);
            // 2. Compute a batch of slices on the pool.
            let drawn: Vec<SliceResult> = run_with_progress(pool, progress, &ticker, || {
                let slices = batch.par_iter_mut().with_max_len(1).enumerate();
                try_par_collected(
                    slices.map(|(index, scratch)| self.slice(&source(first + index), first + index, scratch, &ticker)),
                )
            })?;
            ticker.report(progress)?;
            // 3. Collect the segments, and join those of all batches.
            let mut maps = reserved(drawn.len())?;
            for drawn in drawn {
                extend(&mut segments, drawn.segments)?;
                maps.push(drawn.map);
            }
            if self.want_segments && first + batch.len() == depth {
                let all = std::mem::take(&mut segments);
                joined = Some(run_with_progress(pool, progress, &ticker, || Segments::joined(all, &ticker))?);
            }
            // 4. Write the edge maps.
            if let Some(ImageMut::U8(edges)) = edges {
                run_with_progress(pool, progress, &ticker, || {
                    for (index, map) in maps.iter().enumerate() {
                        let target = edges.index_axis_mut(Axis(0), first + index);
                        match map {
                            Some(map) => write(target, &ticker, |y, row| map.write_row(y, row))?,
                            None => write(target, &ticker, |y, row| batch[index].reference.write_row(y, row))?,
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok((Report::on_cpu(self.context, started, depth), joined))
    }

    /// Processes one slice.
    fn slice<P: WorkingPixel>(
        &self,
        source: &impl Source<P>,
        slice: usize,
        scratch: &mut Scratch<'_, P::Gradient>,
        ticker: &Ticker,
    ) -> Result<SliceResult> {
        let (plan, number) = (self.plan, slice as u32);
        match (plan.profile, plan.variant) {
            (Profile::Paper, Variant::Scalar) => {
                let drawing = scalar::draw(&working_image(source, ticker)?, plan, ticker, |_| ())?;
                let mut segments = Segments::default();
                if self.want_segments {
                    for chain in scalar::chains(&scalar::thinned(&drawing.edges, ticker)?, ticker)? {
                        if chain.points.len() >= plan.min_length {
                            let mean = drawing.mean_gradient(&chain.points, plan.unit);
                            segments.push(chain.points.into_iter(), chain.closed, number, mean)?;
                        }
                    }
                }
                let map = EdgeMap::from_fn(drawing.edges.width, drawing.edges.height, |x, y| drawing.edges.at(x, y))?;
                Ok(SliceResult { map: Some(map), segments: vec![segments] })
            }
            (Profile::Paper, Variant::Default) => {
                let map = paper::draw(source, plan, &mut scratch.paper, ticker)?;
                let mut segments = Vec::new();
                if self.want_segments {
                    let gradients = paper::gradients(source, plan, &map, ticker)?;
                    let ranks = Ranks::new(&map)?;
                    let at = |p: Point| gradients[ranks.at(map.bit_index(p.x as usize, p.y as usize))].into();
                    segments = extract(&map, number, plan.min_length, plan.unit, &at, ticker)?;
                }
                Ok(SliceResult { map: Some(map), segments })
            }
            (Profile::Reference, _) => {
                let mut segments = Segments::default();
                reference::draw(source, plan, number, &mut scratch.reference, ticker, &mut segments)?;
                Ok(SliceResult { map: None, segments: vec![segments] })
            }
        }
    }
}

/// Writes the rows of a slice of the caller's memory, of any layout, on all threads of the current pool.
fn write<T: Copy + Send + Sync + bytemuck::Zeroable>(
    mut target: ArrayViewMut2<'_, T>,
    ticker: &Ticker,
    row: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let width = target.ncols();
    try_par_each(target.axis_chunks_iter_mut(Axis(0), ROWS_PER_WORKER), ticker, |block, mut rows| {
        let mut packed = Vec::new();
        for (y, mut to) in (block * ROWS_PER_WORKER..).zip(rows.rows_mut()) {
            match to.as_slice_mut() {
                Some(to) => row(y, to),
                None => {
                    if packed.is_empty() {
                        packed = zeroed(width)?;
                    }
                    row(y, &mut packed);
                    to.iter_mut().zip(&packed).for_each(|(to, from)| *to = *from);
                }
            }
        }
        Ok(())
    })
}
