"""Arrays as the images of the C API: NumPy's in host memory, and those of other packages on a GPU."""
from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Sequence
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)
from typing import Any, NamedTuple

import numpy
from numpy import typing as npt

from ._native import RAISED, Image, InvalidArgument, InvalidSize, InvalidType

# A NumPy array, or one with __cuda_array_interface__ or __dlpack__, such as those of CuPy, PyTorch and JAX.
ImageLike = npt.ArrayLike | Any
Spacing = float | Sequence[float] | npt.NDArray | None
TYPES = {numpy.dtype(numpy.bool_): 0, numpy.dtype(numpy.uint8): 0, numpy.dtype(numpy.uint16): 1,
         numpy.dtype(numpy.float32): 2}
KINDS = numpy.uint8, numpy.uint16, numpy.float32  # by their numbers
LARGEST_EXACT = 2 ** 24  # to this float32 has all whole numbers
HOST, CUDA, SLICES = 0, 1, 2  # isoline_memory
DLPACK_CPU, DLPACK_CUDA, DLPACK_MANAGED = 1, 2, 13


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


SliceFunction = CFUNCTYPE(c_void_p, c_void_p, c_uint64, c_void_p)
AN_EXCEPTION = ctypes.create_string_buffer(b"an exception of Python")


def tried(call):
    """Makes a callback of a method: it returns NULL, or a sentence if the method raises what Library.call raises again."""
    def callback(self, _user, index, address):
        try:
            call(self, index, address)
            return None
        except BaseException as error:
            RAISED.error = error
            return ctypes.addressof(AN_EXCEPTION)

    return callback


class Pixels(NamedTuple):
    """The place of an array's pixels: strides in bytes, None for packed; `device` is the N of cuda:N, None for host."""

    shape: tuple
    dtype: numpy.dtype
    address: int
    strides: tuple | None
    writable: bool
    device: int | None
    owner: object


def on_device(array) -> bool:
    """True for an array in the memory of a GPU."""
    if isinstance(array, numpy.ndarray):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and device()[0] in (DLPACK_CUDA, DLPACK_MANAGED)


def device_of(array) -> int:
    """The N of cuda:N for an array on a GPU."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[1])
    ordinal = c_int()
    driver("cuPointerGetAttribute", byref(ordinal), c_int(9), c_uint64(array.__cuda_array_interface__["data"][0]))
    return ordinal.value


@functools.cache
def driver_library() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def driver(name, *arguments):
    """Calls NVIDIA's driver, which the package that made the array has loaded and initialised."""
    try:
        library = driver_library()
    except OSError as error:
        raise RuntimeError(f"cannot use an array on a GPU: there is no driver ({error}); copy it to host memory") from None
    status = getattr(library, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"cannot use an array on a GPU: {name} failed with status {status}")


def finish_work(device):
    """Waits for the work on a GPU: the library's calls are in no stream of the package that the array comes from."""
    context, other = c_void_p(), c_void_p()
    driver("cuDevicePrimaryCtxRetain", byref(context), c_int(device))
    try:
        driver("cuCtxPushCurrent_v2", context)
        try:
            driver("cuCtxSynchronize")
        finally:
            driver("cuCtxPopCurrent_v2", byref(other))
    finally:
        driver("cuDevicePrimaryCtxRelease_v2", c_int(device))


def from_dlpack(array, **stream) -> Pixels:
    """The pixels of an array that has DLPack alone. They live as long as the capsule, which owns them."""
    capsule = array.__dlpack__(**stream)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    tensor = DLTensor.from_address(pointer(capsule, b"dltensor"))
    kind = {1: "u", 2: "f", 6: "b"}.get(tensor.code, "V")
    size = tensor.bits * tensor.lanes // 8
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(step * size for step in tensor.strides[:tensor.ndim]) if tensor.strides else None
    dtype = numpy.dtype(f"{kind}{size}")
    return Pixels(shape, dtype, (tensor.data or 0) + tensor.byte_offset, strides, True, tensor.device_id, capsule)


def check_shape(array, shape: tuple, name: str) -> None:
    """Refuses an array of another shape than the image; a single slice may have an axis z or none."""
    if (1, *shape_of(array))[-3:] != (1, *shape)[-3:]:
        raise InvalidSize(f"cannot use {name}: it must have the shape of the image, {shape} (got {shape_of(array)})")


def check_read(slices, shape: tuple) -> None:
    """Refuses what an array that is not in memory returns for some of its slices, if it has another shape."""
    if numpy.shape(slices) != shape:
        raise InvalidSize(f"cannot read slices of an array: they must have the shape {shape} (got {numpy.shape(slices)})")


