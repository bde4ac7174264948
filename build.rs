//! Compiles `kernels/*.cu` by `scripts/compile_kernels.py`, for each architecture, into compressed files that the crate
//! embeds, and translates `kernels/*.h`, the constants and structs that the kernels share with the crate, to Rust.
//!
//! `CUDA_PATH` names a CUDA toolkit 12.9; without it the project's own in `.tools/cuda` is used (`scripts/setup-cuda.sh`
//! fetches it), and without either the build fails. Without the feature `cuda` (`--no-default-features`), or with
//! `ISOLINE_CUDA_ARCHS=none`, no toolkit is needed, the library computes on the CPU only, and the device query says why.
//! The same holds for macOS. `ISOLINE_CUDA_ARCHS` (for example `90`, or `sm_75,compute_90`) limits the architectures
//! while developing.
//!
//! The kernels are the same for every system, whichever system they are compiled on. `ISOLINE_KERNELS` names the folder
//! with those that a build for another system has just made of the same sources (`scripts/jar-all.sh`).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernels are compiled to machine code for these, and to PTX for the drivers of cards yet to come. Cards of compute
/// capability 7.5 run the code for 7.0, those of 8.6 and 8.9 that for 8.0, and those of 10.x the PTX, which their driver
/// compiles at the first use.
const ARCHITECTURES: [&str; 5] = ["sm_70", "sm_80", "sm_90", "sm_120", "compute_90"];

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-changed=scripts/compile_kernels.py");
    for variable in ["CUDA_PATH", "ISOLINE_CUDA_ARCHS", "ISOLINE_KERNELS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    println!("cargo:rustc-check-cfg=cfg(isoline_cuda)");
    let kernels = root.join("kernels");
    fs::write(out.join("kernels.rs"), shared_headers(&kernels)).expect("OUT_DIR is writable");
    let without_cuda = if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        "the crate's feature cuda is off"
    } else if env::var_os("ISOLINE_CUDA_ARCHS").is_some_and(|value| value == "none") {
        "ISOLINE_CUDA_ARCHS=none was set"
    } else if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        "NVIDIA has no driver for macOS"
    } else {
        ""
    };
    if !without_cuda.is_empty() {
        println!("cargo:rustc-env=ISOLINE_NO_CUDA_REASON={without_cuda}");
        return;
    }
    let architectures = architectures();
    let made = match env::var_os("ISOLINE_KERNELS").map(PathBuf::from) {
        Some(folder) => folder,
        None => {
            if let Err(said) = compile(&root, &out, &architectures) {
                println!("cargo::error=cannot compile the CUDA kernels: {}", said.replace('\n', "; "));
                println!(
                    "cargo::error=run scripts/setup-cuda.sh (or 'make build', which does), set CUDA_PATH to a CUDA toolkit \
                     12.9, or build for the CPU alone with --no-default-features or ISOLINE_CUDA_ARCHS=none"
                );
                return;
            }
            out.clone()
        }
    };
    fs::write(out.join("embedded.rs"), embedded(&kernels, &made, &architectures)).expect("OUT_DIR is writable");
    println!("cargo:rustc-cfg=isoline_cuda");
}

/// Returns the architectures to compile for.
fn architectures() -> Vec<String> {
    let Ok(list) = env::var("ISOLINE_CUDA_ARCHS") else { return ARCHITECTURES.map(String::from).to_vec() };
    let name = |part: &str| if part.parse::<u32>().is_ok() { format!("sm_{part}") } else { part.into() };
    let chosen: Vec<String> = list.split([',', ' ']).filter(|part| !part.is_empty()).map(name).collect();
    let known = |name: &String| name.starts_with("sm_") || name.starts_with("compute_");
    assert!(
        !chosen.is_empty() && chosen.iter().all(known),
        "ISOLINE_CUDA_ARCHS must be 'none' or a list such as '90' or 'sm_75,compute_90', got '{list}'"
    );
    chosen
}

