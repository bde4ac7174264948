#!/usr/bin/env bash
# Refreshes docs/images from the last 'make demo' and from examples/edge_strength.c and the library. (docs/images/fiji-* belong to docs/fiji.md.)
# Usage: doc-pictures.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

native=$(realpath "$1")
program=$(mktemp)
trap 'rm -f "$program"' EXIT
cc -std=c11 -O1 examples/edge_strength.c -Iinclude -L"$native" -lisoline "-Wl,-rpath,$native" -o "$program"
.tools/venv/bin/python scripts/make_doc_images.py "$program" docs/images
.tools/venv/bin/python scripts/make_edge_drawing_images.py "$native" docs/images
.tools/venv/bin/python scripts/make_distance_images.py "$native" docs/images
.tools/venv/bin/python scripts/make_level_set_images.py "$native" docs/images
.tools/venv/bin/python scripts/make_snake_images.py "$native" docs/images
# 256 colours are enough for these, and a third of the bytes.
.tools/venv/bin/python - << 'PYTHON'
from PIL import Image
for name in ("horse", "pattern", "brain"):
    picture = Image.open(f"demo-output/{name}.png").convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(f"docs/images/{name}.png", optimize=True)
    print(f"  docs/images/{name}.png")
for name in ("level_set", "level_set_montage", "snake", "snake_steps", "snake_nodes", "snake_nuclei"):
    picture = Image.open(f"docs/images/{name}.png").convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(f"docs/images/{name}.png", optimize=True)
PYTHON
