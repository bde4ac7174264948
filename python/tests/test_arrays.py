"""Arrays of every kind give the result of a packed one, without a copy where the library can read the memory as it is."""
import typing
import warnings

import numpy
import pytest

import isoline
from isoline import _arrays

RANDOM = numpy.random.default_rng(3)
VOLUME = RANDOM.integers(0, 256, (6, 21, 34), numpy.uint8)
FLOATS = VOLUME.astype(numpy.float32)


@pytest.mark.parametrize("array", [
    VOLUME, VOLUME[1:5, 2:, 3:30], VOLUME[:, ::2], VOLUME[::3], VOLUME[2], VOLUME[:, 4], VOLUME[..., :1], VOLUME[:1, :1]],
    ids=lambda array: f"{array.shape} {array.strides}")
def test_memory_of_packed_rows_is_read_in_place(array):
    image, owner = _arrays.describe(array)
    assert owner is array and image.data == array.ctypes.data
    assert numpy.array_equal(isoline.edge_strength(array, threshold=200), isoline.edge_strength(array.copy(), threshold=200))


@pytest.mark.parametrize("array", [
    VOLUME[..., ::2], VOLUME[::-1], VOLUME[:, ::-1], VOLUME.T, numpy.asfortranarray(VOLUME),
    VOLUME.astype(">u2"), VOLUME.astype(">f4"), numpy.broadcast_to(VOLUME[0], VOLUME.shape),
    numpy.frombuffer(b"\0" + VOLUME.astype(numpy.float32).tobytes(), numpy.uint8)[1:].view(numpy.float32)
         .reshape(VOLUME.shape)],
    ids=lambda array: f"{array.dtype.str} {array.strides} {array.flags.aligned}")
def test_other_memory_is_copied(array):
    image, owner = _arrays.describe(array)
    assert owner is not array and not numpy.shares_memory(owner, array)
    wanted = numpy.ascontiguousarray(array, array.dtype.newbyteorder("="))
    for call in (isoline.distance, isoline.edge_strength):
        assert numpy.array_equal(call(array, threshold=200), call(wanted, threshold=200))


COLOURS = RANDOM.integers(0, 256, (21, 34, 4), numpy.uint8)


@pytest.mark.parametrize("image", [COLOURS, COLOURS[..., :3], COLOURS[2:, :, :3].copy()], ids=lambda image: str(image.shape))
def test_colours_that_are_taken_for_slices_have_a_warning(image):
    for call in (isoline.edge_drawing_lines, isoline.edge_strength_axes, isoline.isolines,
                 lambda image: isoline.LevelSet(image, image > 99, target=100, epsilon=50)):
        with pytest.warns(UserWarning, match=r"is taken for \(z, y, x\), \d+ slices; if .* image\[..., :3\].mean") as found:
            call(image)
        assert [one.filename for one in found] == [__file__]


@pytest.mark.parametrize("image", [
    COLOURS[:9], COLOURS[:, :9], COLOURS[..., :2], COLOURS.astype(numpy.uint16), numpy.moveaxis(COLOURS, 2, 0),
    RANDOM.integers(0, 256, (21, 34, 9), numpy.uint8)[..., 2:5]], ids=lambda image: f"{image.shape} {image.dtype}")
def test_a_stack_has_no_warning(image):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        isoline.isolines(image)


def test_read_only_arrays_and_bool_are_inputs():
    mask = VOLUME > 128
    mask.flags.writeable = False
    assert _arrays.describe(mask)[1] is mask
    assert numpy.array_equal(isoline.distance(mask), isoline.distance(mask.astype(numpy.uint8)))


