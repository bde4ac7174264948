//! The upload of an input's slices to a buffer on the device.

use super::transfer::{DeviceRows, Transfer};
use super::{Buffer, Cuda, Stream};
use crate::error::Result;
use crate::image::Image;
use crate::progress::Ticker;
use rayon::ThreadPool;
use std::ops::Range;
use std::sync::Arc;

/// Slices of an input in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSlices {
    pub(crate) address: u64,
    /// Bytes from row to row and from slice to slice.
    pub(crate) strides: [usize; 2],
}

/// Brings an input's slices to the device: pixels in device memory are used directly, pixels in host memory are copied to a
/// buffer.
pub(crate) struct Upload {
    /// The buffer of an input in host memory.
    buffer: Option<Buffer>,
    /// The bytes from row to row in the buffer.
    pitch: usize,
    transfer: Arc<Transfer>,
}

impl Upload {
    /// Makes the buffer for up to `slices` slices of `input`, with rows that begin at multiples of `alignment` bytes.
    pub(crate) fn new(cuda: &Cuda, input: &Image<'_>, slices: usize, alignment: usize) -> Result<Self> {
        let [width, height, _] = input.shape();
        let pitch = (width * input.pixel_type().bytes()).next_multiple_of(alignment);
        let buffer = match input {
            Image::Device(_) => None,
            _ => Some(cuda.memory().device(slices * height * pitch)?),
        };
        Ok(Self { buffer, pitch, transfer: cuda.transfer().clone() })
    }

    /// Returns where `slices` of the input will be on the device.
    pub(crate) fn slices(&self, input: &Image<'_>, slices: &Range<usize>) -> DeviceSlices {
        match (input, &self.buffer) {
            (Image::Device(own), _) => DeviceSlices { address: own.slices(slices).address, strides: own.strides },
            (_, Some(buffer)) => {
                DeviceSlices { address: buffer.address(), strides: [self.pitch, self.pitch * input.shape()[1]] }
            }
            (_, None) => unreachable!("an input in host memory has a buffer on the device"),
        }
    }

    /// Queues the copies of slices of the input to the device, unless they are there already. Each range has its own stream
    /// and its own buffer.
    pub(crate) fn queue<'a>(
        pool: &ThreadPool,
        input: &Image<'_>,
        uploads: impl Iterator<Item = (Range<usize>, &'a Stream, &'a Self)>,
        ticker: &Ticker,
    ) -> Result<()> {
        let mut transfer = None;
        let mut slices = Vec::new();
        for (range, stream, upload) in uploads {
            let Some(buffer) = &upload.buffer else { return Ok(()) };
            slices.push((range, DeviceRows { stream, side: buffer.side(0), pitch: upload.pitch }));
            transfer = Some(&upload.transfer);
        }
        transfer.map_or(Ok(()), |transfer| transfer.upload(pool, input, &slices, ticker))
    }
}
