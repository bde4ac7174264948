#!/usr/bin/env python3
"""Compares level sets of two regions with other programs that separate two regions with a front, in one process on the same
images from the same start: overlap with the truth (intersection over union) and time.

Usage: regions_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE] [--tune]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says
where Isoline runs besides the CPU. Peers that are not installed are named and skipped: scikit-image's chan_vese (2D) and
morphological_chan_vese, SimpleITK's ScalarChanAndVeseDenseLevelSet. --tune looks for everybody's best parameters again.

Images: a disc in a square (tests/snake_oracle.py has it, its start and the noises), a ball in a volume, from a ball 1.3
times as large beside it, nuclei with people's outlines, and grey and white matter of a brain with a map of it, where
scripts/fetch_brain.py has fetched that. Everybody runs twice: with the defaults, and with the best parameters of a small
grid (TUNED), found on another image of the same noise or, for the real images, on the image itself. Defaults are those of
the authors; where there is none, it is what their example has (DEFAULTS). The largest piece without holes counts where it
overlaps more, for all. An overlap is the mean over the images of a noise; a time, from image and start to mask, the median.
"""
import functools
import itertools
import pathlib
import statistics
import sys
import time

import numpy
import scipy.ndimage

import peers

ROOT = peers.ROOT
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]
import level_set_oracle  # noqa: E402
import snake_oracle as oracle  # noqa: E402
from isoline import LevelSet  # noqa: E402

SEEDS, TUNING = 3, 7  # images of each noise that are measured, and the seed of the one for tuning
ROUNDS, LONG = 3, 4.0  # runs of a single image, and the seconds of a run that is not repeated
BALL, RADIUS, START = (40, 64, 64), 14, 1.3  # the volume, the ball's radius, and the start's as a multiple of it
WITHIN_BRAIN = (slice(60, 180), slice(55, 142))  # rows and columns of the stack in which all is brain
MODELS = {"Gaussian, same mean": "gaussian", "Poisson, 2 and 4 photons": "poisson", "speckle, 100 and 200": "gamma",
          "Rayleigh, 100 and 150": "rayleigh", "Bernoulli, 0.3 and 0.6": "bernoulli", "nuclei": "poisson",
          "grey and white matter": "gaussian"}  # of Isoline; chan_vese for the others


def isoline(context, image, start, noise, spacing, sigma=0, regions=None):
    pixels = scipy.ndimage.gaussian_filter(image.astype(numpy.float32), sigma) if sigma else image
    surface = LevelSet(pixels, start, device=context, dimensions=image.ndim, spacing=spacing,
                       regions=regions or MODELS.get(noise, "chan_vese"))
    surface.step(10_000)
    return surface.mask() > 0


def distance_of(start):
    inside = start > 0
    return scipy.ndimage.distance_transform_edt(inside) - scipy.ndimage.distance_transform_edt(~inside)


def chan_vese(image, start, noise, spacing, sigma=0, **parameters):
    from skimage import segmentation

    distance = distance_of(start)
    return segmentation.chan_vese(oracle.prepared(image, oracle.view_of(noise), sigma),
                                  init_level_set=distance / numpy.abs(distance).max(), **parameters)


def morphological(image, start, noise, spacing, sigma=0, **parameters):
    from skimage import segmentation

    return segmentation.morphological_chan_vese(oracle.prepared(image, oracle.view_of(noise), sigma), init_level_set=start > 0,
                                                **parameters) > 0


def itk(image, start, noise, spacing, sigma=0, curvature=1.0, heaviside=0, iterations=50):
    import SimpleITK

    pixels, distance = (SimpleITK.GetImageFromArray(numpy.float32(each)) for each in (
        255 * oracle.prepared(image, oracle.view_of(noise), sigma), -distance_of(start)))
    for each in (pixels, distance):
        each.SetSpacing(spacing[::-1])
    level_set = SimpleITK.ScalarChanAndVeseDenseLevelSetImageFilter()
    level_set.SetNumberOfIterations(iterations)
    level_set.SetMaximumRMSError(0)
    level_set.SetCurvatureWeight(curvature)
    level_set.SetHeavisideStepFunction(heaviside)
    return SimpleITK.GetArrayFromImage(level_set.Execute(distance, pixels)) > 0


