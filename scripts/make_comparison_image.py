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
HEIGHT, TITLE = 3.3, 0.45  # inches


def fronts(library):
    """Yields the image, the map, and the title and mask of each panel."""
    context = Library(library).context("cpu")
    case = next(case for case in peers.cases(False, []) if case[0].startswith(SLICE))
    name, noise, truth, start, spacing, (image,) = case
    yield image, truth
    yield "start", start > 0
    for program, peer in peers.PROGRAMS.items():
        arguments = (context,) if program == peers.OURS else ()
        mask = peer.run(*arguments, image, start, noise, spacing, **peers.tuned(name, noise, program, truth))
        yield f"{program.replace(' ', chr(10), 1)}: {peers.oracle.best_overlap(mask, truth):.3f}", mask


def draw(library, path):
    (image, truth), *panels = fronts(library)
    plt = pictures.plt
    wide = HEIGHT * image.shape[1] / image.shape[0]
    figure, places = plt.subplots(1, len(panels), figsize=(len(panels) * wide, HEIGHT + TITLE), dpi=pictures.DOTS,
                                  gridspec_kw={"left": 0, "right": 1, "bottom": 0, "top": HEIGHT / (HEIGHT + TITLE),
                                               "wspace": 0.03})
    for axes, (title, mask) in zip(places, panels):
        pictures.draw_input(axes, image, (image.min(), image.max()))
        pictures.draw_outline(axes, truth, pictures.MAP_COLOUR, 0.6)
        pictures.draw_outline(axes, mask)
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_axis_off()
    pictures.save(figure, path)


if __name__ == "__main__":
    draw(sys.argv[1], pathlib.Path(sys.argv[2]))
