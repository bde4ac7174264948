#!/usr/bin/env python3
"""Compares objects with scikit-image's watershed on nuclei whose truth is known, in results and times.

Usage: objects_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) chooses where
Isoline runs besides the CPU

A real image is tests/data/nuclei.png, whose nuclei people have outlined. The nuclei of the volumes are ellipsoids
with semi-axes of 6 to 10 units, of which six in ten lie beside an earlier one and touch it or cut it a little, with a
texture and a brightness of their own (the recipe of Svoboda, Kozubek and Stejskal 2009, "Generation of digital
phantoms of cell nuclei", in short). A Gaussian blurs them more along z than across, slices are twice as far apart as
pixels, and photons are counted (Poisson). All is seeded. Watersheds are those of the usual pipelines (MorphoLibJ's,
too): a Gaussian, Otsu's threshold, and the markers flood the inverted image, or the inverted distance, within the
threshold. Given starts are balls of half the inside radius of each nucleus, the same for all; without them Isoline
and the watershed of the distance find their own, as maxima of the distance that stand out by half a unit, which is the
best of 0.25, 0.5, 1 and 1.5 for the watershed on the real image.
"""
import functools
import importlib.metadata

import numpy

import peers

SPACING = (2.0, 1.0, 1.0)
BACKGROUND = 15
REAL = "a real image"
# Each scene has the shape, the number of nuclei, their brightness above the background, and photons per unit of brightness.
SCENES = {
    "even brightness": ((48, 192, 192), 200, (80, 120), 1.0),
    "even brightness, few photons": ((48, 192, 192), 200, (80, 120), 0.3),
    "brightness 1 : 10": ((48, 192, 192), 200, (20, 200), 1.0),
    "1000 nuclei, 1 : 4": ((64, 448, 448), 1000, (40, 160), 1.0),
}
QUICK = {"quick": ((24, 64, 64), 12, (40, 160), 1.0)}


def nuclei(shape, count, contrast, gain, seed=0):
    """The labels and the image, in photons times 100."""
    from scipy import ndimage

    generator = numpy.random.default_rng(seed)
    extent = numpy.array(shape) * SPACING
    truth, image = numpy.zeros(shape, numpy.uint16), numpy.full(shape, float(BACKGROUND))
    texture = ndimage.gaussian_filter(generator.standard_normal(shape), [2 / step for step in SPACING])
    texture /= texture.std()
    placed = []
    for _attempt in range(200 * count):
        if len(placed) == count:
            break
        axes = generator.uniform(6, 10) * numpy.array([generator.uniform(0.7, 1), 1, 1 / generator.uniform(0.75, 1)])
        turn, _ = numpy.linalg.qr(generator.standard_normal((3, 3)))
        centre = generator.uniform(0, 1, 3) * extent
        if placed and generator.random() < 0.6:
            beside, radius = placed[generator.integers(len(placed))]
            way = generator.standard_normal(3)
            centre = beside + way / numpy.linalg.norm(way) * (radius + axes.mean()) * generator.uniform(0.9, 1.1)
        if (centre < 0.8 * axes.max()).any() or (centre > extent - 0.8 * axes.max()).any():
            continue
        low = numpy.maximum(0, ((centre - axes.max()) / SPACING).astype(int))
        high = numpy.minimum(shape, ((centre + axes.max()) / SPACING).astype(int) + 2)
        box = tuple(map(slice, low, high))
        places = low + numpy.moveaxis(numpy.indices(high - low), 0, -1)
        inside = (((places * SPACING - centre) @ turn / axes) ** 2).sum(-1) <= 1
        if (inside & (truth[box] > 0)).sum() > 0.08 * inside.sum():
            continue
        inside &= truth[box] == 0
        placed.append((centre, axes.mean()))
        truth[box][inside] = len(placed)
        image[box][inside] += generator.uniform(*contrast) * (1 + 0.25 * texture[box][inside])
    blurred = ndimage.gaussian_filter(numpy.maximum(image, 0), numpy.divide((2, 1, 1), SPACING))
    photons = generator.poisson(blurred * gain) / gain
    return truth, numpy.clip(100 * photons, 0, 65535).astype(numpy.uint16)


def real():
    """The labels and the image of tests/data/nuclei.png, a slice."""
    from skimage import io

    labels, image = (io.imread(peers.ROOT / "tests" / "data" / name) for name in ("nuclei_labels.png", "nuclei.png"))
    return numpy.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(numpy.uint16), image


