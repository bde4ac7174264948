"""The library's C API by ctypes: how it is found, its structs, its calls, and its operations as it describes them."""
from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import enum
import functools
import logging
import operator
import os
import pathlib
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from ctypes import (
    CFUNCTYPE,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import TYPE_CHECKING

from ._cancel import HERE, interruptible

if TYPE_CHECKING:
    from typing_extensions import Self  # noqa: UP035 (Python 3.10 has none in typing)

# The types of parameters in params structs, in the order of isoline_storage.
STORAGES = (c_uint32, c_uint64, c_double)
FLOAT, INTEGER, FLAG, CHOICE = range(4)  # isoline_parameter_type
AUTOMATIC = -sys.float_info.max  # ISOLINE_AUTOMATIC


# Parameters that have an effect only where another one has a certain value.
USED_WITH = {("edge_strength", "mode", "iterations"): ("iterations", "start", "time_step"),
             ("edge_strength", "mode", "converged"): ("max_cycles", "tolerance"),
             ("edge_strength", "start", "image"): ("start_min", "start_max"),
             ("edge_drawing", "profile", "paper"): ("follow_turns",),
             ("level_set", "regions", "off"): ("target", "epsilon", "side", "time_step"),
             ("snake", "noise", "gamma"): ("looks",), ("snake", "background", "window"): ("margin",)}


class Status(enum.IntEnum):
    """The result of a call, as in the C API; the numbers never change."""

    OK = 0
    NULL_POINTER = 1
    INVALID_ARGUMENT = 2
    INVALID_SIZE = 3
    INVALID_TYPE = 4
    OVERLAP = 5
    DEVICE_UNAVAILABLE = 6
    OUT_OF_MEMORY = 7
    DEVICE_FAILED = 8
    CANCELLED = 9
    UNSUPPORTED = 10
    BUSY = 11
    PANIC = 12
    CALLBACK_FAILED = 13


class Error(Exception):
    """A failed call. Its text says what failed and what to do; `status` is a Status."""

    status = Status.PANIC

    def __init__(self, text: str, status: Status | None = None):
        super().__init__(text)
        if status is not None:
            self.status = status


class InvalidArgument(Error, ValueError):
    """A parameter is out of its range, or does not fit the others."""

    status = Status.INVALID_ARGUMENT


class InvalidSize(Error, ValueError):
    """A side of an image is zero or too large, or two sizes that must match do not."""

    status = Status.INVALID_SIZE


class InvalidType(Error, TypeError):
    """The call does not accept arrays of this type."""

    status = Status.INVALID_TYPE


class OutOfMemory(Error, MemoryError):
    """The call does not fit into the memory of host or device."""

    status = Status.OUT_OF_MEMORY


class Cancelled(Error):
    """A progress callback, or the cancel flag of the thread, cancelled the call."""

    status = Status.CANCELLED


ERRORS = {kind.status: kind for kind in (InvalidArgument, InvalidSize, InvalidType, OutOfMemory, Cancelled)}


# By the status of an error: what names something of C, and what names that of Python.
NAMES = {Status.OVERLAP: ((r"^cannot write \w+", "cannot write out"), (r"memory with (input|mask)\b", "memory with image"),
                          (r"; make \w+->.*", "; pass an array with packed slices, as numpy.empty makes it")),
         Status.INVALID_TYPE: ((r"ISOLINE_U(8|16)\b", r"uint\1"), ("ISOLINE_F32", "float32"))}


class IsolineWarning(UserWarning):
    """A warning that an image or a result may not be what was wanted."""


class Raised(threading.local):
    """The exception of this thread's callback that ended a call."""

    error: BaseException | None = None


RAISED = Raised()


class Sized(Structure):
    """A struct of the C API that begins with its size."""

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


class Image(Sized):
    _fields_ = [("struct_size", c_uint32), ("type", c_uint32), ("memory", c_uint32), ("reserved", c_uint32),
                ("width", c_uint64), ("height", c_uint64), ("depth", c_uint64), ("row_stride", c_uint64),
                ("slice_stride", c_uint64), ("spacing", c_double * 3), ("data", c_void_p), ("user", c_void_p),
                ("read_slice", c_void_p), ("write_slice", c_void_p)]


class Progress(Sized):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("callback", c_void_p), ("user", c_void_p)]


