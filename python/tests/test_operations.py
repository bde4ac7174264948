"""The functions: their results, their signatures and documentation from the library's tables, and their errors."""
import ast
import inspect
import os
import pathlib
import pickle
import pydoc
import re
import subprocess
import sys
import warnings

import numpy
import pytest

import isoline
from isoline import _operations
from isoline._native import LevelSetState, default_library

IMAGE = numpy.zeros((60, 80), numpy.uint8)
IMAGE[20:40, 25:60] = 200

# The functions that say something else than the operation's help.
OTHER_RESULTS = ("edge_strength_axes", "edge_drawing_lines", "edge_drawing_ellipses", "edge_drawing_maps")


def test_every_operation_is_a_function():
    assert set(default_library().operations) == set(_operations.OPERATIONS.values()) <= set(isoline.__all__)
    assert set(_operations.OPERATIONS) | {"signed_distance"} <= set(isoline.__all__) <= set(dir(isoline))
    for name in isoline.__all__:
        assert getattr(isoline, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        isoline.nothing  # noqa: B018


@pytest.mark.parametrize("name, operation", [pair for pair in _operations.OPERATIONS.items()
                                             if pair[0] != "edge_drawing_threshold"])
def test_signatures_and_help_come_from_the_table(name, operation):
    function, table = getattr(isoline, name), default_library().operations[operation]
    parameters = inspect.signature(function).parameters
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert table.info.help.decode() in text or name in OTHER_RESULTS
    for key, parameter in table.parameters.items():
        assert parameters[key].default == table.default(key) and parameters[key].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"{key} : " in text and parameter.unit.decode() in text
        for word in parameter.help.decode().split():
            assert word in text
        for choice in table.choices[key]:
            assert f"{choice!r}: " in text
    # Each default, given, is the call without it.
    assert all(table.encoded(key, table.default(key)).value == table.parameters[key].default_value
               for key in table.parameters)
    assert pickle.loads(pickle.dumps(function)) is function


def test_several_threads_may_ask_for_a_function_first():
    """Each may complete it, with the same signature and documentation."""
    before = inspect.signature(isoline.edge_drawing), isoline.edge_drawing.__doc__
    _operations.edge_drawing.complete.__wrapped__()
    assert (inspect.signature(isoline.edge_drawing), isoline.edge_drawing.__doc__) == before


def test_status_numbers_are_those_of_the_library():
    for status in isoline.Status:
        assert default_library().library.isoline_status_name(int(status)).decode() == f"ISOLINE_{status.name}"
    assert default_library().library.isoline_status_name(len(isoline.Status)) == b"unknown status"


@pytest.mark.parametrize("parameters, kind, text", [
    (dict(rho=0), isoline.InvalidArgument, "rho must be at least 1e-18 (pixels), but it is 0"),
    (dict(rho=float("nan")), isoline.InvalidArgument, "rho must be a finite number (pixels), but it is NaN"),
    (dict(rho="far"), ValueError, "rho of edge_strength must be a number, but it is 'far'"),
    (dict(rho=10 ** 400), ValueError, "rho of edge_strength must be a number from -1.8e308 to 1.8e308, but it has more"),
    (dict(spacing=10 ** 400), ValueError, "spacing must be one finite number greater than 0"),
    (dict(rho=[3]), TypeError, "rho of edge_strength must be a number, but it is [3]"),
    (dict(rho=numpy.array([3])), TypeError, "rho of edge_strength must be a number, but it is array([3])"),
    (dict(rho=None), isoline.InvalidArgument, "rho of edge_strength cannot be automatic"),
    (dict(mode="fast"), isoline.InvalidArgument, "one of iterations, converged, but it is 'fast'"),
    (dict(foreground=True), ValueError, "foreground of edge_strength must be one of above, below, but it is True"),
    (dict(mode=7), isoline.InvalidArgument, "mode must be 0 (iterations) or 1 (converged), but it is 7"),
    (dict(iterations=2.5), isoline.InvalidArgument, "iterations must be a whole number"),
    (dict(iterations=-1), isoline.InvalidArgument, "iterations must be a whole number"),
    (dict(sigma=1), TypeError, "edge_strength has no parameter 'sigma'; it has dimensions, mode"),
    (dict(device="gpu"), isoline.InvalidArgument, "or cuda:all (got 'gpu')"),
    (dict(device="cpu\0x"), isoline.InvalidArgument, "device must be a name without a NUL character"),
    (dict(device="cuda:0,0"), isoline.InvalidArgument, "each number once (got 0 twice)"),
    (dict(device=0), TypeError, "device must be a name, such as \"cpu\" or \"cuda:0\", or a Context, but it is 0"),
    (dict(device=None), TypeError, "device must be a name"), (dict(device=["cpu"]), TypeError, "device must be a name"),
    (dict(report={}), TypeError, "report must be an isoline.Report or None, but it is {}"),
    (dict(report="cpu"), TypeError, "report must be an isoline.Report"),
    (dict(progress=3), TypeError, "progress must be True, a function or None"),
])
def test_parameters_that_are_wrong_are_named(parameters, kind, text):
    with pytest.raises(kind) as caught:
        isoline.edge_strength(IMAGE, **parameters)
    assert text in str(caught.value)


@pytest.mark.parametrize("parameters, text", [
    (dict(iterations=2 ** 64), "iterations of level_set must be from 0 to 18446744073709551615"),
    (dict(reinitialise_every=2 ** 32), "must be a whole number from 0 to 4294967295 (iterations), but it is 4294967296"),
    (dict(reinitialise_every=-1), "must be a whole number of at least 0 (iterations), but it is -1"),
    (dict(check_interval=0), "check_interval of level_set must be at least 1, or None for automatic, but it is 0"),
    (dict(target=100), "target of level_set is used with epsilon only, but it is 100 without"),
])
def test_parameters_of_a_level_set_that_are_wrong_are_named(parameters, text):
    with pytest.raises(isoline.InvalidArgument) as caught:
        isoline.level_set(IMAGE, IMAGE, **parameters)
    assert text in str(caught.value)


@pytest.mark.parametrize("call, text", [
    (lambda: isoline.edge_strength(IMAGE, mode="converged", iterations=5), "iterations of edge_strength has no effect "
     "unless mode is 'iterations' "
     "(got iterations 5 and mode 'converged'); leave iterations out, or set mode to 'iterations'"),
    (lambda: isoline.edge_strength(IMAGE, tolerance=0.1), "tolerance of edge_strength has no effect unless mode is 'conv"),
    (lambda: isoline.edge_strength(IMAGE, start_min=3), "unless start is 'image' (got start_min 3 and start 'mask')"),
    (lambda: isoline.edge_drawing(IMAGE, profile="reference", follow_turns=True), "unless profile is 'paper' (got follow"),
    (lambda: isoline.snake(IMAGE, margin=0.2), "unless background is 'window'"),
    (lambda: isoline.Snake(IMAGE, looks=2), "looks of snake has no effect unless noise is 'gamma'"),
    (lambda: isoline.level_set(IMAGE, IMAGE, regions="chan_vese", target=100), "target of level_set has no effect unless "
     "regions is 'off' (got target 100 and regions 'chan_vese')")])
def test_parameters_without_an_effect_are_refused(call, text):
    with pytest.raises(isoline.InvalidArgument) as caught:
        call()
    assert text in str(caught.value)


def test_defaults_without_an_effect_are_taken():
    isoline.edge_strength(IMAGE, mode="converged", iterations=50, start="mask", time_step=None)
    isoline.edge_strength(IMAGE, start="image", start_min=0, start_max=200)


def test_edge_strength_and_its_report():
    report = isoline.Report()
    field = isoline.edge_strength(IMAGE, mode="converged", rho=4.0, report=report, device="cpu")
    assert field.dtype == numpy.float32 and (field[IMAGE > 0] == 1).all() and 0 < field[20, 10] < 0.1
    assert report.converged and report.device == "cpu" and report.iterations > 0 and "on cpu" in repr(report)
    assert report.device_name == isoline.devices()[0].name
    fields = {name for name, *_ in isoline.Report._fields_}
    assert set(isoline.Report.__annotations__) < fields and set(LevelSetState.__annotations__) < {
        name for name, *_ in LevelSetState._fields_}


def test_edge_strength_of_a_volume_has_a_spacing():
    volume = numpy.zeros((9, 30, 28), numpy.uint8)
    volume[4, 10:20, 12], volume[7, 5, 5] = 1, 1
    spacing, rho = numpy.array([2.5, 0.5, 0.4]), 1.5  # along z, y, x
    field = volume.astype(float)
    for _ in range(40):
        padded = numpy.pad(field, 1, mode="edge")
        second = sum((numpy.roll(padded, 1, axis) - 2 * padded + numpy.roll(padded, -1, axis)) / spacing[axis] ** 2
                     for axis in range(3))[1:-1, 1:-1, 1:-1]
        field = numpy.where(volume, 1, field + 0.1 * 0.4 ** 2 * (second - field / rho ** 2))
    options = dict(dimensions="volume", rho=rho, time_step=0.1, iterations=40, device="cpu")
    assert abs(isoline.edge_strength(volume, spacing=spacing, **options) - field).max() < 1e-5
    converged = dict(dimensions="volume", mode="converged", device="cpu")
    equal = isoline.edge_strength(volume, rho=6, spacing=2, **converged)
    assert numpy.array_equal(equal, isoline.edge_strength(volume, rho=3, **converged))
    assert numpy.array_equal(isoline.edge_strength(volume, spacing=2), isoline.edge_strength(volume))  # slices do not use it


def test_edge_drawing_has_a_map_and_segments():
    edges, segments = isoline.edge_drawing(IMAGE, gradient_threshold=50)
    assert set(numpy.unique(edges)) == {0, 255} and len(segments) == 1 and "1 segments" in repr(segments)
    points = segments[0]
    assert len(points) == segments.offsets[-1] and segments.flags[0] & 1 and segments.mean_gradients[0] > 50
    assert (edges[points[:, 1], points[:, 0]] == 255).all() and (segments[-1] == points).all()
    with pytest.raises(IndexError):
        segments[1]
    only, none = isoline.edge_drawing(IMAGE, gradient_threshold=50, segments=False)
    assert none is None and numpy.array_equal(only, edges)
    assert not list(isoline.edge_drawing(numpy.zeros((9, 9), numpy.uint8))[1])


def test_edge_drawing_has_lines():
    lines, segments = isoline.edge_drawing_lines(IMAGE, gradient_threshold=50)
    # The sides of a rectangle, clockwise: the brighter side is to the right.
    assert len(segments) == 1 and len(lines) == 4 and (lines["segment"] == 0).all() and (lines["rms"] < 0.5).all()
    directions = numpy.arctan2(lines["y1"] - lines["y0"], lines["x1"] - lines["x0"])
    assert sorted(numpy.rint(directions / (numpy.pi / 2)).astype(int) % 4) == [0, 1, 2, 3]
    assert (lines["log_false_alarms"] <= 0).all() and (lines["points"] >= 12).all() and (lines["slice"] == 0).all()
    assert not len(isoline.edge_drawing_lines(IMAGE, gradient_threshold=50, line_min_length=500)[0])
    with pytest.raises(isoline.InvalidArgument, match="line_gap"):
        isoline.edge_drawing_lines(IMAGE, line_gap=-1)


def test_edge_drawing_has_ellipses():
    y, x = numpy.mgrid[:80, :90]
    disc = (40 + 160 * (20.5 - numpy.hypot(x - 41.4, y - 38.3)).clip(0, 1)).astype(numpy.uint8)
    (circle,), segments = isoline.edge_drawing_ellipses(disc)
    assert abs(circle["x"] - 41.4) < 0.2 and abs(circle["y"] - 38.3) < 0.2 and circle["flags"] == 3 and circle["angle"] == 0
    assert circle["semi_major"] == circle["semi_minor"] and abs(circle["semi_major"] - 20) < 0.3
    assert circle["coverage"] > 0.9 and circle["log_false_alarms"] < -10 and circle["rms"] < 0.5 and circle["arcs"] == 1
    assert circle["points"] == len(segments[int(circle["segment"])]) and circle["slice"] == 0
    assert not len(isoline.edge_drawing_ellipses(disc, ellipse_min_radius=30)[0])
    flat = numpy.repeat(disc, 2, axis=1)
    (ellipse,), _ = isoline.edge_drawing_ellipses(flat)
    assert ellipse["flags"] == 2 and ellipse["semi_major"] > 1.8 * ellipse["semi_minor"]
    assert not len(isoline.edge_drawing_ellipses(flat, ellipse_shapes="circles")[0])
    with pytest.raises(isoline.InvalidArgument, match="ellipse_coverage"):
        isoline.edge_drawing_ellipses(disc, ellipse_coverage=2)


def test_edge_strength_has_axes():
    report = isoline.Report()
    shape = dict(foreground="below", mode="converged", tolerance=1e-6, rho=16)
    found, strength = isoline.edge_strength_axes(IMAGE, spacing=0.5, report=report, **shape)
    assert report.converged and (strength == isoline.edge_strength(IMAGE, **shape)).all()
    flags = found.lines["flags"]
    assert set(flags) == {2, 4, 8} and flags[0] == 8 and (flags == 8).sum() == 1 and len(found[0]) == 1
    # The bright rectangle has rows from 20 to 39 and columns from 25 to 59.
    assert numpy.allclose(found[0], [[42, 29.5]], atol=0.01)
    assert found.lines["level"][0] == pytest.approx(strength[29:31, 42].min(), rel=1e-3)
    for points, line in zip(found, found.lines):
        assert line["length"] == pytest.approx(0.5 * numpy.hypot(*numpy.diff(points, axis=0).T).sum())
    two = isoline.edge_strength_axes(numpy.stack([IMAGE, IMAGE]), axis_min_length=8, **shape)[0]
    assert 2 < len(two) < 2 * len(found) and set(two.lines["slice"]) == {0, 1}
    with pytest.raises(isoline.InvalidArgument, match="axis_min_strength"):
        isoline.edge_strength_axes(IMAGE, axis_min_strength=1)


def test_edge_drawing_shows_its_maps_and_threshold():
    maps = isoline.edge_drawing_maps(IMAGE)
    assert [one.dtype.name for one in maps] == ["uint8", "float32", "uint8", "uint8"]
    with pytest.raises(TypeError, match="edge_drawing_threshold has no parameter 'gradient_threshold' .got 5.: it computes"):
        isoline.edge_drawing_threshold(IMAGE, gradient_threshold=5)
    with pytest.raises(TypeError, match="edge_drawing_threshold has no parameter 'progress'; it has device, pro") as caught:
        isoline.edge_drawing_threshold(IMAGE, progress=True)
    assert "gradient_threshold" not in str(caught.value)
    threshold = isoline.edge_drawing_threshold(IMAGE)
    assert threshold == 20 and ((maps.direction > 0) == (maps.gradient >= threshold)).all()


def test_levels_may_be_unaligned():
    levels = numpy.frombuffer(b"x" + numpy.array([50.0, 100.5]).tobytes(), numpy.uint8)[1:].view(numpy.float64)
    image = numpy.arange(200, dtype=numpy.uint8).reshape(10, 20)
    assert not levels.flags.aligned
    found, wanted = (isoline.isolines(image, given).lines["level"].tolist() for given in (levels, [50, 100.5]))
    assert found == wanted


def test_isolines():
    found = isoline.isolines(IMAGE, [50.0, 150.0], spacing=(2, 1))
    assert len(found) == 2 and found.lines["level"].tolist() == [50, 150] and "2 polylines" in repr(found)
    assert (found.lines["area"] > 2 * 34 * 19).all() and (found.lines["flags"] == 1).all()
    assert [len(points) for points in found] == found.lines["count"].tolist()
    for levels, text in (([None], "got [None]"), ("abc", "got 'abc'"), ([[1], [2, 3]], "got [[1], [2, 3]]")):
        with pytest.raises(isoline.InvalidArgument, match=re.escape(f"levels must be numbers ({text})")):
            isoline.isolines(IMAGE, levels)
    for levels in ([[1, 2], [3, 4]], numpy.empty((0, 2)), [[100]]):
        with pytest.raises(isoline.InvalidArgument, match="levels must be"):
            isoline.isolines(IMAGE, levels)
    for levels in ([], numpy.empty(0)):
        with pytest.raises(isoline.InvalidArgument, match="levels must be None for automatic ones"):
            isoline.isolines(IMAGE, levels)
    assert len(isoline.isolines(IMAGE, 100.0)) == 1 and len(isoline.isolines(IMAGE, level_count=3)) == 3


def test_the_type_of_segments_depends_on_the_argument():
    stub = ast.parse((pathlib.Path(_operations.__file__).with_suffix(".pyi")).read_text(encoding="utf-8"))
    found = [one for one in stub.body if isinstance(one, ast.FunctionDef) and one.name == "edge_drawing"]
    assert [ast.unparse(one.decorator_list[0]) for one in found] == ["overload"] * 3
    assert [ast.unparse(one.returns) for one in found] == ["tuple[Any, Segments]", "tuple[Any, None]",
                                                           "tuple[Any, Segments | None]"]
    assert [ast.unparse(one.args.kwonlyargs[0].annotation) for one in found] == ["Literal[True]", "Literal[False]", "bool"]


@pytest.mark.parametrize("solver, operation, omitted", [
    (isoline.LevelSet, "level_set", {"iterations"}), (isoline.Snake, "snake", set())], ids=lambda value: str(value))
def test_type_checkers_know_the_keywords_of_solvers(solver, operation, omitted):
    stub = ast.parse((pathlib.Path(_operations.__file__).with_suffix(".pyi")).read_text(encoding="utf-8"))
    (found,) = [one for one in stub.body if isinstance(one, ast.ClassDef) and one.name == f"{solver.__name__}Parameters"]
    assert {one.target.id for one in found.body} == set(default_library().operations[operation].parameters) - omitted
    assert inspect.signature(solver).parameters["parameters"].annotation == f"Unpack[{found.name}]"
    assert inspect.signature(solver.__enter__).return_annotation == "Self"


def test_curves_are_a_sequence():
    """A slice of them is a list, as of every sequence; another index is a whole number."""
    found, segments = isoline.isolines(IMAGE, [50.0, 100.0, 150.0]), isoline.edge_drawing(IMAGE)[1]
    for curves in (found, segments):
        every = list(curves)
        for part in (slice(0, 1), slice(1, None), slice(None, None, -1), slice(9, 12)):
            assert [points.tolist() for points in curves[part]] == [points.tolist() for points in every[part]]
        assert (curves[-1] == every[-1]).all() and (curves[numpy.int64(0)] == every[0]).all()
        with pytest.raises(IndexError):
            curves[len(curves)]
        with pytest.raises(TypeError):
            curves[0.0]
        with pytest.raises(TypeError):
            curves[numpy.ones(len(curves), bool)]


def test_isosurface():
    volume = numpy.zeros((12, 60, 80), numpy.uint8)
    volume[3:9] = IMAGE
    report = isoline.Report()
    found = isoline.isosurface(volume, spacing=(2, 1, 1), report=report)
    assert found.level == 100 and found.closed and found.pieces == 1 and found.euler == 2 and found.border_edges == 0
    assert "area" in repr(found) and report.device == "cpu" and 2 * 6 * 35 * 20 > found.volume > 0.98 * 2 * 5.5 * 35 * 20
    corners = found.vertices[found.triangles.astype(int)]
    normals = numpy.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).astype(float)
    assert numpy.linalg.norm(normals, axis=1).sum() / 2 == pytest.approx(found.area, rel=1e-6)
    assert found.vertices.shape == found.normals.shape and found.vertices[:, 2].max() == 2 * 8.5
    assert numpy.allclose(numpy.linalg.norm(found.normals, axis=1), 1)
    half = isoline.isosurface(volume[:6], level=50, close=False)
    assert not half.closed and numpy.isnan(half.volume) and half.border_edges > 100
    with pytest.raises(isoline.InvalidArgument, match="level"):
        isoline.isosurface(volume, level=float("inf"))


