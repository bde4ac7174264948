//! The initial φ: the signed distance to the boundary of the initial mask, on the device.

use super::{Solver, transfer};
use crate::device::cuda::check_device_pixels;
use crate::distance::cuda::{signed_on_device, signed_workspace_bytes};
use crate::error::Result;
use crate::image::{Image, PixelType};
use bytemuck::Pod;
use ndarray::{Array3, ArrayView3, Zip};
use rayon::ThreadPool;

impl Solver {
    /// Sets φ to the signed distance to the boundary of `mask`. In between, the memory of one φ holds the mask, that of
    /// the other the distance without gaps.
    pub(super) fn start(&self, pool: &ThreadPool, mask: &Image<'_>) -> Result<()> {
        let Self { stream, cuda, plan, phi: [phi, other], .. } = self;
        let [width, height, depth] = plan.shape;
        self.put_mask(pool, mask)?;
        let workspace = signed_workspace_bytes(cuda, plan.shape, plan.dimensions)?;
        let workspace = if workspace > 0 { Some(cuda.memory().device(workspace)?) } else { None };
        signed_on_device(cuda, stream, phi, plan.shape, plan.spacing, plan.dimensions, other, workspace.as_ref())?;
        stream.fill(phi, 0, phi.bytes(), 0)?;
        let row = width * size_of::<f32>();
        for z in 0..depth {
            let to = transfer::slice_side(phi, &self.layout, size_of::<f32>(), z);
            stream.copy(other.side(z * height * row), to, row, height, [row, self.layout.pitch * size_of::<f32>()])?;
        }
        self.sanitize_phi(0, plan.far, false).map(|_| ())
    }

    /// Queues the copy of the mask, one byte per pixel that is not 0 inside, to the beginning of the first φ's memory.
    /// If the mask is not in device memory, the copy is complete when this returns.
    fn put_mask(&self, pool: &ThreadPool, mask: &Image<'_>) -> Result<()> {
        let Self { stream, cuda, phi: [phi, _], .. } = self;
        if let Image::Device(pixels) = mask
            && pixels.pixel_type == PixelType::U8
        {
            check_device_pixels(cuda, "the initial mask", pixels)?;
            return transfer::pack(stream, pixels, phi);
        }
        transfer::on_host(cuda, pool, stream, "the initial mask", mask, |mask| match mask {
            Image::U8(view) => self.put_marks(pool, *view),
            Image::U16(view) => self.put_marks(pool, marks(pool, *view, |pixel| pixel > 0).view()),
            Image::F32(view) => self.put_marks(pool, marks(pool, *view, |pixel| pixel > 0.0).view()),
            Image::Device(_) => unreachable!("it is in host memory"),
        })?
    }

    fn put_marks(&self, pool: &ThreadPool, marks: ArrayView3<'_, u8>) -> Result<()> {
        let to = self.phi[0].side(0);
        self.cuda.transfer().upload_view(pool, &self.stream, marks, to, self.plan.shape[0])?;
        self.stream.synchronize()
    }
}

/// Returns 1 for each pixel that is inside, and 0 for the others.
fn marks<T: Pod + Send + Sync>(
    pool: &ThreadPool,
    view: ArrayView3<'_, T>,
    inside: impl Fn(T) -> bool + Sync + Send,
) -> Array3<u8> {
    pool.install(|| Zip::from(view).par_map_collect(|pixel| u8::from(inside(*pixel))))
}
