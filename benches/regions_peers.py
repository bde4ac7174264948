#!/usr/bin/env python3
"""Compares level sets of two regions with other programs that separate two regions with a front, in one process on the same
images from the same start: overlap with the truth (intersection over union) and time.

Usage: regions_peers.py FOLDER-OF-LIBISOLINE [--quick] [--json FILE] [--tune]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda) says
where Isoline runs besides the CPU. Peers that are not installed are named and skipped: scikit-image's chan_vese (2D) and
morphological_chan_vese, SimpleITK's ScalarChanAndVeseDenseLevelSet. --tune looks for everybody's best parameters again.

Images: a disc in a square (tests/snake_oracle.py has it, its start and the noises), a ball in a volume, from a ball 1.3
times as large beside it, nuclei with people's outlines, and grey and white matter of a brain with a map of it, where
scripts/fetch_brain.py has fetched that. Every program runs twice: with its defaults, and with the best parameters of a
small grid (TUNED), found on another image of the same noise or, for the real images, on the image itself. Where there is
no default, it is what the authors' example has. The largest piece without holes counts where it overlaps more, for all. An
overlap is the mean over the images of a noise; a time, from image and start to mask, the median: on the clock, and of all
processors together, so that what else the machine does matters little.
"""
import contextlib
import functools
import itertools
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
from isoline import InvalidArgument, LevelSet  # noqa: E402

SEEDS, TUNING = 2, 7  # images of each noise that are measured, and the seed of the one for tuning
ROUNDS, LONG = 3, 4.0  # runs of a single image, and the seconds of a run that is not repeated
BALL, RADIUS, START = (40, 64, 64), 14, 1.3  # the volume, the ball's radius, and the start's as a multiple of it
WITHIN_BRAIN = (slice(60, 180), slice(55, 142))  # rows and columns of the stack in which all is brain
# Isoline's model of each noise; chan_vese for the others.
MODELS = {"Gaussian, same mean": "gaussian", "Poisson, 2 and 4 photons": "poisson", "speckle, 100 and 200": "gamma",
          "Rayleigh, 100 and 150": "rayleigh", "Bernoulli, 0.3 and 0.6": "bernoulli", "nuclei": "poisson"}


def isoline(context, image, start, noise, spacing, sigma=0, regions=None, smoothness=None):
    """`smoothness` is the k of alpha = 1 / (1 + k epsilon h) with the first epsilon; automatic alphas have 2 and today's."""
    pixels = scipy.ndimage.gaussian_filter(image.astype(numpy.float32), sigma) if sigma else image
    same = dict(device=context, dimensions=image.ndim, spacing=spacing, regions=regions or MODELS.get(noise, "chan_vese"))
    surface = LevelSet(pixels, start, **same)
    if smoothness:
        alpha = 1 / (1 + smoothness * surface.state().epsilon * min(spacing))
        surface = LevelSet(pixels, start, alpha=alpha, **same)
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

    pixels = oracle.prepared(image, oracle.view_of(noise), sigma)
    return segmentation.morphological_chan_vese(pixels, init_level_set=start > 0, **parameters) > 0


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


OURS = "Isoline"


