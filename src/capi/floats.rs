//! The floating-point environment of calls.

use std::arch::asm;

/// Sets the default environment as long as it lives: rounding to nearest, no flush to zero, no traps. The compiler assumes
/// this environment. The caller's environment is restored afterwards; programs have another one if they, or a library that
/// they load, were built with -ffast-math. The library's threads are started within calls, and inherit this environment.
pub(super) struct DefaultFloats(Option<Control>);

impl DefaultFloats {
    pub(super) fn new() -> Self {
        // Miri interprets no assembly.
        let callers = if cfg!(miri) { DEFAULT } else { read() };
        let differs = callers & !FLAGS != DEFAULT;
        if differs {
            write(DEFAULT);
        }
        Self(differs.then_some(callers))
    }
}

impl Drop for DefaultFloats {
    fn drop(&mut self) {
        if let Some(callers) = self.0 {
            write(callers);
        }
    }
}

/// The register MXCSR.
#[cfg(target_arch = "x86_64")]
type Control = u32;
/// All exceptions are masked.
#[cfg(target_arch = "x86_64")]
const DEFAULT: Control = 0x1F80;
/// The sticky bits that record earlier exceptions.
#[cfg(target_arch = "x86_64")]
const FLAGS: Control = 0x3F;

#[cfg(target_arch = "x86_64")]
fn read() -> Control {
    let mut control = 0;
    // SAFETY: every x86-64 processor has the register; the instruction writes four bytes.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control
}

#[cfg(target_arch = "x86_64")]
fn write(control: Control) {
    // SAFETY: the value is the default, or was read from the register; no code of Rust with floats runs with the latter.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags, readonly)) };
}

/// The register FPCR.
#[cfg(target_arch = "aarch64")]
type Control = u64;
#[cfg(target_arch = "aarch64")]
const DEFAULT: Control = 0;
#[cfg(target_arch = "aarch64")]
const FLAGS: Control = 0;

#[cfg(target_arch = "aarch64")]
fn read() -> Control {
    let control;
    // SAFETY: every AArch64 processor has the register.
    unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nostack, nomem, preserves_flags)) };
    control
}

#[cfg(target_arch = "aarch64")]
fn write(control: Control) {
    // SAFETY: the value is the default, or was read from the register; no code of Rust with floats runs with the latter.
    unsafe { asm!("msr fpcr, {}", in(reg) control, options(nostack, preserves_flags)) };
}
