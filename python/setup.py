"""The part that pyproject.toml cannot say: the version, the library in the wheel, and the platform that it is for.

The library is the one that ISOLINE_LIBRARY names, a file or its folder, by default the one that 'make build' has made.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = {"win32": "isoline.dll", "darwin": "libisoline.dylib"}.get(sys.platform, "libisoline.so")
LIBRARY = pathlib.Path(os.environ.get("ISOLINE_LIBRARY") or ROOT / "target" / "release").resolve()
LIBRARY = LIBRARY / NAME if LIBRARY.is_dir() else LIBRARY
BUILD = ROOT / "target" / "python"


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]


class Platform(Distribution):
    """A package that is not for any platform."""

    def has_ext_modules(self):
        return True


class Build(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return  # the package then finds the library of the checkout
        if not LIBRARY.exists():
            sys.exit(f"cannot make the wheel: there is no {LIBRARY}; run 'make build' first, or name it in ISOLINE_LIBRARY")
        target = pathlib.Path(self.build_lib) / "isoline" / platform_of(LIBRARY.read_bytes())[1]
        shutil.copy(LIBRARY, target)
        # Line numbers for debuggers are most of the file. A tool that does not know the format leaves the file as it is.
        if shutil.which("objcopy"):
            subprocess.run(["objcopy", "--strip-debug", target], stderr=subprocess.DEVNULL, check=False)


def platform_of(library):
    """The platform of a library by the header of its file, as the name of a wheel has it, and the name of its file."""
    def number(offset, size):
        return int.from_bytes(library[offset:offset + size], "little")

    if library[:4] == b"\x7fELF":
        machine = {62: "x86_64", 183: "aarch64"}[number(18, 2)]
        # The oldest glibc that has every version of a symbol that it names.
        needed = max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", library))
        return f"manylinux_2_{needed}_{machine}", "libisoline.so"
    if library[:2] == b"MZ":
        return {0x8664: "win_amd64", 0xAA64: "win_arm64"}[number(number(0x3C, 4) + 4, 2)], "isoline.dll"
    if number(0, 4) == 0xFEEDFACF:
        # scripts/jar-all.sh builds for macOS 11.
        return f"macosx_11_0_{({0x1000007: 'x86_64', 0x100000C: 'arm64'})[number(4, 4)]}", "libisoline.dylib"
    sys.exit(f"cannot make the wheel: {LIBRARY} is no library of Linux, Windows or macOS")


class Wheel(bdist_wheel):
    def get_tag(self):
        # Any Python 3, as the library is called by ctypes.
        return "py3", "none", platform_of(LIBRARY.read_bytes())[0]


# A package may only have files in its own folder.
for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"):
    shutil.copy(ROOT / name, HERE / name)
# Files of an earlier build would be packed again.
shutil.rmtree(BUILD, ignore_errors=True)
BUILD.mkdir(parents=True)
setup(version=version(), distclass=Platform, cmdclass={"build_py": Build, "bdist_wheel": Wheel},
      options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}})