class Device(Sized):
    """A device: `name`, `reason` (why it can be used or not, and why it was selected) and numbers, as in the C API."""

    _fields_ = [("struct_size", c_uint32), ("kind", c_uint32), ("index", c_uint32), ("usable", c_uint32),
                ("compute_major", c_uint32), ("compute_minor", c_uint32), ("multiprocessors", c_uint32),
                ("driver_version", c_uint32), ("total_memory", c_uint64), ("free_memory", c_uint64),
                ("id_bytes", c_char * 16), ("name_bytes", c_char * 128), ("reason_bytes", c_char * 512)]

    @property
    def id(self) -> str:
        """The name that `device` accepts: "cpu", "cuda:0" and so on."""
        return self.id_bytes.decode()

    @property
    def name(self) -> str:
        return self.name_bytes.decode()

    @property
    def reason(self) -> str:
        return self.reason_bytes.decode()

    def __repr__(self) -> str:
        return f"<{self.id}: {self.name}. {self.reason}>"


class OperationInfo(Sized):
    _fields_ = [("struct_size", c_uint32), ("parameter_count", c_uint32), ("params_size", c_uint64), ("name", c_char_p),
                ("title", c_char_p), ("help", c_char_p)]


class ParameterInfo(Sized):
    _fields_ = [("struct_size", c_uint32), ("type", c_uint32), ("level", c_uint32), ("storage", c_uint32),
                ("offset", c_uint64), ("name", c_char_p), ("title", c_char_p), ("help", c_char_p), ("unit", c_char_p),
                ("automatic", c_char_p), ("automatic_value", c_double), ("default_value", c_double),
                ("minimum", c_double), ("maximum", c_double), ("minimum_excluded", c_uint32),
                ("maximum_excluded", c_uint32), ("power_of_two", c_uint32), ("choice_count", c_uint32)]


class ChoiceInfo(Sized):
    _fields_ = [("struct_size", c_uint32), ("value", c_uint32), ("name", c_char_p), ("title", c_char_p),
                ("help", c_char_p)]


# The ways in which a level set can end, in the order of isoline_level_set_outcome.
OUTCOMES = ("moving", "front", "at limit", "filled", "lost")


class LevelSetState(Sized):
    """The progress of a level set, and its parameters with every automatic one computed.

    inside: the number of voxels with phi below 0. expected_iterations: the number after which the stopping criterion is
    likely to be met. target, epsilon, alpha, time_step and edge_contrast: those that are used.
    """

    converged: int
    iterations: int
    inside: int
    target: float
    epsilon: float
    alpha: float
    time_step: float
    expected_iterations: int
    edge_contrast: float
    _fields_ = [("struct_size", c_uint32), ("converged", c_uint32), ("check_interval", c_uint32),
                ("side", c_uint32), ("iterations", c_uint64), ("inside", c_uint64), ("active_tiles", c_uint64),
                ("tiles", c_uint64), ("target", c_double), ("epsilon", c_double), ("alpha", c_double),
                ("time_step", c_double), ("time_step_limit", c_double), ("expected_iterations", c_uint64),
                ("limit_share", c_double), ("outcome", c_uint32), ("coarse_iterations", c_uint32),
                ("edge_contrast", c_double), ("stored_tiles", c_uint64)]

    def ended(self) -> str:
        """The end of the last step, one of "moving", "front", "at limit", "filled" and "lost"."""
        return OUTCOMES[self.outcome]

    def __repr__(self) -> str:
        return f"<{self.iterations} iterations, {self.inside} voxels inside, {self.ended()}>"


