//! φ and the mask out of the device, and φ into it.

use super::tables::CONTROL_BYTES;
use super::{Solver, transfer};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};

/// The mask leaves the device in pieces of about this size.
const MASK_PIECE: usize = 64 << 20;

/// Slices of a piece of the mask.
fn mask_piece_slices([width, height, depth]: [usize; 3]) -> usize {
    (MASK_PIECE / (width * height)).clamp(1, depth)
}

/// Bytes of such a piece.
pub(super) fn mask_piece_bytes(shape: [usize; 3]) -> usize {
    shape[0] * shape[1] * mask_piece_slices(shape)
}

impl Solver {
    /// Completes φ `which` after it came in and makes the other one its copy; the voxels inside, or the index of a value
    /// that is not finite where `strict`.
    pub(super) fn settle(&self, which: usize, far: f32, strict: bool) -> Result<std::result::Result<u64, u64>> {
        let (stream, memory) = (&self.stream, self.cuda.memory());
        let found = memory.device(16)?;
        let mut back = memory.pinned(16)?;
        stream.fill(&found, 0, 16, 0)?;
        self.launcher.settle(&self.cuda, stream, self.address(which), (far, strict), &found)?;
        stream.copy(found.side(0), back.side(), 16, 1, [16, 16])?;
        stream.synchronize()?;
        let words: &[u64] = bytemuck::cast_slice(&back.as_mut_slice()[..16]);
        if words[1] != 0 {
            return Ok(Err(!words[1]));
        }
        self.copy_from(which)?;
        Ok(Ok(words[0]))
    }

    /// Makes the other φ a copy of φ `which`, and waits for it.
    fn copy_from(&self, which: usize) -> Result<()> {
        let bytes = self.layout.elements() * size_of::<f32>();
        self.stream.copy(self.phi[which].side(0), self.phi[1 - which].side(0), bytes, 1, [bytes, bytes])?;
        self.stream.synchronize()
    }

    pub(in crate::level_set) fn read_mask(&self, mask: ImageMut<'_>) -> Result<()> {
        self.known()?;
        self.cuda.bind()?;
        let (cuda, stream) = (&self.cuda, &self.stream);
        let [width, height, depth] = self.plan.shape;
        let slice = |z: usize| self.address(self.current) + (z * height * self.layout.pitch * size_of::<f32>()) as u64;
        match mask {
            ImageMut::Device(pixels) => {
                transfer::check(cuda, "the mask", &pixels)?;
                self.launcher.mask(cuda, stream, slice(0), depth, (pixels.address, pixels.strides))?;
                stream.synchronize()
            }
            ImageMut::U8(mut view) => {
                let slices = mask_piece_slices(self.plan.shape);
                let piece = cuda.memory().device(mask_piece_bytes(self.plan.shape))?;
                let bytes = width * height;
                transfer::download(stream, &mut view, |to, z| {
                    if z % slices == 0 {
                        let target = (piece.address(), [width, bytes]);
                        self.launcher.mask(cuda, stream, slice(z), slices.min(depth - z), target)?;
                    }
                    stream.copy(piece.side(z % slices * bytes), to, bytes, 1, [bytes, bytes])
                })
            }
            _ => unreachable!("the type was checked"),
        }
    }

    pub(in crate::level_set) fn read_phi(&self, phi: ImageMut<'_>) -> Result<()> {
        self.known()?;
        self.cuda.bind()?;
        if let ImageMut::Device(pixels) = &phi {
            transfer::check(&self.cuda, "the output for phi", pixels)?;
        }
        transfer::download_phi(&self.stream, &self.phi[self.current], &self.layout, phi)
    }

    /// In host or device memory; refuses what is not finite.
    pub(in crate::level_set) fn write_phi(&mut self, phi: &Image<'_>) -> Result<()> {
        self.cuda.bind()?;
        if let Image::Device(pixels) = phi {
            transfer::check(&self.cuda, "phi", pixels)?;
        }
        let other = 1 - self.current;
        transfer::upload(&self.stream, phi, &self.phi[other], &self.layout)?;
        self.stream.synchronize()?;
        match self.settle(other, self.plan.largest_phi, true)? {
            Ok(inside) => {
                self.current = other;
                self.inside = inside;
                self.listed = false;
                self.watched = 0;
                self.lost = false;
                // The device's share of the check interval begins anew too.
                self.stream.fill(&self.tables.control, 0, CONTROL_BYTES, 0)?;
                self.stream.synchronize()
            }
            Err(index) => {
                self.copy_from(self.current)?;
                self.listed = false;
                let [width, height, _] = self.plan.shape.map(|n| n as u64);
                Err(Error::argument(format!(
                    "phi must be finite everywhere, but at x = {}, y = {}, z = {} it is not",
                    index % width,
                    index / width % height,
                    index / width / height
                )))
            }
        }
    }
}