def test_meshes_are_measured():
    volume = numpy.random.default_rng(3).integers(0, 9, (9, 10, 11)).astype(numpy.uint8)
    found, report = isoline.isosurface(volume, level=4), isoline.Report()
    mesh = isoline.Surface.of_mesh(found.vertices, found.triangles, device="cpu", report=report)
    assert numpy.array_equal(mesh.normals, found.normals) and report.slices_done == 0
    assert (mesh.area, mesh.volume, mesh.euler, mesh.pieces) == (found.area, found.volume, found.euler, found.pieces)
    assert mesh.level != mesh.level
    # Whatever the order of the vertices, the measures of a smoothed or mirrored mesh are its own.
    turned = isoline.Surface.of_mesh(2 * found.vertices[::-1], len(found.vertices) - 1 - found.triangles.astype(int))
    assert numpy.isclose(turned.volume, 8 * found.volume) and numpy.isclose(turned.area, 4 * found.area)
    for vertices, triangles, message in (
            ([[0, 0]], [[0, 0, 0]], "cannot use vertices"), ([[0, 0, 0]], [[0.5, 0, 0]], "whole"),
            ([[0, 0, 0]], [[-1, 0, 0]], "from 0"), ([[0, 0, 0]], [[0, 1, 0]], "as triangle 0"),
            ([[0, numpy.nan, 0]], [[0, 0, 0]], "as vertex 0"), ([[0, 3e39, 0]], [[0, 0, 0]], r"of float32, .*got 3e\+39")):
        with pytest.raises(isoline.InvalidArgument, match=message):
            isoline.Surface.of_mesh(vertices, triangles)


