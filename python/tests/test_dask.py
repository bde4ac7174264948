"""Chunks with halos have the bits of the whole array, in this process and in the processes of a cluster."""
import math
import pathlib
import re
import tracemalloc

import numpy
import pytest

import isoline

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
from isoline import _surface  # noqa: E402
from isoline import dask as by_chunk  # noqa: E402
from isoline._targets import Targets  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
Z, Y, X = numpy.mgrid[:70, :90, :101]
NOISE = numpy.random.default_rng(1).normal(0, 10, Z.shape)
VOLUME = numpy.clip(120 + 80 * numpy.sin(X / 9) * numpy.sin(Y / 11) * numpy.cos(Z / 8) + NOISE, 0, 255).astype(numpy.uint8)
CHUNKS = (30, 40, 33)
BALL = (Z - 8) ** 2 + (Y - 17) ** 2 + (X - 43) ** 2 < 500  # across chunks, with bright and dark parts
FLOATS = VOLUME.astype(numpy.float32)
FLOATS[5:9, 50:53], FLOATS[60, 3, 4], FLOATS[40, 80] = numpy.nan, 4000, numpy.inf
RANGE = dict(target=190.0, epsilon=60.0)
# A disc that grows from slice to slice, and a straight edge beside it.
DISCS = (60 + 100 * ((Y - 45) ** 2 + (X - 40) ** 2 < 600 + 8 * Z) + 60 * (X > 84) + NOISE / 4).astype(numpy.uint8)


def same(lazy, wanted):
    got = lazy.compute(scheduler="synchronous")
    assert got.dtype == wanted.dtype == lazy.dtype and got.shape == wanted.shape == lazy.shape
    return numpy.array_equal(got.view(f"u{got.itemsize}"), wanted.view(f"u{got.itemsize}"))


@pytest.mark.parametrize("parameters, every", [
    (dict(dimensions="volume", threshold=190, iterations=20), None),
    (dict(dimensions="volume", threshold=190, iterations=40), 16),
    (dict(dimensions="volume", threshold=100, iterations=35, start="image", foreground="below", rho=8), 32),
    (dict(dimensions="volume", threshold=190, iterations=20, spacing=(3, 1, 1.5), rho=20), None),
    (dict(dimensions="volume", threshold=190, iterations=40, spacing=0.5, rho=32), 16),
    (dict(threshold=190, iterations=20, rho=10.3), None), (dict(threshold=190, iterations=70, time_step=0.1), 16),
    (dict(threshold=190, iterations=0), None), (dict(threshold=190, iterations=500), None),
    (dict(threshold=190, mode="converged", rho=4), None)], ids=str)
def test_edge_strength(parameters, every):
    image = da.from_array(VOLUME, chunks=CHUNKS)
    wanted = isoline.edge_strength(VOLUME, **parameters)
    assert same(by_chunk.edge_strength(image, exchange_every=every, **parameters), wanted)


def test_one_exchange_is_one_call_for_each_chunk(monkeypatch):
    calls, call = [], by_chunk.strength
    monkeypatch.setattr(by_chunk, "strength", lambda block, *more, **other: calls.append(block.dtype)
                        or call(block, *more, **other))
    lazy = by_chunk.edge_strength(da.from_array(VOLUME, chunks=CHUNKS), dimensions="volume", threshold=190, iterations=9)
    lazy.compute(scheduler="synchronous")
    assert calls == [numpy.uint8] * lazy.npartitions and lazy.npartitions > 20


def test_edge_strength_of_other_images():
    plane, floats = VOLUME[40], FLOATS[:20]
    whole = isoline.edge_strength(plane, threshold=190, iterations=20)
    assert same(by_chunk.edge_strength(da.from_array(plane, chunks=32), threshold=190, iterations=20), whole)
    parameters = dict(threshold=190.5, iterations=18, start="image", start_min=50.0, start_max=180.0, dimensions=3)
    assert same(by_chunk.edge_strength(da.from_array(floats, chunks=(9, 31, 50)), **parameters),
                isoline.edge_strength(floats, **parameters))


def most_in_memory(compute):
    """The most memory that a computation has at once, as a share of its image of 64 chunks."""
    class Image:
        shape, dtype, ndim = (64 * 16, 80, 80), numpy.dtype("f4"), 3

        def __getitem__(self, part):
            return DISCS[:16, :80, :80].astype("f4")[tuple(slice(0, one.stop - one.start) for one in part)]

    image = da.from_array(Image(), chunks=(16, 80, 80))
    lazy = compute(image)
    compute(image[:16]).compute(scheduler="synchronous")  # Modules that are imported at the first call count otherwise.
    tracemalloc.start()
    lazy.compute(scheduler="synchronous")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / image.nbytes


def test_images_that_dask_cut_or_joined_have_extremes():
    """Dask fails to read them twice."""
    from dask import delayed
    whole = da.from_array(FLOATS[:30], chunks=(15, 45, 50))
    images = [whole.rechunk(chunks) for chunks in ((30, 90, 101), (30, 45, 101), (30, 90, 51))]
    images.append(da.from_array(FLOATS[None, :30], chunks=(1, 15, 45, 50))[0])
    images.append(da.stack([da.from_delayed(delayed(plane), plane.shape, plane.dtype) for plane in FLOATS[:30]]))
    for image in images:
        options = dict(iterations=2, exchange_every=2, reinitialise_every=0, **RANGE)
        phi = da.from_array(numpy.where(BALL[:30], -1, 1).astype("f4"), chunks=40)
        assert numpy.isfinite(now(by_chunk.level_set(image, phi, **options))).all()
        for starts in da.from_array(BALL[:30].astype("u1"), chunks=30), None:
            labels, _ = by_chunk.objects(image, starts, reach=20, margin=5, threshold=150, iterations=1)
            assert now(labels).any()


