#!/usr/bin/env python3
"""Checks the native library of every platform, which scripts/jar-all.sh has built or scripts/install.sh installed.

Usage: check_platforms.py FOLDER [--installed]

For each FOLDER/PLATFORM it prints size, oldest system, dependencies and whether the CUDA kernels are in. It fails if
the exported functions are not those of include/isoline.h, if a library needs or has more than EXPECTED says, if programs
that link a library for macOS would not find it, or if the documents do not name the oldest system. With --installed the
libraries for Linux must have their SONAME, and versions of their symbols, too.
"""
import os
import pathlib
import re
import sys
import tomllib

import lief

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/isoline.h"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
MAJOR, MINOR = VERSION.split(".")[:2]
# Versions with this number have compatible C APIs.
ABI = f"{MAJOR}.{MINOR}" if MAJOR == "0" else MAJOR
# The documents that name the oldest glibc, Windows and macOS.
DOCUMENTS = ("README.md", "docs/fiji.md")
# The number of faults of a library that are printed.
MOST_FAULTS = 10
# The first bytes of kernels as scripts/compile_kernels.py compresses them, which end with a size that is not known: for each
# kernels/*.cu some.
KERNELS = b"\xd8\x00\x00\x00\x04" + 8 * b"\xff"

GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}
MACOS = {f"/usr/lib/{name}.dylib" for name in ("libSystem.B", "libiconv.2", "libcharset.1")}
# The names that zig adds to every library for macOS. Programs find their own first.
OF_THE_LINKER = {"__dso_handle", "_mh_dylib_header", "__isOSVersionAtLeast", "__isPlatformVersionAtLeast"}
# Each has: the processor, the oldest system in the documents' words, the libraries that it may need, whether CUDA
# exists there, and the most bytes. Windows has all of these libraries since Windows 10, which is the oldest for Rust's
# standard library.
EXPECTED = {
    "linux-x86-64": ("X86_64", "glibc 2.17", GLIBC | {"ld-linux-x86-64.so.2"}, True, 12_000_000),
    "linux-aarch64": ("AARCH64", "glibc 2.17", GLIBC | {"ld-linux-aarch64.so.1"}, True, 12_000_000),
    "win32-x86-64": (
        "AMD64",
        "Windows 10",
        {
            "kernel32.dll", "ntdll.dll", "msvcrt.dll", "userenv.dll", "ws2_32.dll", "bcryptprimitives.dll",
            "api-ms-win-core-synch-l1-2-0.dll", "shell32.dll", "combase.dll",
        },
        True,
        12_800_000,
    ),
    "darwin-x86-64": ("X86_64", "macOS 11.0", MACOS, False, 10_000_000),
    "darwin-aarch64": ("ARM64", "macOS 11.0", MACOS, False, 8_000_000),
}


def functions_of_header():
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", HEADER.read_text(), flags=re.S)
    return set(re.findall(r"\b(isoline_[a-z0-9_]+)\(", text))


def names_of_installed(library):
    """Returns the faults of the names by which programs are linked with a library for Linux."""
    soname = library.get(lief.ELF.DynamicEntry.TAG.SONAME)
    faults = []
    if soname is None or soname.name != f"libisoline.so.{MAJOR}":
        faults.append(f"has no SONAME libisoline.so.{MAJOR}")
    wanted = f"ISOLINE_{ABI}"
    for symbol in library.dynamic_symbols:
        if symbol.exported and symbol.name != wanted:
            version = symbol.symbol_version.symbol_version_auxiliary
            if version is None or version.name != wanted:
                faults.append(f"has {symbol.name} without the version {wanted}")
    return faults