@pytest.mark.parametrize("kind", ["i1", "i2", "u4", "i4", ">i8", "u8", list])
def test_labels_and_masks_have_whole_numbers_of_any_type(kind):
    labels = numpy.zeros(VOLUME[0].shape, numpy.float32)
    labels[3:9, 3:9], labels[10:16, 20:26] = 2, 120
    whole = labels.astype(int).tolist() if kind is list else labels.astype(kind)
    with isoline.LevelSet(VOLUME[0], whole, target=100, epsilon=50) as front:
        assert numpy.array_equal(front.mask() > 0, labels > 0)
    assert numpy.array_equal(isoline.distance(whole), isoline.distance(labels))
    options = dict(target=100, epsilon=90, iterations=3)
    assert numpy.array_equal(isoline.level_set(VOLUME[0], whole, **options), isoline.level_set(VOLUME[0], labels, **options))
    found, table = isoline.objects(VOLUME[0], whole)
    wanted, rows = isoline.objects(VOLUME[0], labels)
    assert found.dtype == numpy.asarray(whole).dtype.newbyteorder("=") and found.dtype.isnative
    assert numpy.array_equal(found, wanted) and numpy.array_equal(table, rows) and set(table["label"]) == {2, 120}
    assert isoline.objects(VOLUME[0], whole, out=numpy.empty(labels.shape, "f4"))[0].dtype == numpy.float32


def test_objects_that_numpy_takes_are_arrays():
    class Other:
        def __array__(self, dtype=None, copy=None):
            return VOLUME

    for image in (Other(), memoryview(VOLUME)):
        assert numpy.array_equal(isoline.distance(image), isoline.distance(VOLUME))


def test_out_is_written_and_returned():
    canvas = numpy.full((6, 30, 40), -7, numpy.float32)
    part = canvas[:, 3:24, 5:39]
    assert isoline.edge_strength(VOLUME, threshold=200, out=part) is part
    assert numpy.array_equal(part, isoline.edge_strength(VOLUME, threshold=200))
    canvas[:, 3:24, 5:39] = -7
    assert (canvas == -7).all()


class Copying:
    """An array that NumPy gets a copy of, as of those of Dask."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array.copy()


class Own(Copying):
    def __array__(self, dtype=None, copy=None):
        return self.array


class Interface:
    """An array whose memory is known by the protocol alone."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class Exported:
    """An array in host memory that has DLPack alone."""

    def __init__(self, array):
        self.shape, self.__dlpack__, self.__dlpack_device__ = array.shape, array.__dlpack__, array.__dlpack_device__


def writers():
    """The functions that write an `out`, with the type of its pixels."""
    start, square = VOLUME[0] > 128, [[(5, 5), (20, 5), (20, 15), (5, 15)]]
    front, snake = isoline.LevelSet(VOLUME[0], start, target=100, epsilon=50), isoline.Snake(VOLUME[0], square)
    return [(lambda out: isoline.edge_strength(VOLUME[0], threshold=200, out=out), "f4"),
            (lambda out: isoline.distance(VOLUME[0], threshold=200, out=out), "f4"),
            (lambda out: isoline.edge_drawing(VOLUME[0], out=out)[0], "u1"), (lambda out: snake.labels(out), "u2"),
            (lambda out: snake.mask(out), "u1"), (lambda out: front.mask(out), "u1"), (lambda out: front.phi(out), "f4"),
            (lambda out: isoline.level_set(VOLUME[0], start, target=100, epsilon=50, out=out), "u1"),
            (lambda out: isoline.objects(VOLUME[0], out=out)[0], "u2")]


@pytest.mark.parametrize("kind", [Own, Interface, memoryview, Exported], ids=lambda kind: kind.__name__)
def test_out_is_any_memory(kind):
    if kind is Exported and numpy.lib.NumpyVersion(numpy.__version__) < "2.1.0":
        pytest.skip("this NumPy takes such arrays as read-only")
    for call, dtype in writers():
        canvas = numpy.full(VOLUME[0].shape, 7, dtype)
        call(kind(canvas))
        assert numpy.array_equal(canvas, call(None))


def test_out_that_is_a_copy_is_refused():
    for call, dtype in writers():
        canvas = numpy.full(VOLUME[0].shape, 7, dtype)
        outs = [Copying(canvas), canvas.tolist()]
        try:
            import dask.array
            outs.append(dask.array.from_array(canvas))
        except ImportError:
            pass
        for out in outs:
            with pytest.raises(isoline.InvalidArgument, match="cannot write out: .* must be a NumPy array.* pass an array"):
                call(out)


