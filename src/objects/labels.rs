//! The labels of the starts: lists them, and checks that the output can hold them.

use super::LARGEST_LABEL;
use super::scalar::BACKGROUND;
use crate::error::{Error, ErrorKind, Result, number};
use crate::image::{Image, PixelType};
use crate::memory::{Array, collected, zeroed};
use crate::parallel::try_par_parts;
use crate::progress::Ticker;
use ndarray::{ArrayView3, s};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

/// The labels of the starts, converted to indices of objects in the order of the labels.
pub(super) struct Labels {
    /// The index of each voxel's object, from 1; 0 is none.
    pub indices: Array<u32>,
    /// The label of each index.
    pub values: Vec<u32>,
}

impl Labels {
    pub(super) fn new(starts: &Image<'_>, output: PixelType, ticker: &Ticker) -> Result<Self> {
        match starts {
            Image::U8(view) => Self::of(*view, output, ticker, |pixel| Ok(pixel.into())),
            Image::U16(view) => Self::of(*view, output, ticker, |pixel| Ok(pixel.into())),
            Image::F32(view) => Self::of(*view, output, ticker, |pixel| {
                if pixel >= 0.0 && pixel <= LARGEST_LABEL as f32 && pixel.fract() == 0.0 {
                    return Ok(pixel as u32);
                }
                Err(Error::argument(format!(
                    "cannot use the starts: their pixels must be labels, whole numbers from 0 to {LARGEST_LABEL} (got \
                     {}); give a label image",
                    number(pixel)
                )))
            }),
            Image::Device(_) => Err(Error::in_cuda_memory("label image")),
        }
    }

    /// Returns the labels of automatic starts, which equal their indices.
    pub(super) fn counted((indices, count): (Array<u32>, u32), output: PixelType) -> Result<Self> {
        Self::check_output(count as usize, output)?;
        Ok(Self { indices, values: collected(0..count + 1)? })
    }

    /// Refuses an output that cannot hold the largest label.
    fn check_output(largest: usize, output: PixelType) -> Result<()> {
        let most = match output {
            PixelType::U8 => usize::from(u8::MAX),
            PixelType::U16 => usize::from(u16::MAX),
            PixelType::F32 => LARGEST_LABEL,
        };
        if largest <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidType,
            format!(
                "cannot write the output: its pixels must hold the largest label, {largest} (got {output}); use a larger \
                 type"
            ),
        ))
    }

    fn of<T: Copy + Send + Sync>(
        view: ArrayView3<'_, T>,
        output: PixelType,
        ticker: &Ticker,
        label: impl Fn(T) -> Result<u32> + Sync,
    ) -> Result<Self> {
        let mut indices = Array::<u32>::zeroed(view.len())?;
        let (_, height, width) = view.dim();
        let largest = AtomicU32::new(0);
        indices.par_chunks_mut(width).enumerate().try_for_each(|(row, indices)| {
            ticker.check()?;
            let mut most = 0;
            for (pixel, to) in view.slice(s![row / height, row % height, ..]).iter().zip(indices) {
                *to = label(*pixel)?;
                most = most.max(*to);
            }
            largest.fetch_max(most, Relaxed);
            Ok(())
        })?;
        let largest = largest.into_inner() as usize;
        if largest == 0 {
            return Err(Error::argument(
                "cannot grow objects: the starts must have a voxel that is not 0 (got none); give each object's start a \
                 label of its own",
            ));
        }
        Self::check_output(largest, output)?;
        let is_used: Vec<AtomicU8> = collected((0..largest + 1).map(|_| AtomicU8::new(0)))?;
        indices.par_chunks(width).try_for_each(|row| {
            row.chunk_by(|a, b| a == b).for_each(|run| is_used[run[0] as usize].store(1, Relaxed));
            ticker.check()
        })?;
        let mut index_of = zeroed::<u32>(largest + 1)?;
        let mut values = vec![BACKGROUND];
        for label in 1..=largest {
            if is_used[label].load(Relaxed) != 0 {
                index_of[label] = values.len() as u32;
                crate::memory::push(&mut values, label as u32)?;
            }
        }
        try_par_parts(&mut indices, ticker, |_, indices| {
            indices.iter_mut().for_each(|label| *label = index_of[*label as usize]);
        })?;
        Ok(Self { indices, values })
    }
}
