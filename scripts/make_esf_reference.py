#!/usr/bin/env python3
"""Makes tests/data/edge_strength_reference: masks of real images and the converged edge strength of each, by a sparse
direct solve in float64. Run: .tools/venv/bin/python scripts/make_esf_reference.py
"""
import pathlib

import numpy
import scipy.sparse
import scipy.sparse.linalg
import skimage.data
import skimage.feature
import skimage.filters

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "edge_strength_reference"
RHOS = (4, 16, 64)
# The solution is kept at every STEP-th pixel of every STEP-th row, from OFFSET on.
STEP, OFFSET = 5, 2


def masks():
    """The shape pixels of five pictures of scikit-image."""
    yield "horse", ~skimage.data.horse()
    yield "camera_edges", skimage.feature.canny(skimage.data.camera(), sigma=2)
    for name in ("coins", "page", "text"):
        picture = getattr(skimage.data, name)()
        bright = picture > skimage.filters.threshold_otsu(picture)
        yield name, bright if name == "coins" else ~bright


def solve(mask, rho):
    """sum of (neighbour - v) - v / rho^2 = 0 off the mask, v = 1 on it; neighbours beyond the border do not count."""
    free = ~mask
    number = numpy.full(mask.shape, -1)
    number[free] = numpy.arange(free.sum())
    diagonal = numpy.full(free.sum(), 1.0 / rho**2)
    right = numpy.zeros(free.sum())
    rows, columns = [], []
    for axis in (0, 1):
        for here, there in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
            a = [slice(None)] * 2
            b = [slice(None)] * 2
            a[axis], b[axis] = here, there
            a, b = tuple(a), tuple(b)
            own = free[a]
            diagonal[number[a][own]] += 1
            right[number[a][own & mask[b]]] += 1
            both = own & free[b]
            rows.append(number[a][both])
            columns.append(number[b][both])
    rows, columns = numpy.concatenate(rows), numpy.concatenate(columns)
    size = len(diagonal)
    matrix = scipy.sparse.diags(diagonal) - scipy.sparse.csr_matrix((numpy.ones(len(rows)), (rows, columns)), (size, size))
    v = numpy.ones(mask.shape)
    v[free] = scipy.sparse.linalg.spsolve(matrix.tocsc(), right)
    return v


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, mask in masks():
        height, width = mask.shape
        header = f"P4\n{width} {height}\n".encode()
        (OUT / f"{name}.pbm").write_bytes(header + numpy.packbits(mask, axis=1).tobytes())
        for rho in RHOS:
            v = solve(mask, rho)
            sample = v[OFFSET::STEP, OFFSET::STEP].astype("<f4")
            (OUT / f"{name}_rho{rho}.f32").write_bytes(sample.tobytes())


if __name__ == "__main__":
    main()
