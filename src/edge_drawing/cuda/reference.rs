//! The reference profile: the device computes anchors and gradients, and the host links several slices in parallel.

use super::super::Segments;
use super::super::reference::{self, Scratch, Word};
use super::{Buffers, Call};
use crate::device::cuda::{DeviceRows, Pipeline, Slot};
use crate::device::upload_slice;
use crate::error::Result;
use crate::image::{ImageMut, PixelType, view_of_mut, write_packed};
use crate::memory::zeroed;
use crate::progress::{self, Ticker};
use ndarray::s;
use rayon::prelude::*;

/// The host memory for linking one slice.
struct Workspace<'a, W> {
    scratch: Scratch<'a, W>,
    segments: Segments,
    edges: Vec<u8>,
}

impl Call<'_, '_> {
    /// Runs the reference profile.
    pub(super) fn run_linked(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        edges: &mut Option<ImageMut<'_>>,
    ) -> Result<Segments> {
        match self.layout.pixel_type {
            PixelType::U8 => self.linked::<u16>(pipeline, edges),
            _ => self.linked::<u32>(pipeline, edges),
        }
    }

    fn linked<W: Word + bytemuck::Pod>(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        edges: &mut Option<ImageMut<'_>>,
    ) -> Result<Segments> {
        let pixels = self.layout.width * self.layout.height;
        // The streams of the slots copy to this memory. It is declared before the slots, so it outlives them; they wait for
        // their streams when they are dropped.
        let mut workspaces = Vec::new();
        let mut slots = self.slots(self.context.pool().current_num_threads(), None)?;
        for _ in &slots {
            let edges = zeroed(if edges.is_some() { pixels } else { 0 })?;
            workspaces.push(Workspace::<W> {
                scratch: Scratch::new(self.context.buffer_pool()),
                segments: Segments::default(),
                edges,
            });
        }
        let mut all = Segments::default();
        for first in (0..pipeline.count).step_by(slots.len()) {
            let batch = slots.len().min(pipeline.count - first);
            for (index, slot) in slots[..batch].iter_mut().enumerate() {
                self.begin_linked(pipeline, slot, first + index)?;
            }
            for (index, (slot, workspace)) in slots.iter_mut().zip(&mut workspaces[..batch]).enumerate() {
                self.fetch(pipeline, slot, workspace, first + index)?;
            }
            self.link(pipeline, &mut workspaces[..batch], first)?;
            for (index, workspace) in workspaces[..batch].iter_mut().enumerate() {
                if let Some(edges) = edges.as_mut() {
                    self.deliver(&slots[index], &workspace.edges, edges, first + index)?;
                }
                all.append(std::mem::take(&mut workspace.segments))?;
                pipeline.report.slices_done = (first + index) as u64 + 1;
            }
        }
        Ok(all)
    }

    /// Queues the upload of a slice and the computation of its working map.
    fn begin_linked(&self, pipeline: &mut Pipeline<'_, '_, '_>, slot: &mut Slot<Buffers>, slice: usize) -> Result<()> {
        pipeline.poll(slice, 0.0)?;
        slot.stream.record(&slot.times[0])?;
        let pixels = slot.upload(self.context.pool(), self.input, slice..slice + 1, &pipeline.ticker)?;
        slot.stream.record(&slot.times[1])?;
        let Slot { stream, buffers, .. } = &mut *slot;
        self.launcher.set_pixels(stream, &mut buffers.job, (pixels, 1), buffers.smoothed.as_ref())?;
        self.launcher.draw(stream, &buffers.job, 1)?;
        slot.stream.record(&slot.times[2])
    }

    /// Downloads the working map as packed rows.
    fn fetch<W: Word + bytemuck::Pod>(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        slot: &Slot<Buffers>,
        workspace: &mut Workspace<'_, W>,
        slice: usize,
    ) -> Result<()> {
        pipeline.wait(&slot.times, slice, 0.9)?;
        let [width, height] = [self.layout.width, self.layout.height];
        let words = workspace.scratch.words(width * height)?;
        let words = view_of_mut(words, [width, height, 1]);
        let pitch = self.layout.map_pitch() * size_of::<W>();
        let from = DeviceRows { stream: &slot.stream, side: slot.buffers.map.side(0), pitch };
        self.cuda.transfer().download_views(self.context.pool(), vec![(words, from)], &pipeline.ticker)?;
        slot.stream.record(&slot.times[3])?;
        pipeline.add(&slot.times)
    }

    /// Links slices in parallel. `first` is the number of the first one.
    fn link<W: Word>(
        &self,
        pipeline: &mut Pipeline<'_, '_, '_>,
        workspaces: &mut [Workspace<'_, W>],
        first: usize,
    ) -> Result<()> {
        let (plan, ticker, width) = (self.plan, &pipeline.ticker, self.layout.width);
        progress::run(self.context.pool(), pipeline.progress, ticker, || {
            workspaces.par_iter_mut().enumerate().with_max_len(1).try_for_each(|(index, workspace)| {
                let Workspace { scratch, segments, edges } = workspace;
                let edges = if edges.is_empty() { None } else { Some(&mut edges[..]) };
                reference::link(plan, width, (first + index) as u32, scratch, ticker, segments, edges)
            })
        })
    }

    /// Copies one slice's edge map to the caller.
    fn deliver(&self, slot: &Slot<Buffers>, packed: &[u8], edges: &mut ImageMut<'_>, slice: usize) -> Result<()> {
        match edges {
            ImageMut::U8(view) => {
                let plane = view.slice_mut(s![slice..slice + 1, .., ..]);
                self.context.pool().install(|| write_packed(packed, plane, &Ticker::of_copies(), |value| value))?;
            }
            ImageMut::Device(pixels) => {
                upload_slice(self.context, self.cuda, &slot.stream, packed, pixels, slice)?;
            }
            ImageMut::U16(_) | ImageMut::F32(_) => unreachable!("the type of the edge map was checked"),
        }
        Ok(())
    }
}
