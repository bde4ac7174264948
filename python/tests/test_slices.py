"""Arrays that are not in memory: slices are read and written one after the other."""
import re
import threading
import types
import warnings

import numpy
import pytest

import isoline

zarr = pytest.importorskip("zarr")


class Lazy:
    """A stack that is made slice by slice, and takes slices; it notes what is asked for."""

    def __init__(self, made, dtype=numpy.uint16, failing=None, chunks=(3, 8, 8)):
        self.made, self.dtype, self.failing, self.chunks = made, numpy.dtype(dtype), failing, chunks
        self.shape, self.asked, self.threads = made.shape, [], set()

    def __getitem__(self, index):
        self.asked.append((index.start, index.stop))
        self.threads.add(threading.get_ident())
        if self.failing is not None and index.start <= self.failing < index.stop:
            raise OSError(f"slice {self.failing} is on a lost disk")
        return self.made[index].astype(self.dtype)

    def __setitem__(self, index, pixels):
        self.asked.append((index.start, index.stop))
        self.made[index] = pixels


def drawing(depth=20):
    random = numpy.random.default_rng(5)
    image = random.normal(300, 10, (depth, 70, 90))
    image[:, 20:40, 30:60] += 400
    return image.astype(numpy.uint16)


def test_results_are_those_of_arrays_in_memory():
    image = drawing()
    for call in (lambda given: isoline.edge_strength(given, threshold=500, start="image"),
                 lambda given: isoline.edge_drawing(given)[0],
                 lambda given: isoline.edge_drawing(given)[1].points,
                 lambda given: isoline.signed_distance(given, threshold=500, dimensions="slices"),
                 lambda given: isoline.isolines(given).points,
                 lambda given: isoline.edge_drawing_maps(given).anchors,
                 lambda given: isoline.edge_drawing_threshold(given)):
        lazy = Lazy(image)
        assert numpy.array_equal(call(lazy), call(image))
        assert lazy.asked and lazy.threads == {threading.get_ident()}


def test_slices_of_a_chunk_are_read_and_written_together():
    image, field = Lazy(drawing()), Lazy(numpy.zeros((20, 70, 90), numpy.float32), numpy.float32, chunks=(8, 70, 90))
    report = isoline.Report()
    out = isoline.edge_strength(image, threshold=500, out=field, report=report)
    assert out is field and report.slices_done == 20
    assert image.asked == [(z, min(z + 3, 20)) for z in range(0, 20, 3)]
    assert field.asked == [(0, 8), (8, 16), (16, 20)]
    assert numpy.array_equal(field.made, isoline.edge_strength(image.made, threshold=500))


SQUARES = [[(x, 15), (x + 40, 15), (x + 40, 45), (x, 45)] for x in (20, 24, 28, 32)]


def test_snakes_read_the_slices_that_have_some():
    image, on = drawing(), [7, 2, 19, 2]
    wanted = isoline.snake(image, SQUARES, on)
    lazy, labels = Lazy(image), Lazy(numpy.zeros(image.shape, numpy.uint16), chunks=(8, 70, 90))
    found = isoline.snake(lazy, SQUARES, numpy.array(on))
    assert lazy.asked == [(0, 3), (6, 9), (18, 20)] and lazy.threads == {threading.get_ident()}
    assert found.slices().tolist() == wanted.slices().tolist() == on
    assert numpy.array_equal(found.statistics(), wanted.statistics())
    assert found.labels(out=labels) is labels and labels.asked == [(0, 8), (8, 16), (16, 20)]
    assert numpy.array_equal(labels.made, wanted.labels()) and set(numpy.unique(labels.made[7])) == {0, 1}
    for index in range(4):
        alone = isoline.snake(image[on[index]], SQUARES[index:index + 1])
        assert numpy.array_equal(alone.polygons()[0], found.polygons()[index])
    # One slice in memory is kept, several are not.
    alone.restart(SQUARES)
    with pytest.raises(isoline.Error, match="keeps none"):
        wanted.restart(SQUARES)


