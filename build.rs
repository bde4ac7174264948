//! Compiles `kernels/*.cu` with nvcc into one fatbin per file, which the crate embeds, and translates `kernels/*.h`, the
//! constants and structs that the kernels share with the crate, to Rust.
//!
//! nvcc is looked for in `$NVCC`, `$CUDA_PATH/bin`, `PATH` and the project's own `.tools/cuda` (filled by
//! `scripts/setup-cuda.sh`); without it the build fails. Without the feature `cuda` (`--no-default-features`), or with
//! `NVCC=none`, no nvcc is needed, the library computes on the CPU only, and the device query says why. The same holds for
//! macOS. `ISOLINE_CUDA_ARCHS` (for example `90`) limits the architectures while developing.
//!
//! The fatbins are the same for every system, whichever system they are compiled on. `ISOLINE_FATBINS` names the folder
//! with those that a build for another system has just made of the same sources (`scripts/jar-all.sh`).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Architectures of the machine code in the fatbin; the lowest also goes in as PTX, for cards yet to come.
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=kernels");
    for variable in ["NVCC", "CUDA_PATH", "ISOLINE_CUDA_ARCHS", "ISOLINE_FATBINS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    println!("cargo:rustc-check-cfg=cfg(isoline_cuda)");
    let kernels = root.join("kernels");
    fs::write(out.join("kernels.rs"), shared_headers(&kernels)).expect("OUT_DIR is writable");
    let without_cuda = if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        "the crate's feature cuda is off"
    } else if env::var_os("NVCC").is_some_and(|value| value == "none") {
        "NVCC=none was set"
    } else if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        "NVIDIA has no driver for macOS"
    } else {
        ""
    };
    if !without_cuda.is_empty() {
        println!("cargo:rustc-env=ISOLINE_NO_CUDA_REASON={without_cuda}");
        return;
    }
    match find_nvcc(&root) {
        Ok(nvcc) => {
            let architectures = architectures(&nvcc);
            let compiled = files(&kernels, "cu").into_iter().map(|source| {
                let name = source.file_stem().expect("a kernel file has a name").to_string_lossy();
                let target = out.join(format!("{name}.fatbin"));
                match env::var_os("ISOLINE_FATBINS") {
                    Some(folder) => copy(&PathBuf::from(folder).join(format!("{name}.fatbin")), &target),
                    None => compile(&nvcc, &kernels, &source, &architectures, &target),
                }
                format!("({name:?}, include_bytes!({target:?}).as_slice()),\n")
            });
            let fatbins = format!("&[\n{}]\n", compiled.collect::<String>());
            fs::write(out.join("fatbins.rs"), fatbins).expect("OUT_DIR is writable");
            println!("cargo:rustc-cfg=isoline_cuda");
            println!("cargo:rustc-env=ISOLINE_CUDA_LOWEST={}", architectures[0]);
        }
        Err(found) => println!(
            "cargo::error=cannot compile the CUDA kernels: {found}. Run scripts/setup-cuda.sh (or 'make build', which does), \
             set NVCC to the path of nvcc 13.0, or build for the CPU alone with --no-default-features or NVCC=none"
        ),
    }
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

/// Returns the path of nvcc, or what was found instead.
fn find_nvcc(root: &Path) -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("NVCC").filter(|value| !value.is_empty()).map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(format!("NVCC is {}, which is no file", path.display())) };
    }
    let mut places = Vec::new();
    if let Some(cuda) = env::var_os("CUDA_PATH") {
        places.push(PathBuf::from(cuda).join("bin"));
    }
    places.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
    places.push(root.join(".tools/cuda/nvidia/cu13/bin"));
    let executable = if cfg!(windows) { "nvcc.exe" } else { "nvcc" };
    places
        .into_iter()
        .map(|folder| folder.join(executable))
        .find(|path| path.is_file())
        .ok_or_else(|| "no nvcc in CUDA_PATH, PATH or .tools/cuda, and NVCC is not set".into())
}

/// Those of [`ARCHITECTURES`] that this nvcc knows, ascending.
fn architectures(nvcc: &Path) -> Vec<u32> {
    if let Ok(list) = env::var("ISOLINE_CUDA_ARCHS") {
        let mut chosen: Vec<u32> = list
            .split([',', ' '])
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().unwrap_or_else(|_| panic!("ISOLINE_CUDA_ARCHS: '{part}' is not a number like 90")))
            .collect();
        chosen.sort_unstable();
        assert!(!chosen.is_empty(), "ISOLINE_CUDA_ARCHS is set but names no architecture");
        return chosen;
    }
    let listed = Command::new(nvcc).arg("--list-gpu-arch").output();
    let listed = match &listed {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => panic!("{} --list-gpu-arch failed", nvcc.display()),
    };
    let known: Vec<u32> = ARCHITECTURES
        .into_iter()
        .filter(|a| listed.lines().any(|line| line.trim() == format!("compute_{a}")))
        .collect();
    assert!(!known.is_empty(), "{} knows none of the architectures {ARCHITECTURES:?}", nvcc.display());
    known
}

/// Copies the fatbin that another build has made.
fn copy(from: &Path, target: &Path) {
    if let Err(error) = fs::copy(from, target) {
        panic!("cannot take {}: {error}; unset ISOLINE_FATBINS to compile the kernels here", from.display());
    }
}

fn compile(nvcc: &Path, folder: &Path, source: &Path, architectures: &[u32], target: &Path) {
    let mut command = Command::new(nvcc);
    // -fmad=false: every rounding is written out in the source, so that results equal the CPU's bit for bit.
    command.args(["--fatbin", "-O3", "-std=c++17", "-fmad=false", "--threads", "0", "-Werror", "all-warnings"]);
    // The kernels are most of the library: 28 MB with the compiler's default compression, 5 MB with this one, which
    // every driver that the library needs can read.
    command.arg("--compress-mode=size");
    for architecture in architectures {
        command.arg(format!("-gencode=arch=compute_{architecture},code=sm_{architecture}"));
    }
    let lowest = architectures[0];
    command.arg(format!("-gencode=arch=compute_{lowest},code=compute_{lowest}"));
    command.arg("-I").arg(folder).arg("-o").arg(target).arg(source);
    let output = command.output().unwrap_or_else(|e| panic!("could not start {}: {e}", nvcc.display()));
    if !output.status.success() {
        panic!(
            "{} could not compile {}:\n{}{}",
            nvcc.display(),
            source.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let size = fs::metadata(target).map(|m| m.len()).unwrap_or(0);
    assert!(size > 0, "{} wrote an empty {}", nvcc.display(), target.display());
}
