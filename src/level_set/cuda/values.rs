//! The transfer of φ and the mask from the device, and of φ to it.

use super::tables::CONVERGENCE_BYTES;
use super::{Solver, transfer};
use crate::device::cuda::{DeviceRows, check_device_pixels};
use crate::error::{Error, Result};
use crate::image::{Image, ImageMut};
use crate::progress::Ticker;
use ndarray::Axis;
use rayon::ThreadPool;

/// The approximate size of the parts in which the mask is copied from the device.
const MASK_PART: usize = 64 << 20;

/// Returns the number of slices of a part of the mask.
fn mask_part_slices([width, height, depth]: [usize; 3]) -> usize {
    (MASK_PART / (width * height)).clamp(1, depth)
}

/// Returns the bytes of a part of the mask.
pub(super) fn mask_part_bytes(shape: [usize; 3]) -> usize {
    shape[0] * shape[1] * mask_part_slices(shape)
}

impl Solver {
    /// Prepares φ `which`, which came from outside, and makes the other one its copy. Returns the number of voxels
    /// inside, or with `report_nonfinite` the index of a value that is not finite, as an error.
    pub(super) fn sanitize_phi(
        &self,
        which: usize,
        far: f32,
        report_nonfinite: bool,
    ) -> Result<std::result::Result<u64, u64>> {
        let (stream, memory) = (&self.stream, self.cuda.memory());
        let found = memory.device(16)?;
        let mut back = memory.pinned(16)?;
        stream.fill(&found, 0, 16, 0)?;
        self.launcher.sanitize_phi(&self.cuda, stream, self.phi_address(which), (far, report_nonfinite), &found)?;
        stream.copy_bytes(found.side(0), back.side(), 16)?;
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
        self.stream.copy_bytes(self.phi[which].side(0), self.phi[1 - which].side(0), bytes)?;
        self.stream.synchronize()
    }

    pub(in crate::level_set) fn read_mask(&self, pool: &ThreadPool, mask: ImageMut<'_>, ticker: &Ticker) -> Result<()> {
        self.check_phi_known()?;
        self.cuda.bind()?;
        let (cuda, stream) = (&self.cuda, &self.stream);
        let [width, height, depth] = self.plan.shape;
        let slice =
            |z: usize| self.phi_address(self.current) + (z * height * self.layout.pitch * size_of::<f32>()) as u64;
        match mask {
            ImageMut::Device(pixels) => {
                check_device_pixels(cuda, "the mask", &pixels)?;
                self.launcher.write_mask(cuda, stream, slice(0), depth, (pixels.address, pixels.strides))?;
                stream.synchronize()
            }
            ImageMut::U8(mut view) => {
                let slices = mask_part_slices(self.plan.shape);
                let part = cuda.memory().device(mask_part_bytes(self.plan.shape))?;
                for (index, to) in view.axis_chunks_iter_mut(Axis(0), slices).enumerate() {
                    if let Err(cancelled) = ticker.check() {
                        // The last part may still be on its way.
                        stream.synchronize()?;
                        return Err(cancelled);
                    }
                    let target = (part.address(), [width, width * height]);
                    self.launcher.write_mask(cuda, stream, slice(index * slices), to.dim().0, target)?;
                    let from = DeviceRows { stream, side: part.side(0), pitch: width };
                    cuda.transfer().download_views(pool, vec![(to, from)], ticker)?;
                }
                stream.synchronize()
            }
            _ => unreachable!("the type was checked"),
        }
    }

    pub(in crate::level_set) fn read_phi(&self, pool: &ThreadPool, mut phi: ImageMut<'_>) -> Result<()> {
        self.check_phi_known()?;
        self.cuda.bind()?;
        if let ImageMut::Device(pixels) = &phi {
            check_device_pixels(&self.cuda, "the output for phi", pixels)?;
        }
        let (phi_bytes, depth) = (size_of::<f32>(), self.plan.shape[2]);
        let side = transfer::slice_side(&self.phi[self.current], &self.layout, phi_bytes, 0);
        let from = DeviceRows { stream: &self.stream, side, pitch: self.layout.pitch * phi_bytes };
        self.cuda.transfer().download(pool, &mut phi, &[(0..depth, from)], &Ticker::of_copies())?;
        self.stream.synchronize()
    }

    /// Replaces φ by one in host or device memory; refuses values that are not finite.
    pub(in crate::level_set) fn write_phi(&mut self, pool: &ThreadPool, phi: &Image<'_>) -> Result<()> {
        self.cuda.bind()?;
        if let Image::Device(pixels) = phi {
            check_device_pixels(&self.cuda, "phi", pixels)?;
        }
        let other = 1 - self.current;
        let uploaded = transfer::upload(&self.cuda, pool, &self.stream, phi, &self.phi[other], &self.layout);
        self.stream.synchronize()?;
        if let Err(error) = uploaded {
            // Both φ agree again, as below.
            self.copy_from(self.current)?;
            return Err(error);
        }
        match self.sanitize_phi(other, self.plan.largest_phi, true)? {
            Ok(inside) => {
                self.current = other;
                self.inside = inside;
                self.lists_valid = false;
                self.interval_iterations = 0;
                self.phi_unknown = false;
                // The check interval on the device begins again, too.
                self.stream.fill(&self.tables.convergence, 0, CONVERGENCE_BYTES, 0)?;
                self.stream.synchronize()
            }
            Err(index) => {
                // Both φ agree again, so the set of active tiles is still right.
                self.copy_from(self.current)?;
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
