//! The paper's own kernel, timed for the bench; nothing else launches it.

use super::super::plan::Constants;
use super::launch::Fields;
use super::{Solver, transfer};
use crate::error::{Error, Result};

/// Elements of a row, a multiple: 512 bytes.
const ROW: usize = 128;

impl Solver {
    /// Seconds that so many of the paper's iterations take from φ as it is, on the device. φ stays.
    pub(in crate::level_set) fn paper_seconds(&self, iterations: u32) -> Result<f64> {
        let Self { stream, cuda, plan, layout, .. } = self;
        if !plan.constants.volume || self.pixel_bytes != 1 {
            return Err(Error::unsupported("the paper's kernel is for volumes of u8"));
        }
        cuda.bind()?;
        let memory = cuda.memory();
        let [width, height, depth] = plan.shape;
        // Rows begin as cudaMallocPitch lets them.
        let pitch = width.next_multiple_of(ROW);
        let float = size_of::<f32>();
        let bytes = pitch * height * depth * float;
        let phi = [memory.device(bytes)?, memory.device(bytes)?];
        let image = memory.device(bytes)?;
        let Constants { target, gain, offset, .. } = plan.constants;
        let epsilon = if gain == 0.0 { 0.0 } else { -offset / gain };
        let pixels = memory.pinned(width * height)?;
        let mut terms = memory.pinned(width * height * float)?;
        for z in 0..depth {
            let to = z * pitch * height * float;
            let from = transfer::slice_side(&self.phi[self.current], layout, float, z);
            stream.copy(from, phi[0].side(to), width * float, height, [layout.pitch * float, pitch * float])?;
            let from = transfer::slice_side(&self.image, layout, 1, z);
            stream.copy(from, pixels.side(), width, height, [layout.pitch, width])?;
            stream.synchronize()?;
            let values = terms.as_mut_slice().chunks_exact_mut(float);
            for (value, pixel) in values.zip(pixels.as_slice()) {
                let term = (f32::from(*pixel) - target).abs() - epsilon;
                value.copy_from_slice(&term.to_ne_bytes());
            }
            stream.copy(terms.side(), image.side(to), width * float, height, [width * float, pitch * float])?;
            stream.synchronize()?;
        }
        let mut at = Fields { from: phi[0].address(), to: phi[1].address(), image: image.address() };
        let pitch = pitch as u32;
        // The first one loads the kernel.
        self.launcher.paper(cuda, stream, at, pitch, &plan.constants)?;
        let (begin, end) = (cuda.event()?, cuda.event()?);
        stream.record(&begin)?;
        for _ in 0..iterations {
            self.launcher.paper(cuda, stream, at, pitch, &plan.constants)?;
            std::mem::swap(&mut at.from, &mut at.to);
        }
        stream.record(&end)?;
        end.synchronize()?;
        begin.seconds_to(&end)
    }
}
