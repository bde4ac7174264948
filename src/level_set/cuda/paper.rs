//! The paper's own kernel, timed for the bench; nothing else launches it.

use super::launch::Fields;
use super::{Solver, transfer};
use crate::error::{Error, Result};

impl Solver {
    /// Seconds that so many of the paper's iterations take from φ as it is, on the device. φ stays.
    pub(in crate::level_set) fn paper_seconds(&self, iterations: u32) -> Result<f64> {
        let Self { stream, cuda, plan, layout, .. } = self;
        if !plan.constants.volume || self.pixel_bytes != 1 {
            return Err(Error::unsupported("the paper's kernel is for volumes of u8"));
        }
        cuda.bind()?;
        let memory = cuda.memory();
        let voxels = plan.voxels();
        let row = plan.shape[0] * size_of::<f32>();
        let phi = [memory.device(voxels * size_of::<f32>())?, memory.device(voxels * size_of::<f32>())?];
        let image = memory.device(voxels)?;
        let [width, height, depth] = plan.shape;
        for z in 0..depth {
            let from = transfer::slice_side(&self.phi[self.current], layout, size_of::<f32>(), z);
            stream.copy(from, phi[0].side(z * height * row), row, height, [layout.pitch * size_of::<f32>(), row])?;
            let from = transfer::slice_side(&self.image, layout, 1, z);
            stream.copy(from, image.side(z * height * width), width, height, [layout.pitch, width])?;
        }
        let mut at = Fields { from: phi[0].address(), to: phi[1].address(), image: image.address() };
        // The first one loads the kernel.
        self.launcher.paper(cuda, stream, at, &plan.constants)?;
        let (begin, end) = (cuda.event()?, cuda.event()?);
        stream.record(&begin)?;
        for _ in 0..iterations {
            self.launcher.paper(cuda, stream, at, &plan.constants)?;
            std::mem::swap(&mut at.from, &mut at.to);
        }
        stream.record(&end)?;
        end.synchronize()?;
        begin.seconds_to(&end)
    }
}
