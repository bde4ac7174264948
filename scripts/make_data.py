#!/usr/bin/env python3
"""Makes tests/data from its sources; tests/data/README.md names them, their owners and licences.

Every picture is written twice with the same pixels: PNG to look at and for ImageJ, PGM for programs that have no
decoder. The stack is one uncompressed ImageJ TIFF. Run: .tools/venv/bin/python scripts/make_data.py
The MRI volume and the nuclei come from the nilearn and stardist wheels, which this script fetches with pip (only one and
two files of them are read).
"""
import gzip
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy
import skimage
import tifffile
from PIL import Image

import draw_pattern

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data"

NILEARN = "nilearn==0.14.1"
MRI_MEMBER = "nilearn/datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"
MRI_SHAPE = (189, 233, 197)  # z, y, x; 1 mm voxels, 8 bits
MRI_OFFSET = 352  # bytes of NIfTI header before the voxels
MRI_SLICES = slice(56, 96, 2)  # 20 slices from the brain stem to above the ventricles, 2 mm apart

STARDIST = "stardist==0.9.2"
NUCLEI_MEMBERS = {"nuclei": "stardist/data/images/img2d.tif", "nuclei_labels": "stardist/data/images/mask2d.tif"}


def write(name, pixels):
    picture = Image.fromarray(numpy.ascontiguousarray(pixels, dtype=numpy.uint8))
    picture.save(OUT / f"{name}.png", optimize=True)
    picture.save(OUT / f"{name}.pgm")


def scikit_image(name):
    """A picture of the scikit-image wheel as grey levels; transparent pixels are white paper."""
    picture = Image.open(pathlib.Path(skimage.__file__).parent / "data" / f"{name}.png")
    if picture.mode in ("RGBA", "LA"):
        paper = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(paper, picture.convert("RGBA"))
    return numpy.array(picture.convert("L"))


def members(package, *names):
    """Files of a wheel, which is fetched and not installed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--dest", folder, package], check=True)
        with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as archive:
            return [archive.read(name) for name in names]


def mri():
    raw = gzip.decompress(members(NILEARN, MRI_MEMBER)[0])
    volume = numpy.frombuffer(raw, numpy.uint8, offset=MRI_OFFSET).reshape(MRI_SHAPE)
    return volume[MRI_SLICES, ::-1, :]  # NIfTI's rows run from back to front; pictures' run from top to bottom


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    # The silhouette has soft edges in its source; make it exactly two levels.
    write("horse", numpy.where(scikit_image("horse") > 127, 255, 0))
    for name in ("camera", "coins", "cell", "moon", "page", "microaneurysms"):
        write(name, scikit_image(name))
    write("pattern", numpy.array(draw_pattern.draw(512, 512, 128)))

    # 16 bits in their source, but no value is above 255.
    for name, raw in zip(NUCLEI_MEMBERS, members(STARDIST, *NUCLEI_MEMBERS.values())):
        write(name, tifffile.imread(io.BytesIO(raw)))

    stack = numpy.ascontiguousarray(mri())
    tifffile.imwrite(OUT / "brain.tif", stack, imagej=True, resolution=(1.0, 1.0),
                     metadata={"axes": "ZYX", "spacing": 2.0, "unit": "mm",
                               "Labels": [f"z = {z} mm" for z in range(0, 40, 2)]})
    with tifffile.TiffFile(OUT / "brain.tif") as file:
        print("brain.tif: pixels start at byte", file.pages[0].dataoffsets[0], "shape", stack.shape)
    for path in sorted(OUT.iterdir()):
        print(f"{path.stat().st_size:9d}  {path.name}")


if __name__ == "__main__":
    main()
