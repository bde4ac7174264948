//! The report of a call.

use super::progress::{callback, isoline_progress};
use super::sized::{self, sized_struct, text};
use crate::error::Result;
use crate::progress::Progress;
use crate::report::Report;
use std::ffi::c_char;

/// The device, the amount of work and the times of a call. Written on success.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_report {
    /// The size of the struct, set by isoline_report_init.
    pub struct_size: u32,
    /// The device that ran the call, an isoline_device_kind. With "auto" it is the CPU if the data did not fit into
    /// the memory of the GPU, or if the CPU was expected to finish first.
    pub device_kind: u32,
    /// The number in cuda:N; 0 for the CPU.
    pub device_index: u32,
    /// 1 if the operation's stopping criterion was met; 0 if a fixed number of iterations was requested or the limit
    /// on iterations was reached first, and for operations that do not iterate. A region snake: 1 if all targets have
    /// ended, whatever their status.
    pub converged: u32,
    /// The number of iterations that the call has done; for a region snake, since its start; for the converged edge
    /// strength, the number of multigrid cycles. For a stack, the largest number of any slice.
    pub iterations: u64,
    /// The number of slices that were finished and written.
    pub slices_done: u64,
    /// The wall-clock time of the whole call, in seconds; of a step, without the call that created the solver.
    pub seconds_total: f64,
    /// The time spent in copies to the device, in seconds; 0 on the CPU. Copies and computation overlap, so that the
    /// parts may add up to more than the total.
    pub seconds_upload: f64,
    /// The time spent in computation, in seconds.
    pub seconds_compute: f64,
    /// The time spent in copies from the device, in seconds; 0 on the CPU.
    pub seconds_download: f64,
    /// The residual of the converged edge strength: the estimated largest error of the result after the last cycle. It may
    /// exceed 1 if there were too few cycles. NaN for all other operations.
    pub residual: f64,
    /// The largest amount of device memory in use at one time, in bytes; 0 on the CPU.
    pub peak_device_bytes: u64,
    /// The device's name, UTF-8.
    pub device_name: [c_char; 128],
    /// A level set: how it ended, an isoline_level_set_outcome. 0 for other operations.
    pub outcome: u32,
    /// The number of devices that took part, at least 1 in a report that was written. With a context on a list of devices
    /// it is larger if slices or targets were divided among the first ones of the list. `device_index` and `device_name`
    /// are then those of the first device; the times of copies and computation, and the memory, are the largest of any
    /// device.
    pub device_count: u32,
    /// The number of parts that were copied to the GPU and computed one after the other because a volume did not fit into
    /// its memory, or into the context's memory limit. For a distance these are the slabs of slices of the passes along x
    /// and y, and the slabs of rows of the pass along z; for edge strength and an isosurface, the slabs of slices. 1 in a
    /// report that was written if no volume was cut.
    pub part_count: u64,
}

sized_struct!(isoline_report, 224, residual: f64::NAN);

impl From<&Report> for isoline_report {
    fn from(report: &Report) -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            device_kind: report.device.kind as u32,
            device_index: report.device.index,
            converged: u32::from(report.converged),
            iterations: report.iterations,
            slices_done: report.slices_done,
            seconds_total: report.seconds_total,
            seconds_upload: report.seconds_upload,
            seconds_compute: report.seconds_compute,
            seconds_download: report.seconds_download,
            residual: report.residual,
            peak_device_bytes: report.peak_device_bytes,
            device_name: text(&report.device.name),
            outcome: report.outcome.map_or(0, |outcome| outcome as u32),
            device_count: report.device_count,
            part_count: report.part_count,
        }
    }
}

impl isoline_report {
    /// Does the work of a call with the caller's callback, and writes its report unless that is NULL.
    ///
    /// # Safety
    /// The requirements of [`callback`] and of [`sized::write`] hold.
    pub(super) unsafe fn of(
        report: *mut Self,
        progress: *const isoline_progress,
        work: impl FnOnce(Option<&mut Progress<'_>>) -> Result<Report>,
    ) -> Result<()> {
        // SAFETY: as the caller ensures.
        unsafe {
            let mut progress = callback(progress)?;
            // Refuse a struct that cannot be written before doing the work.
            if !report.is_null() {
                sized::read(report, "report")?;
            }
            let done = work(progress.as_deref_mut())?;
            if report.is_null() { Ok(()) } else { sized::write(report, &Self::from(&done), "report") }
        }
    }
}

/// Fills `report` with zeros (residual: NaN). Call this before passing the report to an operation. `struct_size` is
/// sizeof *report, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_report_init(report: *mut isoline_report, struct_size: usize) -> super::isoline_status {
    // SAFETY: as the caller ensures.
    super::guard(|| unsafe { sized::init(report, struct_size, "report") })
}