def test_level_set():
    start, report = numpy.zeros(IMAGE.shape, bool), isoline.Report()
    start[28:32, 40:44] = True
    mask = isoline.level_set(IMAGE, start, report=report)
    assert report.ended() == "front" and numpy.count_nonzero((mask > 0) != (IMAGE > 0)) < 30


def test_snake():
    noisy = IMAGE // 2 + numpy.random.default_rng(1).integers(0, 60, IMAGE.shape, numpy.uint8)
    report = isoline.Report()
    found = isoline.snake(noisy, [[(10, 10), (70, 10), (70, 50), (10, 50)]], report=report)
    assert report.converged and report.iterations > 0 and report.seconds_total > 0
    assert len(found) == 1 and found.statistics()["status"][0] == 1
    assert numpy.count_nonzero((found.labels() == 1) != (IMAGE > 0)) < 20
    assert numpy.array_equal(found.mask() == 255, found.labels() == 1)
    (polygon,) = found.polygons()
    assert polygon.shape == (found.statistics()["nodes"][0], 2) and numpy.abs(polygon.min(axis=0) - (25, 20)).max() < 4


def test_devices_say_why():
    devices = isoline.devices()
    assert devices[0].id == "cpu" and devices[0].usable and all(device.reason for device in devices)
    assert "cpu" in repr(devices[0]) and isoline.__version__.count(".") == 2
    if not any(device.usable for device in devices[1:]):
        with pytest.raises(isoline.Error) as caught:
            isoline.edge_strength(IMAGE, device="cuda")
        assert caught.value.status == isoline.Status.DEVICE_UNAVAILABLE