class Peer:
    """A program: its module, function and dimensions, what its authors leave open, and the grid of its best parameters."""

    def __init__(self, module, run, dimensions, given, **grid):
        self.module, self.run, self.dimensions, self.given, self.grid = module, run, dimensions, given, grid

    def choices(self, dimensions):
        for values in itertools.product(*self.grid.values()):
            yield {**self.given(dimensions), **dict(zip(self.grid, values))}


OURS = "Isoline"
# The morphological contour walks a pixel in an iteration, and does not stop by itself.
WALK = {2: 200, 3: 40}
PROGRAMS = {
    OURS: Peer("isoline", isoline, (2, 3), lambda n: {}, sigma=(0, 1, 2), regions=(None, "chan_vese", "gaussian")),
    "scikit-image chan_vese": Peer("skimage", chan_vese, (2,), lambda n: {}, sigma=(0, 1, 2, 3),
                                   mu=(0.002, 0.01, 0.03, 0.1)),
    "scikit-image morphological_chan_vese": Peer("skimage", morphological, (2, 3), lambda n: {"num_iter": WALK[n]},
                                                 sigma=(0, 1, 2), smoothing=(1, 2)),
    # Its example makes 50 iterations.
    "SimpleITK ScalarChanAndVeseDenseLevelSet": Peer("SimpleITK", itk, (2, 3), lambda n: {"iterations": 50},
                                                     sigma=(1, 2, 3), curvature=(1.0, 300.0)),
}


def ball(seed_centre, radius):
    z, y, x = numpy.ogrid[tuple(slice(0, side) for side in BALL)]
    return sum((axis - centre) ** 2 for axis, centre in zip((z, y, x), seed_centre)) <= radius**2


def drawn(quick):
    """Image, noise, dimensions, spacing, truth, start, seeds."""
    disc, square = oracle.disc(), oracle.mask_of(oracle.STARTS, (oracle.SIDE,) * 2)
    solid, around = ball((19, 30, 33), RADIUS), ball((20, 32, 32), START * RADIUS)
    for noise in list(oracle.NOISES)[:1] if quick else oracle.NOISES:
        yield "disc", noise, (1.0, 1.0), disc, numpy.uint8(square)
        if noise != "Gaussian, same mean":
            yield "ball", noise, (1.0, 1.0, 1.0), solid, numpy.uint8(around)


def real():
    """Name, kind, image, spacing, truth, start."""
    pixels, labels = oracle.picture("nuclei"), oracle.picture("nuclei_labels")
    boxes = [oracle.rectangle(x.start, y.start, x.stop, y.stop) for y, x in filter(None, scipy.ndimage.find_objects(labels))]
    yield "nuclei, 512 x 512", "nuclei", pixels, (1.0, 1.0), labels > 0, numpy.uint8(oracle.mask_of(boxes, pixels.shape))
    try:
        white = level_set_oracle.stack_white_matter()
    except (ImportError, FileNotFoundError) as error:
        print(f"left out: white matter of a brain ({error})")
        return
    place = (slice(None), *WITHIN_BRAIN)
    volume, white = (numpy.ascontiguousarray(part[place]) for part in (level_set_oracle.stack(), white))
    seeds = level_set_oracle.balls(level_set_oracle.STACK, level_set_oracle.STACK_SPACING, level_set_oracle.SLICE_SEEDS,
                                   level_set_oracle.RADIUS)[place]
    at, spacing = level_set_oracle.SLICE, level_set_oracle.STACK_SPACING[::-1]
    for name, part, size in ((f"slice {at + 1} of the brain", at, spacing[1:]), ("the brain's 20 slices", slice(None), spacing)):
        yield (f"{name}, " + " x ".join(str(side) for side in reversed(volume[part].shape)), "grey and white matter",
               numpy.ascontiguousarray(volume[part]), size, white[part], numpy.ascontiguousarray(seeds[part]))


