#!/usr/bin/env python3
"""Makes the picture of docs/objects.md, of what the library itself computes, beside a watershed by scikit-image.

Usage: make_objects_images.py FOLDER-OF-LIBISOLINE OUT
"""
import pathlib
import sys

import numpy
from matplotlib import pyplot
from matplotlib.colors import ListedColormap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "benches"))
import objects_peers  # noqa: E402
from isoline import Library  # noqa: E402

DOTS = 100  # per inch
SLICE = 24


def colours(count):
    """Colours of labels, of which 0 is black."""
    generator = numpy.random.default_rng(3)
    made = pyplot.get_cmap("hsv")(generator.permutation(count + 1) / (count + 1))
    made[0] = 0, 0, 0, 1
    return ListedColormap(made)


def main():
    library, out = Library(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
    truth, image = objects_peers.nuclei(*objects_peers.SCENES["brightness 1 : 10"])
    starts = objects_peers.balls(truth)
    labels, _table = library.context("cpu").objects(image, starts, spacing=objects_peers.SPACING)
    flooded = objects_peers.watershed(image, starts, "distance")
    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3.3), dpi=DOTS, layout="constrained")
    for panel, title, pixels in zip(axes, ("a slice", "truth", "watershed of the distance", "objects"),
                                    (image, truth, flooded, labels), strict=True):
        shown = {"cmap": "gray", "vmax": numpy.percentile(image[SLICE], 99.5)} if pixels is image else {
            "cmap": colours(truth.max()), "vmin": 0, "vmax": truth.max(), "interpolation": "nearest"}
        panel.imshow(pixels[SLICE], **shown)
        # The boundary of the truth is white.
        if pixels is not image and pixels is not truth:
            panel.contour(truth[SLICE] > 0, [0.5], colors="white", linewidths=0.5)
        panel.set_title(title, fontsize=9)
        panel.axis("off")
    figure.savefig(out / "objects.png", dpi=DOTS)


if __name__ == "__main__":
    main()
