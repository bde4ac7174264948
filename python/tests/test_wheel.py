"""The wheel has the library, its licences and the types, and works where there is no checkout."""
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

import isoline

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """
import isoline, numpy, pathlib
assert pathlib.Path(isoline.default_library().path).parent == pathlib.Path(isoline.__file__).parent
print(isoline.__version__, isoline.distance(numpy.eye(5, dtype=numpy.uint8)).min())
"""


def test_the_wheel_works_alone(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, PACKAGE], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"isoline-{isoline.__version__}-py3-none-") and not wheel.name.endswith("-any.whl")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        licences = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
        # The texts are those of the checkout.
        texts = [files.read(name).decode() for name in names if name.endswith("THIRD-PARTY-NOTICES")]
    assert licences == {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"}
    assert texts == [(PACKAGE.parent / "THIRD-PARTY-NOTICES").read_text(encoding="utf-8")]
    modules = {f"isoline/{path.name}" for path in (PACKAGE / "isoline").iterdir() if path.is_file()}
    assert modules < names and "isoline/py.typed" in modules and "isoline/_operations.pyi" in modules
    subprocess.run([*pip, "install", "--no-deps", "--target", tmp_path / "site", wheel], check=True)
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "ISOLINE_LIBRARY": ""})
    assert ran.stdout.startswith(isoline.__version__), ran.stderr


def pe(machine):
    return b"MZ" + bytes(0x3A) + (0x80).to_bytes(4, "little") + bytes(0x40) + b"PE\0\0" + machine.to_bytes(2, "little")


@pytest.mark.parametrize("header, platform, name", [
    (b"\x7fELF" + bytes(14) + b"\xb7\0\0GLIBC_2.4\0GLIBC_2.17\0GLIBC_2.2.5\0", "manylinux_2_17_aarch64", "libisoline.so"),
    (pe(0x8664), "win_amd64", "isoline.dll"),
    (b"\xcf\xfa\xed\xfe\x0c\0\0\x01", "macosx_11_0_arm64", "libisoline.dylib")], ids=["Linux", "Windows", "macOS"])
def test_a_wheel_is_for_the_platform_of_its_library(tmp_path, header, platform, name):
    library = tmp_path / "library"
    library.write_bytes(header)
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir",
                    tmp_path, PACKAGE], check=True, env={**os.environ, "ISOLINE_LIBRARY": str(library)})
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"isoline-{isoline.__version__}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel) as files:
        assert files.read(f"isoline/{name}") == header
