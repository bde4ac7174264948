#!/usr/bin/env bash
# Refreshes docs/images from the last 'make demo' and by each scripts/make_*_images.py with the library. (docs/images/fiji-*
# belong to docs/fiji.md.)
# Usage: doc-pictures.sh FOLDER-OF-LIBISOLINE
set -euo pipefail
cd "$(dirname "$0")/.."

native=$(realpath "$1")
for program in scripts/make_*_images.py; do
    .tools/venv/bin/python "$program" "$native" docs/images
done
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
