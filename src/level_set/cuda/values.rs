//! The transfer of φ and the mask from the device, and of φ to it.

use super::load::{PixelKind, pixels_of};
use super::tables::CONVERGENCE_BYTES;
use super::{Phi, Solver, transfer};
use crate::device::cuda::{Buffer, DeviceRows, check_device_pixels};
use crate::device::{Context, HostCopy};
use crate::error::{Error, Result};
use crate::image::{DevicePixels, Image, ImageMut, zeroed_image};
use crate::progress::{Ticker, uncancelled};
use bytemuck::Pod;
use ndarray::{Array3, ArrayViewMut3, Axis};
use rayon::ThreadPool;

/// The approximate size in bytes of the parts in which the mask, or a sparse φ, is copied from the device, one after the
/// other.
const PART_BYTES: usize = 128 << 20;

/// Returns the number of slices that are copied together: as many as fit into `bytes` with `pixel_bytes` per pixel, but at
/// least one.
fn part_slices([width, height, depth]: [usize; 3], pixel_bytes: usize, bytes: usize) -> usize {
    (bytes / (width * height * pixel_bytes)).clamp(1, depth)
}

/// Returns the bytes of a part of the mask.
pub(super) fn mask_part_bytes(shape: [usize; 3]) -> usize {
    shape[0] * shape[1] * part_slices(shape, 1, PART_BYTES)
}

/// Returns the error of a φ that is not finite at the voxel with an index.
pub(super) fn not_finite(index: u64, shape: [usize; 3]) -> Error {
    let [width, height, _] = shape.map(|n| n as u64);
    Error::argument(format!(
        "phi must be finite everywhere, but at x = {}, y = {}, z = {} it is not",
        index % width,
        index / width % height,
        index / width / height
    ))
}

impl Solver {
    /// Prepares the first φ, which the caller wrote, and copies it to the other buffer. Returns the number of voxels
    /// inside. With `report_nonfinite`, a value that is not finite is an error with its index.
    pub(super) fn sanitize_phi(
        &self,
        phi: [&Buffer; 2],
        far: f32,
        report_nonfinite: bool,
    ) -> Result<std::result::Result<u64, u64>> {
        let address = self.layout.address(phi[0], 0);
        let back = self.found(16, |found| {
            self.launcher.sanitize_phi(&self.cuda, &self.stream, address, (far, report_nonfinite), found)
        })?;
        let words: &[u64] = bytemuck::cast_slice(&back.as_slice()[..16]);
        if words[1] != 0 {
            return Ok(Err(!words[1]));
        }
        self.copy_phi(phi)?;
        Ok(Ok(words[0]))
    }

    /// Makes the second φ a copy of the first, and waits for it.
    fn copy_phi(&self, [from, to]: [&Buffer; 2]) -> Result<()> {
        self.stream.copy_bytes(from.side(0), to.side(0), self.layout.elements() * size_of::<f32>())?;
        self.stream.synchronize()
    }

    pub(in crate::level_set) fn read_mask(&self, pool: &ThreadPool, mask: ImageMut<'_>, ticker: &Ticker) -> Result<()> {
        self.check_phi_known()?;
        self.cuda.bind()?;
        match mask {
            ImageMut::Device(pixels) => self.write_device("mask", &pixels),
            ImageMut::U8(view) => self.download_written("mask", pool, view, ticker),
            _ => unreachable!("the type was checked"),
        }
    }

    pub(in crate::level_set) fn read_phi(&self, pool: &ThreadPool, phi: ImageMut<'_>) -> Result<()> {
        self.check_phi_known()?;
        self.cuda.bind()?;
        match (&self.phi, phi) {
            (Phi::Sparse(_), ImageMut::Device(pixels)) => self.write_device("phi", &pixels),
            (Phi::Sparse(_), ImageMut::F32(view)) => self.download_written("phi", pool, view, &Ticker::of_copies()),
            (Phi::Sparse(_), _) => unreachable!("the type was checked"),
            (Phi::Rows(own), mut phi) => {
                if let ImageMut::Device(pixels) = &phi {
                    check_device_pixels(&self.cuda, "the output for phi", pixels)?;
                }
                let (phi_bytes, depth) = (size_of::<f32>(), self.own.len());
                let side = transfer::slice_side(&own[self.current], &self.layout, phi_bytes, self.own.start);
                let from = DeviceRows { stream: &self.stream, side, pitch: self.layout.pitch * phi_bytes };
                self.cuda.transfer().download(pool, &mut phi, &[(0..depth, from)], &Ticker::of_copies())?;
                self.stream.synchronize()
            }
        }
    }

