#!/usr/bin/env python3
"""Compares the level set with SimpleITK's ThresholdSegmentationLevelSet on real brains, in 2D and 3D, and white matter
with the ICBM's map; docs/level_set.md says how the parameters correspond.

Usage: level_set_oracle.py FOLDER-OF-LIBISOLINE [--device cpu|cuda|auto] [--only slice|ch2]     compare
       level_set_oracle.py FOLDER-OF-LIBISOLINE --time                       time both on ch2, one after the other

Images: tests/data/brain.tif, and ch2 and the map of white matter, which scripts/fetch_brain.py fetches.
"""
import argparse
import pathlib
import sys
import time

import numpy
import SimpleITK

HERE = pathlib.Path(__file__).resolve().parent
# The modules that it imports are beside this file or there.
sys.path[:0] = [str(HERE), *(str(HERE.parent / folder) for folder in ("python", "scripts"))]
from isoline import LevelSet, Library  # noqa: E402

STACK = (20, 233, 197)
STACK_START = 832  # tests/data/README.md: where the stack's pixels begin in the file
STACK_SLICES = slice(56, 96, 2)  # of the template, rows turned round
STACK_SPACING = (1.0, 1.0, 2.0)
SLICE = 17
# The start of the slice's surface: x, y, slice from 0 on, and a radius in millimetres.
SLICE_SEEDS = ((70, 82, SLICE), (127, 82, SLICE), (70, 152, SLICE), (127, 152, SLICE))
RADIUS = 8.0

ROUNDS = 3  # of timing; the best counts
RMS = 1e-4  # where ITK stops before its last iteration
LEAST_DICE = 0.97
LEAST_DICE_OF_MAP = 0.5


def dice(a, b):
    return 2 * numpy.count_nonzero(a & b) / max(1, numpy.count_nonzero(a) + numpy.count_nonzero(b))


def stack():
    pixels = numpy.fromfile(HERE / "data" / "brain.tif", numpy.uint8, numpy.prod(STACK), offset=STACK_START)
    return pixels.reshape(STACK)


def stack_white_matter():
    import fetch_brain  # only where it is needed: benches use this file without it

    return (fetch_brain.read("white_matter.nii.gz") > 127)[STACK_SLICES, ::-1]


def balls(shape, spacing, centres, radius):
    z, y, x = numpy.ogrid[tuple(slice(0, side) for side in shape)]
    hx, hy, hz = spacing
    inside = numpy.zeros(shape, bool)
    for cx, cy, cz in centres:
        inside |= ((x - cx) * hx) ** 2 + ((y - cy) * hy) ** 2 + ((z - cz) * hz) ** 2 <= radius ** 2
    return inside.astype(numpy.uint8)


def with_itk(context, pixels, start, spacing, target, epsilon, alpha, iterations, rms=RMS):
    """Mask, iterations done, seconds and processor seconds of the filter alone. It starts from Isoline's distance, 0 on
    the faces between voxels inside and outside, as Isoline does."""
    image = SimpleITK.GetImageFromArray(pixels.astype(numpy.float32))
    phi = SimpleITK.GetImageFromArray(context.run("distance", start, spacing=spacing[:pixels.ndim][::-1],
                                                        dimensions=pixels.ndim))
    for each in (image, phi):
        each.SetSpacing(spacing[:pixels.ndim])
    level_set = SimpleITK.ThresholdSegmentationLevelSetImageFilter()
    level_set.SetLowerThreshold(float(target - epsilon))
    level_set.SetUpperThreshold(float(target + epsilon))
    level_set.SetPropagationScaling(alpha)
    level_set.SetCurvatureScaling((1 - alpha) / 2)
    level_set.SetMaximumRMSError(rms)
    level_set.SetNumberOfIterations(iterations)
    began, processor = time.perf_counter(), time.process_time()
    result = level_set.Execute(phi, image)
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    return SimpleITK.GetArrayFromImage(result) <= 0, level_set.GetElapsedIterations(), seconds, processor


def with_isoline(context, pixels, start, spacing, target, epsilon, alpha, iterations):
    """The same, of everything from image to mask: exactly so many iterations, without the stop rule."""
    began, processor = time.perf_counter(), time.process_time()
    surface = LevelSet(pixels, start, spacing=spacing[:pixels.ndim][::-1], device=context, dimensions=pixels.ndim,
                       target=target, epsilon=epsilon, alpha=alpha, change_tolerance=0, rms_tolerance=0)
    report = surface.step(iterations)
    mask = surface.mask() > 0
    return mask, report.iterations, time.perf_counter() - began, time.process_time() - processor


