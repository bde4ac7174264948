//! Finding CUDA: the driver's library, its devices, and why they can or cannot be used.

use super::{FATBINS, LOWEST_ARCHITECTURE, failed, unavailable};
use crate::device::{DeviceInfo, DeviceKind};
use crate::error::{Error, Result};
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// The kernels are built by CUDA 13.0, which drivers from 580 on can load.
const LEAST_DRIVER: i32 = 13000;

/// The id of the entry that stands for CUDA where there is no device.
const NO_DEVICE_ID: &str = "cuda";

/// The number of devices, or why there are none.
///
/// What cannot change is asked for only once in a process: a library that was not there is looked for under many names,
/// and one that lacks functions makes cudarc print that it panics. But a driver that could not be started may be, later
/// (its service had not set up the GPU yet).
pub(super) fn start() -> Result<u32> {
    static LIBRARY: OnceLock<Result<()>> = OnceLock::new();
    static SETTLED: OnceLock<Result<u32>> = OnceLock::new();
    if let Some(outcome) = SETTLED.get() {
        return outcome.clone();
    }
    LIBRARY.get_or_init(|| find_library().unwrap_or_else(|Strange| Err(lacking()))).clone()?;
    match survive(count_devices) {
        Ok(Err(may_pass)) => Err(may_pass),
        Ok(Ok(count)) => SETTLED.get_or_init(|| Ok(count)).clone(),
        Err(Strange) => SETTLED.get_or_init(|| Err(lacking())).clone(),
    }
}

/// Starts the driver.
fn count_devices() -> Result<u32> {
    let none = || unavailable("the NVIDIA driver is there but finds no CUDA device");
    result::init().map_err(|e| match e.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => none(),
        _ => unavailable(failed("be started", e).message()),
    })?;
    let count = result::device::get_count().map_err(|e| failed("be counted", e))?;
    u32::try_from(count).ok().filter(|&count| count > 0).ok_or_else(none)
}

/// Loads the driver's library and sees whether it is new enough.
fn find_library() -> Result<Result<()>, Strange> {
    if let Err(reason) = FATBINS {
        return Ok(Err(unavailable(format!("built without CUDA: {reason}"))));
    }
    // SAFETY: loads libcuda if it is there; no other precondition.
    if !unsafe { sys::is_culib_present() } {
        let library = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
        return Ok(Err(unavailable(format!("no NVIDIA driver found ({library})"))));
    }
    survive(|| {
        let mut version = 0;
        // SAFETY: writes one int; may be called before cuInit.
        unsafe { sys::cuDriverGetVersion(&mut version) }
            .result()
            .map_err(|e| failed("tell its driver's version", e))?;
        check_driver(version)
    })
}

/// A driver that made cudarc panic: it does where a driver lacks a function.
#[derive(Debug)]
struct Strange;

/// A strange driver must not take the process along.
fn survive<T>(ask: impl FnOnce() -> T) -> Result<T, Strange> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|_| Strange)
}

fn lacking() -> Error {
    unavailable("the NVIDIA driver lacks functions that CUDA 13.0 has; update it to 580 or newer")
}

fn check_driver(version: i32) -> Result<()> {
    if version >= LEAST_DRIVER {
        return Ok(());
    }
    Err(unavailable(format!(
        "the NVIDIA driver is too old: it supports CUDA {}.{} and this build needs 13.0; update the driver to 580 or newer",
        version / 1000,
        version % 1000 / 10
    )))
}

fn driver_version() -> u32 {
    let mut version = 0;
    // SAFETY: writes one int; the library is present (checked by start()).
    let told = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    told.map_or(0, |()| version.max(0) as u32)
}

/// How many entries the list of devices has for CUDA. Opens none.
pub(in crate::device) fn count() -> usize {
    start().map_or(1, |count| count as usize)
}

/// Entry `index` of the list: a CUDA device, or the unusable one that says why there are none. `None` if out of range.
pub(in crate::device) fn entry(index: usize) -> Option<DeviceInfo> {
    match start() {
        Ok(count) if index < count as usize => Some(open(index as u32).0),
        Err(error) if index == 0 => Some(blank(NO_DEVICE_ID.into(), 0, error.message().to_owned())),
        _ => None,
    }
}

/// What is known of device `index` (there is one), and a context on it if it is usable. No kernels are loaded.
pub(super) fn open(index: u32) -> (DeviceInfo, Option<Arc<CudaContext>>) {
    let mut info = blank(format!("cuda:{index}"), index, String::new());
    let opened = catch_unwind(AssertUnwindSafe(|| -> Result<Arc<CudaContext>> {
        describe(&mut info)?;
        let (major, minor) = info.compute_capability;
        let lowest: u32 = LOWEST_ARCHITECTURE.parse().unwrap_or(75);
        if major * 10 + minor < lowest {
            return Err(unavailable(format!(
                "no kernel image for the card: its compute capability is {major}.{minor} and this build needs {}.{} or newer",
                lowest / 10,
                lowest % 10
            )));
        }
        let context = CudaContext::new(index as usize).map_err(|e| failed("make a context", e))?;
        let (free, total) = context.mem_get_info().map_err(|e| failed("tell its memory", e))?;
        (info.free_memory, info.total_memory) = (free as u64, total as u64);
        Ok(context)
    }));
    let why_not = match opened {
        Ok(Ok(context)) => {
            info.usable = true;
            info.reason =
                format!("usable: compute capability {}.{}", info.compute_capability.0, info.compute_capability.1);
            return (info, Some(context));
        }
        Ok(Err(error)) => error.message().to_owned(),
        Err(_) => "the NVIDIA driver failed unexpectedly".to_owned(),
    };
    info.reason = format!("not usable: {why_not}");
    (info, None)
}

/// What the driver tells of a device without a context on it, which would take a good part of a second.
fn describe(info: &mut DeviceInfo) -> Result<()> {
    let device = result::device::get(info.index as i32).map_err(|e| failed("be found", e))?;
    info.name = result::device::get_name(device).map_err(|e| failed("tell its name", e))?;
    info.driver_version = driver_version();
    // SAFETY: the driver gave this device; each call writes one number.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map(|value| value.max(0) as u32);
    let version = |which| attribute(which).map_err(|e| failed("tell its compute capability", e));
    info.compute_capability = (
        version(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        version(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    info.multiprocessors = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap_or(0);
    // SAFETY: as above.
    info.total_memory = unsafe { result::device::total_mem(device) }.map_or(0, |bytes| bytes as u64);
    Ok(())
}

fn blank(id: String, index: u32, reason: String) -> DeviceInfo {
    DeviceInfo {
        kind: DeviceKind::Cuda,
        index,
        usable: false,
        compute_capability: (0, 0),
        multiprocessors: 0,
        driver_version: 0,
        total_memory: 0,
        free_memory: 0,
        name: "NVIDIA CUDA".into(),
        id,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn an_old_driver_is_named() {
        let error = check_driver(12080).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
        assert!(error.message().contains("CUDA 12.8") && error.message().contains("580"), "{error}");
        assert!(check_driver(13000).is_ok());
    }

    #[test]
    fn there_is_always_an_entry_with_a_reason() {
        assert!(count() > 0);
        for index in 0..count() {
            assert!(!entry(index).unwrap().reason.is_empty());
        }
        for index in [count(), u32::MAX as usize, 1 << 32, usize::MAX] {
            assert_eq!(entry(index), None);
        }
    }
}
