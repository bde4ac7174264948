//! Every CUDA kernel at least once, on images small enough for NVIDIA's compute-sanitizer (memcheck, racecheck,
//! initcheck: see `scripts/gpu-run.sh`). Results are compared with the CPU's, bit for bit where the CPU has fused
//! multiply-add, so that they are worth something without the sanitizer too. Skipped, saying why, where there is no CUDA
//! device.

#[path = "../common/mod.rs"]
mod common;
mod edge_drawing;
mod edge_strength;

use common::few_sizes;
use isoline::Context;

/// CUDA and CPU contexts, or `None` after saying why there is none.
fn contexts() -> Option<(Context, Context)> {
    match Context::new("cuda") {
        Ok(cuda) => Some((cuda, Context::new("cpu").expect("the CPU is always there"))),
        Err(error) => {
            eprintln!("skipped, needs CUDA: {error}");
            None
        }
    }
}

/// All of the sizes (depth, height, width), or the few of them.
fn sizes(all: &'static [[usize; 3]], few: &'static [[usize; 3]]) -> &'static [[usize; 3]] {
    if few_sizes() { few } else { all }
}