@pytest.mark.parametrize("compute", [
    lambda image: by_chunk.objects(image, da.ones(image.shape, "u1", chunks=image.chunks), reach=2, margin=2,
                                   iterations=0)[0].sum(),
    lambda image: by_chunk.level_set(image, da.full_like(image, -1), iterations=1, reinitialise_every=0, exchange_every=1,
                                     target=100.0, epsilon=50.0).sum()], ids=["objects", "level_set"])
def test_no_image_is_kept_until_its_extremes_are_known(compute):
    assert most_in_memory(compute) < 0.8


def test_halos_matter():
    """Without them the results are others, so that the tests here can fail."""
    image = da.from_array(VOLUME, chunks=CHUNKS)
    alone = image.map_blocks(isoline.edge_strength, threshold=190, dimensions="volume", dtype=numpy.float32)
    assert not same(alone, isoline.edge_strength(VOLUME, threshold=190, dimensions="volume"))


@pytest.mark.parametrize("parameters", [
    dict(gradient_threshold=30.0), dict(gradient_threshold=30.0, validation="false_alarms"),
    dict(gradient_threshold=30.0, profile="reference")], ids=str)
def test_edge_drawing(parameters):
    wanted = isoline.edge_drawing(VOLUME, **parameters)[0]
    assert wanted.any() and same(by_chunk.edge_drawing(da.from_array(VOLUME, chunks=CHUNKS), **parameters), wanted)


def equal(one, other):
    """True if two results have the same arrays."""
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, numpy.ndarray):
        same_kind = one.dtype == other.dtype and one.shape == other.shape
        return same_kind and numpy.array_equal(*(numpy.ascontiguousarray(array).view("u1") for array in (one, other)))
    if isinstance(one, (int, float)):
        return type(one) is type(other) and repr(one) == repr(other)
    return type(one) is type(other) and all(equal(vars(one)[name], value) for name, value in vars(other).items())


def now(delayed):
    return delayed.compute(scheduler="synchronous")


@pytest.mark.parametrize("image, chunks", [(DISCS, CHUNKS), (DISCS[40], 32)], ids=["stack", "image"])
@pytest.mark.parametrize("parameters", [dict(), dict(profile="reference")], ids=str)
def test_segments_and_what_is_along_them(image, chunks, parameters):
    chunked, parameters = da.from_array(image, chunks=chunks), dict(gradient_threshold=12.0, **parameters)
    wanted = isoline.edge_drawing(image, **parameters)[1]
    assert len(wanted) > 1 and equal(now(by_chunk.edge_drawing_segments(chunked, **parameters)), wanted)
    for name in ("edge_drawing_lines", "edge_drawing_ellipses"):
        wanted = getattr(isoline, name)(image, **parameters)
        assert len(wanted[0]) > 0 and equal(now(getattr(by_chunk, name)(chunked, **parameters)), wanted)


@pytest.mark.parametrize("image, chunks", [(VOLUME, CHUNKS), (FLOATS[40], 32)], ids=["stack", "image"])
def test_isolines(image, chunks):
    wanted = isoline.isolines(image, [110, 60.5], spacing=2.5)
    assert len(wanted) > 50 and (wanted.lines["parent"] >= 0).any() and (wanted.lines["parent"] < 0).any()
    assert equal(now(by_chunk.isolines(da.from_array(image, chunks=chunks), [110, 60.5], spacing=2.5)), wanted)


@pytest.mark.parametrize("image, chunks, parameters, every", [
    (DISCS, CHUNKS, dict(threshold=90, iterations=70, axis_min_length=3.0), None), (DISCS[40], 32, dict(threshold=90), None),
    (DISCS, CHUNKS, dict(threshold=90, mode="converged", rho=8.0, foreground="below", axis_min_strength=0.01), None),
    (DISCS, CHUNKS, dict(threshold=90, dimensions="volume", iterations=34, rho=16, spacing=(1, 0.5, 0.5)), None),
    (DISCS, CHUNKS, dict(threshold=90, dimensions="volume", iterations=34, rho=16), 16)], ids=str)
def test_axes(image, chunks, parameters, every):
    wanted, field = isoline.edge_strength_axes(image, **parameters)
    assert set(wanted.lines["flags"]) >= {2, 4}
    lazy, lazy_field = by_chunk.edge_strength_axes(da.from_array(image, chunks=chunks), exchange_every=every, **parameters)
    assert equal(now(lazy), wanted) and same(lazy_field, field)


GYROID = sum(numpy.sin(a / 5) * numpy.cos(b / 5) for a, b in ((X, Y), (Y, Z), (Z, X)))[:32, :40, :45].astype(numpy.float32)
COARSE = numpy.random.default_rng(2).integers(0, 6, (32, 20, 33)).astype(numpy.uint16)  # many voxels equal the level
HOLES = numpy.where(VOLUME[:32, :20, :33] % 29 == 0, numpy.float32(numpy.nan), VOLUME[:32, :20, :33].astype(numpy.float32))
HOLES[3, 4, 5], HOLES[20, 6, 7] = numpy.inf, -numpy.inf


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("foreground", ["above", "below"])
@pytest.mark.parametrize("image, level", [
    (GYROID, 0), (COARSE, 3), (HOLES, 120.3), (NOISE[:32, :20, :33].astype(numpy.float32), 0.1), (VOLUME[:32] > 190, 0.5),
    (VOLUME[:32, :30, :40], 254.5), (VOLUME[:32, :30, :40], 300)], ids=lambda value: getattr(value, "dtype", value))
