//! The driver's management library (NVML), which returns the free memory of a GPU without a context on it; making a context
//! takes a large part of a second for each GPU. It comes with the driver on most systems, but not on all.
#![allow(unsafe_code)]

use cudarc::driver::{result, sys};
use libloading::{Library, Symbol};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The name of the library.
const LIBRARY: &str = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };

/// A handle of a GPU (`nvmlDevice_t`).
type Device = *mut c_void;

/// The memory of a GPU in bytes (`nvmlMemory_t`).
#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// The library, in use.
pub(super) struct Nvml(Library);

impl Nvml {
    /// Returns the library, which is loaded and initialised at the first call, in 10 ms or more. `None` if that failed.
    pub(super) fn get() -> Option<&'static Self> {
        static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
        NVML.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        // SAFETY: the driver's library has no precondition for being loaded.
        let library = unsafe { Library::new(LIBRARY) }.ok()?;
        // SAFETY: the type is that of nvml.h.
        let start: Symbol<unsafe extern "C" fn() -> c_int> = unsafe { library.get("nvmlInit_v2") }.ok()?;
        // SAFETY: has no precondition, and may be called any number of times.
        let started = unsafe { start() } == 0;
        started.then(|| Self(library))
    }

    /// Returns the free memory of CUDA device `index` in bytes, or `None` if the library does not know it.
    pub(super) fn free_memory(&self, index: u32) -> Option<u64> {
        let device = result::device::get(index as i32).ok()?;
        let mut id = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: writes the number of the device, which the driver gave.
        unsafe { sys::cuDeviceGetUuid_v2(&mut id, device) }.result().ok()?;
        let name = CString::new(name_of(id.bytes.map(|byte| byte as u8))).ok()?;
        let (mut handle, mut memory): (Device, Memory) = (std::ptr::null_mut(), Memory::default());
        // SAFETY: the types are those of nvml.h, and the library is started. The first call writes the handle, which the second
        // reads if it is there; that writes the three numbers of the memory.
        let told = unsafe {
            let find: Symbol<unsafe extern "C" fn(*const c_char, *mut Device) -> c_int> =
                self.0.get("nvmlDeviceGetHandleByUUID").ok()?;
            let memory_of: Symbol<unsafe extern "C" fn(Device, *mut Memory) -> c_int> =
                self.0.get("nvmlDeviceGetMemoryInfo").ok()?;
            find(name.as_ptr(), &mut handle) == 0 && memory_of(handle, &mut memory) == 0
        };
        told.then_some(memory.free)
    }
}

/// Returns the library's name for the GPU with this UUID, such as GPU-00112233-4455-6677-8899-aabbccddeeff.
fn name_of(id: [u8; 16]) -> String {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    format!("GPU-{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_nvidia_smi() {
        let id = std::array::from_fn(|index| 0x11 * index as u8);
        assert_eq!(name_of(id), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn the_library_and_a_context_agree() {
        let Ok((cuda, _)) = super::super::Cuda::first_usable() else { return eprintln!("skipped, needs CUDA") };
        let Some(nvml) = Nvml::get() else { return eprintln!("skipped, needs NVML") };
        let (told, free) = (nvml.free_memory(0).unwrap(), cuda.free_memory().unwrap());
        // Other programs, and other tests, take memory meanwhile.
        assert!(told.abs_diff(free) < 8 << 30, "{told} {free}");
    }
}
