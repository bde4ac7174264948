//! Finds CUDA: the driver's library and its devices, and says why a device can or cannot be used.

use super::callers_context::CallersContext;
use super::code::{Code, KERNELS};
use super::{failed, unavailable};
use crate::device::{DeviceInfo, DeviceKind};
use crate::error::Result;
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// The kernels are built by a compiler of CUDA 12, whose machine code drivers from 525 on load.
const MIN_DRIVER: i32 = 12000;

/// The driver functions that are called here or by cudarc, which panics if one is missing.
const FUNCTIONS: &str = "\
    cuCtxDestroy_v2 cuCtxEnablePeerAccess cuCtxGetCurrent cuCtxSetCurrent cuCtxSynchronize cuDeviceCanAccessPeer \
    cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount cuDeviceGetName cuDeviceGetUuid_v2 \
    cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxRetain cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate \
    cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize cuFuncSetAttribute \
    cuGetErrorName cuGetErrorString cuInit cuLaunchCooperativeKernel cuLaunchKernel cuLaunchKernelEx cuMemAlloc_v2 \
    cuMemFreeHost cuMemFree_v2 cuMemGetAddressRange_v2 cuMemGetInfo_v2 cuMemHostAlloc cuMemHostRegister_v2 \
    cuMemHostUnregister cuMemcpy2DAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyHtoDAsync_v2 cuMemcpyPeerAsync \
    cuMemsetD8Async cuModuleGetFunction cuModuleLoadData cuModuleUnload \
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cuPointerGetAttribute cuPointerGetAttributes \
    cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuStreamWaitEvent cuTexObjectCreate cuTexObjectDestroy";

/// The reason for having no device where the driver's library is not found, and the name of that.
pub(super) const NO_DRIVER: &str = "there is no NVIDIA driver here";
pub(super) const DRIVER_FILE: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The id of the entry that stands for CUDA where there is no device.
const NO_DEVICE_ID: &str = "cuda";

/// The id of the process that has begun to load the driver; 0 if none has. The child of a fork cannot use a driver that its
/// parent has loaded, and does not have the thread that may be loading it.
static BEGUN_IN: AtomicU32 = AtomicU32::new(0);

/// The id of the process that has loaded the driver; 0 if none has.
static LOADED_IN: AtomicU32 = AtomicU32::new(0);

/// Returns whether this process has loaded the driver.
pub(super) fn is_loaded() -> bool {
    let process = LOADED_IN.load(Ordering::Relaxed);
    process != 0 && process == std::process::id()
}

/// Returns the number of devices, or the reason for having none.
///
/// An answer that cannot change is kept for the process, because the search for a missing library tries many names. A
/// driver that failed to start is tried again, because it may start later (its service may not have set up the GPU yet).
pub(super) fn start() -> Result<u32> {
    static LIBRARY: OnceLock<Result<()>> = OnceLock::new();
    static COUNT: OnceLock<u32> = OnceLock::new();
    let me = std::process::id();
    let begun = BEGUN_IN.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
    if begun.is_err_and(|process| process != me) {
        return Err(match LIBRARY.get() {
            Some(Err(reason)) => reason.clone(),
            _ => unavailable("this process is a fork of one that has used CUDA, which works in that one only"),
        });
    }
    if let Some(count) = COUNT.get() {
        return Ok(*count);
    }
    LIBRARY.get_or_init(find_library).clone()?;
    LOADED_IN.store(me, Ordering::Relaxed);
    CallersContext::keep();
    count_devices().map(|count| *COUNT.get_or_init(|| count))
}

/// Starts the driver and counts its devices.
fn count_devices() -> Result<u32> {
    let none = || unavailable("the NVIDIA driver is there but finds no CUDA device");
    result::init().map_err(|e| match e.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => none(),
        _ => unavailable(failed("start the NVIDIA driver", e).message().to_owned()),
    })?;
    let count = result::device::get_count().map_err(|e| failed("count the CUDA devices", e))?;
    u32::try_from(count).ok().filter(|&count| count > 0).ok_or_else(none)
}

/// Loads the driver's library and checks that it is new enough and has all functions.
fn find_library() -> Result<()> {
    if let Err(reason) = KERNELS {
        return Err(unavailable(format!("built without CUDA: {reason}")));
    }
    // SAFETY: loads libcuda if it is there; no other precondition.
    if !unsafe { sys::is_culib_present() } {
        return Err(unavailable(NO_DRIVER));
    }
    // SAFETY: the library is present; the symbol is a function, and is not called through this type.
    let lacks = |name: &str| unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err();
    if !lacks("cuDriverGetVersion") {
        let mut version = 0;
        // SAFETY: writes one int; may be called before cuInit.
        unsafe { sys::cuDriverGetVersion(&mut version) }
            .result()
            .map_err(|e| failed("query the version of the NVIDIA driver", e))?;
        check_driver(version)?;
    }
    match FUNCTIONS.split_whitespace().find(|name| lacks(name)) {
        None => Ok(()),
        Some(name) => Err(unavailable(format!(
            "the NVIDIA driver lacks the function {name}, which CUDA 12.0 has; update it to 525 or newer"
        ))),
    }
}