def test_isosurface(image, level, foreground, close):
    for chunks, spacing in ((11, None), (((1, 1, 14, 15, 1), 20, 20), (0.3, 0.7, 1.1)), ((16, 90, 7), (2.5, 0.5, 0.1))):
        parameters = dict(level=level, foreground=foreground, close=close, spacing=spacing)
        lazy = by_chunk.isosurface(da.from_array(image, chunks=chunks), **parameters)
        assert equal(now(lazy), isoline.isosurface(image, **parameters))


def test_isosurfaces_that_fold_on_voxels_at_the_level():
    image = numpy.full((5, 5, 5), 2, numpy.uint8)
    image[:3, 2, :] = 1
    for foreground, curvature in (("above", 0.3340), ("below", 0.9242)):
        found = isoline.isosurface(image, level=1, foreground=foreground)
        lazy = by_chunk.isosurface(da.from_array(image, chunks=2), level=1, foreground=foreground)
        assert equal(now(lazy), found) and abs(found.mean_curvature - curvature) < 1e-4


def test_isosurfaces_with_means_in_cells():
    """A slab knows which of its vertices they are: the surface of noise has some in most rows."""
    image = NOISE[:32, :20, :33].astype(numpy.float32)
    high = image > 0
    crossed = sum(numpy.count_nonzero(numpy.diff(high, axis=axis)) for axis in range(3))
    assert len(isoline.isosurface(image, level=0, close=False).vertices) > crossed + 100


def test_isosurface_of_a_thin_volume():
    for image in (VOLUME[:20, :1, :40], VOLUME[:20, :40, :1], VOLUME[:20, :1, :1], VOLUME[:20, :2, :2]):
        for close in (True, False):
            lazy = by_chunk.isosurface(da.from_array(image, chunks=6), level=120, close=close)
            assert equal(now(lazy), isoline.isosurface(image, level=120, close=close))


def test_isosurface_of_one_slab_and_of_a_plane():
    for image, chunks in ((GYROID, (32, 9, 9)), (GYROID[7], 9)):
        lazy = by_chunk.isosurface(da.from_array(image, chunks=chunks), level=0.2, spacing=2)
        assert equal(now(lazy), isoline.isosurface(image, level=0.2, spacing=2))


def squares(step, side):
    corners = [(x, y) for y in range(3, 90, step) for x in range(2, 101, step)]
    return [[(x, y), (x + side, y), (x + side, y + side), (x, y + side)] for x, y in corners]


def without_overlaps(image, starts, **parameters):
    with isoline.snake(image, starts, **parameters) as found:
        rows = found.statistics()
        rows["flags"] &= ~numpy.uint32(1)
        return found.polygons(), rows


@pytest.mark.parametrize("image, parameters", [
    (VOLUME[40], dict()), (VOLUME[40].astype(numpy.uint16), dict(margin=0.2, noise="poisson")),
    (FLOATS[40], dict(range_min=0.0, range_max=255.0, node_cost=0.0)), (VOLUME[40] > 120, dict(noise="bernoulli"))],
    ids=["u8", "u16", "f32", "bool"])
def test_region_snakes(image, parameters):
    starts = [*squares(17, 9), [(-40, -40), (-20, -40), (-20, -20)], [(300, 10), (310, 10), (310, 20)]]
    parameters = dict(background="window", **parameters)
    wanted, rows = without_overlaps(image, starts, **parameters)
    assert len({len(polygon) for polygon in wanted}) > 2 and (rows["flags"] & 2).any() and (rows["status"] == 3).sum() == 2
    found = now(by_chunk.snake(da.from_array(image, chunks=(40, 33)), starts, **parameters))
    assert equal(found, (wanted, rows))
    polygons, statistics = now(by_chunk.snake(da.from_array(image, chunks=(40, 33)), [], **parameters))
    assert len(polygons) == len(statistics) == 0


