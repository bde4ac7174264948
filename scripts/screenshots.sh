#!/usr/bin/env bash
# Makes the pictures of docs/images again: from the last 'make demo', by each scripts/make_*_images.py with the library, by the
# macros of examples/recipes and scripts/first-results.ijm in ImageJ, and the dialogs of docs/fiji.md from the screenshots of
# the plugin's tests in a window.
# Usage: screenshots.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

native=$(realpath "$1")
mvn --batch-mode --no-transfer-progress --quiet -f fiji-plugin/pom.xml test -Dtest='*WindowTest,GuiTest,FirstMinutesTest' \
    -Disoline.native.dir="$native"
for program in scripts/make_*_images.py; do
    .tools/venv/bin/python "$program" "$native" docs/images
done
for recipe in examples/recipes/*.ijm; do
    scripts/imagej.sh window scripts/recipe-picture.ijm \
        "$PWD/$recipe|$PWD/docs/images/recipe-$(basename "$recipe" .ijm).png"
done
scripts/imagej.sh window scripts/first-results.ijm "$PWD/docs/images"
# 256 colours are enough for these, and a third of the bytes.
.tools/venv/bin/python - << 'PYTHON'
import pathlib
import sys
from PIL import Image
SHOTS = pathlib.Path("fiji-plugin/target/gui-screenshots")
for name in ("horse", "pattern", "brain"):
    picture = Image.open(f"demo-output/{name}.png").convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(f"docs/images/{name}.png", optimize=True)
    print(f"  docs/images/{name}.png")
for name in ("level_set", "level_set_montage", "snake", "snake_steps", "snake_nodes", "snake_nuclei"):
    picture = Image.open(f"docs/images/{name}.png").convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(f"docs/images/{name}.png", optimize=True)
# The part of an image that shows something, enlarged.
PARTS = {
    "recipe-count_nuclei": (100, 240, 500, 500, 1),
    "recipe-touching_nuclei": (100, 240, 500, 500, 1),
    "recipe-membrane_edges": (330, 270, 530, 470, 2),
    "recipe-straight_lines": (230, 110, 490, 370, 2),
    "recipe-ventricle_volume": (20, 10, 180, 220, 2),
    "recipe-growth_in_a_film": (0, 0, 160, 120, 3),
    "recipe-noisy_ultrasound": (0, 0, 256, 200, 2),
    "first-coins": (0, 0, 384, 303, 1),
    "first-nuclei": (100, 100, 500, 400, 1),
    "first-cell": (330, 270, 530, 470, 2),
    "first-brain": (20, 10, 180, 220, 2),
    "first-retina": (0, 0, 102, 102, 3),
}
for name, (left, top, right, bottom, scale) in PARTS.items():
    file = f"docs/images/{name}.png"
    picture = Image.open(file).convert("RGB").crop((left, top, right, bottom))
    picture = picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)
    # A palette of 256 colours would have too few greys beside those of the outlines.
    picture.save(file, optimize=True)
    print(f"  {file}")
# The dialog at the left of a screenshot, and an image's window of another one.
DIALOGS = {
    "edge-strength": ("edge-strength-coins", "edge-strength-coins", (640, 150, 1024, 469)),
    "edge-drawing": ("edge-drawing-dialog", "edge-drawing-dialog", (620, 200, 1180, 876)),
    "isolines": ("isolines-dialog", "isolines-dialog", (620, 200, 1180, 876)),
    "signed-distance": ("distance-dialog", "distance-dialog", (620, 200, 1180, 876)),
    "level-set": ("level-set-dialog", "level-set-dialog", (710, 260, 1260, 821)),
    "region-snake": ("region-snake-starts", "region-snake-nuclei", (640, 150, 1162, 683)),
}
# The screen around the devices' dialog is black.
devices = Image.open(SHOTS / "devices.png").convert("RGB").crop((20, 140, 1280, 900))
devices = devices.crop(devices.getbbox())
devices.quantize(256, dither=Image.Dither.NONE).save("docs/images/fiji-devices.png", optimize=True)
print("  docs/images/fiji-devices.png")
GAP = 16
def beside(left, right, name):
    picture = Image.new("RGB", (left.width + GAP + right.width, max(left.height, right.height)), "white")
    picture.paste(left, (0, 0))
    picture.paste(right, (left.width + GAP, 0))
    picture.quantize(256, dither=Image.Dither.NONE).save(f"docs/images/{name}.png", optimize=True)
    print(f"  docs/images/{name}.png")
for name, (dialog, window, part) in DIALOGS.items():
    shots = [SHOTS / f"{shot}.png" for shot in (dialog, window)]
    if not all(shot.exists() for shot in shots):
        sys.exit(f"cannot make fiji-{name}.png: no {dialog}.png and {window}.png in {SHOTS}; the tests of windows need Xvfb")
    left = Image.open(shots[0]).convert("RGB").crop((20, 100, 640, 700))
    # The screen around a dialog is black.
    left = left.crop(left.crop((0, 0, part[0] - 20, left.height)).getbbox())
    right = Image.open(shots[1]).convert("RGB").crop(part)
    beside(left, right, f"fiji-{name}")
# A dialog, and its preview on the image or on a part of it.
PREVIEWS = {
    "fiji-isosurface": ("isosurface", None),
    "fiji-grow-objects": ("objects", (100, 100, 500, 500)),
    "first-coins-dialog": ("first-coins", None),
    "first-nuclei-dialog": ("first-nuclei", (100, 100, 500, 400)),
    "first-cell-dialog": ("first-cell", (240, 210, 540, 540)),
    "first-brain-dialog": ("first-brain", None),
    "first-retina-dialog": ("first-retina", None),
}
for name, (shot, part) in PREVIEWS.items():
    left, right = (Image.open(SHOTS / f"{shot}-{half}.png").convert("RGB") for half in ("dialog", "preview"))
    beside(left, right.crop(part) if part else right, name)
PYTHON
