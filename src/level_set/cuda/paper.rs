//! The paper's own kernel, timed for the benchmark; nothing else launches it.

use super::super::types::Constants;
use super::launch::{Fields, PhiArgument};
use super::{Phi, Solver, transfer};
use crate::error::{Error, Result};

/// The length of a row in elements is a multiple of this: 512 bytes.
const ROW: usize = 128;

impl Solver {
    /// Returns the seconds that the paper's kernel takes for `iterations` iterations from the present φ, which stays
    /// unchanged.
    pub(in crate::level_set) fn paper_seconds(&self, iterations: u32) -> Result<f64> {
        let Self { stream, cuda, plan, layout, .. } = self;
        let Phi::Rows(own) = &self.phi else {
            return Err(Error::unsupported("the paper's kernel is for volumes that fit the device"));
        };
        if !plan.constants.volume || self.pixels.bytes() != 1 {
            return Err(Error::unsupported("the paper's kernel is for volumes of uint8"));
        }
        cuda.bind()?;
        let memory = cuda.memory();
        let [width, height, depth] = plan.shape;
        // Rows are aligned as cudaMallocPitch aligns them.
        let pitch = width.next_multiple_of(ROW);
        let float = size_of::<f32>();
        let bytes = pitch * height * depth * float;
        let phi = [memory.device(bytes)?, memory.device(bytes)?];
        let image = memory.device(bytes)?;
        let Constants { intensity_centre, intensity_gain, intensity_offset, .. } = plan.constants;
        let epsilon = if intensity_gain == 0.0 { 0.0 } else { -intensity_offset / intensity_gain };
        let pixels = memory.pinned(width * height)?;
        let mut terms = memory.pinned(width * height * float)?;
        for z in 0..depth {
            let to = z * pitch * height * float;
            let from = transfer::slice_side(&own[self.current], layout, float, z);
            stream.copy(from, phi[0].side(to), width * float, height, [layout.pitch * float, pitch * float])?;
            let from = transfer::slice_side(&self.image, layout, 1, z);
            stream.copy(from, pixels.side(), width, height, [layout.pitch, width])?;
            stream.synchronize()?;
            let values = terms.as_mut_slice().chunks_exact_mut(float);
            for (value, pixel) in values.zip(pixels.as_slice()) {
                let term = (f32::from(*pixel) - intensity_centre).abs() - epsilon;
                value.copy_from_slice(&term.to_ne_bytes());
            }
            stream.copy(terms.side(), image.side(to), width * float, height, [width * float, pitch * float])?;
            stream.synchronize()?;
        }
        let [from, to] = phi.each_ref().map(|phi| PhiArgument::Rows(phi.address()));
        let mut at = Fields { from, to, image: image.address() };
        let pitch = pitch as u32;
        // The first iteration, which loads the kernel, is not timed.
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
