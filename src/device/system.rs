//! The host's processor, as reported by the operating system.

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
    let length = crate::memory::system::system_value(c"machdep.cpu.brand_string", &mut name)?;
    String::from_utf8(name[..length].iter().copied().take_while(|&byte| byte != 0).collect()).ok()
}

// Miri has no processor to ask.
#[cfg(any(miri, not(any(target_os = "macos", target_arch = "x86_64"))))]
fn brand() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_has_a_name() {
        assert!(!processor().is_empty());
    }
}