def in_numpy(array) -> numpy.ndarray:
    """The NumPy array of an object in host memory, which may have DLPack alone."""
    if numpy.ma.is_masked(array):
        raise InvalidArgument("cannot use a masked array: its masked pixels have no value (got "
                              f"{numpy.ma.count_masked(array)} of them); fill it first, as by array.filled(0)")
    if is_lazy(array) and not hasattr(array, "__array__"):
        wanted, array = array.shape, array[0:array.shape[0]]
        check_read(array, tuple(wanted))
    try:
        found = numpy.asarray(array)
    except ValueError:
        if not isinstance(array, (list, tuple)):
            raise
        raise InvalidSize("cannot use a list as an array: its rows must have the same length (got several)") from None
    alone = found.dtype == object and hasattr(array, "__dlpack__") and not isinstance(array, numpy.ndarray)
    return numpy.from_dlpack(array) if alone else found


def pixels_of(array) -> Pixels:
    if on_device(array):
        if hasattr(array, "__cuda_array_interface__"):
            told = array.__cuda_array_interface__
            address, read_only = told["data"]
            pixels = Pixels(tuple(told["shape"]), numpy.dtype(told["typestr"]), address or 0, told.get("strides"),
                            not read_only, device_of(array), array)
        else:
            pixels = from_dlpack(array, stream=1)  # 1: after the work in its own stream, the legacy default stream waits
        finish_work(pixels.device)
        return pixels
    array = in_numpy(array)
    return Pixels(array.shape, array.dtype, array.ctypes.data, array.strides, array.flags.writeable, None, array)


class Slices:
    """An array that is not in memory, such as one of Zarr or h5py, as slices that callbacks read or write in their order.

    So many slices as a chunk has are read and written together, so that each chunk is decoded and encoded once. An array
    with the axes (y, x) is one slice, which is only written.
    """

    def __init__(self, array, dtype):
        self.array, self.dtype, self.whole = array, dtype, len(array.shape) == 2
        self.shape = (1,) * self.whole + tuple(array.shape)
        chunks = getattr(array, "shards", None) or getattr(array, "chunks", None)
        self.together = int(chunks[0]) if chunks and not self.whole else 1
        self.first, self.block = 0, numpy.empty(0)
        # The functions must live as long as the call.
        self.functions = SliceFunction(self.read), SliceFunction(self.write)

    def span(self, index):
        first = index // self.together * self.together
        return first, min(first + self.together, self.shape[0])

    def pixels(self, address):
        memory = (c_uint8 * (math.prod(self.shape[1:]) * self.dtype.itemsize)).from_address(address)
        return numpy.frombuffer(memory, self.dtype).reshape(self.shape[1:])

    @tried
    def read(self, index, address):
        first, end = self.span(index)
        if not (self.first == first and len(self.block)):
            self.first, self.block = first, in_numpy(self.array[first:end])
            check_read(self.block, (end - first, *self.shape[1:]))
        numpy.copyto(self.pixels(address), self.block[index - first], casting="equiv")

    @tried
    def write(self, index, address):
        first, end = self.span(index)
        if index == first:
            self.block = numpy.empty((end - first, *self.shape[1:]), self.dtype)
        self.block[index - first] = self.pixels(address)
        if index == end - 1 and self.whole:
            self.array[:] = self.block[0]
        elif index == end - 1:
            self.array[first:end] = self.block


def is_lazy(array) -> bool:
    """True for an array that is not in memory: it has a shape, a type and items, and memory of no kind. Dask's has a
    module of its own, isoline.dask."""
    others = ("__array_interface__", "__cuda_array_interface__", "__dlpack__", "__buffer__", "__dask_graph__")
    return (all(hasattr(array, name) for name in ("shape", "dtype", "__getitem__"))
            and not any(hasattr(array, name) for name in others))


def is_memory(array) -> bool:
    """True if pixels_of gives the array's own memory: a result in a copy would be lost, and the copy may end before the
    call."""
    if isinstance(array, numpy.ndarray) or on_device(array):
        return True
    if is_lazy(array) or getattr(array, "__dask_graph__", dict)():
        return False
    # Two copies that are there at the same time have two addresses.
    one, other = in_numpy(array), in_numpy(array)
    return one.ctypes.data == other.ctypes.data


