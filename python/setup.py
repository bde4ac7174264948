"""The part that pyproject.toml cannot say: the version, the library in the wheel, and the platform that it is for.

The library is the one that ISOLINE_LIBRARY names, a file or its folder, by default the one that 'make build' has made.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

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
        target = pathlib.Path(self.build_lib) / "isoline" / NAME
        # Line numbers for debuggers are most of the file.
        if shutil.which("objcopy"):
            subprocess.run(["objcopy", "--strip-debug", LIBRARY, target], check=True)
        else:
            shutil.copy(LIBRARY, target)


class Wheel(bdist_wheel):
    def get_tag(self):
        # Any Python 3, as the library is called by ctypes; the oldest glibc that has every symbol version that it names.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if platform.startswith("linux_"):
            needed = max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", LIBRARY.read_bytes()))
            platform = platform.replace("linux", f"manylinux_2_{needed}")
        return "py3", "none", platform


# A package may only have files in its own folder.
for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"):
    shutil.copy(ROOT / name, HERE / name)
# Files of an earlier build would be packed again.
shutil.rmtree(BUILD, ignore_errors=True)
BUILD.mkdir(parents=True)
setup(version=version(), distclass=Platform, cmdclass={"build_py": Build, "bdist_wheel": Wheel},
      options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}})
