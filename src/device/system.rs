//! The host's processor and memory, as reported by the operating system.
//!
//! # Safety
//! The calls into the system write only to memory of the caller, whose size they know.
#![cfg_attr(not(target_os = "linux"), allow(unsafe_code))]

use super::PerProcess;
use std::sync::OnceLock;

/// Returns the processor's name.
pub(super) fn processor() -> &'static str {
    static NAME: PerProcess<OnceLock<String>> = PerProcess::once();
    NAME.get_or_init(|| {
        brand().map_or_else(|| format!("CPU ({})", std::env::consts::ARCH), |name| name.trim().to_owned())
    })
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn brand() -> Option<String> {
    let brand = raw_cpuid::CpuId::new().get_processor_brand_string()?;
    Some(brand.as_str().to_owned()).filter(|name| !name.trim().is_empty())
}

#[cfg(all(target_os = "macos", not(target_arch = "x86_64")))]
fn brand() -> Option<String> {
    let mut name = [0u8; 128];
    let length = system_value(c"machdep.cpu.brand_string", &mut name)?;
    String::from_utf8(name[..length].iter().copied().take_while(|&byte| byte != 0).collect()).ok()
}

// Miri has no processor to ask.
#[cfg(any(miri, not(any(target_os = "macos", target_arch = "x86_64"))))]
fn brand() -> Option<String> {
    None
}

/// Returns the total and the available memory in bytes; 0 if the system does not report them.
#[cfg(target_os = "linux")]
pub(super) fn memory() -> (u64, u64) {
    let listed = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |key: &str| {
        listed
            .lines()
            .find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    (kib("MemTotal:") * 1024, kib("MemAvailable:") * 1024)
}

#[cfg(windows)]
pub(super) fn memory() -> (u64, u64) {
    use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the struct is the caller's own, and says its size.
    let known = unsafe { GlobalMemoryStatusEx(&mut status) } != 0;
    if known { (status.ullTotalPhys, status.ullAvailPhys) } else { (0, 0) }
}

#[cfg(target_os = "macos")]
pub(super) fn memory() -> (u64, u64) {
    let mut total = [0; size_of::<u64>()];
    let known = system_value(c"hw.memsize", &mut total) == Some(total.len());
    (if known { u64::from_ne_bytes(total) } else { 0 }, 0)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(super) fn memory() -> (u64, u64) {
    (0, 0)
}

/// Reads a system value by its name, and returns its length in bytes; `None` if there is no such value, or if it does not
/// fit.
#[cfg(target_os = "macos")]
fn system_value(name: &std::ffi::CStr, value: &mut [u8]) -> Option<usize> {
    let mut length = value.len();
    // SAFETY: the name ends with NUL, and the system writes at most `length` bytes, which are the caller's own.
    let status =
        unsafe { libc::sysctlbyname(name.as_ptr(), value.as_mut_ptr().cast(), &mut length, std::ptr::null_mut(), 0) };
    (status == 0 && length <= value.len()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_a_name_and_memory() {
        assert!(!processor().is_empty());
        let (total, available) = memory();
        assert!(total > 0 && available <= total, "{total}, {available}");
    }
}
