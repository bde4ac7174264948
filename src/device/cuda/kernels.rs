//! The constants and arguments that kernels and crate share: `kernels/*.h`, a module each, which `build.rs` translates.
#![allow(unsafe_code, reason = "each struct is declared to be an argument of kernels")]
#![allow(dead_code, unused_imports, reason = "some names are for the kernels alone")]
#![allow(non_camel_case_types, reason = "structs have their names in C++")]

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
