//! The report of a call: device, iterations, times.

use crate::device::{Context, DeviceInfo};
use crate::error::Result;
use std::fmt;
use std::time::Instant;

/// The outcome of a level set: whether it found a front, and whether the range of intensities suits the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The front may still move: the stopping criterion is not met.
    Moving,
    /// The front is at rest, and the range suits the intensities inside.
    Front,
    /// The front is at rest, but more than a tenth of the intensities inside lie at the range's limits, so that the
    /// limits cut into the object rather than between it and its surroundings. See `docs/level_set.md`.
    AtLimit,
    /// Every voxel is inside: no front is left.
    Filled,
    /// No voxel is inside: no front is left.
    Lost,
}

/// The device, the iterations, the convergence and the times of a call. Times are in seconds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The device that ran the call, with the reason. Under `auto` it is the CPU if the call did not fit the GPU or was
    /// expected to finish first on the CPU. If several devices took part, it is the first of them.
    pub device: DeviceInfo,
    /// The number of devices that took part. It is more than 1 if the slices or targets of a call were distributed over
    /// several devices: then it counts the first devices of [`Context::devices`], and each time and the memory are those of
    /// the device with the largest value.
    pub device_count: u32,
    /// The number of iterations, or of multigrid cycles, of the call; for a region snake, the iterations since its start.
    /// For a stack, the largest number of any slice.
    pub iterations: u64,
    /// The number of slices finished and written, counted from the first.
    pub slices_done: u64,
    /// `true` if the stopping criterion was met; `false` if the number of iterations was fixed or the limit was reached,
    /// and for operations that do not iterate. For a region snake, `true` if all targets have ended, whatever their status.
    pub converged: bool,
    /// The end of a level set; `None` for other operations.
    pub outcome: Option<Outcome>,
    /// The residual of edge strength to convergence: the estimated largest error of the result after the last cycle. It may
    /// exceed 1 after only a few cycles. NaN for all other operations.
    pub residual: f64,
    /// Wall-clock time of the whole call.
    pub seconds_total: f64,
    /// Time of the copies to the device. 0 on the CPU. Copies and computation overlap, so the three times may add up to
    /// more than the total.
    pub seconds_upload: f64,
    /// Time in computation.
    pub seconds_compute: f64,
    /// Time in copies from the device. 0 on the CPU.
    pub seconds_download: f64,
    /// The most device memory in use at one time, in bytes. 0 on the CPU.
    pub peak_device_bytes: u64,
    /// The number of slabs that were copied to the device and computed one by one because a volume did not fit its memory.
    /// For a distance, these are the slabs of slices of the passes along x and y plus the slabs of rows of the pass along
    /// z; for edge strength and an isosurface, the slabs of slices. 1 if no volume was cut.
    pub part_count: u64,
}

/// The parts of a call whose results are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Several devices computed them at the same time.
    SideBySide,
    /// They were computed one after the other.
    InTurn,
}

impl Report {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        Self {
            device: device.clone(),
            device_count: 1,
            iterations: 0,
            slices_done: 0,
            converged: false,
            outcome: None,
            residual: f64::NAN,
            seconds_total: 0.0,
            seconds_upload: 0.0,
            seconds_compute: 0.0,
            seconds_download: 0.0,
            peak_device_bytes: 0,
            part_count: 1,
        }
    }

    /// Makes the report of a call on the CPU that began at `started`, with all of its time as computation.
    pub(crate) fn on_cpu(context: &Context, started: Instant, slices: usize) -> Self {
        let seconds_compute = started.elapsed().as_secs_f64();
        Self { slices_done: slices as u64, seconds_compute, ..Self::new(&context.cpu_for_report()) }
    }

    /// Joins the reports of several parts; each comes with the number of its first item. There is at least one.
    pub(crate) fn joined(reports: Vec<(usize, Self)>, parts: Parts) -> Result<Self> {
        let longest_or_sum = |a: f64, b: f64| if parts == Parts::InTurn { a + b } else { a.max(b) };
        let reports = reports.into_iter().map(|(_, report)| report);
        let joined = reports.reduce(|all, one| Self {
            device_count: match parts {
                Parts::SideBySide => all.device_count + one.device_count,
                Parts::InTurn => all.device_count.max(one.device_count),
            },
            iterations: all.iterations.max(one.iterations),
            slices_done: all.slices_done + one.slices_done,
            converged: all.converged && one.converged,
            residual: all.residual.max(one.residual),
            seconds_upload: longest_or_sum(all.seconds_upload, one.seconds_upload),
            seconds_compute: longest_or_sum(all.seconds_compute, one.seconds_compute),
            seconds_download: longest_or_sum(all.seconds_download, one.seconds_download),
            peak_device_bytes: all.peak_device_bytes.max(one.peak_device_bytes),
            part_count: all.part_count.max(one.part_count),
            ..all
        });
        Ok(joined.unwrap_or_else(|| unreachable!("a report for each part")))
    }

    /// Completes the report of a call that began at `started`, and logs it as `call`.
    pub(crate) fn complete(&mut self, started: Instant, call: fmt::Arguments<'_>) {
        self.seconds_total = started.elapsed().as_secs_f64();
        let others = match self.device_count {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let parts = match self.part_count {
            1 => String::new(),
            count => format!(", in {count} parts"),
        };
        log::debug!(
            "{call}: {} iterations, {:.4} s on {}{others}{parts}",
            self.iterations,
            self.seconds_total,
            self.device.name
        );
    }
}
