//! The level set on the CPU.

use super::course::{Counts, Course};
use super::plan::{Plan, REINITIALISING_STEPS};
use super::scalar;
use crate::device::Context;
use crate::distance;
use crate::error::{Error, Result};
use crate::image::{Image, zeroed};
use crate::progress::{Progress, Ticker, run as run_with_progress};
use ndarray::{ArrayView3, ArrayViewMut3};

/// The image in its own type.
#[derive(Debug)]
enum Pixels {
    U8(Vec<u8>),
    U16(Vec<u16>),
    F32(Vec<f32>),
}

/// φ and what it evolves with.
#[derive(Debug)]
pub(super) struct Solver {
    plan: Plan,
    pixels: Pixels,
    phi: Vec<f32>,
    next: Vec<f32>,
    inside: u64,
    /// Of a reinitialisation that is under way.
    resteps_left: u32,
}

impl Solver {
    pub(super) fn new(context: &Context, plan: &Plan, input: &Image<'_>, mask: &Image<'_>) -> Result<Self> {
        let missing = plan.constants.missing;
        let pixels = match input {
            Image::U8(view) => Pixels::U8(packed(*view, |pixel| pixel)?),
            Image::U16(view) => Pixels::U16(packed(*view, |pixel| pixel)?),
            Image::F32(view) => Pixels::F32(packed(*view, |pixel| if pixel.is_finite() { pixel } else { missing })?),
            Image::Device(_) => return Err(in_cuda_memory()),
        };
        let marks = match mask {
            Image::U8(view) => packed(*view, |pixel| u8::from(pixel > 0))?,
            Image::U16(view) => packed(*view, |pixel| u8::from(pixel > 0))?,
            Image::F32(view) => packed(*view, |pixel| u8::from(pixel > 0.0))?,
            Image::Device(_) => return Err(in_cuda_memory()),
        };
        let [width, height, depth] = plan.shape;
        let mut phi = zeroed(plan.voxels())?;
        let next = zeroed(plan.voxels())?;
        let marks = ArrayView3::from_shape((depth, height, width), &marks).unwrap_or_else(|_| unreachable!("its size"));
        distance::cpu::signed_into(context, marks, plan.spacing, plan.dimensions, &mut phi)?;
        for value in &mut phi {
            *value = value.clamp(-plan.far, plan.far);
        }
        Ok(Self { plan: *plan, pixels, phi, next, inside: plan.inside, resteps_left: 0 })
    }

    /// Evolves by up to `iterations`, until the stop rule is met.
    pub(super) fn run(
        &mut self,
        context: &Context,
        course: &mut Course,
        iterations: u64,
        progress: &mut Option<&mut Progress<'_>>,
    ) -> Result<()> {
        let ticker = Ticker::new("level set");
        ticker.expect(iterations);
        run_with_progress(context.pool(), progress, &ticker, || {
            let mut left = iterations;
            loop {
                while self.resteps_left > 0 {
                    self.restep(&ticker)?;
                }
                if self.inside == 0 || self.inside == self.plan.voxels() as u64 {
                    course.converged = true;
                }
                if left == 0 || course.converged {
                    return Ok(());
                }
                let counts = self.iterate(&ticker)?;
                course.record(counts);
                course.converged = course.stop_now();
                if course.reinitialise_now() {
                    self.resteps_left = REINITIALISING_STEPS;
                }
                left -= 1;
                ticker.add(1);
            }
        })
    }

    fn iterate(&mut self, ticker: &Ticker) -> Result<Counts> {
        let Self { plan, pixels, phi, next, .. } = self;
        let counts = match pixels {
            Pixels::U8(pixels) => scalar::iterate(plan, phi, next, |i| f32::from(pixels[i]), ticker)?,
            Pixels::U16(pixels) => scalar::iterate(plan, phi, next, |i| f32::from(pixels[i]), ticker)?,
            Pixels::F32(pixels) => scalar::iterate(plan, phi, next, |i| pixels[i], ticker)?,
        };
        std::mem::swap(&mut self.phi, &mut self.next);
        self.inside = counts.inside;
        Ok(counts)
    }

    fn restep(&mut self, ticker: &Ticker) -> Result<()> {
        let first = self.resteps_left == REINITIALISING_STEPS;
        scalar::reiterate(&self.plan, &self.phi, &mut self.next, first, ticker)?;
        std::mem::swap(&mut self.phi, &mut self.next);
        self.resteps_left -= 1;
        Ok(())
    }

    pub(super) fn read_mask(&self, mut mask: ArrayViewMut3<'_, u8>) {
        mask.iter_mut().zip(&self.phi).for_each(|(mask, phi)| *mask = if *phi < 0.0 { 255 } else { 0 });
    }

    pub(super) fn read_phi(&self, mut phi: ArrayViewMut3<'_, f32>) {
        phi.iter_mut().zip(&self.phi).for_each(|(to, from)| *to = *from);
    }

    pub(super) fn write_phi(&mut self, phi: ArrayView3<'_, f32>) -> Result<()> {
        if let Some(((z, y, x), value)) = phi.indexed_iter().find(|(_, value)| !value.is_finite()) {
            return Err(Error::argument(format!(
                "phi must be finite everywhere, but at x = {x}, y = {y}, z = {z} it is {value}"
            )));
        }
        self.phi.iter_mut().zip(phi).for_each(|(to, from)| *to = *from);
        self.inside = self.phi.iter().filter(|phi| **phi < 0.0).count() as u64;
        self.resteps_left = 0;
        Ok(())
    }

    pub(super) fn inside(&self) -> u64 {
        self.inside
    }

    /// Tiles that the last iteration updated.
    pub(super) fn active_tiles(&self) -> u64 {
        self.plan.tiles().iter().product::<usize>() as u64
    }
}

pub(super) fn in_cuda_memory() -> Error {
    Error::unsupported("the image is in CUDA memory, but this runs on the CPU; use a CUDA context or host memory")
}

/// A copy without gaps.
fn packed<T: Copy, U: bytemuck::Zeroable>(view: ArrayView3<'_, T>, convert: impl Fn(T) -> U) -> Result<Vec<U>> {
    let mut copy = zeroed(view.len())?;
    copy.iter_mut().zip(view).for_each(|(to, from)| *to = convert(*from));
    Ok(copy)
}