@pytest.mark.parametrize("dtype", ["f8", "i2", "?"])
def test_the_type_of_out_is_named(dtype):
    """An array of bool is refused, too: True would be the byte 255."""
    for call, kind in writers():
        out, wanted = numpy.empty(VOLUME[0].shape, dtype), numpy.dtype(kind).name
        with pytest.raises(isoline.InvalidType) as caught:
            call(out)
        said = str(caught.value)
        assert said.startswith(f"out must be {wanted}") and f"(got {out.dtype})" in said
        assert said.endswith(f"pass numpy.empty(image.shape, numpy.{wanted})")


def test_spacing_is_in_the_order_of_the_axes():
    mask = numpy.zeros((3, 1, 9), numpy.uint8)
    mask[1, 0, 4] = 1
    distance = isoline.distance(mask, spacing=(5, 1, 2), region="outside")
    assert distance[0, 0, 4] == 2.5 and distance[1, 0, 5] == 1 and distance[1, 0, 6] == 3
    assert numpy.array_equal(isoline.distance(mask[1], spacing=2), isoline.distance(mask[1], spacing=(2, 2)))
    # Type checkers accept an array, too.
    assert numpy.array_equal(isoline.distance(mask, spacing=numpy.array([5, 1, 2]), region="outside"), distance)
    assert numpy.ndarray in map(typing.get_origin, typing.get_args(_arrays.Spacing))


