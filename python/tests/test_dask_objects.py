"""Objects in chunks with halos: those of the whole image, whatever the chunks are."""
import warnings

import dask
import numpy
import pytest

import isoline

da = pytest.importorskip("dask.array")
from isoline import _objects  # noqa: E402
from isoline import dask as by_chunk  # noqa: E402

SPACING = (2.0, 1.0, 1.0)
SHAPE = (30, 90, 101)
CHUNKS = (15, 45, 50)
REACH, MARGIN = 30.0, 6.0
# Centres and radii of balls, of which some touch across the borders of chunks, and one is cut by that of the image.
BALLS = [(28, 40, 46, 10), (28, 40, 63, 9), (30, 62, 40, 11), (16, 20, 20, 8), (44, 70, 80, 9), (40, 15, 85, 8),
         (30, 85, 95, 9)]
Z, Y, X = (numpy.indices(SHAPE) * numpy.reshape(SPACING, (3, 1, 1, 1)))


def balls(share):
    labels = numpy.zeros(SHAPE, numpy.uint16)
    for number, (z, y, x, radius) in enumerate(BALLS, 1):
        labels[(Z - z) ** 2 + (Y - y) ** 2 + (X - x) ** 2 <= (share * radius) ** 2] = number
    return labels


TRUTH, STARTS = balls(1), balls(0.4)
NOISE = numpy.random.default_rng(3).normal(0, 8, SHAPE)
IMAGE = (40 + numpy.array([0, 90, 120, 70, 100, 90, 110, 80])[TRUTH] + NOISE).clip(0, 255).astype(numpy.uint8)


def grown(image=IMAGE, starts=STARTS, chunks=CHUNKS, scheduler="synchronous", **options):
    options = {"reach": REACH, "margin": MARGIN, "spacing": SPACING, **options}
    starts = None if starts is None else da.from_array(starts, chunks=(7, 40, 30)[-image.ndim:])
    labels, table = by_chunk.objects(da.from_array(image, chunks=chunks), starts, **options)
    found, rows = dask.compute(labels, table, scheduler=scheduler)
    assert found.dtype == labels.dtype == numpy.uint32 and found.shape == labels.shape and rows.dtype == table.dtype
    return found, rows


def check_table(labels, table):
    """Voxels, volumes and centres are those of the labels."""
    voxels = numpy.bincount(labels.ravel(), minlength=table["label"].max() + 1)
    assert (table["voxels"] == voxels[table["label"]]).all() and voxels[1:].sum() == table["voxels"].sum()
    assert (table["volume"] == 2 * table["voxels"]).all()
    for row in table[table["voxels"] > 0]:
        places = [axis[labels == row["label"]].mean() for axis in (X, Y, Z)]
        assert numpy.allclose(row["centre"], places, atol=1e-9)


@pytest.mark.parametrize("chunks", [CHUNKS, (30, 30, 34), (8, 90, 101)], ids=str)
def test_objects_are_those_of_the_whole_image(chunks):
    whole, rows = isoline.objects(IMAGE, STARTS, margin=MARGIN, spacing=SPACING)
    labels, table = grown(chunks=chunks)
    assert numpy.count_nonzero(labels != whole) < 2e-3 * numpy.count_nonzero(whole)
    check_table(labels, table)
    assert (table["label"] == rows["label"]).all() and (table["flags"] == rows["flags"]).all()
    assert numpy.allclose(table["mean"], rows["mean"], atol=0.5)
    assert numpy.allclose(table["background"], rows["background"], atol=0.5)


def test_neither_the_scheduler_nor_the_chunks_of_the_starts_count():
    labels, table = grown()
    others, rows = grown(scheduler="threads")
    assert numpy.array_equal(labels, others) and table.tobytes() == rows.tobytes()


def test_one_chunk_is_one_call():
    image = IMAGE.astype(numpy.float32)
    whole, rows = isoline.objects(image, STARTS, margin=MARGIN, spacing=SPACING)
    labels, table = grown(image, chunks=-1)
    assert numpy.array_equal(labels, whole)
    assert all(numpy.array_equal(table[name], rows[name]) for name in ("label", "flags", "voxels", "volume", "mean"))
    assert numpy.allclose(table["centre"], rows["centre"], rtol=1e-12)
    plane = IMAGE[14]
    whole, rows = isoline.objects(plane, STARTS[14], margin=MARGIN)
    labels, table = grown(plane, STARTS[14], (45, 101), spacing=None, reach=45)
    assert numpy.array_equal(labels, whole) and numpy.array_equal(table["volume"], rows["volume"]) and len(table) > 3