def cases():
    """Name, pixels, start, spacing, T, ε, α, iterations of Isoline and of ITK, map of white matter."""
    import fetch_brain

    pixels, white = stack(), stack_white_matter()
    seeds = balls(STACK, STACK_SPACING, SLICE_SEEDS, RADIUS)
    for target, epsilon, alpha in ((215, 20, 0.05), (215, 20, 0.2), (215, 20, 0.5), (210, 30, 0.2)):
        yield ("slice", pixels[SLICE], seeds[SLICE], STACK_SPACING, target, epsilon, alpha, 4000, 4000, white[SLICE])
    head = fetch_brain.read("ch2.nii.gz")
    yield ("ch2", head, fetch_brain.start_in_ch2(head), (1.0, 1.0, 1.0), fetch_brain.CH2_TARGET,
           fetch_brain.CH2_EPSILON, fetch_brain.CH2_ALPHA, fetch_brain.CH2_ITERATIONS, 150,
           fetch_brain.white_matter_of_ch2())


def compare_all(context, only):
    compared, problems = 0, 0
    for name, pixels, start, spacing, target, epsilon, alpha, iterations, itk_iterations, white in cases():
        if only and name != only:
            continue
        ours, done, *_ = with_isoline(context, pixels, start, spacing, target, epsilon, alpha, iterations)
        theirs, itk_done, *_ = with_itk(context, pixels, start, spacing, target, epsilon, alpha, itk_iterations)
        alike, white_ours, white_theirs = dice(ours, theirs), dice(ours, white), dice(theirs, white)
        print(f"{name}, T {target}, epsilon {epsilon}, alpha {alpha}: Dice {alike:.4f}; with the ICBM's white matter "
              f"{white_ours:.4f} (ITK's {white_theirs:.4f}); {done} iterations (ITK {itk_done}), "
              f"{numpy.count_nonzero(ours)} voxels (ITK {numpy.count_nonzero(theirs)})", flush=True)
        compared += 1
        for value, least, of in ((alike, LEAST_DICE, "SimpleITK's mask"),
                                 (white_ours, LEAST_DICE_OF_MAP, "the map of white matter")):
            if value < least:
                print(f"DIFFERENT: {name}: Dice with {of} is {value:.4f}, wanted {least}", file=sys.stderr)
                problems += 1
    if problems:
        sys.exit(f"oracle: {problems} of {compared} comparisons differ")
    print(f"oracle: {compared} level sets, to Dice {LEAST_DICE}, identical to those of SimpleITK "
          f"{SimpleITK.Version.VersionString()}")


def time_both(context):
    """White matter of ch2 from the same start, until both masks are as like as the comparison wants."""
    for name, pixels, start, spacing, target, epsilon, alpha, iterations, itk_iterations, white in cases():
        if name != "ch2":
            continue
        rounds = [], []
        for _ in range(ROUNDS):
            ours, done, *took = with_isoline(context, pixels, start, spacing, target, epsilon, alpha, iterations)
            rounds[0].append(took)
            theirs, itk_done, *took = with_itk(context, pixels, start, spacing, target, epsilon, alpha, itk_iterations)
            rounds[1].append(took)
        best = [[min(times) for times in zip(*each)] for each in rounds]
        results = (("Isoline", done, ours, best[0]), ("SimpleITK", itk_done, theirs, best[1]))
        for program, count, mask, (seconds, processor) in results:
            print(f"{program}: {count} iterations, {seconds:.2f} s, processor {processor:.2f} s, Dice with the white "
                  f"matter {dice(mask, white):.4f}")
        print(f"Dice of both {dice(ours, theirs):.4f}; SimpleITK takes {best[1][0] / best[0][0]:.1f} times as long, "
              f"{best[1][1] / best[0][1]:.1f} times the processor time")


def main():
    parser = argparse.ArgumentParser(description="Compares the level set with SimpleITK's.")
    parser.add_argument("library", help="the folder that libisoline.so is in")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=("slice", "ch2"))
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    import fetch_brain

    fetch_brain.main()
    context = Library(options.library).context(options.device)
    if options.time:
        time_both(context)
    else:
        compare_all(context, options.only)


if __name__ == "__main__":
    main()
