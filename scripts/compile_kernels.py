#!/usr/bin/env python3
"""Compiles the CUDA kernels with NVIDIA's run-time compiler (NVRTC), which needs no C++ compiler. build.rs runs this.

Usage: compile_kernels.py OUTPUT-FOLDER ARCHITECTURE...
  ARCHITECTURE  sm_90: machine code; compute_90: PTX, which the driver of a later card compiles

Writes OUTPUT-FOLDER/NAME-ARCHITECTURE.lzma for each kernels/NAME.cu: 7 MB for an architecture, compressed to 0.7 MB.
CUDA_PATH names a toolkit 12.9; without it, the one that scripts/setup-cuda.sh puts into .tools/cuda is used.
"""
import concurrent.futures
import ctypes
import lzma
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"
OPTIONS = [
    "-std=c++17",
    # Every rounding is written out in the source, so that results equal the CPU's bit for bit.
    "--fmad=false",
    # Lambdas that name no side, and functions of the standard library, run on the device.
    "-default-device",
    # CUB of CUDA 12.9 uses a part of itself that it calls deprecated.
    "-DCCCL_IGNORE_DEPRECATED_API",
]
# Machine instructions have 16 bytes, and PTX is text: telling the compressor so saves 5 per cent.
MACHINE_CODE = [{"id": lzma.FILTER_LZMA1, "preset": 9, "lc": 0, "lp": 4, "pb": 4}]
TEXT = [{"id": lzma.FILTER_LZMA1, "preset": 9, "lc": 3, "lp": 0, "pb": 0}]
# The lines of the compiler's that are shown for a file.
MOST_LINES = 20
# Said for every architecture before Turing, by the compiler that still knows them.
EXPECTED = "are deprecated and may be removed in a future release"


def toolkit():
    """Returns the path of NVRTC and the folders of its headers."""
    if os.environ.get("CUDA_PATH"):
        root = pathlib.Path(os.environ["CUDA_PATH"])
        library = root / "bin/nvrtc64_120_0.dll" if os.name == "nt" else root / "lib64/libnvrtc.so.12"
        headers = [root / "include"]
    else:
        root = ROOT / ".tools/cuda/nvidia"
        library = root / "cuda_nvrtc/lib/libnvrtc.so.12"
        headers = [root / "cuda_runtime/include", root / "cuda_cccl/include"]
    if not library.exists():
        sys.exit(f"there is no {library}")
    return library, headers


class Compiler:
    """Calls NVRTC, of which several threads may compile at once."""

    def __init__(self):
        library, headers = toolkit()
        self.nvrtc = ctypes.CDLL(str(library))
        self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.options = [*OPTIONS, *(f"-I{folder}" for folder in (KERNELS, *headers))]

    def call(self, name, *arguments):
        status = getattr(self.nvrtc, name)(*arguments)
        return None if status == 0 else self.nvrtc.nvrtcGetErrorString(status).decode()

    def text(self, program, what):
        """Returns what nvrtcGet... gives of a program."""
        size = ctypes.c_size_t()
        error = self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        error = error or self.call(f"nvrtcGet{what}", program, buffer)
        if error:
            raise RuntimeError(f"cannot get the {what} of a program: {error}")
        return buffer.raw

    def compile(self, source, architecture):
        """Returns machine code or PTX; raises if the compiler says anything."""
        program = ctypes.c_void_p()
        error = self.call("nvrtcCreateProgram", ctypes.byref(program), source.read_bytes(), source.name.encode(), 0,
                          None, None)
        if error:
            raise RuntimeError(f"cannot read {source.name}: {error}")
        options = [f"--gpu-architecture={architecture}", *self.options]
        error = self.call("nvrtcCompileProgram", program, len(options),
                          (ctypes.c_char_p * len(options))(*(option.encode() for option in options)))
        said = self.text(program, "ProgramLog").rstrip(b"\0").decode()
        lines = [line for line in said.splitlines() if line.strip() and EXPECTED not in line]
        if error or lines:
            told = "\n".join(lines[:MOST_LINES])
            raise RuntimeError(f"{source.name} for {architecture}: {error or 'the compiler warns'}\n{told}")
        code = self.text(program, "PTX" if architecture.startswith("compute_") else "CUBIN")
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        return code


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    compiler = Compiler()

    def make(job):
        source, architecture = job
        code = compiler.compile(source, architecture)
        filters = TEXT if architecture.startswith("compute_") else MACHINE_CODE
        packed = lzma.compress(code, lzma.FORMAT_ALONE, filters=filters)
        (folder / f"{source.stem}-{architecture}.lzma").write_bytes(packed)

    jobs = [(source, architecture) for architecture in sys.argv[2:] for source in sorted(KERNELS.glob("*.cu"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        try:
            list(threads.map(make, jobs))
        except RuntimeError as error:
            threads.shutdown(cancel_futures=True)
            sys.exit(str(error))


if __name__ == "__main__":
    main()