def test_starts_are_found_where_none_are_given():
    options = dict(threshold=85, prominence=2.0)
    whole, rows = isoline.objects(IMAGE, margin=MARGIN, spacing=SPACING, **options)
    labels, table = grown(starts=None, **options)
    assert len(rows) == len(table) == len(BALLS) and list(table["label"]) == list(range(1, len(BALLS) + 1))
    check_table(labels, table)
    for row in rows:
        own = whole == row["label"]
        label = numpy.bincount(labels[own]).argmax()
        assert 2 * numpy.count_nonzero(own & (labels == label)) > 0.99 * (own.sum() + (labels == label).sum())


def test_starts_are_kept_in_4_bytes_a_voxel():
    options = dict(sizes=tuple((side,) for side in SHAPE), depths=[0] * 3, spacing=list(SPACING), device="cpu", below=False)
    part = _objects.found(IMAGE, parameters=dict(threshold=85), block_id=(0, 0, 0), **options)
    assert part.item().voxels.dtype == numpy.uint32 and len(part.item().voxels) > 1000


def test_an_object_is_grown_once_in_each_chunk_for_both_results(monkeypatch):
    calls, operation = [], isoline.objects
    monkeypatch.setattr(isoline, "objects", lambda *given, **options: calls.append(options) or operation(*given, **options))
    grown(starts=None, threshold=85)
    assert len(calls) == 16  # in 8 chunks once for the starts and once for the objects


@pytest.mark.parametrize("foreground", ["above", "below"])
def test_floats_have_the_levels_of_the_whole_image(foreground):
    image = IMAGE.astype(numpy.float32) * (0.01 if foreground == "above" else -0.01) + 3
    image[2, 80, 90:99], image[0, 0, 0] = -200 if foreground == "above" else 200, numpy.inf  # beside all objects
    options = dict(threshold=3.85 if foreground == "above" else 2.15, prominence=2.0, foreground=foreground, margin=MARGIN)
    whole, rows = isoline.objects(image, spacing=SPACING, **options)
    labels, table = grown(image, None, **options)
    assert len(rows) == len(table) == len(BALLS)
    assert numpy.count_nonzero((labels > 0) != (whole > 0)) < 2e-3 * numpy.count_nonzero(whole)
    for name in ("mean", "background"):
        assert numpy.allclose(numpy.sort(table[name]), numpy.sort(rows[name]), atol=0.01)
    # A single hot or dead pixel does not count, and a range can be given.
    steps = image.copy()
    steps[29, 0, 0], steps[29, -1, -1] = 1e30, -1e30
    scaled = dict(range_min=-200.0, range_max=200.0)
    for pixels, given in (steps, {}), (image, scaled):
        whole, rows = isoline.objects(pixels, STARTS, spacing=SPACING, margin=MARGIN, foreground=foreground, **given)
        labels, table = grown(pixels, chunks=-1, foreground=foreground, **given)
        assert numpy.array_equal(labels, whole) and table["mean"] == pytest.approx(rows["mean"], rel=1e-12)
        assert rows["mean"] == pytest.approx([pixels[whole == label].mean() for label in rows["label"]], abs=0.02)
    for wrong in dict(range_min=1), dict(range_min=2, range_max=1), dict(range_min=0, range_max=9):
        with pytest.raises(isoline.InvalidArgument, match="range_m"):
            grown(IMAGE if len(wrong) > 1 and wrong["range_min"] == 0 else image, **wrong)
    nothing = numpy.full((40, 40), numpy.nan, numpy.float32)
    labels, table = grown(nothing, None, 20, spacing=None, reach=5, threshold=1)
    assert not labels.any() and len(table) == 0