def test_contexts_are_kept_by_device_and_closed_by_with():
    assert _operations.context_of("cpu") is _operations.context_of("cpu")
    with isoline.Context("cpu") as context:
        context.set_memory_limit(0)
        assert context.device.id == "cpu"
        buffer = context.buffer((60, 80), numpy.float32)
        assert isoline.edge_strength(IMAGE, out=buffer, device=context) is buffer
        context.trim()
    with pytest.raises(ValueError, match="it is closed"):
        isoline.edge_strength(IMAGE, device=context)
    assert numpy.array_equal(buffer, isoline.edge_strength(IMAGE))  # a buffer outlives its context


def test_objects_are_labels_and_a_table():
    z, y, x = numpy.mgrid[:13, :30, :50]
    ball = [(z - 6) ** 2 * 4 + (y - 15) ** 2 + (x - at) ** 2 < 9 ** 2 for at in (15, 32)]
    volume = numpy.where(ball[0] | ball[1], 200, 30).astype(numpy.uint8)
    starts = numpy.zeros(volume.shape, numpy.uint16)
    starts[5:8, 13:18, 13:18], starts[5:8, 13:18, 30:35] = 7, 500
    report = isoline.Report()
    labels, table = isoline.objects(volume, starts, spacing=(2, 1, 1), report=report)
    assert labels.dtype == numpy.uint16 and report.converged == 1 and report.iterations > 0
    assert list(table["label"]) == [7, 500] and list(table["flags"]) == [2, 2]
    ball[1] &= ~ball[0]
    for label, inside, row in zip((7, 500), ball, table, strict=True):
        assert row["voxels"] == (labels == label).sum() and row["volume"] == 2 * row["voxels"]
        assert 2 * (inside & (labels == label)).sum() / (inside.sum() + row["voxels"]) > 0.95
    # The starts are found, and the labels count from 1.
    found, rows = isoline.objects(volume, spacing=(2, 1, 1))
    assert found.dtype == numpy.uint16 and list(rows["label"]) == [1, 2] and found.max() == 2
    with pytest.raises(isoline.Error, match="largest label, 500"):
        isoline.objects(volume, starts, out=numpy.empty(volume.shape, numpy.uint8))
    swapped, rows = isoline.objects(volume, starts.astype(starts.dtype.newbyteorder()), spacing=(2, 1, 1))
    assert numpy.array_equal(swapped, labels) and swapped.dtype == labels.dtype and numpy.array_equal(rows, table)


