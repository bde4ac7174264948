//! What a call did: where, how much and how long.

use crate::device::DeviceInfo;

/// What a call did. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Report {
    /// The device that did the work (under `auto` the CPU when the job did not fit the GPU), and why.
    pub device: DeviceInfo,
    /// Iterations done; for an iterative solver its cycles. For a stack, the largest of any slice.
    pub iterations: u64,
    /// Slices finished and written, counted from the first.
    pub slices_done: u64,
    /// Whether a stopping rule was met; `false` when a fixed number of iterations was asked for or the limit was hit.
    pub converged: bool,
    /// The residual reached, as the operation defines it; NaN where there is none.
    pub residual: f64,
    /// Wall-clock time of the whole call.
    pub seconds_total: f64,
    /// Time in copies to the device. 0 on the CPU. Copies and computing overlap, so the parts may add up to more
    /// than the total.
    pub seconds_upload: f64,
    /// Time in computing.
    pub seconds_compute: f64,
    /// Time in copies from the device. 0 on the CPU.
    pub seconds_download: f64,
    /// The most device memory in use at one time, in bytes. 0 on the CPU.
    pub peak_device_bytes: u64,
}

impl Report {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        Self {
            device: device.clone(),
            iterations: 0,
            slices_done: 0,
            converged: false,
            residual: f64::NAN,
            seconds_total: 0.0,
            seconds_upload: 0.0,
            seconds_compute: 0.0,
            seconds_download: 0.0,
            peak_device_bytes: 0,
        }
    }
}