class Report(Sized):
    """A call's run, in the fields of the C API; give one to a call as `report`.

    iterations: of mode "converged" the cycles. converged: 1 if the stopping criterion was met; 0 after a fixed number of
    iterations, or too few. residual: of mode "converged" the estimated largest error, else NaN. seconds_total and its parts
    seconds_upload, seconds_compute and seconds_download: wall-clock time; copies run beside the computation.
    """

    converged: int
    iterations: int
    slices_done: int
    seconds_total: float
    seconds_upload: float
    seconds_compute: float
    seconds_download: float
    residual: float
    peak_device_bytes: int
    device_count: int
    part_count: int
    _fields_ = [("struct_size", c_uint32), ("device_kind", c_uint32), ("device_index", c_uint32),
                ("converged", c_uint32), ("iterations", c_uint64), ("slices_done", c_uint64),
                ("seconds_total", c_double), ("seconds_upload", c_double), ("seconds_compute", c_double),
                ("seconds_download", c_double), ("residual", c_double), ("peak_device_bytes", c_uint64),
                ("name_bytes", c_char * 128), ("outcome", c_uint32), ("device_count", c_uint32),
                ("part_count", c_uint64)]

    @property
    def device(self) -> str:
        """The device that computed: "cpu", "cuda:0" and so on; of several, `device_count`, the first."""
        return f"cuda:{self.device_index}" if self.device_kind else "cpu"

    @property
    def device_name(self) -> str:
        return self.name_bytes.decode()

    def ended(self) -> str:
        """The end of a level set, one of "moving", "front", "at limit", "filled" and "lost"."""
        return OUTCOMES[self.outcome]

    def __repr__(self) -> str:
        return f"<{self.iterations} iterations on {self.device}, {self.seconds_total:.3g} s>"


class PolygonArrays(Sized):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("count", c_uint64), ("node_count", c_uint64),
                ("nodes", c_void_p), ("offsets", c_void_p), ("slices", c_void_p)]


# isoline_log_level as levels of Python.
LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}
LOG = logging.getLogger("isoline")
UNCONVERGED = "edge strength has not converged"


@CFUNCTYPE(None, c_void_p, c_uint32, c_char_p)
def forward(_user, level, message):
    """Passes a message of the library to Python's logging, but that of which `Context.caller` warns."""
    text = message.decode(errors="replace")
    if not text.startswith(UNCONVERGED):
        LOG.log(LEVELS.get(level, logging.INFO), "%s", text)


# The folders of a checkout and of an installed package in which the library may be, besides the system's own.
PACKAGE = pathlib.Path(__file__).resolve().parent
FOLDERS = (PACKAGE, PACKAGE.parent.parent / "target" / "release")
NAME = {"win32": "isoline.dll", "darwin": "libisoline.dylib"}.get(sys.platform, "libisoline.so")


def locate(path=None) -> str:
    """The library's file: in the folder `path` or that file, else what ISOLINE_LIBRARY names, else where it is installed."""
    named = path if path is not None else os.environ.get("ISOLINE_LIBRARY")
    if named:
        named = pathlib.Path(named).resolve()
        return str(named / NAME if named.is_dir() else named)
    for folder in FOLDERS:
        if (folder / NAME).exists():
            return str(folder / NAME)
    return ctypes.util.find_library("isoline") or NAME


