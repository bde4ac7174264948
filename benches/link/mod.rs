//! Page-locked host memory, and the speed of the link between it and the GPU, against which calls from host memory are
//! measured.
// The library offers no page-locked memory; the driver does, through `unsafe`. Not every bench uses all of this file.
#![allow(unsafe_code, dead_code)]

use super::Outcome;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, PinnedHostSlice};
use std::sync::Arc;
use std::time::Instant;

enum Host<T> {
    Pinned(PinnedHostSlice<T>),
    Pageable(Vec<T>),
}

pub struct Memory {
    streams: [Arc<CudaStream>; 2],
    input: Host<u8>,
    output: Host<f32>,
    device: (CudaSlice<u8>, CudaSlice<f32>),
}

impl Memory {
    /// Allocates memory for `up` pixels to upload and `down` pixels to download.
    pub fn new(device: usize, [up, down]: [usize; 2], pinned: bool) -> Outcome<Self> {
        let context = CudaContext::new(device)?;
        let streams = [context.new_stream()?, context.new_stream()?];
        let (input, output) = if pinned {
            // SAFETY: both are written before they are read: the input here, the output by the copy or the operation.
            unsafe {
                let mut input = context.alloc_pinned_with_flags::<u8>(up, 0)?;
                let mut output = context.alloc_pinned_with_flags::<f32>(down, 0)?;
                input.as_mut_slice()?.fill(0);
                output.as_mut_slice()?.fill(0.0);
                (Host::Pinned(input), Host::Pinned(output))
            }
        } else {
            (Host::Pageable(vec![1u8; up]), Host::Pageable(vec![1f32; down]))
        };
        let device = (streams[0].alloc_zeros(up)?, streams[1].alloc_zeros(down)?);
        context.synchronize()?;
        Ok(Self { streams, input, output, device })
    }

    pub fn input(&mut self) -> &mut [u8] {
        match &mut self.input {
            Host::Pinned(slice) => slice.as_mut_slice().expect("pinned memory that is idle"),
            Host::Pageable(vec) => vec,
        }
    }

    pub fn both(&mut self) -> (&[u8], &mut [f32]) {
        let input = match &self.input {
            Host::Pinned(slice) => slice.as_slice().expect("pinned memory that is idle"),
            Host::Pageable(vec) => vec,
        };
        let output = match &mut self.output {
            Host::Pinned(slice) => slice.as_mut_slice().expect("pinned memory that is idle"),
            Host::Pageable(vec) => vec,
        };
        (input, output)
    }

    fn up(&mut self) -> Outcome<()> {
        match &self.input {
            Host::Pinned(slice) => self.streams[0].memcpy_htod(slice, &mut self.device.0)?,
            Host::Pageable(vec) => self.streams[0].memcpy_htod(vec, &mut self.device.0)?,
        }
        Ok(())
    }

    fn down(&mut self) -> Outcome<()> {
        match &mut self.output {
            Host::Pinned(slice) => self.streams[1].memcpy_dtoh(&self.device.1, slice)?,
            Host::Pageable(vec) => self.streams[1].memcpy_dtoh(&self.device.1, vec)?,
        }
        Ok(())
    }

    /// Measures plain copies of everything: upload, download, and both at once.
    pub fn seconds(&mut self) -> Outcome<[f64; 3]> {
        let mut best = [f64::INFINITY; 3];
        for _ in 0..3 {
            for (way, best) in best.iter_mut().enumerate() {
                let started = Instant::now();
                if way != 1 {
                    self.up()?;
                }
                if way != 0 {
                    self.down()?;
                }
                self.streams[0].synchronize()?;
                self.streams[1].synchronize()?;
                *best = best.min(started.elapsed().as_secs_f64());
            }
        }
        Ok(best)
    }
}