def test_messages_go_to_the_logger(caplog):
    default_library().library.isoline_buffer_free(64)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("isoline", "WARNING") and "buffer" in record.message
    program = ("import logging; logging.basicConfig(level=logging.DEBUG); import isoline, numpy\n"
               "isoline.distance(numpy.eye(5, dtype=numpy.uint8), device='cpu')")
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert "DEBUG:isoline:distance" in ended.stderr


def test_an_edge_strength_that_has_not_converged_has_a_warning(caplog):
    options = {"threshold": 100, "mode": "converged", "rho": 500, "max_cycles": 1}
    for call in (isoline.edge_strength, isoline.edge_strength_axes):
        for report in (None, isoline.Report()):
            with pytest.warns(RuntimeWarning, match="not converged after 1 cycles: .*tolerance 1.0e-05; raise max") as found:
                call(IMAGE, report=report, **options)
            assert [one.filename for one in found] == [__file__]
    with pytest.warns(RuntimeWarning, match="not converged") as found:
        isoline.Context("cpu").run("edge_strength", IMAGE, **options)
    assert [one.filename for one in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        isoline.edge_strength(IMAGE, **{**options, "max_cycles": 100})
        isoline.edge_strength(IMAGE, threshold=100)
    assert not caplog.records


def test_an_image_on_one_side_of_the_threshold_has_a_warning():
    grey = numpy.maximum(numpy.stack([IMAGE, IMAGE.T.copy().reshape(IMAGE.shape)]), 3)
    for image, options, text in (
            (grey, {}, "infinite, as all pixels are on one side of the threshold 0,"), (grey[0] * 0, {}, "infinite"),
            (grey, {"dimensions": "slices"}, "infinite"), (grey, {"threshold": 250.5}, "infinite, .* threshold 250.5,")):
        with pytest.warns(UserWarning, match=f"distance: the result is {text}") as found:
            isoline.distance(image, **options)
        assert [one.filename for one in found] == [__file__]
    for options in ({}, {"mode": "converged"}, {"foreground": "below", "threshold": 200}):
        with pytest.warns(UserWarning, match="edge_strength: the result is 1 everywhere, as all pixels are the shape at"):
            isoline.edge_strength(grey, **options)
    for options, text in ({}, "1 everywhere, as all pixels are"), ({"threshold": 250.5}, "0 everywhere, as no pixel is"):
        for call in (isoline.edge_strength, isoline.edge_strength_axes):
            with pytest.warns(UserWarning, match=f"edge_strength: the result is {text} the shape at the threshold") as found:
                call(grey, **options)
            assert [one.filename for one in found] == [__file__]
    far = numpy.zeros((400, 400), numpy.uint8)
    far[7, 7] = 1  # beside the pixels that are looked at first
    hole = grey.copy()
    hole[1, 1, 1] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({}, {"dimensions": "slices"}):
            isoline.distance(hole, **options)
            isoline.edge_strength(hole, **options)
        isoline.edge_strength(far, iterations=1)


def test_an_object_that_is_not_found_has_a_warning():
    start = IMAGE > 150
    for range_of, text in ({"target": 1000, "epsilon": 1}, "empty"), ({"target": 100, "epsilon": 1000}, "the whole image"):
        for report in (None, isoline.Report()):
            with pytest.warns(UserWarning, match=f"level_set: no front is left, and the mask is {text}; check") as found:
                isoline.level_set(IMAGE, start, report=report, **range_of)
            assert [one.filename for one in found] == [__file__]
    with pytest.warns(UserWarning, match="objects: no object was found, as there is no start; give") as found:
        isoline.objects(IMAGE, threshold=250)
    assert [one.filename for one in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        isoline.level_set(IMAGE, start, target=200, epsilon=30)
        isoline.objects(IMAGE, threshold=100)


def test_the_library_is_found_from_another_folder(tmp_path):
    file = pathlib.Path(default_library().path)
    program = ("import isoline, os, subprocess, sys; print(isoline.__version__); os.chdir('/')\n"
               "subprocess.run([sys.executable, '-c', 'import isoline; isoline.distance'], check=True)")
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=file.parent, env={
        **os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "ISOLINE_LIBRARY": file.name})
    assert ended.returncode == 0, ended.stderr


def test_a_library_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match="cannot load the Isoline library.*ISOLINE_LIBRARY"):
        isoline.Library(tmp_path)


def test_a_share_of_1_is_the_end():
    noise = numpy.random.default_rng(0).random((700, 700), numpy.float32)
    calls = (lambda **options: isoline.isolines(noise, [0.5], **options),
             lambda **options: isoline.edge_drawing(noise, validation="false_alarms", **options),
             lambda **options: isoline.edge_drawing_ellipses(noise, **options),
             lambda **options: isoline.level_set(noise, noise > 0.9, iterations=3, target=1, epsilon=0.2, **options))

    def shares_of(call):
        shares = []
        call(progress=lambda share, _: shares.append(share))
        return shares

    for call in calls:
        shares = shares_of(call)
        assert shares.count(1) == 1 and shares[-1] == 1 and shares == sorted(shares)
        # It is not asked whether the call is to end: it has.
        call(progress=lambda share, _: share == 1)