/// Compiles all kernels, or returns what the compiler said.
fn compile(root: &Path, out: &Path, architectures: &[String]) -> Result<(), String> {
    let python = if cfg!(windows) { "python" } else { "python3" };
    let script = root.join("scripts/compile_kernels.py");
    let output = Command::new(python)
        .arg(script)
        .arg(out)
        .args(architectures)
        .output()
        .map_err(|error| format!("cannot start {python}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Returns the expression for `src/device/cuda/code.rs`: each operation's name and its code for each architecture.
fn embedded(kernels: &Path, folder: &Path, architectures: &[String]) -> String {
    let code = |name: &str, architecture: &String| {
        let file = folder.join(format!("{name}-{architecture}.lzma"));
        let (_, number) = architecture.split_once('_').expect("architectures are checked");
        let ptx = architecture.starts_with("compute_");
        format!("        Code {{ architecture: {number}, ptx: {ptx}, lzma: include_bytes!({file:?}) }},\n")
    };
    let operation = |source: PathBuf| {
        let name = source.file_stem().expect("a kernel file has a name").to_string_lossy().into_owned();
        let codes = architectures.iter().map(|architecture| code(&name, architecture)).collect::<String>();
        format!("    ({name:?}, &[\n{codes}    ]),\n")
    };
    format!("&[\n{}]\n", files(kernels, "cu").into_iter().map(operation).collect::<String>())
}

/// Returns the files of a folder with an extension, in the order of their names, so that builds are equal.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("the crate has kernels").map(|entry| entry.expect("is readable").path());
    let mut found: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|other| other == extension)).collect();
    found.sort();
    found
}

/// Returns a Rust module for each `NAME.h` in the folder, for `src/device/cuda/kernels.rs`.
fn shared_headers(folder: &Path) -> String {
    let module = |path: &PathBuf| {
        let source = fs::read_to_string(path).expect("a header is readable");
        let name = path.file_stem().expect("a header has a name").display();
        format!("pub(crate) mod {name} {{\n{}}}\n", source.lines().map(rust_of_line).collect::<String>())
    };
    files(folder, "h").iter().map(module).collect()
}

/// Translates a line of a shared header to Rust: an include, a comment, constants or a part of a struct. Integer
/// constants become `usize`, since most are sizes; their values are expressions that mean the same in both languages.
fn rust_of_line(line: &str) -> String {
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    let code = code.trim();
    let rust = if code.is_empty() || code == "#pragma once" || code.starts_with("typedef ") {
        String::new()
    } else if let Some(name) = code.strip_prefix("#include \"") {
        format!("pub(crate) use super::{}::*;", name.trim_end_matches(".h\""))
    } else if let Some(name) = code.strip_prefix("struct ") {
        let name = name.trim_end_matches(" {");
        format!(
            "plain_numbers!({name});\n#[repr(C)]\n#[derive(Clone, Copy, Debug, Default, PartialEq)]\n\
             pub(crate) struct {name} {{"
        )
    } else if code == "};" {
        "}".into()
    } else if let Some((kind, constants)) = code.strip_prefix("constexpr ").and_then(|rest| rest.split_once(' ')) {
        let kind = if matches!(kind, "int" | "u32" | "u64") { "usize" } else { rust_type(kind) };
        let declare = |(name, value)| format!("pub(crate) const {name}: {kind} = {value}; ");
        constants.trim_end_matches(';').split(", ").filter_map(|one| one.split_once(" = ")).map(declare).collect()
    } else {
        let fields = code.strip_suffix(';').unwrap_or_else(|| panic!("cannot translate '{line}' of kernels/*.h"));
        let first = fields.split(", ").next().unwrap_or(fields);
        let (kind, _) = first.rsplit_once(' ').unwrap_or_else(|| panic!("cannot translate '{line}' of kernels/*.h"));
        fields[kind.len() + 1..].split(", ").map(|name| rust_field(rust_type(kind), name)).collect()
    };
    format!("{rust} //{comment}\n")
}

/// Translates a field; a pointer becomes a device address.
fn rust_field(kind: &str, name: &str) -> String {
    match name.strip_suffix(']').and_then(|array| array.split_once('[')) {
        _ if name.starts_with('*') => format!("pub(crate) {}: u64, ", &name[1..]),
        Some((name, length)) => format!("pub(crate) {name}: [{kind}; {length}], "),
        None => format!("pub(crate) {name}: {kind}, "),
    }
}

fn rust_type(name: &str) -> &str {
    match name {
        "int" => "i32",
        "float" => "f32",
        "double" => "f64",
        other => other,
    }
}
