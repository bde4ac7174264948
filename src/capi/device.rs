//! Devices.

use super::sized::{self, sized_struct, text};
use super::{check, guard, guard_or, isoline_status};
use crate::device::{self, DeviceInfo, DeviceKind};
use crate::error::Error;
use crate::progress::abandon_if_cancelled;
use std::ffi::c_char;

/// The kind of a device.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_device_kind {
    /// All CPU cores.
    ISOLINE_DEVICE_CPU = 0,
    /// One NVIDIA GPU through the CUDA driver.
    ISOLINE_DEVICE_CUDA = 1,
}

/// The properties of a device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_device {
    /// The size of the struct, set by isoline_device_init.
    pub struct_size: u32,
    /// An isoline_device_kind.
    pub kind: u32,
    /// The N of cuda:N; 0 for the CPU.
    pub index: u32,
    /// 1 if a context can be created on the device, else 0.
    pub usable: u32,
    /// The major number of the CUDA compute capability: the 9 of 9.0; 0 for the CPU.
    pub compute_major: u32,
    /// The minor number of the CUDA compute capability: the 0 of 9.0; 0 for the CPU.
    pub compute_minor: u32,
    /// The number of multiprocessors of a GPU, or of worker threads of the CPU.
    pub multiprocessors: u32,
    /// The CUDA version that the driver supports, 13000 for 13.0; 0 for the CPU or if unknown.
    pub driver_version: u32,
    /// The total memory in bytes; 0 if unknown.
    pub total_memory: u64,
    /// The memory that is free now, in bytes; 0 if unknown.
    pub free_memory: u64,
    /// The name that isoline_context_new accepts: "cpu", "cuda:0", ...; "cuda" for the entry that says why CUDA
    /// cannot be used.
    pub id: [c_char; 16],
    /// The name of the product, in UTF-8.
    pub name: [c_char; 128],
    /// A sentence that says why the device can be used or not or, for a context's device, why it was selected; in UTF-8.
    pub reason: [c_char; 512],
}

sized_struct!(isoline_device, 704);
const _: () = assert!(DeviceKind::Cuda as u32 == isoline_device_kind::ISOLINE_DEVICE_CUDA as u32);

impl From<&DeviceInfo> for isoline_device {
    fn from(info: &DeviceInfo) -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            kind: info.kind as u32,
            index: info.index,
            usable: u32::from(info.usable),
            compute_major: info.compute_capability.0,
            compute_minor: info.compute_capability.1,
            multiprocessors: info.multiprocessors,
            driver_version: info.driver_version,
            total_memory: info.total_memory,
            free_memory: info.free_memory,
            id: text(&info.id),
            name: text(&info.name),
            reason: text(&info.reason),
        }
    }
}

/// Returns the number of entries that isoline_device_info describes: the CPU (entry 0), then each CUDA device. If CUDA
/// cannot be used at all (built without it, no driver, driver too old, no device), one entry with the id "cuda" and
/// `usable` 0 gives the reason. This function opens no device. The driver is loaded once per process: restart the program
/// after installing one. Never fails. May be called on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_device_count() -> usize {
    guard_or(0, device::count)
}

/// Fills `device` with zeros; `struct_size` is sizeof *device, see "Structs".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_device_init(device: *mut isoline_device, struct_size: usize) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(device, struct_size, "device") })
}

/// Describes one device. A CUDA device is opened briefly, to test it and to read its free memory, which takes 0.1 to 0.2 s
/// if no context is open on it.
///
/// @param index less than isoline_device_count().
/// @param out a struct after isoline_device_init; written on success.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER; ISOLINE_INVALID_ARGUMENT for an index out of range. A device
///   that cannot be used is not an error: `usable` and `reason` describe it. ISOLINE_CANCELLED by the cancel flag. May be
///   called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_device_info(index: usize, out: *mut isoline_device) -> isoline_status {
    guard(|| {
        check::not_null(out, "out")?;
        let info = abandon_if_cancelled(move || Ok(device::info(index)))?.ok_or_else(|| {
            Error::argument(format!("the device index must be less than {}, but it is {index}", device::count()))
        })?;
        // SAFETY: as the caller ensures.
        unsafe { sized::write(out, &isoline_device::from(&info), "out") }
    })
}