def readable(pixels) -> bool:
    """True if rows are packed and in order, and slices too, so that the library reads the memory as it is."""
    if pixels.strides is None:
        return True
    size, width = pixels.dtype.itemsize, pixels.shape[-1]
    steps = [step for step, count in zip(pixels.strides, pixels.shape) if count > 1]
    along_x = pixels.strides[-1] == size or width == 1
    larger = steps[:-1] if width > 1 else steps
    return (along_x and all(step >= width * size and step % size == 0 for step in larger)
            and pixels.address % size == 0)


def as_floats(image, title: str):
    """An image of Dask or NumPy, with whole numbers of a type that no operation has as float32, which has all to 2**24."""
    if image.dtype.kind not in "iu" or image.dtype.newbyteorder("=") in TYPES:
        return image
    if not isinstance(image, numpy.ndarray):
        meta = numpy.empty((0,) * image.ndim, numpy.float32)
        return image.map_blocks(as_floats, title=title, dtype=numpy.float32, meta=meta)
    for value in (image.min(initial=0), image.max(initial=0)):
        if not -LARGEST_EXACT <= value <= LARGEST_EXACT:
            raise InvalidArgument(f"cannot use {title}: whole numbers of {image.dtype} must be from -{LARGEST_EXACT} to "
                                  f"{LARGEST_EXACT}, which float32 has (got {value}); number labels from 1 on, or convert "
                                  "them to uint8, uint16 or float32")
    return image.astype(numpy.float32)


def labelled(array, name: str):
    """Labels or a mask, of which whole numbers in host memory may have any type. An array that is not in memory is read if
    its type is one that no operation has."""
    if on_device(array) or is_unread(array) and numpy.dtype(array.dtype).newbyteorder("=") in TYPES:
        return array
    found = in_numpy(array)
    floats = as_floats(found, name)
    return array if floats is found else floats


def numeric(values, name: str) -> numpy.ndarray:
    """An argument of one number or several as an array."""
    try:
        found = numpy.asarray(values)
    except ValueError:  # rows of several lengths
        found = numpy.empty(0, object)
    if found.dtype.kind not in "biuf":
        raise InvalidArgument(f"{name} must be numbers (got {values!r})")
    return found


def shape_of(array) -> tuple:
    """The shape of an array, whose chunks must be known."""
    shape = tuple(array.shape) if hasattr(array, "shape") else in_numpy(array).shape
    if any(map(math.isnan, shape)):
        raise InvalidSize("cannot use an array: the sizes of its chunks must be known (got some that are not); call its "
                          "compute_chunk_sizes()")
    return shape


def is_unread(array) -> bool:
    """True for an array that is not in memory, also for one of Dask."""
    return is_lazy(array) or hasattr(array, "__dask_graph__")


def check_unread(array, spacing: Spacing, name: str) -> bool:
    """Returns whether an array is not in memory, and checks such a one before it is read."""
    unread = is_unread(array)
    if unread:
        check_kind(shape_of(array), numpy.dtype(array.dtype), name)
        per_axis(spacing, len(array.shape))
    return unread


def check_kind(shape: tuple, dtype: numpy.dtype, name: str, output: tuple = ()) -> None:
    """Refuses the axes and the types of pixels that no operation has, and of an output others than those."""
    if output and dtype.newbyteorder("=") not in map(numpy.dtype, output):
        kinds = [kind.__name__ for kind in output]
        raise InvalidType(f"{name} must be {' or '.join(kinds)} (got {dtype}); pass numpy.empty(image.shape, "
                          f"numpy.{kinds[0]})")
    if dtype.newbyteorder("=") not in TYPES:
        loss = ", which rounds them" + f" above {LARGEST_EXACT}" * (dtype.kind in "iu")
        real = "abs(array)" if dtype.kind == "c" else "array"
        raise InvalidType(f"cannot use {name}: pixels must be bool, uint8, uint16 or float32 (got {dtype}); convert them, "
                          f"as by {real}.astype(numpy.float32){'' if numpy.can_cast(dtype, numpy.float32) else loss}")
    if len(shape) not in (2, 3):
        raise InvalidSize(f"cannot use {name}: it must have the axes (y, x) or (z, y, x) (got the shape "
                          f"{tuple(shape)}); pass channels and frames one by one")
    if 0 in shape:
        raise InvalidSize(f"cannot use {name}: each side must have a pixel (got the shape {tuple(shape)})")