@pytest.mark.parametrize("call, kind, text", [
    (lambda: isoline.distance(VOLUME.astype(float)), isoline.InvalidType, "got float64"),
    (lambda: isoline.edge_strength(VOLUME.astype(numpy.int16)), isoline.InvalidType,
     "(got int16); convert them, as by array.astype(numpy.float32)"),
    (lambda: isoline.edge_strength(VOLUME.astype(numpy.int32)), isoline.InvalidType, "float32), which rounds them above 16"),
    (lambda: isoline.distance(VOLUME.astype(numpy.int64) << 24), isoline.InvalidArgument, "cannot use image: whole numbers"),
    (lambda: isoline.objects(VOLUME, numpy.full(VOLUME.shape, -1)), isoline.InvalidArgument, "whole numbers from 0"),
    (lambda: isoline.objects(VOLUME, numpy.full(VOLUME.shape, 16777217)), isoline.InvalidArgument,
     "cannot use starts: whole numbers of int64 must be from -16777216 to 16777216, which float32 has (got 16777217); "),
    (lambda: isoline.distance("image.tif"), TypeError, "cannot use image: it must be an array of numbers (got str)"),
    (lambda: isoline.distance({"a": VOLUME}), isoline.InvalidType, "it must be an array of numbers (got dict)"),
    (lambda: isoline.edge_strength(numpy.ma.masked_greater(VOLUME, 128)), isoline.InvalidArgument, "fill it first"),
    (lambda: isoline.distance(VOLUME, out=numpy.ma.masked_greater(VOLUME.astype("f4"), 128)), isoline.InvalidArgument,
     "cannot use a masked array"),
    (lambda: isoline.distance(VOLUME[0, 0]), isoline.InvalidSize, "got the shape (34,)"),
    (lambda: isoline.distance(VOLUME[None]), isoline.InvalidSize, "got the shape (1, 6, 21, 34)"),
    (lambda: isoline.distance(VOLUME[:0]), isoline.InvalidSize, "must have a pixel (got the shape (0, 21, 34))"),
    (lambda: isoline.distance(VOLUME[..., :0]), ValueError, "must have a pixel (got the shape (6, 21, 0))"),
    (lambda: isoline.distance(VOLUME, spacing=(1, 1)), isoline.InvalidArgument, "axes, (z, y, x) (got (1, 1))"),
    (lambda: isoline.distance(VOLUME, spacing=(1, 0, 1)), isoline.InvalidArgument, "spacing must be one finite number"),
    (lambda: isoline.distance(VOLUME, spacing=(1, -1, 1)), isoline.InvalidArgument, "(got (1, -1, 1))"),
    (lambda: isoline.distance(VOLUME[0], spacing="12"), isoline.InvalidArgument, "(y, x) (got '12')"),
    (lambda: isoline.distance(VOLUME, spacing=("1", "2", "3")), isoline.InvalidArgument, "(got ('1', '2', '3'))"),
    (lambda: isoline.distance(VOLUME, spacing=numpy.nan), isoline.InvalidArgument, "(got nan)"),
    (lambda: isoline.distance(VOLUME, out=numpy.empty((2, 2), numpy.float32)), isoline.InvalidSize,
     "cannot use out: it must have the shape of the image, (6, 21, 34) (got (2, 2))"),
    (lambda: isoline.level_set(VOLUME, VOLUME[:5]), isoline.InvalidSize, "cannot use initial_mask: it must have the shape"),
    (lambda: isoline.LevelSet(VOLUME, VOLUME[0]), isoline.InvalidSize, "(6, 21, 34) (got (21, 34))"),
    (lambda: isoline.objects(VOLUME, VOLUME[:, 1:]), isoline.InvalidSize, "cannot use starts: it must have the shape of"),
    (lambda: isoline.LevelSet(VOLUME, VOLUME).write_phi(VOLUME[0]), isoline.InvalidSize, "cannot use phi: it must have"),
    (lambda: isoline.Snake(VOLUME[0]).mask(VOLUME.copy()), isoline.InvalidSize, "(21, 34) (got (6, 21, 34))"),
    (lambda: isoline.distance(VOLUME, out=numpy.empty(VOLUME.shape, numpy.uint8)), isoline.InvalidType,
     "out must be float32 (got uint8); pass numpy.empty(image.shape, numpy.float32)"),
    (lambda: isoline.distance([[1, 2], [3]]), isoline.InvalidSize, "its rows must have the same length"),
    (lambda: isoline.objects(VOLUME, [[1, 2], [3]]), isoline.InvalidSize, "its rows must have the same length"),
    (lambda: isoline.Surface.of_mesh([[1, 2, 3], [3]], [[0, 1, 2]]), isoline.InvalidSize, "its rows must have the same"),
    (lambda: isoline.distance(VOLUME * 1j), isoline.InvalidType, "convert them, as by abs(array).astype(numpy.float32)"),
    (lambda: isoline.distance(VOLUME.astype("M8[s]")), isoline.InvalidType, "it must be an array of numbers (got an array"),
    (lambda: isoline.LevelSet(VOLUME, VOLUME).write_phi(VOLUME), isoline.InvalidType,
     "cannot use phi: its type must be float32 (got uint8)"),
    (lambda: isoline.distance(VOLUME.astype(object)), isoline.InvalidType,
     "cannot use image: it must be an array of numbers (got an array of object)"),
    (lambda: isoline.distance(VOLUME, out=numpy.empty(VOLUME.shape, object)), isoline.InvalidType,
     "(got an array of object)"),
    (lambda: isoline.distance(VOLUME, out=numpy.empty(VOLUME.shape[::-1], numpy.float32).T), isoline.InvalidArgument,
     "pass a contiguous copy"),
    (lambda: isoline.distance(VOLUME, out=numpy.broadcast_to(numpy.float32(0), VOLUME.shape)), isoline.InvalidArgument,
     "must be writable"),
    (lambda: isoline.edge_drawing(VOLUME, out=VOLUME), isoline.Error, "write out: it shares memory with image; give"),
    (lambda: isoline.edge_strength(FLOATS, out=FLOATS), isoline.Error, "write out: it shares memory with image; give"),
    (lambda: isoline.distance(FLOATS, out=FLOATS), isoline.Error, "cannot write out: it shares memory with image; give"),
    (lambda: isoline.level_set(VOLUME, FLOATS, out=VOLUME), isoline.Error, "write out: it shares memory with image; give"),
    (lambda: isoline.level_set(FLOATS, VOLUME, out=VOLUME), isoline.Error, "write out: it shares memory with initial_mask;"),
    (lambda: isoline.objects(FLOATS, out=FLOATS), isoline.Error, "cannot write out: it shares memory with image; give"),
    (lambda: isoline.objects(FLOATS, VOLUME, out=VOLUME), isoline.Error, "write out: it shares memory with starts; give"),
    (lambda: isoline.edge_drawing(VOLUME, out=numpy.moveaxis(numpy.zeros((21, 6, 34), "u1"), 0, 1)), isoline.Error,
     "cannot write out: slices of outputs may not overlap or interleave; pass an array with packed slices, as numpy.empty"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_used_says_why(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value) and isinstance(caught.value, isoline.Error)
    assert caught.value.status != isoline.Status.OK


def test_dlpack_says_where_pixels_are():
    arrays = [VOLUME, VOLUME[1:, ::2], VOLUME.astype(numpy.float32), VOLUME.astype(numpy.uint16)]
    if numpy.lib.NumpyVersion(numpy.__version__) >= "1.25.0":  # the first with DLPack of bool
        arrays.append(VOLUME > 9)
    for array in arrays:
        pixels = _arrays.from_dlpack(array)
        assert (pixels.shape, pixels.dtype, pixels.address) == (array.shape, array.dtype, array.ctypes.data)
        assert pixels.strides is None or pixels.strides == array.strides


def test_an_array_on_a_gpu_needs_a_driver():
    class OnDevice:
        shape = (4, 4)
        __cuda_array_interface__ = {"shape": (4, 4), "typestr": "|u1", "data": (0x1000, False), "version": 3}

    with pytest.raises(RuntimeError, match="cannot use an array on a GPU"):
        isoline.distance(OnDevice())


class OnDevice:
    """Pretends that host memory is a GPU's."""

    def __init__(self, array, has):
        self.array, self.shape, self.has = array, array.shape, has

    def __getattr__(self, name):
        if name == "__cuda_array_interface__" and "interface" in self.has:
            return {**self.array.__array_interface__, "strides": self.array.strides, "version": 3}
        if name == "__dlpack_device__" and "dlpack" in self.has:
            return lambda: (2, 3)
        if name == "__dlpack__" and "dlpack" in self.has:
            return lambda stream: self.array.__dlpack__()
        raise AttributeError(name)


@pytest.fixture
def driver(monkeypatch):
    """The calls of the driver, which all succeed, on device 3."""
    calls = []

    def call(name, *arguments):
        calls.append(name)
        if name == "cuPointerGetAttribute":
            arguments[0]._obj.value = 3

    monkeypatch.setattr(_arrays, "driver", call)
    return calls


@pytest.mark.parametrize("has", ["interface", "dlpack", "interface and dlpack"])
def test_an_array_on_a_gpu_is_described_where_it_is(driver, has):
    array = VOLUME.astype(numpy.float32)[1:, :, 2:30]
    image, _ = _arrays.describe(OnDevice(array, has), spacing=(3, 1, 1), output=(numpy.float32,))
    assert (image.memory, image.type, image.data) == (1, 2, array.ctypes.data) and list(image.spacing) == [1, 1, 3]
    assert [image.width, image.height, image.depth] == [28, 21, 5]
    assert (image.row_stride, image.slice_stride) == (array.strides[1], array.strides[0])
    assert driver[-4:] == ["cuCtxPushCurrent_v2", "cuCtxSynchronize", "cuCtxPopCurrent_v2", "cuDevicePrimaryCtxRelease_v2"]
    assert _arrays.device_of(OnDevice(array, has)) == 3
    with pytest.raises(isoline.InvalidArgument, match="pass a contiguous copy"):
        _arrays.describe(OnDevice(array[..., ::2], has))
    # The CPU cannot read it, and says so.
    with pytest.raises(isoline.Error) as caught:
        isoline.distance(OnDevice(array, has), device="cpu")
    assert caught.value.status == isoline.Status.UNSUPPORTED
    # Without a device's name the call goes to its device, which is not there.
    with pytest.raises(isoline.Error, match="CUDA|cuda"):
        isoline.distance(OnDevice(array, has))
