#!/usr/bin/env python3
"""Fetches into .tools/brain the whole brains that are not in tests/data (its README.md has their owners and licences):

    ch2.nii.gz             MRI of one person's head, from the Debian package mricron-data
    template.nii.gz        MRI template of 152 people, skull removed, from the nilearn wheel
    white_matter.nii.gz    the same people's map of white matter, 255 where all have it, from the nilearn wheel

Does nothing when they are there. Every file is checked by its SHA-256.
Usage: .tools/venv/bin/python scripts/fetch_brain.py
"""
import gzip
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile

import numpy
from scipy import ndimage

OUT = pathlib.Path(__file__).resolve().parent.parent / ".tools" / "brain"

NILEARN = "nilearn==0.14.1"
MEMBER = "nilearn/datasets/data/mni_icbm152_{}_tal_nlin_sym_09a_converted.nii.gz"
# Debian's mirrors hold a version as long as a release has it, its archive of snapshots forever.
PACKAGE_ADDRESSES = (
    "https://deb.debian.org/debian/pool/main/m/mricron/mricron-data_1.2.20211006%2Bdfsg-4_all.deb",
    "https://snapshot.debian.org/file/2a68e52ce5e881c7a3d9c1f7b50897a32e281426",
)
PACKAGE_MEMBER = "./usr/share/mricron/templates/ch2.nii.gz"
SUMS = {
    "ch2.nii.gz": "a009051127f64dc3dd554d5f5b589870ea72106d9642c21b4e7093e478cfc309",
    "template.nii.gz": "421a10e872fd6cadae7f61d358dffbcc1795a497d61ee76c5dda2503e1a1e9e6",
    "white_matter.nii.gz": "382d92812de4744f9c86c7a0e4f680dc317a0a50e4da1f0153618a6798c7b7db",
}
TIMEOUT = 60  # seconds
HEADER = 348  # bytes of a NIfTI-1 header

# White matter of ch2: its intensities, and a box within the brain for the surface to start in.
CH2_TARGET, CH2_EPSILON, CH2_ALPHA = 112, 14, 0.2
CH2_BOX = (slice(50, 130), slice(40, 180), slice(40, 140))
CH2_ITERATIONS = 53


def whole(path):
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == SUMS[path.name]


def keep(name, data):
    found = hashlib.sha256(data).hexdigest()
    if found != SUMS[name]:
        sys.exit(f"fetch_brain: {name} should have the SHA-256 {SUMS[name]} but has {found}")
    (OUT / name).write_bytes(data)
    print(f"fetch_brain: {OUT / name}")


def from_nilearn():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--dest", folder, NILEARN], check=True)
        with zipfile.ZipFile(next(pathlib.Path(folder).glob("nilearn-*.whl"))) as archive:
            keep("template.nii.gz", archive.read(MEMBER.format("t1")))
            keep("white_matter.nii.gz", archive.read(MEMBER.format("wm")))


def members(archive):
    """Names and contents of an ar archive, which a Debian package is."""
    at = len(b"!<arch>\n")
    while at + 60 <= len(archive):
        name, size = archive[at:at + 16].decode().strip().rstrip("/"), int(archive[at + 48:at + 58])
        yield name, archive[at + 60:at + 60 + size]
        at += 60 + size + size % 2


def from_debian():
    problems = []
    for address in PACKAGE_ADDRESSES:
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as reply:
                package = reply.read()
            break
        except OSError as problem:
            problems.append(f"{address}: {problem}")
    else:
        sys.exit("fetch_brain: no copy of Debian's mricron-data could be fetched:\n  " + "\n  ".join(problems))
    data = next(data for name, data in members(package) if name.startswith("data.tar"))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        keep("ch2.nii.gz", archive.extractfile(PACKAGE_MEMBER).read())


def read(name):
    """The voxels, [z, y, x], 8 bits; row 0 is at the back of the head, slice 0 at the bottom. All have 1 mm voxels."""
    raw = gzip.decompress((OUT / name).read_bytes())
    width, height, depth = numpy.frombuffer(raw, "<i2", 3, offset=42)
    start = int(numpy.frombuffer(raw, "<f4", 1, offset=108)[0])
    if start < HEADER or len(raw) != start + int(width) * int(height) * int(depth):
        raise ValueError(f"{name} is not a NIfTI file of 8 bits a voxel")
    return numpy.frombuffer(raw, numpy.uint8, offset=start).reshape(depth, height, width)


def white_matter_of_ch2():
    """True where most people have white matter, on the grid of ch2: both are in the MNI's coordinates, with voxels of
    1 mm, from (-98, -134, -72) on and from (-90, -125, -71) on."""
    return (read("white_matter.nii.gz") > 127)[1:182, 9:226, 8:189]


def start_in_ch2(pixels):
    """Returns a mask of the voxels in range within the box, without parts thinner than 5 voxels."""
    start = numpy.zeros(pixels.shape, numpy.uint8)
    in_range = numpy.abs(pixels[CH2_BOX].astype(int) - CH2_TARGET) <= CH2_EPSILON
    start[CH2_BOX] = ndimage.binary_opening(in_range, iterations=2)
    return start


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    if not all(whole(OUT / name) for name in ("template.nii.gz", "white_matter.nii.gz")):
        from_nilearn()
    if not whole(OUT / "ch2.nii.gz"):
        from_debian()


if __name__ == "__main__":
    main()