@pytest.mark.parametrize("seed", range(6))
def test_region_snakes_that_compete(seed):
    """Starts of many sizes, some within others, some far from all, in groups of which most are in several chunks."""
    random, chunks = numpy.random.default_rng(seed), [(40, 33), 20, 200][seed // 2]
    image = numpy.tile(VOLUME[40], (3, 3))
    centres, sides = random.integers(0, (303, 270), (60, 2)), random.choice([4, 6, 9, 40 if seed % 2 else 12], 60)
    starts = [numpy.clip([(x, y), (x + side, y), (x + side, y + side + 1), (x, y + side + 1)], 0, (303, 270))
              for (x, y), side in zip(centres, sides)]
    starts = [start for start in starts if numpy.ptp(start, axis=0).min() > 2] + [starts[0] + 400]
    parameters = dict(background="window", overlap="excluded", margin=[0.1, 0.5, 2.5][seed % 3])
    wanted = without_overlaps(image, starts, **parameters)
    alone = without_overlaps(image, starts, **{**parameters, "overlap": "allowed"})
    assert sum(not equal(one, other) for one, other in zip(wanted[0], alone[0])) > 10
    assert (wanted[1]["status"] == 3).sum() == 1
    assert equal(now(by_chunk.snake(da.from_array(image, chunks=chunks), starts, **parameters)), wanted)


def test_targets_that_compete_through_others_far_away():
    """A start takes pixels of another one's window, while their own windows do not overlap: only a ring of others, most of
    which are too far away to matter, makes both a group."""
    image = numpy.random.default_rng(3).normal(60, 10, (420, 420)).clip(0, 255).astype(numpy.uint8)
    image[174:212, 174:212] += 100  # from one to the other
    ring = [(200 + 38 * by, 206) for by in range(1, 5)] + [(352, 206 - 38 * by) for by in range(1, 5)]
    ring += [(352 - 38 * by, 54) for by in range(1, 6)] + [(162, 54 + 38 * by) for by in range(1, 3)]
    boxes = [[(x - 4, y - 4), (x + 4, y - 4), (x + 4, y + 4), (x - 4, y + 4)] for x, y in [(154, 154), *ring]]
    starts = [[(190, 208), (192, 210), (210, 192), (208, 190)], *boxes]
    parameters = dict(background="window", overlap="excluded", margin=0.5)
    targets = Targets([numpy.array(start) for start in starts], 0.5, image.shape)
    # The ring is closed without three of its corners.
    assert 1 not in targets.neighbours(0) and len(targets.rivals(0)) == len(starts) - 3
    wanted = without_overlaps(image, starts, **parameters)
    assert not equal(wanted[0][0], without_overlaps(image, [starts[0], *starts[2:]], **parameters)[0][0])
    assert equal(now(by_chunk.snake(da.from_array(image, chunks=30), starts, **parameters)), wanted)


@pytest.mark.parametrize("spacing, parameters", [
    (None, dict()), ((3, 1, 1.5), dict()), (0.5, dict(dimensions="slices", region="outside")),
    (None, dict(foreground="below", region="inside"))], ids=str)
@pytest.mark.parametrize("largest", [2.5, 12])
def test_clamped_distance(spacing, parameters, largest):
    parameters = dict(parameters, threshold=195)
    whole = isoline.distance(VOLUME, spacing=spacing, **parameters).clip(-largest, largest)
    assert (numpy.abs(whole) == largest).any()
    lazy = by_chunk.distance(da.from_array(VOLUME, chunks=CHUNKS), largest=largest, spacing=spacing, **parameters)
    assert lazy.npartitions > 1 and same(lazy, whole)


def test_clamped_distance_without_a_boundary(recwarn):
    for inside, side in ((0, 1), (1, -1)):
        image = da.full((40, 50), inside, chunks=20, dtype=numpy.uint8)
        assert (by_chunk.distance(image, largest=7).compute(scheduler="synchronous") == 7 * side).all()
    assert not recwarn  # Another chunk may have the boundary.


SPECKS = ((Z == 3) & (Y == 80) & (X == 100)) | ((Z == 66) & (Y == 5) & (X == 20))  # far from most chunks
EXACT = [None, (2, 1, 1.5), 0.7, (0.3, 0.2, 0.2)]  # spacings with which squares are exact


def distance_in_chunks(image, chunks, spacing=None, **parameters):
    lazy = by_chunk.distance(da.from_array(image, chunks=chunks), spacing=spacing, **parameters)
    assert lazy.npartitions > 1 and lazy.chunks == da.from_array(image, chunks=chunks).chunks
    return lazy


@pytest.mark.parametrize("spacing", EXACT, ids=str)
@pytest.mark.parametrize("parameters", [
    dict(), dict(dimensions="slices"), dict(foreground="below", region="inside"),
    dict(region="outside", dimensions="slices")], ids=str)
@pytest.mark.parametrize("image, threshold", [
    (VOLUME, 195), (VOLUME.astype(numpy.uint16) * 200, 39000.5), (FLOATS, 195.5), (BALL, 0), (SPECKS, 0)],
    ids=["uint8", "uint16", "float32", "bool", "specks"])
def test_exact_distance(image, threshold, spacing, parameters):
    parameters = dict(parameters, threshold=threshold)
    wanted = isoline.distance(image, spacing=spacing, **parameters)
    assert same(distance_in_chunks(image, CHUNKS, spacing, **parameters), wanted)


@pytest.mark.parametrize("chunks", [((1, 69), (7, 3, 80), (50, 51)), (70, 90, 40), (70, 13, 101), (9, 90, 101), 3], ids=str)
def test_exact_distance_of_any_chunks(chunks):
    image, spacing = (SPECKS, (2, 1, 1.5)) if chunks != 3 else (VOLUME[:5, :6, :10] > 120, None)
    assert same(distance_in_chunks(image, chunks, spacing), isoline.distance(image, spacing=spacing))


def test_distance_of_labels():
    labels = BALL.astype(numpy.int64) * 70000
    assert same(distance_in_chunks(labels, CHUNKS), isoline.distance(labels))


def test_exact_distance_of_planes_and_lines():
    for image in (SPECKS.any(0), BALL[8], BALL[:, 17, 43:44], BALL[8:9, :, 43]):
        for spacing in (None, (3, 1)):
            for dimensions in ("volume", "slices"):
                wanted = isoline.distance(image, spacing=spacing, dimensions=dimensions)
                assert same(distance_in_chunks(image, 20, spacing, dimensions=dimensions), wanted)
    # The library ignores the spacing along an axis of one voxel.
    for image in (BALL[8:9], BALL[:, 17:18], BALL[..., 43:44], BALL[8:9, :, 43:44]):
        spacing = [1 if length > 1 else 0.01 for length in image.shape]
        assert same(distance_in_chunks(image, 20, spacing), isoline.distance(image, spacing=spacing))


def test_exact_distance_with_any_spacing_is_within_rounding():
    for image, spacing in ((SPECKS, (3, 1, 1.3)), (VOLUME > 195, (0.1, 0.37, 0.29))):
        wanted = isoline.distance(image, spacing=spacing)
        got = distance_in_chunks(image, CHUNKS, spacing).compute(scheduler="synchronous")
        assert (numpy.abs(got - wanted) <= 1e-6 * numpy.abs(wanted)).all()


@pytest.mark.parametrize("image, count", [(BALL, 2), (BALL[8], 1)], ids=["volume", "slice"])
def test_values_between_passes_can_be_kept(image, count):
    stored = []

    def kept(values):
        stored.append(now(values))
        return da.from_array(stored[-1], chunks=19)

    assert same(distance_in_chunks(image, 33, kept=kept), isoline.distance(image)) and len(stored) == count


def test_exact_distance_without_a_boundary():
    for inside, signed, region, of_region in ((0, numpy.inf, "inside", 0), (1, -numpy.inf, "outside", 0)):
        image = numpy.full((40, 50), inside, numpy.uint8)
        assert (distance_in_chunks(image, 20).compute(scheduler="synchronous") == signed).all()
        assert (distance_in_chunks(image, 20, region=region).compute(scheduler="synchronous") == of_region).all()
        # One slice of a stack has a boundary, which a volume has everywhere then.
        stack = numpy.full((9, 40, 50), inside, numpy.uint8)
        stack[2, 3, 4] = 1 - inside
        for dimensions in ("slices", "volume"):
            wanted = isoline.distance(stack, dimensions=dimensions)
            assert same(distance_in_chunks(stack, (4, 30, 30), dimensions=dimensions), wanted)


def test_exact_distance_of_chunks_that_depend_on_no_other():
    for chunks, dimensions in ((200, "volume"), ((20, 90, 101), "slices")):
        lazy = by_chunk.distance(da.from_array(BALL, chunks=chunks), dimensions=dimensions)
        assert len(lazy.dask.layers) == 2 and same(lazy, isoline.distance(BALL, dimensions=dimensions))


@pytest.mark.parametrize("shape, chunks", [((700, 900, 1000), 128), ((40, 5000, 3000), (10, 512, 512)), ((9000, 7000), 1000),
                                           ((5, 6, 7), 1), ((70, 90, 101), CHUNKS)], ids=str)
def test_passes_need_no_larger_chunks(shape, chunks):
    """Those of a pass have the pixels of the image's, or one line."""
    image = da.zeros(shape, chunks=chunks, dtype=numpy.uint8)
    values, pixels, before = image, math.prod(image.chunksize), image.ndim - 2
    for axis in reversed(range(image.ndim)):
        values = by_chunk.in_lines(values, axis, before, pixels)
        assert values.numblocks[axis] == 1 and math.prod(values.chunksize) <= max(pixels, shape[axis])
        assert values.npartitions <= 3 * image.npartitions
        before = axis


def whole_level_set(image, phi, iterations, spacing, dimensions="volume", **parameters):
    with isoline.LevelSet(image, phi < 0, spacing=spacing, device="cpu", dimensions=dimensions, variant="dense",
                          change_tolerance=0, rms_tolerance=0, **parameters) as surface:
        surface.write_phi(phi)
        assert surface.step(iterations).iterations == iterations
        return surface.phi()


@pytest.mark.parametrize("image", [VOLUME, FLOATS], ids=lambda image: image.dtype.name)
@pytest.mark.parametrize("dimensions", ["volume", "slices"])
@pytest.mark.parametrize("spacing, iterations, every, parameters", [
    (None, 13, None, RANGE), ((3, 1, 1.5), 7, 6, dict(target=170.0, epsilon=100.0, side="above", alpha=0.01)),
    (2, 25, 10, dict(RANGE, reinitialise_every=0)), (None, 20, 5, dict(RANGE, reinitialise_every=0, upwind_order=2)),
    ((3, 1, 1.5), 10, 5, dict(RANGE, reinitialise_every=0, edge_weight=2.0, edge_sigma=3.0, edge_contrast=9.0)),
    (None, 7, 3, dict(RANGE, reinitialise_every=3, upwind_order=2, edge_weight=3.0, edge_contrast=9.0, regions=0))])
def test_level_set(image, dimensions, spacing, iterations, every, parameters):
    phi = isoline.distance(BALL, spacing=spacing, dimensions=dimensions).clip(-200, 200)
    wanted = whole_level_set(image, phi, iterations, spacing, dimensions, **parameters)
    image, phi = da.from_array(image, chunks=(40, 50, 50)), da.from_array(phi, chunks=CHUNKS)
    lazy = by_chunk.level_set(image, phi, iterations=iterations, spacing=spacing, exchange_every=every,
                              dimensions=dimensions, **parameters)
    assert lazy.npartitions > 1 and same(lazy, wanted)


def test_level_set_of_a_plane_and_of_one_chunk():
    plane, phi = VOLUME[8], isoline.distance(BALL[8])
    for dimensions in ("volume", "slices"):
        wanted = whole_level_set(plane, phi, 12, 1, dimensions, **RANGE)
        for chunks in (40, 48, 200):
            image, start = da.from_array(plane, chunks=chunks), da.from_array(phi, chunks=chunks)
            assert same(by_chunk.level_set(image, start, iterations=12, dimensions=dimensions, **RANGE), wanted)
    # A volume of a single slice is that slice, whatever its spacing along z.
    image, start = da.from_array(plane[None], chunks=(1, 40, 40)), da.from_array(phi[None], chunks=(1, 40, 40))
    found = by_chunk.level_set(image, start, iterations=12, spacing=(7, 1, 1), **RANGE)
    assert same(found, wanted[None])


def test_a_front_that_vanishes_leaves_the_same_mask():
    phi = isoline.distance(BALL).clip(-200, 200)
    image, start = da.from_array(VOLUME, chunks=(40, 50, 50)), da.from_array(phi, chunks=(40, 50, 50))
    lazy = by_chunk.level_set(image, start, iterations=40, target=1000.0, epsilon=1.0)
    assert (lazy > 0).all().compute(scheduler="synchronous")


def test_constants_are_those_of_the_kernels():
    header = (ROOT / "kernels/level_set.h").read_text(encoding="utf-8")
    plan = (ROOT / "src/level_set/plan.rs").read_text(encoding="utf-8")
    assert f"TILE = {by_chunk.TILE}, TILE_SLICE = {by_chunk.TILE_SLICE};" in header
    assert f"BAND_REACH = {by_chunk.BAND_REACH};" in header
    steps = int(re.search(r"REINITIALISATION_STEPS: u32 = (\d+);", plan)[1])
    assert by_chunk.REINITIALISATION_REACH == 2 * steps
    scheme = (ROOT / "src/edge_strength/mod.rs").read_text(encoding="utf-8")
    assert f"after every {by_chunk.FLUSHED_EVERY}th iteration" in scheme
    assert f"IS_LINES = {_surface.LINES};" in (ROOT / "kernels/isosurface.h").read_text(encoding="utf-8")


def test_bytes_in_the_other_order_are_swapped():
    image, other = DISCS[30:50].astype(numpy.uint16), DISCS[30:50].astype(">u2")
    chunked, start = da.from_array(other, chunks=(9, 40, 50)), numpy.float32(BALL[:20]) * -2 + 1
    few, hard = dict(threshold=90, iterations=9), dict(gradient_threshold=12.0)
    assert same(by_chunk.edge_strength(chunked, **few), isoline.edge_strength(image, **few))
    assert same(by_chunk.edge_drawing(chunked, **hard), isoline.edge_drawing(image, **hard)[0])
    assert same(by_chunk.distance(chunked, threshold=90), isoline.distance(image, threshold=90))
    assert same(by_chunk.distance(chunked, threshold=90, largest=4), isoline.distance(image, threshold=90).clip(-4, 4))
    assert equal(now(by_chunk.isolines(chunked, [90.5])), isoline.isolines(image, [90.5]))
    assert equal(now(by_chunk.isosurface(chunked, level=90.5)), isoline.isosurface(image, level=90.5))
    starts = [da.from_array(start.astype(kind), chunks=(9, 40, 50)) for kind in ("<f4", ">f4")]
    fronts = [by_chunk.level_set(given, phi, iterations=4, **RANGE)
              for given, phi in zip((da.from_array(image, chunks=(9, 40, 50)), chunked), starts)]
    assert same(fronts[1], now(fronts[0]))


SELECTED = [
    lambda image, phi: by_chunk.edge_strength(image, threshold=90, iterations=9),
    lambda image, phi: by_chunk.edge_strength(image, threshold=90, iterations=18, rho=16, exchange_every=16, dimensions=3),
    lambda image, phi: by_chunk.edge_strength_axes(image, threshold=90, iterations=40),
    lambda image, phi: by_chunk.edge_drawing(image, gradient_threshold=12.0),
    lambda image, phi: by_chunk.edge_drawing_segments(image, gradient_threshold=12.0),
    lambda image, phi: by_chunk.edge_drawing_lines(image, gradient_threshold=12.0),
    lambda image, phi: by_chunk.edge_drawing_ellipses(image, gradient_threshold=12.0),
    lambda image, phi: by_chunk.isolines(image, [90.5]), lambda image, phi: by_chunk.isosurface(image, level=90.5),
    lambda image, phi: by_chunk.snake(image[8], [[(20, 25), (55, 25), (40, 60)]], background="window"),
    lambda image, phi: by_chunk.distance(image, threshold=90),
    lambda image, phi: by_chunk.distance(image, threshold=90, dimensions="slices"),
    lambda image, phi: by_chunk.distance(image, threshold=90, largest=4),
    lambda image, phi: by_chunk.objects(image, (phi < -8).astype("u1"), reach=3, margin=2),
    lambda image, phi: by_chunk.level_set(image, phi, iterations=4, **RANGE),
    lambda image, phi: by_chunk.level_set(image, phi, iterations=4, dimensions="slices", **RANGE)]


@pytest.mark.filterwarnings("ignore:objects")
@pytest.mark.parametrize("compute", SELECTED, ids=range(len(SELECTED)))
def test_chunks_that_a_selection_leaves_without_pixels_are_dropped(compute):
    pixels, phi = DISCS[30:50], isoline.distance(BALL[:20])
    chunks, arrays = [[10, 10], [45, 45], [51, 50]], (da.from_array(pixels, chunks=-1), da.from_array(phi, chunks=-1))
    wanted = dask.compute(compute(*(array.rechunk(chunks) for array in arrays)), scheduler="synchronous")[0]
    for axis in range(3):
        some = list(chunks)
        some[axis] = [0, some[axis][0], 0, 0, some[axis][1], 0]
        got = dask.compute(compute(*(array.rechunk(some) for array in arrays)), scheduler="synchronous")[0]
        assert equal(got, wanted)


def test_slices_that_are_selected_by_their_values():
    image = da.from_array(DISCS, chunks=(10, 40, 33))
    chosen = image[image.sum(axis=(1, 2)) > numpy.median(DISCS.sum(axis=(1, 2)))].compute_chunk_sizes()
    assert 0 in chosen.chunks[0]
    whole = isoline.edge_strength(now(chosen), threshold=90, iterations=9)
    assert same(by_chunk.edge_strength(chosen, threshold=90, iterations=9), whole)


def test_nothing_is_computed_before_it_is_asked_for():
    def fails(block):
        raise AssertionError("computed")

    options = dict(dtype=numpy.uint8, meta=numpy.empty((0, 0, 0), numpy.uint8))
    image = da.from_array(VOLUME, chunks=CHUNKS).map_blocks(fails, **options)
    for lazy in (by_chunk.edge_strength(image), by_chunk.distance(image, largest=3), by_chunk.distance(image),
                 by_chunk.edge_drawing(image, gradient_threshold=9),
                 by_chunk.level_set(image, image.astype(numpy.float32), iterations=20, **RANGE)):
        assert lazy.shape == VOLUME.shape
        with pytest.raises(AssertionError, match="computed"):
            lazy.compute(scheduler="synchronous")


@pytest.mark.parametrize("call, kind, text", [
    (lambda image: by_chunk.edge_strength(VOLUME), TypeError, "must be a Dask array, but it is a ndarray"),
    (lambda image: by_chunk.edge_strength(image.astype(float)), isoline.InvalidType, "got float64"),
    (lambda image: by_chunk.edge_strength(image[None]), isoline.InvalidSize, "got the shape ("),
    (lambda image: isoline.edge_strength(image[image[:, 0, 0] > 99]), isoline.InvalidSize, "its chunks must be known"),
    (lambda image: by_chunk.edge_strength(image[image[:, 0, 0] > 99]), isoline.InvalidSize, "its chunks must be known"),
    (lambda image: by_chunk.distance(da.ma.masked_greater(image, 99)), isoline.InvalidArgument, "fill it first"),
    (lambda image: by_chunk.level_set(image, da.ma.masked_greater(image.astype("f4"), 99), iterations=1, **RANGE),
     isoline.InvalidArgument, "cannot use phi: the masked pixels"),
    (lambda image: by_chunk.edge_strength(image, device=isoline.Context("cpu")), TypeError, "cannot be sent to a worker"),
    (lambda image: by_chunk.edge_strength(image, roh=2), TypeError, "no parameter 'roh'"),
    (lambda image: by_chunk.edge_strength(image, rho=-1), isoline.InvalidArgument, "rho must be at least"),
    (lambda image: by_chunk.edge_strength(image, exchange_every=10), isoline.InvalidArgument, "a multiple of 16"),
    (lambda image: by_chunk.edge_strength(image, exchange_every=16, rho=10), isoline.InvalidArgument, "a power of two"),
    (lambda image: by_chunk.edge_strength(image, spacing=(1, 1)), isoline.InvalidArgument, "or 3 in the order"),
    (lambda image: by_chunk.edge_strength(image, mode="converged", dimensions="volume"), isoline.InvalidArgument,
     "every voxel depends on all others"),
    (lambda image: by_chunk.edge_strength(image.astype("f4"), start="image"), isoline.InvalidArgument, "start_min"),
    (lambda image: by_chunk.distance(image, largest=0), isoline.InvalidArgument, "largest must be None or a finite number"),
    (lambda image: by_chunk.distance(image, device="cuda"), isoline.InvalidArgument, "several chunks on 'cuda'"),
    (lambda image: by_chunk.distance(image, spacing=(1, 1)), isoline.InvalidArgument, "or 3 in the order"),
    (lambda image: by_chunk.distance(image, largest=3, spacing=(1, 1)), isoline.InvalidArgument, "or 3 in the order"),
    (lambda image: by_chunk.edge_drawing(image), isoline.InvalidArgument, "cannot leave gradient_threshold automatic"),
    (lambda image: by_chunk.edge_drawing(image.astype("f4"), gradient_threshold=3), isoline.InvalidArgument, "range_min"),
    (lambda image: by_chunk.edge_drawing_lines(image), isoline.InvalidArgument, "cannot leave gradient_threshold automatic"),
    (lambda image: by_chunk.isolines(image), isoline.InvalidArgument, "cannot leave levels automatic"),
    (lambda image: by_chunk.isolines(image[image[:, 0, 0] > 100], [5]), isoline.InvalidSize, "compute_chunk_sizes()"),
    (lambda image: by_chunk.isosurface(image[image[:, 0, 0] > 100], level=5), isoline.InvalidSize, "must be known"),
    (lambda image: by_chunk.distance(image, spacing="123"), isoline.InvalidArgument, "(got '123')"),
    (lambda image: by_chunk.snake(image[0], 5, background="window"), TypeError, "a sequence of polygons (got 5)"),
    (lambda image: by_chunk.isolines(image, None), isoline.InvalidArgument, "cannot leave levels automatic"),
    (lambda image: by_chunk.edge_strength_axes(image, axis_min_length=-1), isoline.InvalidArgument, "axis_min_length"),
    (lambda image: by_chunk.edge_strength_axes(image, mode="converged", dimensions="volume"), isoline.InvalidArgument,
     "every voxel depends on all others"),
    (lambda image: by_chunk.isosurface(image), isoline.InvalidArgument, "cannot leave level automatic in chunks"),
    (lambda image: by_chunk.isosurface(image, level=3, spacing=(1, 1)), isoline.InvalidArgument, "or 3 in the order"),
    (lambda image: by_chunk.isosurface(image, level=math.inf), isoline.InvalidArgument, "level must be"),
    (lambda image: by_chunk.snake(image, squares(40, 9), background="window"), isoline.InvalidSize, "got the shape ("),
    (lambda image: by_chunk.snake(image[0], squares(40, 9)), isoline.InvalidArgument, "background must be 'window'"),
    (lambda image: by_chunk.snake(image[0], squares(40, 9), background="window", pyramid_levels=2), isoline.InvalidArgument,
     "pyramid_levels must be 1 (got 2)"),
    (lambda image: by_chunk.snake(image[0], [[(-3, 5), (9, 5), (9, 12)]], background="window", overlap="excluded"),
     isoline.InvalidArgument, "polygon 0 must lie in the image, or outside of it (got x from -3 to 9, y from 5 to 12)"),
    (lambda image: by_chunk.snake(image[0].astype("f4"), squares(40, 9), background="window"), isoline.InvalidArgument,
     "cannot leave range_min automatic"),
    (lambda image: by_chunk.snake(image[0], None, background="window"), isoline.InvalidArgument, "without starts"),
    (lambda image: by_chunk.snake(image[0], [[(0, 0, 1)]], background="window"), ValueError, "a sequence of (x, y)"),
    (lambda image: by_chunk.level_set(image, image, iterations=5, **RANGE), isoline.InvalidType, "phi: it must be float32"),
    (lambda image: by_chunk.level_set(image, image[1:], iterations=5, **RANGE), isoline.InvalidSize, "shape of the image"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, target=9), isoline.InvalidArgument,
     "epsilon automatic"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, epsilon=9), isoline.InvalidArgument,
     "cannot leave target automatic in chunks: it is measured around the whole start; give target and epsilon"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, regions="chan_vese", **RANGE),
     isoline.InvalidArgument, "measured in the whole image"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, edge_weight=1.0, **RANGE),
     isoline.InvalidArgument, "edge_contrast automatic"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, pyramid_levels=2, **RANGE),
     isoline.InvalidArgument, "pyramid_levels 2"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, variant="band", **RANGE),
     isoline.InvalidArgument, "leave it out"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=50, exchange_every=8, **RANGE),
     isoline.InvalidArgument, "a multiple of 6"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=-1, **RANGE), isoline.InvalidArgument,
     "a whole number of at least 0"),
    (lambda image: by_chunk.level_set(image, VOLUME.astype("f4"), iterations=5, **RANGE), TypeError,
     "phi must be a Dask array, but it is a ndarray; make one by dask.array.from_array"),
    (lambda image: by_chunk.level_set(image, None, iterations=5, **RANGE), TypeError, "phi must be a Dask array"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations="5", **RANGE), ValueError, "but it is '5'"),
    (lambda image: by_chunk.level_set(image, image.astype("f4"), iterations=5, exchange_every=0, **RANGE), ValueError,
     "exchange_every must be a multiple of"),
    (lambda image: by_chunk.edge_strength(image, exchange_every="16"), ValueError, "exchange_every must be a whole number"),
    (lambda image: by_chunk.edge_strength(image, tolerance=0.1), ValueError, "tolerance of edge_strength has no effect"),
    (lambda image: by_chunk.distance(image, largest="4"), ValueError, "finite number greater than 0, but it is '4'"),
    (lambda image: by_chunk.distance(image[:0]), isoline.InvalidSize, "each side must have a pixel (got the shape (0, 90, "),
    (lambda image: by_chunk.isolines(image[:, :0], [3]), isoline.InvalidSize, "each side must have a pixel"),
    (lambda image: by_chunk.distance(image, device="gpu"), isoline.InvalidArgument, "cuda:all (got 'gpu')"),
    (lambda image: by_chunk.isolines(image, [numpy.nan]), isoline.InvalidArgument, "level"),
    (lambda image: by_chunk.isolines(image, "a"), ValueError, "levels must be numbers (got 'a')")],
    ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_computed_by_chunk_says_why(call, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        call(da.from_array(VOLUME, chunks=CHUNKS))


def test_whole_numbers_may_be_floats():
    image = da.from_array(VOLUME[:20], chunks=(10, 45, 50))
    wanted = isoline.edge_strength(VOLUME[:20], threshold=190, iterations=32)
    assert same(by_chunk.edge_strength(image, threshold=190, iterations=32.0, exchange_every=16.0), wanted)


@pytest.mark.workers
def test_a_worker_without_the_library_says_so():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None,
                                  env={"ISOLINE_LIBRARY": "/nothing.so"}) as cluster, distributed.Client(cluster):
        lazy = by_chunk.edge_strength(da.from_array(VOLUME[:2], chunks=60), iterations=3)
        with pytest.raises(OSError, match="cannot load the Isoline library: /nothing.so"):
            lazy.compute()


@pytest.mark.workers
def test_two_processes_of_a_cluster_give_the_same_bits():
    distributed = pytest.importorskip("distributed")
    phi = isoline.distance(BALL).clip(-200, 200)
    image, start = da.from_array(VOLUME, chunks=(40, 50, 50)), da.from_array(phi, chunks=(40, 50, 50))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        field = by_chunk.edge_strength(image, dimensions="volume", threshold=190, iterations=20)
        edges = by_chunk.edge_drawing(image, gradient_threshold=30)
        front = by_chunk.level_set(image, start, iterations=12, **RANGE)
        distance = distance_in_chunks(SPECKS, CHUNKS, (2, 1, 1.5))
        field, edges, front, distance = client.gather(client.compute([field, edges, front, distance]))
        assert len(client.ncores()) == 2
    assert numpy.array_equal(field, isoline.edge_strength(VOLUME, dimensions="volume", threshold=190, iterations=20))
    assert numpy.array_equal(edges, isoline.edge_drawing(VOLUME, gradient_threshold=30)[0])
    assert numpy.array_equal(distance, isoline.distance(SPECKS, spacing=(2, 1, 1.5)))
    assert numpy.array_equal(front, whole_level_set(VOLUME, phi, 12, 1, **RANGE))