def describe(array, spacing: Spacing = None, name="image", output: tuple = (), by_slices=True) -> tuple[Image, object]:
    """The Image of an array, and the object whose memory it points into, which must live as long.

    That is the array itself, unless its bytes are swapped or its rows are not packed: then it is a packed copy. An output,
    of which `output` has the types that its pixels may have, is never copied. Slices of one that is not in memory are read
    and written by callbacks if the call accepts them (`by_slices`). Otherwise such an input is read as a whole, and such an
    output is refused.
    """
    if not output:
        check_unread(array, spacing, name)
    if by_slices and is_lazy(array) and (output or len(array.shape) == 3):
        dtype = numpy.dtype(array.dtype).newbyteorder("=")
        slices = Slices(array, dtype)
        # Zarr says by the first that it is opened for reading alone, h5py by the second.
        reads = getattr(array, "read_only", False) or getattr(getattr(array, "file", None), "mode", None) == "r"
        pixels = Pixels(tuple(array.shape), dtype, 0, None, hasattr(array, "__setitem__") and not reads, None, slices)
    elif output and not is_memory(array):
        others = ", or one of Zarr, h5py and the like" if by_slices else ""
        raise InvalidArgument(f"cannot write {name}: it must be a NumPy array, or another one whose memory this call can "
                              f"write{others} (got {type(array).__module__}.{type(array).__name__}); pass an array made by "
                              "numpy.empty, and copy the result from it")
    else:
        pixels = pixels_of(array)
    if pixels.dtype.kind not in "biufc" or hasattr(array, "keys") and not hasattr(array, "shape"):
        got = f"an array of {pixels.dtype}" if isinstance(array, numpy.ndarray) else type(array).__name__
        raise InvalidType(f"cannot use {name}: it must be an array of numbers (got {got}); read the file, name an array of "
                          "the group, or convert the array, as by array.astype(numpy.float32)")
    check_kind(pixels.shape, pixels.dtype, name, output)
    if output and not pixels.writable:
        raise InvalidArgument(f"cannot write {name}: it must be writable (got a read-only array); open its file for "
                              "writing, or pass a copy of it")
    usable = pixels.dtype.isnative and (readable(pixels) or 0 in pixels.shape)
    if not usable and (output or pixels.device is not None):
        raise InvalidArgument(f"cannot use {name}: its rows must be packed and its bytes in the machine's order (got "
                              f"strides {pixels.strides} of {pixels.dtype.str}); pass a contiguous copy of it")
    if not usable:
        pixels = pixels_of(numpy.array(pixels.owner, pixels.dtype.newbyteorder("="), order="C"))
    return image_of(pixels, spacing), pixels.owner


def describe_both(image, out, kinds: tuple, spacing: Spacing = None, by_slices=True) -> tuple:
    """The Images of an input and its output, which may be None and has pixels of one of the `kinds`, each with the object
    whose memory it points into. An input that is not in memory is read when all else is checked."""
    unread = check_unread(image, spacing, "image")
    found = None if unread else describe(image, spacing, by_slices=by_slices)
    output = (None, None) if out is None else describe(out, name="out", output=kinds, by_slices=by_slices)
    if out is not None:
        check_shape(out, shape_of(image), "out")
    return found or describe(image, spacing, by_slices=by_slices), output


def image_of(pixels, spacing) -> Image:
    *depth, height, width = pixels.shape
    image = Image(type=TYPES[pixels.dtype], memory=HOST if pixels.device is None else CUDA, width=width, height=height,
                  depth=depth[0] if depth else 1, data=pixels.address)
    if isinstance(pixels.owner, Slices):
        read, write = (ctypes.cast(function, c_void_p) for function in pixels.owner.functions)
        image.memory, image.read_slice, image.write_slice = SLICES, read, write
    if pixels.strides is not None and 0 not in pixels.shape:
        # Along an axis of one pixel any stride may stand; 0 is that of packed pixels.
        image.row_stride = pixels.strides[-2] if height > 1 else 0
        image.slice_stride = pixels.strides[0] if depth and depth[0] > 1 else 0
    axes = len(pixels.shape)
    image.spacing = (*reversed(per_axis(spacing, axes)), *[1.0] * (3 - axes))
    return image


def per_axis(spacing: Spacing, axes: int) -> list:
    """The spacing along each axis of an array."""
    try:
        steps = [1.0 if spacing is None else spacing] * axes if numpy.ndim(spacing) == 0 else list(spacing)
        usable = len(steps) == axes and all(math.isfinite(step) and step > 0 for step in steps)
    except (TypeError, ValueError, OverflowError):
        usable = False
    if not usable:
        raise InvalidArgument(f"spacing must be one finite number greater than 0, or {axes} in the order of the axes, "
                              f"{'(z, y, x)' if axes == 3 else '(y, x)'} (got {spacing!r})")
    return [float(step) for step in steps]