def test_wrong_slices_of_snakes_are_refused():
    image = drawing(3)
    for slices in ([0, 1], [0, 1, 2, 0.5], [0, 1, 2, -1], [0, 1, 2, numpy.nan], [0, 1, 2, 2 ** 32], 0):
        with warnings.catch_warnings(), pytest.raises(ValueError, match="cannot use slices"):
            warnings.simplefilter("error")
            isoline.snake(image, SQUARES, slices)
    for slices in (["a"] * 4, [None] * 4, [[0], [1, 2]]):
        with pytest.raises(isoline.InvalidArgument, match="slices must be numbers"):
            isoline.snake(image, SQUARES, slices)
    with pytest.raises(ValueError, match="give polygons"):
        isoline.snake(image, None, [0])
    with pytest.raises(isoline.InvalidArgument, match=r"the image has 3 \(got slice 3\)"):
        isoline.snake(image, SQUARES, [0, 1, 2, 3])
    with pytest.raises(OSError, match="slice 2 is on a lost disk"):
        isoline.snake(Lazy(image, failing=2), SQUARES, [0, 1, 2, 0])
    assert isoline.snake(image).slices().tolist() == [0, 1, 2]
    assert isoline.snake(image, SQUARES[0], 2).slices().tolist() == [2]


def test_volumes_are_read_as_a_whole():
    image = Lazy(drawing(6))
    image.__class__ = type("Whole", (Lazy,), {"__array__": lambda self, dtype=None, copy=None: self.made})
    distance = isoline.signed_distance(image, threshold=500)
    assert numpy.array_equal(distance, isoline.signed_distance(image.made, threshold=500))


def test_distances_of_volumes_are_written_by_slices():
    image = drawing()
    for given in (image, Lazy(image)):
        field = Lazy(numpy.zeros(image.shape, numpy.float32), numpy.float32, chunks=(8, 70, 90))
        report = isoline.Report()
        out = isoline.distance(given, threshold=500, spacing=(2.3, 0.9, 0.7), out=field, report=report)
        assert out is field and report.slices_done == 20 and report.device_count == 1
        assert field.asked == [(0, 8), (8, 16), (16, 20)] and field.threads <= {threading.get_ident()}
        expected = isoline.distance(image, threshold=500, spacing=(2.3, 0.9, 0.7), device="cpu")
        assert numpy.array_equal(field.made, expected)
    assert given.asked == [(z, min(z + 3, 20)) for z in range(0, 20, 3)]
    with pytest.raises(OSError, match="slice 7 is on a lost disk"):
        isoline.distance(Lazy(image, failing=7), threshold=500, out=field)


@pytest.mark.parametrize("kind", ["<u2", ">u2"])
def test_zarr_streams(tmp_path, kind):
    image = drawing()
    stored = zarr.open_array(str(tmp_path / "in.zarr"), mode="w", shape=image.shape, chunks=(4, 32, 32), dtype=kind)
    stored[:] = image
    field = zarr.open_array(str(tmp_path / "out.zarr"), mode="w", shape=image.shape, chunks=(7, 64, 64), dtype="f4")
    for dimensions in (2, 3):
        isoline.edge_strength(stored, dimensions=dimensions, threshold=500, out=field)
        assert numpy.array_equal(field[:], isoline.edge_strength(image, dimensions=dimensions, threshold=500))
        isoline.distance(stored, dimensions=dimensions, threshold=500, out=field)
        assert numpy.array_equal(field[:], isoline.distance(image, dimensions=dimensions, threshold=500))


def test_a_zarr_of_two_axes_is_a_slice(tmp_path):
    image = drawing(1)[0]
    square = SQUARES[:1]

    def stored(name, dtype, fill):
        array = zarr.open_array(str(tmp_path / name), mode="w", shape=image.shape, chunks=(32, 32), dtype=dtype)
        array[:] = fill
        return array

    given, snake = stored("in.zarr", "u2", image), isoline.snake(image, square)
    for call, dtype in ((lambda image, out: isoline.edge_strength(image, threshold=500, out=out), "f4"),
                        (lambda image, out: isoline.distance(image, threshold=500, out=out), "f4"),
                        (lambda image, out: isoline.edge_drawing(image, out=out)[0], "u1"),
                        (lambda image, out: snake.labels(out), "u2"), (lambda image, out: snake.mask(out), "u1")):
        out = stored("out.zarr", dtype, 7)
        assert call(given, out) is out and numpy.array_equal(out[:], call(image, None))
        with pytest.raises(isoline.InvalidType, match="out must be .* .got bool.; pass numpy.empty"):
            call(given, stored("out.zarr", bool, False))
    isoline.snake(given, square).restart(square)  # its one slice is kept


