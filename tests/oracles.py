"""The test images, the options and the Python package of tests/*_oracle.py, which compare with other programs."""
import argparse
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]  # isoline/ is beside this file or in python/
from isoline import Library  # noqa: E402

DATA = HERE / "data"
BRAIN = (20, 233, 197)
BRAIN_START = 832  # tests/data/README.md: where the stack's pixels begin in the file


def photograph(name):
    magic, size, most, pixels = (DATA / f"{name}.pgm").read_bytes().split(b"\n", 3)
    assert magic == b"P5" and most == b"255"
    width, height = map(int, size.split())
    return numpy.frombuffer(pixels, numpy.uint8).reshape(height, width)


def brain():
    pixels = numpy.fromfile(DATA / "brain.tif", numpy.uint8, numpy.prod(BRAIN), offset=BRAIN_START)
    return pixels.reshape(BRAIN)


def context(description, device="cpu"):
    """Returns the context that the command line asks for."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("library", help="the folder that libisoline.so is in")
    parser.add_argument("--device", default=device)
    options = parser.parse_args()
    return Library(options.library).context(options.device)