def walk(truth):
    """The iterations of the morphological contour, which walks a pixel in each, and does not stop by itself."""
    return {"num_iter": oracle.ITERATIONS if truth.ndim == 2 else 2 * max(truth.shape) // 3}


PROGRAMS = {
    OURS: Peer("isoline", isoline, (2, 3), lambda _: {}, sigma=(0, 2), regions=(None, "gaussian"),
               smoothness=(None, 0.5, 8)),
    "scikit-image chan_vese": Peer("skimage", chan_vese, (2,), lambda _: {}, sigma=(0, 1, 2, 3),
                                   mu=(0.002, 0.01, 0.03, 0.1)),
    "scikit-image morphological_chan_vese": Peer("skimage", morphological, (2, 3), walk,
                                                 sigma=(0, 1, 2), smoothing=(1, 2)),
    # Its example makes 50 iterations.
    "SimpleITK ScalarChanAndVeseDenseLevelSet": Peer("SimpleITK", itk, (2, 3), lambda _: {"iterations": 50},
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
    for name, part, size in ((f"slice {at + 1} of the brain", at, spacing[1:]),
                             ("the brain's 20 slices", slice(None), spacing)):
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

# The best parameters of the grids, by the object and the noise, as --tune prints them.
TUNED = {
    ("disc", "Gaussian, SNR 3"): {
        "Isoline": {"sigma": 0, "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("ball", "Gaussian, SNR 3"): {
        "Isoline": {"sigma": 0, "regions": "gaussian", "smoothness": 0.5},
        "scikit-image morphological_chan_vese": {"sigma": 1, "smoothing": 1},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "Gaussian, SNR 1"): {
        "Isoline": {"sigma": 2, "regions": "gaussian", "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 300.0},
    },
    ("ball", "Gaussian, SNR 1"): {
        "Isoline": {"sigma": 2, "smoothness": 0.5},
        "scikit-image morphological_chan_vese": {"sigma": 2, "smoothing": 1},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "Gaussian, SNR 0.5"): {
        "Isoline": {"sigma": 2, "regions": "gaussian", "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("ball", "Gaussian, SNR 0.5"): {
        "Isoline": {"sigma": 2},
        "scikit-image morphological_chan_vese": {"sigma": 2, "smoothing": 2},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "Gaussian, same mean"): {
        "Isoline": {"sigma": 0},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "Poisson, 2 and 4 photons"): {
        "Isoline": {"sigma": 2, "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 300.0},
    },
    ("ball", "Poisson, 2 and 4 photons"): {
        "Isoline": {"sigma": 2},
        "scikit-image morphological_chan_vese": {"sigma": 2, "smoothing": 2},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "speckle, 100 and 200"): {
        "Isoline": {"sigma": 2, "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("ball", "speckle, 100 and 200"): {
        "Isoline": {"sigma": 2, "smoothness": 8},
        "scikit-image morphological_chan_vese": {"sigma": 2, "smoothing": 2},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "Rayleigh, 100 and 150"): {
        "Isoline": {"sigma": 2, "regions": "gaussian", "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("ball", "Rayleigh, 100 and 150"): {
        "Isoline": {"sigma": 2},
        "scikit-image morphological_chan_vese": {"sigma": 1, "smoothing": 2},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("disc", "Bernoulli, 0.3 and 0.6"): {
        "Isoline": {"sigma": 2, "regions": "gaussian", "smoothness": 8},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 2, "curvature": 1.0},
    },
    ("ball", "Bernoulli, 0.3 and 0.6"): {
        "Isoline": {"sigma": 2, "regions": "gaussian", "smoothness": 8},
        "scikit-image morphological_chan_vese": {"sigma": 1, "smoothing": 2},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 3, "curvature": 1.0},
    },
    ("nuclei, 512 x 512", "nuclei"): {
        "Isoline": {"sigma": 0, "smoothness": 0.5},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 1, "curvature": 1.0},
    },
    ("slice 18 of the brain, 87 x 120", "grey and white matter"): {
        "Isoline": {"sigma": 0, "regions": "gaussian", "smoothness": 0.5},
        "scikit-image chan_vese": {"sigma": 0, "mu": 0.1},
        "scikit-image morphological_chan_vese": {"sigma": 0, "smoothing": 1},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 1, "curvature": 1.0},
    },
    ("the brain's 20 slices, 87 x 120 x 20", "grey and white matter"): {
        "Isoline": {"sigma": 0, "regions": "gaussian", "smoothness": 0.5},
        "scikit-image morphological_chan_vese": {"sigma": 0, "smoothing": 1},
        "SimpleITK ScalarChanAndVeseDenseLevelSet": {"sigma": 2, "curvature": 1.0},
    },
}


def tuned(name, noise, program, truth):
    """Returns the best parameters, with those that the authors leave open."""
    given = PROGRAMS[program].given(truth)
    if program in ORACLE and truth.ndim == 2 and noise in oracle.PEERS:
        return {**given, **oracle.PEERS[noise][ORACLE[program]]}
    return {**given, **TUNED[name, noise][program]}


def tune(run_of):
    """Prints the lines of TUNED."""
    for name, noise, truth, start, spacing, images in cases(False, [TUNING]):
        best = {}
        for program, run in run_of.items():
            peer, scores = PROGRAMS[program], []
            if truth.ndim not in peer.dimensions or truth.ndim == 2 and noise in oracle.PEERS and program in ORACLE:
                continue
            for values in itertools.product(*peer.grid.values()):
                chosen = dict(zip(peer.grid, values))
                # A smoothed image has no pixels without noise, which a model of the noise may ask for.
                with contextlib.suppress(InvalidArgument):
                    mask = run(images[0], start, noise, spacing, **peer.given(truth), **chosen)
                    scores.append((oracle.best_overlap(mask, truth), chosen))
            value, best[program] = max(scores, key=lambda score: score[0])
            print(f"{name}, {noise}, {program}: {value:.4f}", file=sys.stderr, flush=True)
        print(f"    {(name, noise)!r}: {best!r},", flush=True)


def measured(run, images, truth):
    """Returns the mean overlap and the median seconds, on the clock and of the processors; one image is run several times,
    unless that takes long."""
    overlaps, times, processor = [], [], []
    for image in images * (ROUNDS if len(images) == 1 else 1):
        if len(images) == 1 and times and times[0] > LONG:
            break
        began, before = time.perf_counter(), time.process_time()
        mask = run(image)
        times.append(time.perf_counter() - began)
        processor.append(time.process_time() - before)
        overlaps.append(oracle.best_overlap(mask, truth))
    return statistics.mean(overlaps), statistics.median(times), statistics.median(processor)


def compare(run_of, quick):
    """Yields the results; a program's name is that in PROGRAMS, with the device for Isoline."""
    for name, noise, truth, start, spacing, images in cases(quick, range(1 if quick else SEEDS)):
        at_start = oracle.overlap(start > 0, truth)
        print(f"\n{name}, {noise}: the start's overlap is {at_start:.3f}")
        for who, (program, run) in run_of.items():
            peer = PROGRAMS[program]
            if truth.ndim not in peer.dimensions:
                continue
            for how, parameters in (("defaults", peer.given(truth)), ("best", tuned(name, noise, program, truth))):
                call = functools.partial(run, start=start, noise=noise, spacing=spacing, **parameters)
                overlap, seconds, processor = measured(call, images, truth)
                print(f"  {who:<42}{how:<10}{overlap:8.3f}{1e3 * seconds:10.1f} ms, of the processors "
                      f"{1e3 * processor:.1f} ms  {parameters or ''}", flush=True)
                yield {"object": name, "noise": noise, "dimensions": truth.ndim, "images": len(images), "start": at_start,
                       "who": who, "how": how, "parameters": parameters, "overlap": overlap, "seconds": seconds,
                       "seconds_processor": processor}


def main():
    tuning = "--tune" in sys.argv
    sys.argv[1:] = [argument for argument in sys.argv[1:] if argument != "--tune"]
    options = peers.parse(__doc__)
    run_of = {f"{OURS}, {device}": (OURS, functools.partial(isoline, options.library.context(device)))
              for device in peers.devices(options.library)}
    others = peers.installed([(name, peer.module, name) for name, peer in PROGRAMS.items() if name != OURS])
    run_of.update({name: (name, PROGRAMS[name].run) for name in others})
    if tuning:
        tune(dict(run_of.values()))
    else:
        peers.write(options.json, list(compare(run_of, options.quick)))


if __name__ == "__main__":
    main()