def test_isosurface_of_slices():
    image = drawing().astype(numpy.float32)
    for options in (dict(level=500), dict(close=False, spacing=(2, 1, 1))):
        found, wanted = isoline.isosurface(Lazy(image), **options), isoline.isosurface(image, **options)
        assert numpy.array_equal(found.vertices, wanted.vertices) and numpy.array_equal(found.triangles, wanted.triangles)
        assert numpy.array_equal(found.normals, wanted.normals) and found.area == wanted.area


def test_memory_maps_are_arrays_in_memory(tmp_path):
    image = drawing()
    image.tofile(tmp_path / "stack.raw")
    mapped = numpy.memmap(tmp_path / "stack.raw", numpy.uint16, "r", shape=image.shape)
    field = numpy.memmap(tmp_path / "field.raw", numpy.float32, "w+", shape=image.shape)
    isoline.edge_strength(mapped, threshold=500, out=field)
    assert numpy.array_equal(field, isoline.edge_strength(image, threshold=500))


def test_exceptions_of_the_array_are_raised():
    with pytest.raises(OSError, match="slice 7 is on a lost disk"):
        isoline.edge_strength(Lazy(drawing(), failing=7))
    with pytest.raises(OSError, match="lost disk"):
        isoline.isolines(Lazy(drawing(), failing=19))
    isoline.edge_strength(Lazy(drawing()))

    class Stopping(Lazy):
        def __getitem__(self, index):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        isoline.edge_strength(Stopping(drawing()))


def test_wrong_arrays_are_refused():
    with pytest.raises(isoline.InvalidType, match="uint8, uint16 or float32"):
        isoline.edge_strength(Lazy(drawing(), numpy.int64))
    with pytest.raises(isoline.InvalidSize, match="it must have the shape of the image"):
        isoline.edge_strength(Lazy(drawing()), out=Lazy(numpy.zeros((20, 70, 91), numpy.float32), numpy.float32))
    with pytest.raises(isoline.InvalidType, match="out must be float32 .got uint16."):
        isoline.edge_strength(Lazy(drawing()), out=Lazy(drawing()))


def test_the_array_may_compute_by_itself():
    other = isoline.Context("cpu")

    class Computed(Lazy):
        def __getitem__(self, index):
            return isoline.edge_strength(self.made[index], threshold=500, device=other)

    image = drawing()
    distance = isoline.signed_distance(Computed(image, numpy.float32), threshold=0.5, dimensions="slices")
    field = isoline.edge_strength(image, threshold=500)
    assert numpy.array_equal(distance, isoline.signed_distance(field, threshold=0.5, dimensions="slices"))


class Whole(Lazy):
    """An array that notes whether it is read as a whole."""

    def __array__(self, dtype=None, copy=None):
        self.asked.append("all")
        return self.made.astype(self.dtype)


@pytest.mark.parametrize("call, text", [
    (lambda given: isoline.level_set(given(dtype="i4"), drawing() > 500), "(got int32)"),
    (lambda given: isoline.edge_strength(given(made=drawing()[None, None])), "image: .* (got the shape (1, 1, 20, 70"),
    (lambda given: isoline.objects(given(), spacing=-1), "spacing must be one finite number"),
    (lambda given: isoline.distance(given(), out=numpy.empty((3, 3), "f4")), "the shape of the image, (20, 70, 90) (got (3"),
    (lambda given: isoline.distance(given(), out=Lazy(drawing())), "out must be float32 (got uint16)"),
    (lambda given: isoline.level_set(given(), drawing() > 500, out=Lazy(drawing())), "out must be uint8 (got uint16)"),
    (lambda given: isoline.level_set(given(), drawing() > 500, out=[1]), "cannot write out"),
    (lambda given: isoline.distance(given(), level=3), "distance has no parameter 'level'")], ids=str)
def test_nothing_is_read_of_what_is_refused(call, text):
    arrays = []

    def given(made=None, dtype=numpy.uint16):
        arrays.append(Whole(drawing() if made is None else made, dtype))
        return arrays[-1]

    with pytest.raises((isoline.Error, TypeError), match=re.escape(text).replace(r"\.\*", ".*")):
        call(given)
    assert len(arrays) == 1 and not arrays[0].asked


