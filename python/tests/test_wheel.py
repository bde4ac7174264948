"""The wheel has the library, its licences and the types, and works where there is no checkout."""
import os
import pathlib
import subprocess
import sys
import zipfile

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