    /// Returns copies of the image and of φ in host memory.
    pub(in crate::level_set) fn to_host(&self, context: &Context) -> Result<(HostCopy, Array3<f32>)> {
        let PixelKind::Plain(pixel_type) = self.pixels else { unreachable!("a sparse phi has no edges") };
        let image = HostCopy::new(context, &pixels_of(&self.image, pixel_type, &self.layout))?;
        let [width, height, depth] = self.plan.shape;
        let mut phi = zeroed_image((depth, height, width))?;
        self.read_phi(context.pool(), phi.view_mut().into())?;
        Ok((image, phi))
    }

    /// Writes the mask or φ to a caller's device memory.
    fn write_device(&self, what: &str, pixels: &DevicePixels<'_>) -> Result<()> {
        let (cuda, stream) = (&self.cuda, &self.stream);
        check_device_pixels(cuda, &format!("the output for the {what}"), pixels)?;
        let phi = self.phi_from(self.current, 0);
        self.launcher.write(what, cuda, stream, phi, self.plan.shape[2], (pixels.address, pixels.strides))?;
        stream.synchronize()
    }

    /// Returns the most bytes of a part. For a sparse φ that is the size of the slab buffers at the start, which are known
    /// to fit.
    fn part_bytes(&self) -> usize {
        match &self.phi {
            Phi::Rows(_) => PART_BYTES,
            Phi::Sparse(phi) => PART_BYTES.min(phi.slab.total() as usize),
        }
    }

    /// Writes the mask or φ to device memory, and copies it to host memory, part by part.
    fn download_written<T: Pod + Send + Sync>(
        &self,
        what: &str,
        pool: &ThreadPool,
        mut view: ArrayViewMut3<'_, T>,
        ticker: &Ticker,
    ) -> Result<()> {
        let (cuda, stream, pixel) = (&self.cuda, &self.stream, size_of::<T>());
        let [width, height, _] = self.plan.shape;
        let slices = part_slices(self.plan.shape, pixel, self.part_bytes());
        let part = cuda.memory().device(width * height * slices * pixel)?;
        let queued = view.axis_chunks_iter_mut(Axis(0), slices).enumerate().try_for_each(|(index, to)| {
            ticker.check()?;
            let target = (part.address(), [width * pixel, width * height * pixel]);
            let phi = self.phi_from(self.current, self.own.start + index * slices);
            self.launcher.write(what, cuda, stream, phi, to.dim().0, target)?;
            let from = DeviceRows { stream, side: part.side(0), pitch: width * pixel };
            cuda.transfer().download_views(pool, vec![(to, from)], ticker)
        });
        // Wait even after an error: the kernel that writes the part may still be running.
        let done = stream.synchronize();
        queued.and(done)
    }

    /// Replaces φ by one in host or device memory; refuses values that are not finite.
    pub(in crate::level_set) fn write_phi(&mut self, pool: &ThreadPool, phi: &Image<'_>) -> Result<()> {
        self.cuda.bind()?;
        if let Image::Device(pixels) = phi {
            check_device_pixels(&self.cuda, "phi", pixels)?;
        }
        let other = 1 - self.current;
        let (written, newest) = match &self.phi {
            Phi::Sparse(own) => match self.first_not_finite(own, pool, phi)? {
                Some(index) => (Err(index), self.current),
                None => {
                    // A cancellation now would leave φ incomplete, so it is ignored here.
                    let written = uncancelled(|| self.write_sparse(own, pool, phi));
                    self.phi_unknown |= written.is_err();
                    let [inside, stored] = written?;
                    self.stored_tiles = stored;
                    (Ok(inside), self.current)
                }
            },
            Phi::Rows(own) => {
                let (current, other_phi) = (&own[self.current], &own[other]);
                let uploaded = transfer::upload(&self.cuda, pool, &self.stream, phi, other_phi, &self.layout);
                self.stream.synchronize()?;
                let written =
                    uploaded.and_then(|()| self.sanitize_phi([other_phi, current], self.plan.largest_phi, true));
                if !matches!(written, Ok(Ok(_))) {
                    // Both φ agree again, so the set of active tiles is still right.
                    self.copy_phi([current, other_phi])?;
                }
                (written?, other)
            }
        };
        match written {
            Ok(inside) => {
                self.current = newest;
                self.inside = inside;
                self.lists_valid = false;
                self.interval_iterations = 0;
                self.phi_unknown = false;
                // The check interval on the device begins again, too.
                self.stream.fill(&self.tables.convergence, 0, CONVERGENCE_BYTES, 0)?;
                self.stream.synchronize()
            }
            Err(index) => Err(not_finite(index, self.plan.shape)),
        }
    }
}