def test_slices_with_a_mask_are_refused():
    class Masked(Lazy):
        def __getitem__(self, index):
            return numpy.ma.masked_greater(super().__getitem__(index), 500)

    with pytest.raises(isoline.InvalidArgument, match="fill it first"):
        isoline.edge_drawing(Masked(drawing()))


def test_a_group_is_no_array(tmp_path):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    for name in "01":
        with pytest.raises(isoline.InvalidType, match=r"it must be an array of numbers \(got Group\)"):
            isoline.distance(group)
        group.create_array(name, shape=(9, 9), dtype="u1")


def test_calls_on_whole_volumes_read_and_write_slices():
    made = drawing()
    whole = {"dimensions": "volume", "mode": "converged", "threshold": 500}
    for call, dtype in ((lambda image, out: isoline.level_set(image, made > 500, iterations=3, out=out), "u1"),
                        (lambda image, out: isoline.objects(image, (made > 500).astype("u1"), out=out)[0], "u2"),
                        (lambda image, out: isoline.edge_strength(image, out=out, **whole), "f4")):
        image, out = Lazy(made), Lazy(numpy.zeros(made.shape, dtype), dtype, chunks=(8, 70, 90))
        assert call(image, out) is out and numpy.array_equal(out.made, call(made, None))
        assert {(0, 3), (18, 20)} <= set(image.asked) and out.asked == [(0, 8), (8, 16), (16, 20)]
        with pytest.raises(OSError, match="slice 7 is on a lost disk"):
            call(Lazy(made, failing=7), None)
    for start in made > 500, Lazy((made > 500).astype("u1"), "u1"):
        with isoline.LevelSet(Lazy(made), start) as front:
            phi = Lazy(numpy.zeros(made.shape, "f4"), "f4")
            assert front.phi(out=phi) is phi and numpy.array_equal(phi.made, front.phi())
            front.write_phi(Lazy(-phi.made, "f4"))
            assert numpy.array_equal(front.phi() < 0, phi.made > 0)
    out = Lazy(numpy.zeros(made.shape[1:], "u1"), "u1")
    assert isoline.level_set(Lazy(made[0]), made[0] > 500, out=out) is out
    assert numpy.array_equal(out.made, isoline.level_set(made[0], made[0] > 500)) and out.made.any()


def test_an_output_that_is_opened_for_reading_is_refused_before_the_computation(tmp_path):
    made = drawing()
    zarr.open_array(tmp_path / "a.zarr", mode="w", shape=made.shape, dtype="u1")
    other = Lazy(made.astype("u1"), "u1")  # as a dataset of h5py
    other.file = types.SimpleNamespace(mode="r")
    for out in zarr.open_array(tmp_path / "a.zarr", mode="r"), other:
        for call in (lambda image, out: isoline.level_set(image, made > 500, iterations=3, out=out),
                     lambda image, out: isoline.edge_drawing(image, out=out)):
            image = Lazy(made)
            with pytest.raises(isoline.InvalidArgument, match="cannot write out: it must be writable .*; open its file for"):
                call(image, out)
            assert not image.asked and not other.asked
    other.file.mode = "r+"
    assert isoline.edge_drawing(made, out=other)[0] is other


def test_distances_in_memory_read_such_arrays_as_a_whole():
    made = drawing()
    for image in (made, made[0]):
        assert numpy.array_equal(isoline.distance(Lazy(image), threshold=500, dimensions="volume"),
                                 isoline.distance(image, threshold=500, dimensions="volume"))
    with pytest.raises(OSError, match="slice 4 is on a lost disk"):
        isoline.distance(Lazy(made, failing=4), threshold=500, dimensions="volume")


def test_slices_of_another_shape_are_refused():
    class Narrow(Lazy):
        def __getitem__(self, index):
            return super().__getitem__(index)[..., :1]

    for operation, count in (isoline.edge_strength, 3), (isoline.distance, 20):
        with pytest.raises(isoline.InvalidSize, match=re.escape(f"the shape ({count}, 70, 90) (got ({count}, 70, 1))")):
            operation(Narrow(drawing()), threshold=500)