def cases(quick, seeds):
    """Name, noise, truth, start, spacing and the images."""
    for name, noise, spacing, truth, start in drawn(quick):
        yield name, noise, truth, start, spacing, [oracle.noisy(noise, truth, seed) for seed in seeds]
    if not quick:
        for name, noise, image, spacing, truth, start in real():
            yield name, noise, truth, start, spacing, [image]


# The place in PEERS of tests/snake_oracle.py of those whose best parameters in 2D are there.
ORACLE = {"scikit-image chan_vese": 1, "scikit-image morphological_chan_vese": 2}

# The best parameters of each grid, by the object and the noise, in the order of PROGRAMS.
TUNED = {}


def tune(run_of):
    for name, noise, truth, start, spacing, images in cases(False, [TUNING]):
        best = []
        for program, run in run_of.items():
            peer = PROGRAMS[program]
            known = name != "ball" and noise in oracle.PEERS and program in ORACLE
            if truth.ndim not in peer.dimensions or known:
                best.append(oracle.PEERS[noise][ORACLE[program]] if known else None)
                continue
            found = [(oracle.best_overlap(run(images[0], start, noise, spacing, **chosen), truth), i, chosen)
                     for i, chosen in enumerate(peer.choices(truth.ndim))]
            value, _, chosen = max(found, key=lambda each: (each[0], -each[1]))
            best.append({key: chosen[key] for key in peer.grid})
            print(f"# {name}, {noise}, {program}: {value:.4f}", file=sys.stderr, flush=True)
        print(f"    {(name, noise)!r}: {tuple(best)!r},", flush=True)


def measured(run, images, truth):
    """Returns the mean overlap and the median seconds; one image is run several times, unless that takes long."""
    overlaps, times = [], []
    for image in images * (ROUNDS if len(images) == 1 else 1):
        if len(images) == 1 and times and times[0] > LONG:
            break
        began = time.perf_counter()
        mask = run(image)
        times.append(time.perf_counter() - began)
        overlaps.append(oracle.best_overlap(mask, truth))
    return statistics.mean(overlaps), statistics.median(times)


def compare(run_of, quick):
    """Yields the results; a program's name is that in PROGRAMS, with the device for Isoline."""
    for name, noise, truth, start, spacing, images in cases(quick, range(1 if quick else SEEDS)):
        print(f"\n{name}, {noise}: the start's overlap is {oracle.overlap(start > 0, truth):.3f}")
        for who, (program, run) in run_of.items():
            peer = PROGRAMS[program]
            if truth.ndim not in peer.dimensions:
                continue
            for how, chosen in (("defaults", {}), ("tuned", TUNED[name, noise][list(PROGRAMS).index(program)])):
                parameters = {**peer.given(truth.ndim), **chosen}
                overlap, seconds = measured(lambda image: run(image, start, noise, spacing, **parameters), images, truth)
                print(f"  {who:<42}{how:<10}{overlap:8.3f}{1e3 * seconds:10.1f} ms  {chosen or ''}", flush=True)
                yield {"object": name, "noise": noise, "dimensions": truth.ndim, "who": who, "how": how,
                       "parameters": parameters, "overlap": overlap, "seconds": seconds, "images": len(images)}


def main():
    tuning = "--tune" in sys.argv
    sys.argv[1:] = [argument for argument in sys.argv[1:] if argument != "--tune"]
    options = peers.parse(__doc__)
    run_of = {f"{OURS}, {device}": (OURS, functools.partial(isoline, options.library.context(device)))
              for device in peers.devices(options.library)}
    others = peers.installed([(name, peer.module, name) for name, peer in PROGRAMS.items() if name != OURS])
    run_of.update({name: (name, PROGRAMS[name].run) for name in others})
    if tuning:
        tune({program: run for program, run in run_of.values()})
    else:
        peers.write(options.json, list(compare(run_of, options.quick)))


if __name__ == "__main__":
    main()
