//! The constants and arguments that kernels and crate share: a module for each file `kernels/*.h`, translated by
//! `build.rs`.
#![allow(unsafe_code)]
#![allow(dead_code, unused_imports, reason = "some names are for the kernels alone")]
#![allow(clippy::approx_constant, reason = "pi has its digits for both languages")]
#![allow(non_camel_case_types, reason = "structs have their names in C++")]

/// Declares that a struct in C layout consists of numbers and of such structs. It can then be an argument of kernels, and
/// any bytes are a valid value.
macro_rules! plain_numbers {
    ($name:ident) => {
        // SAFETY: the fields are numbers, with the kernels' layout.
        unsafe impl cudarc::driver::DeviceRepr for $name {}
        // SAFETY: as above.
        unsafe impl bytemuck::Zeroable for $name {}
        // SAFETY: as above.
        unsafe impl bytemuck::AnyBitPattern for $name {}
    };
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
