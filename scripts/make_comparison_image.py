#!/usr/bin/env python3
"""Makes the picture of docs/comparison.md: two regions in a slice of a brain, by Isoline and by other programs.

Usage: make_comparison_image.py FOLDER-OF-LIBISOLINE FILE
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "benches"))
import make_level_set_images as pictures  # noqa: E402  (it chooses the backend)
import regions_peers as peers  # noqa: E402
from isoline import Library  # noqa: E402

SLICE = "slice"
HEIGHT, TITLE = 3.0, 0.32  # inches
BRIGHTEST = 1.12  # the grey value that is white, as a multiple of the largest one: lines are seen on white matter
ROWS = ("defaults", "best")


def fronts(library):
    """Returns the image, the map, the start, and by program the overlap and the mask of each row."""
    context = Library(library).context("cpu")
    name, noise, truth, start, spacing, (image,) = next(case for case in peers.cases(False, []) if case[0].startswith(SLICE))
    found = {}
    for program, peer in peers.PROGRAMS.items():
        arguments = (context,) if program == peers.OURS else ()
        for parameters in (peer.given(truth), peers.tuned(name, noise, program, truth)):
            mask = peer.run(*arguments, image, start, noise, spacing, **parameters)
            found.setdefault(program, []).append((peers.oracle.best_overlap(mask, truth), mask))
    return image, truth, start > 0, found


def draw(library, path):
    image, truth, start, found = fronts(library)
    plt = pictures.plt
    wide, high = HEIGHT * image.shape[1] / image.shape[0], HEIGHT + TITLE
    figure, places = plt.subplots(len(ROWS), 1 + len(found), dpi=pictures.DOTS, squeeze=False, gridspec_kw={
        "left": 0, "right": 1, "bottom": 0, "top": 1 - TITLE / high / len(ROWS), "wspace": 0.03, "hspace": TITLE / HEIGHT},
        figsize=((1 + len(found)) * wide, len(ROWS) * high))
    columns = [[("the slice", None), ("the start", start)]]
    columns += [[(f"{program.split()[-1]},\n{row}: {overlap:.3f}", mask) for row, (overlap, mask) in zip(ROWS, each)]
                for program, each in found.items()]
    for axes, (title, mask) in zip(places.T.flat, (panel for column in columns for panel in column)):
        pictures.draw_input(axes, image, (image.min(), BRIGHTEST * image.max()))
        if mask is not None:
            pictures.draw_outline(axes, truth, pictures.MAP_COLOUR, 0.6)
            pictures.draw_outline(axes, mask)
        axes.set_title(title, loc="left", fontsize=8)
        axes.set_axis_off()
    pictures.save(figure, path)


if __name__ == "__main__":
    draw(sys.argv[1], pathlib.Path(sys.argv[2]))
