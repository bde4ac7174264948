"""What pyproject.toml cannot say: the version, the library in the wheel, and the platform that it is for.

The library is the file that ISOLINE_LIBRARY names, by default the one that 'make build' has made.
"""
import os
import pathlib
import re
import shutil
import sys
import sysconfig

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = {"win32": "isoline.dll", "darwin": "libisoline.dylib"}.get(sys.platform, "libisoline.so")
LIBRARY = pathlib.Path(os.environ.get("ISOLINE_LIBRARY") or ROOT / "target" / "release" / NAME)


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]


class Build(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return  # the package then finds the library of the checkout
        if not LIBRARY.exists():
            sys.exit(f"cannot make the wheel: there is no {LIBRARY}; run 'make build' first, or name it in ISOLINE_LIBRARY")
        shutil.copy(LIBRARY, pathlib.Path(self.build_lib) / "isoline" / NAME)


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        # Any Python 3, as the library is called by ctypes; the oldest glibc that has every symbol version that it names.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if platform.startswith("linux_"):
            needed = max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", LIBRARY.read_bytes()))
            platform = platform.replace("linux", f"manylinux_2_{needed}")
        return "py3", "none", platform


# Of the whole repository, as the library is; a package may only have files in its own folder.
for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"):
    shutil.copy(ROOT / name, HERE / name)
setup(version=version(), cmdclass={"build_py": Build, "bdist_wheel": Wheel})