class Library:
    """The loaded library: in the folder or file `path`, by default the one that the package contains (ISOLINE_LIBRARY, a
    variable of the environment, names another one)."""

    # Functions that return something else than a status.
    OTHERS = {"last_error": c_char_p, "version_string": c_char_p, "status_name": c_char_p, "operation_count": c_size_t,
              "device_count": c_size_t, "snake_count": c_size_t}

    def __init__(self, path=None):
        file = locate(path)
        try:
            self.library = ctypes.CDLL(file)
        except OSError as error:
            raise OSError(f"cannot load the Isoline library: {error}; install the package's wheel, or set ISOLINE_LIBRARY "
                          f"to the folder of {NAME}") from None
        self.path = file
        for name, kind in self.OTHERS.items():
            getattr(self.library, f"isoline_{name}").restype = kind
        self.library.isoline_snake_count.argtypes = [c_void_p]
        # Python is called for levels alone that somebody wants to see.
        wanted = max((level for level, number in LEVELS.items() if LOG.isEnabledFor(number)), default=0)
        self.call("set_logger", forward, None, c_uint32(wanted))
        count = self.library.isoline_operation_count()
        self.operations = {operation.name: operation for operation in (Operation(self, i) for i in range(count))}

    @property
    def version(self) -> str:
        return self.library.isoline_version_string().decode()

    def free(self, noun):
        """The function that frees an object of the C API."""
        free = getattr(self.library, f"isoline_{noun}_free")
        free.restype, free.argtypes = None, [c_void_p]
        return free

    @contextlib.contextmanager
    def freed_after_errors(self, noun, handle: c_void_p) -> Iterator[None]:
        """Frees what a call has made if an exception follows it, as Ctrl-C may."""
        try:
            yield
        except BaseException:
            self.free(noun)(handle)
            raise

    def call(self, name, *arguments):
        """Calls a function of the C API, by its name without the prefix; an Error says why it failed.

        An object of the library is given as it is, and comes first. It is not freed before the call ends, and Ctrl-C ends
        the call; other calls are short.
        """
        if arguments and isinstance(arguments[0], Owned):
            with arguments[0].used() as handle, interruptible(HERE.state):
                self.call(name, handle, *arguments[1:])
            return
        HERE.state.give_to(self.library)
        status = getattr(self.library, f"isoline_{name}")(*arguments)
        if status == Status.CALLBACK_FAILED and RAISED.error is not None:
            error, RAISED.error = RAISED.error, None
            raise error
        if status != 0:
            text = self.library.isoline_last_error().decode()
            for pattern, name in NAMES.get(Status(status), ()):
                text = re.sub(pattern, name, text)
            raise ERRORS.get(status, Error)(text, Status(status))

    def told(self, struct, noun, *indices):
        value = struct()
        self.call(f"{noun}_info", *(c_size_t(index) for index in indices), byref(value))
        return value

    def params(self, operation, **values):
        """The params struct of an operation; keywords are its parameters, choices by name, None for automatic."""
        operation = self.operations[operation]
        params = operation.struct()
        self.call(f"{operation.name}_params_init", byref(params), c_size_t(ctypes.sizeof(params)))
        for name, value in values.items():
            setattr(params, name, operation.encoded(name, value))
        for (of, other, word), names in USED_WITH.items():
            if of == operation.name and (chosen := operation.word(other, getattr(params, other))) != word:
                for name in names:
                    if getattr(params, name) != operation.parameters[name].default_value:
                        raise InvalidArgument(f"{name} of {of} has no effect unless {other} is '{word}' (got {name} "
                                              f"{values[name]!r} and {other} '{chosen}'); leave {name} out, or set {other} "
                                              f"to '{word}'")
        if operation.name == "level_set" and values.get("target") is not None and values.get("epsilon") is None:
            raise InvalidArgument(f"target of level_set is used with epsilon only, but it is {values['target']} without; "
                                  "give epsilon, too, or no target for a range that is measured")
        return params

    def context(self, device="auto"):
        """A Context of this library on a device."""
        from ._context import Context
        return Context(device, library=self)

    def devices(self):
        """A Device for each that there is; `usable` and `reason` say whether it can be used, and why not."""
        return [self.told(Device, "device", index) for index in range(self.library.isoline_device_count())]


@functools.cache
def default_library() -> Library:
    library = Library()
    if os.environ.get("ISOLINE_LIBRARY"):
        # Processes that this one starts may be in another folder.
        os.environ["ISOLINE_LIBRARY"] = library.path
    return library