def spacing_of(image):
    return SPACING[-image.ndim:]


def balls(truth):
    """A ball of half the inside radius in each nucleus."""
    from scipy import ndimage

    starts = numpy.zeros_like(truth)
    for label, box in enumerate(ndimage.find_objects(truth), 1):
        own = truth[box] == label
        distance = ndimage.distance_transform_edt(numpy.pad(own, 1), sampling=spacing_of(own))[(slice(1, -1),) * own.ndim]
        centre = numpy.array(numpy.unravel_index(distance.argmax(), distance.shape))
        places = numpy.moveaxis(numpy.indices(own.shape), 0, -1)
        near = (((places - centre) * spacing_of(own)) ** 2).sum(-1) <= (distance.max() / 2) ** 2
        starts[box][near & own] = label
    return starts


def scores(labels, truth):
    """The mean Dice coefficient of nuclei with their best objects, and the shares with an IoU above 0.5 and 0.75."""
    pairs, counts = numpy.unique(numpy.stack([truth[truth > 0], labels[truth > 0]]), axis=1, return_counts=True)
    sizes, found = numpy.bincount(truth.ravel()), numpy.bincount(labels.ravel())
    best = numpy.zeros((len(sizes), 2))
    for (own, label), both in zip(pairs.T, counts, strict=True):
        if label > 0:
            union = sizes[own] + found[label] - both
            best[own] = numpy.maximum(best[own], (2 * both / (union + both), both / union))
    present = sizes[1:] > 0
    dice, overlap = best[1:][present].T
    return dice.mean(), (overlap > 0.5).mean(), (overlap > 0.75).mean()


def watershed(image, starts, flood):
    """The labels by a watershed from starts, or from the maxima of the distance."""
    from scipy import ndimage
    from skimage import filters, measure, morphology, segmentation

    smooth = ndimage.gaussian_filter(image.astype(numpy.float32), [1 / step for step in spacing_of(image)])
    inside = smooth > filters.threshold_otsu(smooth)
    distance = None
    if flood == "distance" or starts is None:
        distance = ndimage.distance_transform_edt(inside, sampling=spacing_of(image))
    if starts is None:
        starts = measure.label(morphology.h_maxima(distance, 0.5))
    return segmentation.watershed(-distance if flood == "distance" else -smooth, starts, mask=inside)


def grower(context, image, starts):
    """A call of Isoline."""
    out = numpy.empty(image.shape, numpy.uint16)
    grow = context.objects_caller(image, starts, out, spacing=spacing_of(image))

    def objects():
        grow()
        return out
    return objects


def methods(contexts, image, starts):
    """The calls, by their names."""
    name = f"scikit-image {importlib.metadata.version('scikit-image')}"
    floods = ("distance",) if starts is None else ("image", "distance")
    return [*((f"Isoline, {device}", grower(context, image, starts)) for device, context in contexts.items()),
            *((f"{name}, watershed of the {flood}", functools.partial(watershed, image, starts, flood)) for flood in floods)]


def main():
    options = peers.parse(__doc__)
    contexts = {device: options.library.context(device) for device in peers.devices(options.library)}
    records = []
    print("| scene | starts | method | objects | Dice | > 0.5 | > 0.75 | seconds |\n|---|---|---|---|---|---|---|---|")
    for what, scene in (QUICK if options.quick else {REAL: (), **SCENES}).items():
        truth, image = nuclei(*scene) if scene else real()
        for kind, starts in (("given", balls(truth)), ("found", None)):
            calls = methods(contexts, image, starts)
            found = {method: (len(numpy.unique(labels)) - 1, *scores(labels, truth))
                     for method, labels in ((method, call().copy()) for method, call in calls)}
            medians, _best = peers.measure(calls, options.quick)
            for method, (objects, dice, half, most) in found.items():
                records.append({"scene": what, "starts": kind, "method": method, "nuclei": int(truth.max()),
                                "objects": objects, "dice": dice, "half": half, "three_quarters": most,
                                "seconds": medians[method]})
                print(f"| {what} | {kind} | {method} | {objects} of {truth.max()} | {dice:.3f} | {half:.2f} | {most:.2f} | "
                      f"{medians[method]:.2f} |", flush=True)
    peers.write(options.json, records)


if __name__ == "__main__":
    main()