@pytest.mark.parametrize("axis", [1, 2])
def test_the_automatic_range_sees_neighbours_in_two_chunks(axis):
    image = numpy.random.default_rng(4).random((6, 40, 60), numpy.float32)
    first, second = [2, 9, 29], [2, 9, 29]
    second[axis] += 1  # chunks begin there
    for at, value in (first, 7), (second, 9), ([4, 9, 10], 50), ([5, 9, 10], 50):
        image[tuple(at)] = value
    for at, value in (first, -7), (second, -9):
        image[0][tuple(at[1:])] = value
    low, high = _objects.automatic_range(da.from_array(image, chunks=(2, 10, 30)))
    assert dask.compute(low, high) == (-9, 21)  # those of neighbours are -7 and 7; neighbours along z do not count
    whole, rows = isoline.objects(image, iterations=0)
    given, same = isoline.objects(image, iterations=0, range_min=-9, range_max=21)
    assert numpy.array_equal(whole, given) and rows.tobytes() == same.tobytes()


def test_an_object_over_many_chunks_is_told():
    y, x = numpy.mgrid[:300, :300] - 150
    image = numpy.where(y * y + x * x < 90 ** 2, 200, 20).astype(numpy.uint8)
    starts = (y * y + x * x < 20 ** 2).astype(numpy.uint8)
    options = dict(chunks=75, reach=40, margin=80, spacing=None)
    with pytest.warns(UserWarning, match="an object reaches the end of a halo"):
        _, table = grown(image, starts, **options)
    assert table["flags"] & _objects.CUT
    with pytest.warns(UserWarning, match="chunks see a start in different ways"):
        _, table = grown(image, None, threshold=100, **options)
    assert len(table) == 0


def test_a_line_is_at_the_border_of_an_image_of_one_row():
    image = numpy.zeros((1, 60), numpy.uint8)
    image[0, 20:40] = 200
    starts = (image > 0).astype(numpy.uint8)
    _, rows = isoline.objects(image, starts, margin=5)
    _, table = grown(image, starts, (1, 30), reach=25, margin=5, spacing=None)
    assert list(table["flags"]) == list(rows["flags"]) == [1]


def test_an_object_beyond_the_halo_is_told():
    with pytest.warns(UserWarning, match="an object reaches the end of a halo and may be cut"):
        _, table = grown(reach=6)
    assert (table["flags"] & _objects.CUT).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grown()
        grown(iterations=0)
    with pytest.warns(UserWarning, match="not at rest after the last iteration"):
        grown(iterations=10)


def test_labels_may_be_large_and_objects_may_vanish():
    numbers = numpy.array([0, 5, 70000, 2 ** 32 - 1, 8, 9, 10, 11], numpy.int64)
    starts = STARTS.astype(numpy.int64)
    starts[4, 5:9, 60:64] = 7  # no object is there
    starts[(STARTS == 7)] = 0
    labels, table = grown(starts=numbers[starts], keep_starts=False)
    assert list(table["label"]) == sorted(numbers[1:])
    assert table["voxels"][table["label"] == 11] == 0 and numpy.isnan(table["centre"][table["label"] == 11]).all()
    assert set(numpy.unique(labels)) == set(numbers) - {11}


def test_an_image_without_objects_has_none():
    labels, table = grown(starts=numpy.zeros_like(STARTS))
    assert not labels.any() and len(table) == 0
    labels, table = grown(starts=None, threshold=255)
    assert not labels.any() and len(table) == 0


@pytest.mark.parametrize("options, text", [
    (dict(margin=None), "cannot leave margin automatic"), (dict(starts=None), "cannot leave threshold automatic"),
    (dict(reach=0), "reach must be"), (dict(reach=numpy.nan), "reach must be"), (dict(reach="far"), "reach must be"),
    (dict(starts=STARTS[1:]), "must have the shape of the image"), (dict(alpha=2), "alpha must be"),
    (dict(starts=0.5 * STARTS), "labels must be whole numbers"), (dict(starts=-1.0 * STARTS), r"\(got -\d.0\)")],
    ids=range(9))
def test_bad_input(options, text):
    with pytest.raises(isoline.Error, match=text):
        grown(**options)


@pytest.mark.parametrize("chunks", [100, 50, (50, 100)])
def test_chunks_that_a_long_reach_joins_are_one_image(chunks):
    y, x = numpy.mgrid[:100, :100]
    image = (200 * (numpy.hypot(y - 50, x - 40) < 20)).astype(numpy.uint8)
    labels, table = grown(image, None, chunks, reach=60, threshold=100, spacing=1)
    assert len(table) == 1 and table["voxels"][0] == (labels == 1).sum() > 1200