class Operation:
    """An operation as the library describes it: `info`, and by name its `parameters`, their `choices` (numbers)
    and `helps`."""

    def __init__(self, library, index):
        self.info = library.told(OperationInfo, "operation", index)
        self.name = self.info.name.decode()
        self.parameters, self.choices, self.helps, self.checks = {}, {}, {}, {}
        for place in range(self.info.parameter_count):
            parameter = library.told(ParameterInfo, "parameter", index, place)
            told = [library.told(ChoiceInfo, "choice", index, place, choice) for choice in range(parameter.choice_count)]
            name = parameter.name.decode()
            self.parameters[name] = parameter
            self.choices[name] = {choice.name.decode(): choice.value for choice in told}
            self.helps[name] = {choice.name.decode(): choice.help.decode() for choice in told}
            self.checks[name] = functools.partial(library.call, "parameter_check", c_size_t(index), c_size_t(place))
        fields, end = [("struct_size", c_uint32)], 4
        for name, parameter in sorted(self.parameters.items(), key=lambda item: item[1].offset):
            if parameter.offset > end:
                fields.append((f"reserved_{end}", c_uint8 * (parameter.offset - end)))
            fields.append((name, STORAGES[parameter.storage]))
            end = parameter.offset + ctypes.sizeof(STORAGES[parameter.storage])
        if end < self.info.params_size:
            fields.append(("reserved_end", c_uint8 * (self.info.params_size - end)))
        self.struct = type(f"{self.name}_params", (Structure,), {"_fields_": fields})

    def default(self, name):
        """The default of a parameter as Python has it: a choice by its word, None for automatic."""
        parameter = self.parameters[name]
        value = parameter.default_value
        if parameter.automatic is not None and value == parameter.automatic_value:
            return None
        if parameter.type == CHOICE:
            return self.word(name, value)
        return {FLOAT: float, INTEGER: int, FLAG: bool}[parameter.type](value)

    def word(self, name, value):
        """The word of a choice's number."""
        return next(word for word, number in self.choices[name].items() if number == value)

    def encoded(self, name, value):
        """A value as the params struct holds it: a choice by its word, None for automatic."""
        if name not in self.parameters:
            raise TypeError(f"{self.name} has no parameter '{name}'; it has {', '.join(self.parameters)}")
        parameter = self.parameters[name]
        if value is None:
            if parameter.automatic is None:
                raise InvalidArgument(f"{name} of {self.name} cannot be automatic; give a value")
            value = parameter.automatic_value
        elif isinstance(value, str) or isinstance(value, bool) and parameter.type == CHOICE:
            if value not in self.choices[name]:
                wanted = f"one of {', '.join(self.choices[name])}" if self.choices[name] else "a number"
                raise InvalidArgument(f"{name} of {self.name} must be {wanted}, but it is {value!r}")
            value = self.choices[name][value]
        else:
            self.checks[name](real(value, f"{name} of {self.name}"))
            if parameter.automatic is not None and parameter.type == INTEGER and value == parameter.automatic_value:
                raise InvalidArgument(f"{name} of {self.name} must be at least {parameter.minimum:.0f}, or None for "
                                      f"automatic, but it is {value}")
        storage = STORAGES[parameter.storage]
        if parameter.type == FLOAT:
            return storage(value)
        return storage(whole(int(value), f"{name} of {self.name}", 2**(8 * ctypes.sizeof(storage)) - 1))


def real(value, name: str) -> c_double:
    """A number for the C API; Python's whole numbers may be too large."""
    try:
        if getattr(value, "ndim", 0):  # NumPy would take an array of one number for it.
            raise TypeError
        return c_double(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, but it is {value!r}") from None
    except OverflowError:
        raise InvalidArgument(f"{name} must be a number from -1.8e308 to 1.8e308, but it has more digits") from None


def whole(value, name: str, most: int = 2 ** 64 - 1, least: int = 0) -> int:
    """A whole number for an integer of the C API, into which ctypes would wrap any other."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, but it is {value!r}") from None
    if not least <= number <= most:
        raise InvalidArgument(f"{name} must be from {least} to {most}, but it is {number}")
    return number


def freed_with(owner, free, *arguments):
    """Frees memory of the library when its owner goes, but not at the end of the process: a thread may be using it."""
    finalizer = weakref.finalize(owner, free, *arguments)
    finalizer.atexit = False
    return finalizer


class Owned:
    """An object of the library, which is freed with this one, by close() or at the end of a `with`."""

    noun = ""  # in errors

    def own(self, library, kind, handle):
        self.library, self.handle, self.calls, self.closed = library, handle, 0, False
        self.lock, self.finalizer = threading.RLock(), freed_with(self, library.free(kind), handle)

    @contextlib.contextmanager
    def used(self) -> Iterator[c_void_p]:
        """The handle, which is not freed before the end of this `with`."""
        with self.lock:
            if self.closed:
                raise ValueError(f"cannot use this {self.noun}: it is closed; make another one")
            self.calls += 1
        try:
            yield self.handle
        finally:
            with self.lock:
                self.calls -= 1
                if self.closed:
                    self.close()

    def close(self) -> None:
        """Frees it; it cannot be used any more. Calls on it that run, in a callback or another thread, end before."""
        with self.lock:
            self.closed = True
            if self.calls == 0:
                self.finalizer()

    def __reduce__(self):
        raise TypeError(f"cannot copy or pickle this {self.noun}: it is memory of this process; make another one there")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_):
        self.close()