def describe(library, installed):
    """Returns the processor, the oldest system, the needed libraries, the exports and further faults."""
    faults = []
    if isinstance(library, lief.ELF.Binary):
        versions = [
            tuple(map(int, entry.name.removeprefix("GLIBC_").split(".")))
            for needed in library.symbols_version_requirement
            for entry in needed.get_auxiliary_symbols()
            if re.fullmatch(r"GLIBC_[\d.]+", entry.name)
        ]
        oldest = "glibc " + ".".join(map(str, max(versions)))
        exports = {symbol.name for symbol in library.dynamic_symbols if symbol.exported}
        if installed:
            faults += names_of_installed(library)
        stack = library.get(lief.ELF.Segment.TYPE.GNU_STACK)
        if stack is None or lief.ELF.Segment.FLAGS.X in stack.flags:
            faults.append("asks for an executable stack")
        return library.header.machine_type.name, oldest, set(library.libraries), exports, faults
    if isinstance(library, lief.PE.Binary):
        header = library.optional_header
        # The linker writes 4.0 here, whatever the code needs; the dependencies tell more.
        if header.major_subsystem_version > 10:
            faults.append(f"asks for Windows {header.major_subsystem_version}")
        exports = {entry.name for entry in library.get_export().entries}
        needed = {entry.name.lower() for entry in library.imports}
        return library.header.machine.name, "Windows 10", needed, exports, faults
    told = library.build_version
    version = library.version_min.version if told is None else told.minos
    exports = {symbol.name.removeprefix("_") for symbol in library.exported_symbols} - OF_THE_LINKER
    needed = {needed.name for needed in library.libraries if needed.command.name != "ID_DYLIB"}
    if library.header.cpu_type.name == "ARM64" and not library.has_code_signature:
        # A signature that names nobody is enough, but Apple's processors run no code without one.
        faults.append("is not signed")
    identity = next(command.name for command in library.libraries if command.command.name == "ID_DYLIB")
    if identity != f"@rpath/libisoline.{ABI}.dylib":
        # Programs look for it under the name that it has when they are linked.
        faults.append(f"is named {identity}, not @rpath/libisoline.{ABI}.dylib")
    return library.header.cpu_type.name, f"macOS {version[0]}.{version[1]}", needed, exports, faults


def check(platform, path, functions, kernels, installed):
    """Prints a line about a library and returns its faults."""
    processor, oldest, may_need, cuda, most_bytes = EXPECTED[platform]
    library = lief.parse(str(path))
    if library is None:
        return [f"{path} is not a library"]
    if isinstance(library, lief.MachO.FatBinary):
        library = library.at(0)
    got_processor, got_oldest, needed, exports, faults = describe(library, installed)
    size = path.stat().st_size
    codes = path.read_bytes().count(KERNELS)
    print(f"{platform}: {size / 1e6:.1f} MB, {len(exports)} functions, {got_oldest} or newer, "
          f"{'with' if codes else 'without'} CUDA; needs {' '.join(sorted(needed))}")
    if size > most_bytes:
        faults.append(f"has {size} bytes, more than {most_bytes}")
    if got_processor != processor:
        faults.append(f"is for {got_processor}, not {processor}")
    if got_oldest != oldest:
        faults.append(f"needs {got_oldest}, not {oldest}")
    faults += [f"needs {name}" for name in sorted(needed - may_need)]
    faults += [f"lacks {name}" for name in sorted(functions - exports)]
    faults += [f"exports {name}" for name in sorted(exports - functions)]
    wanted = kernels if cuda and os.environ.get("ISOLINE_CUDA_ARCHS") != "none" else 0
    if codes < wanted or (codes and not wanted):
        faults.append(f"has kernels for {codes} operations and architectures, not {wanted} or more")
    if len(faults) > MOST_FAULTS:
        faults[MOST_FAULTS:] = [f"has {len(faults) - MOST_FAULTS} more faults"]
    return [f"{path} {fault}" for fault in faults]


def main():
    folder = pathlib.Path(sys.argv[1])
    installed = sys.argv[2:] == ["--installed"]
    # zig's linker writes an empty list of function starts for macOS, which debuggers alone read. LIEF takes it for an end of
    # the file that comes too early, and says so.
    lief.logging.disable()
    functions = functions_of_header()
    kernels = len(list((ROOT / "kernels").glob("*.cu")))
    faults = []
    for platform in EXPECTED:
        found = list((folder / platform).glob("*isoline.*"))
        if len(found) == 1:
            faults += check(platform, found[0], functions, kernels, installed)
        else:
            faults.append(f"{folder / platform} has {len(found)} libraries, not 1")
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for oldest in sorted({expected[1] for expected in EXPECTED.values()}):
            if oldest not in text:
                faults.append(f"{document} does not name {oldest}")
    for fault in faults:
        print(f"check_platforms: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