fn check_driver(version: i32) -> Result<()> {
    if version >= MIN_DRIVER {
        return Ok(());
    }
    Err(unavailable(format!(
        "the NVIDIA driver is too old: it supports CUDA {}.{} and this build needs 12.0; update the driver to 525 or newer",
        version / 1000,
        version % 1000 / 10
    )))
}

fn driver_version() -> u32 {
    let mut version = 0;
    // SAFETY: writes one int; the library is present (checked by start()).
    let known = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    known.map_or(0, |()| version.max(0) as u32)
}

/// Returns the number of entries for CUDA in the list of devices. Opens no device.
pub(in crate::device) fn count() -> usize {
    start().map_or(1, |count| count as usize)
}

/// Returns entry `index` of the list: a CUDA device or, if there is none, an unusable entry that says why. `None` if the
/// index is out of range.
pub(in crate::device) fn entry(index: usize) -> Option<DeviceInfo> {
    match start() {
        Ok(count) if index < count as usize => Some(open(index as u32).0),
        Err(error) if index == 0 => Some(blank(NO_DEVICE_ID.into(), 0, error.message().to_owned())),
        _ => None,
    }
}

/// Describes device `index`, which must exist, and opens a context on it if it is usable. Loads no kernels.
pub(super) fn open(index: u32) -> (DeviceInfo, Option<(Arc<CudaContext>, &'static Code)>) {
    let mut info = blank(format!("cuda:{index}"), index, String::new());
    let opened = catch_unwind(AssertUnwindSafe(|| -> Result<(Arc<CudaContext>, &'static Code)> {
        describe(&mut info)?;
        // All operations are compiled for the same architectures.
        let codes = KERNELS.ok().and_then(<[_]>::first).map_or(&[][..], |(_, codes)| codes);
        let code = Code::for_card(codes, info.compute_capability)?;
        let context = CudaContext::new(index as usize).map_err(|e| failed("create a CUDA context", e))?;
        let (free, total) = context.mem_get_info().map_err(|e| failed("query the device memory", e))?;
        (info.free_memory, info.total_memory) = (free as u64, total as u64);
        Ok((context, code))
    }));
    let why_not = match opened {
        Ok(Ok((context, code))) => {
            info.usable = true;
            let (major, minor) = info.compute_capability;
            info.reason = format!("usable: compute capability {major}.{minor}, kernels for {}", code.name());
            return (info, Some((context, code)));
        }
        Ok(Err(error)) => error.message().to_owned(),
        Err(_) => "the NVIDIA driver failed unexpectedly".to_owned(),
    };
    info.reason = format!("not usable: {why_not}");
    (info, None)
}

/// Fills in the parts of `info` that the driver returns without a context on the device. Making a context would take a
/// large part of a second.
fn describe(info: &mut DeviceInfo) -> Result<()> {
    let device = result::device::get(info.index as i32).map_err(|e| failed("find the CUDA device", e))?;
    info.name = result::device::get_name(device).map_err(|e| failed("query the name of the CUDA device", e))?;
    info.driver_version = driver_version();
    // SAFETY: the driver gave this device; each call writes one number.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map(|value| value.max(0) as u32);
    let version = |which| attribute(which).map_err(|e| failed("query the compute capability of the CUDA device", e));
    info.compute_capability = (
        version(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        version(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    info.multiprocessors = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap_or(0);
    // SAFETY: as above.
    info.total_memory = unsafe { result::device::total_mem(device) }.map_or(0, |bytes| bytes as u64);
    Ok(())
}

/// Returns the description of a CUDA device about which nothing else is known.
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
    fn an_old_driver_is_refused_with_its_version() {
        let error = check_driver(11080).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceUnavailable);
        assert!(error.message().contains("CUDA 11.8") && error.message().contains("525"), "{error}");
        assert!(check_driver(12000).is_ok());
    }

    #[test]
    fn cuda_always_has_an_entry_with_a_reason() {
        assert!(count() > 0);
        for index in 0..count() {
            assert!(!entry(index).unwrap().reason.is_empty());
        }
        for index in [count(), u32::MAX as usize, 1 << 32, usize::MAX] {
            assert_eq!(entry(index), None);
        }
    }
}
