"""python -m isoline: files in and out, parameters from the tables, and errors in a line."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy
import pytest

import isoline
from isoline import __main__ as program
from isoline.__main__ import complete, main

IMAGE = numpy.zeros((20, 60, 80), numpy.uint8)
IMAGE[5:15, 20:40, 25:60] = 200
IMAGE += numpy.random.default_rng(1).integers(0, 40, IMAGE.shape, numpy.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numpy.save("image.npy", IMAGE)
    return tmp_path


def test_images_from_file_to_file(folder):
    tifffile = pytest.importorskip("tifffile")
    assert main(["edge_strength", "image.npy", "a.tif", "--threshold", "100", "--mode", "converged", "--rho", "4"]) == 0
    assert numpy.array_equal(tifffile.imread("a.tif"), isoline.edge_strength(IMAGE, threshold=100, mode="converged", rho=4))
    tifffile.imwrite("image.tif", IMAGE)
    assert main(["distance", "image.tif", "b.npy", "--threshold", "100", "--spacing", "3,1,1", "--device", "cpu"]) == 0
    assert numpy.array_equal(numpy.load("b.npy"), isoline.distance(IMAGE, threshold=100, spacing=(3, 1, 1)))
    assert main(["edge_drawing", "image.npy", "c.npy", "--follow_turns", "1", "--quiet"]) == 0
    assert numpy.array_equal(numpy.load("c.npy"), isoline.edge_drawing(IMAGE, follow_turns=True)[0])


@pytest.mark.parametrize("depth", [1, 3, 4])
@pytest.mark.parametrize("operation", ["edge_strength", "edge_drawing", "objects"])
def test_slices_of_a_tif_are_no_colours(folder, operation, depth):
    tifffile = pytest.importorskip("tifffile")
    numpy.save("slices.npy", IMAGE[8:8 + depth])
    assert main([operation, "slices.npy", "a.tif"]) == 0
    with tifffile.TiffFile("a.tif") as file:
        assert len(file.pages) == depth and file.series[0].axes == "ZYX" and file.pages[0].photometric == 1
    assert main(["distance", "a.tif", "b.npy"]) == 0 and numpy.load("b.npy").shape == IMAGE[:depth].shape


@pytest.mark.parametrize("axes, text", [
    ("RGB", "its axes must be (y, x) or (z, y, x) (got y 60, x 80, s 3); write each channel or frame, or the grey values"),
    ("CYX", "(got c 20, y 60, x 80)"), ("TYX", "(got t 20, y 60, x 80)"), ("ZCYX", "(got z 2, c 10, y 60, x 80)"),
    ("QQYX", "(got q 2, q 10, y 60, x 80)"),
    ("ZYX", None), ("QYX", None), ("pages", None), ("TCYX", None)])
def test_axes_of_a_tif_are_those_of_slices(folder, capsys, axes, text):
    tifffile = pytest.importorskip("tifffile")
    wanted = IMAGE[0] if axes == "TCYX" else IMAGE
    if axes == "RGB":
        tifffile.imwrite("image.tif", numpy.moveaxis(IMAGE[:3], 0, 2).copy(), photometric="rgb")
    elif axes == "pages":
        with tifffile.TiffWriter("image.tif") as writer:
            for page in IMAGE:
                writer.write(page, metadata=None, contiguous=False)
    elif axes == "TCYX":
        tifffile.imwrite("image.tif", IMAGE[:1, None], metadata={"axes": axes})
    else:
        image = IMAGE.reshape(2, 10, 60, 80) if len(axes) == 4 else IMAGE
        tifffile.imwrite("image.tif", image, imagej=axes in ("CYX", "TYX"), metadata={} if "Q" in axes else {"axes": axes})
    assert main(["edge_strength", "image.tif", "a.npy", "--threshold", "100"]) == (1 if text else 0)
    if text:
        assert text in capsys.readouterr().err and not pathlib.Path("a.npy").exists()
    else:
        assert numpy.array_equal(numpy.load("a.npy"), isoline.edge_strength(wanted, threshold=100))


def test_names_may_have_capitals(folder):
    assert main(["distance", "image.npy", "A.NPY", "--threshold", "100"]) == 0
    assert main(["isolines", "image.npy", "B.NPZ", "--levels", "50"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["A.NPY", "B.NPZ", "image.npy"]
    assert numpy.array_equal(numpy.load("A.NPY"), isoline.distance(IMAGE, threshold=100))
    assert len(numpy.load("B.NPZ")["lines"])


@pytest.mark.parametrize("target, text", [
    ("none/a.npy", "none must be there and writable (got No such file or directory); make it"),
    ("image.npy/a.npy", "(got Not a directory)"), ("folder.npy", "it must be a file (got a folder that is there)"),
    ("none/a.tif", "none must be there"), ("file.zarr", "it must be a folder (got a file that is there)"),
    ("folder.zarr", "it is there, and is no result of this command")])
def test_the_place_is_checked_before_the_computation(folder, capsys, target, text):
    pytest.importorskip({".tif": "tifffile", ".zarr": "zarr"}.get(pathlib.Path(target).suffix, "numpy"))
    for name in ("folder.npy", "folder.zarr"):
        pathlib.Path(name).mkdir()
    pathlib.Path("file.zarr").write_text("mine", encoding="utf-8")
    # The computation would say that rho is wrong.
    assert main(["edge_strength", "image.npy", target, "--rho", "0"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"isoline: cannot write {target}: ") and text in said and said.count("\n") == 1


@pytest.mark.parametrize("operation, target", [("distance", "a.npy"), ("distance", "a.tif"), ("isolines", "a.npz")])
def test_what_is_there_is_replaced_on_request_alone(folder, capsys, operation, target):
    pytest.importorskip("tifffile" if target == "a.tif" else "numpy")
    pathlib.Path(target).write_text("mine", encoding="utf-8")
    assert main([operation, "image.npy", target]) == 1 and pathlib.Path(target).read_text(encoding="utf-8") == "mine"
    said = f"isoline: cannot write {target}: it is there; give --overwrite to replace it, or name another file\n"
    assert capsys.readouterr().err == said
    assert main([operation, "image.npy", target, "--overwrite"]) == 0 and pathlib.Path(target).read_bytes() != b"mine"


@pytest.mark.parametrize("arguments, one", [
    (["level_set", "image.npy", "start.npy", "--initial_mask", "start.npy"], "start.npy"),
    (["objects", "image.npy", "link.npy", "--starts", "start.npy"], "start.npy")], ids=str)
def test_no_input_is_overwritten(folder, capsys, arguments, one):
    numpy.save("start.npy", (IMAGE > 150).astype("u1"))
    pathlib.Path("link.npy").symlink_to("start.npy")
    before = pathlib.Path("start.npy").read_bytes()
    assert main(arguments) == 1 and f"cannot write {arguments[2]}: it is the input" in capsys.readouterr().err
    assert pathlib.Path("start.npy").read_bytes() == before


def test_a_terminal_without_tqdm_has_no_bar(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert main(["distance", "image.npy", "a.npy"]) == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize("name, text", [
    ("empty.npy", "it must be a whole .npy file"), ("text.npy", "the magic string is not correct"),
    ("archive.npy", "the magic string is not correct"), ("half.npy", "it must be a whole .npy file"),
    ("empty.tif", "it must be a whole .tif file"), ("text.tif", "it must be a whole .tif file"),
    ("half.tif", "it must be a whole .tif file"), ("lost.tif", "invalid page offset")])
def test_files_that_are_damaged_are_named_in_a_line(folder, name, text):
    if name.endswith(".tif"):
        tifffile = pytest.importorskip("tifffile")
        with tifffile.TiffWriter("whole.tif") as writer:
            for page in IMAGE:
                writer.write(page, metadata=None, contiguous=False)
        with tifffile.TiffFile("whole.tif") as file:
            end = file.pages[2].offset  # The two pages before are whole.
    else:
        numpy.savez("archive", IMAGE, IMAGE)
        pathlib.Path("archive.npz").rename("archive.npy")
    whole = pathlib.Path("whole.tif" if name.endswith(".tif") else "image.npy").read_bytes()
    contents = {"empty": b"", "text": b"hello world\n", "half": whole[:len(whole) // 2]}
    if name == "lost.tif":
        contents["lost"] = whole[:end]
    if pathlib.Path(name).stem in contents:
        pathlib.Path(name).write_bytes(contents[pathlib.Path(name).stem])
    # A process, whose output has the logs, too.
    ended = subprocess.run([sys.executable, "-m", "isoline", "distance", name, "a.npy"], capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                                "ISOLINE_LIBRARY": str(pathlib.Path(isoline.default_library().path).resolve())})
    assert ended.returncode == 1 and ended.stderr.startswith(f"isoline: cannot read {name}: ")
    assert text in ended.stderr and ended.stderr.count("\n") == 1 and not pathlib.Path("a.npy").exists()


def test_operations_of_several_files(folder):
    start = numpy.zeros_like(IMAGE)
    start[8:12, 28:32, 40:44] = 1
    numpy.save("start.npy", start)
    assert main(["level_set", "image.npy", "a.npy", "--initial_mask", "start.npy", "--spacing", "2"]) == 0
    assert numpy.array_equal(numpy.load("a.npy"), isoline.level_set(IMAGE, start, spacing=2))
    numpy.save("slice.npy", IMAGE[10])
    starts = [[[10, 10], [70, 10], [70, 50], [10, 50]]]
    pathlib.Path("starts.json").write_text(json.dumps(starts), encoding="utf-8")
    assert main(["snake", "slice.npy", "b.npy", "--polygons", "starts.json", "--noise", "poisson"]) == 0
    assert numpy.array_equal(numpy.load("b.npy"), isoline.snake(IMAGE[10], starts, noise="poisson").labels())
    pathlib.Path("slices.json").write_text("[10]", encoding="utf-8")
    assert main(["snake", "image.npy", "b.npy", "--overwrite", "--polygons", "starts.json", "--slices", "slices.json"]) == 0
    labels = numpy.load("b.npy")
    assert main(["snake", "image.npy", "c.npy", "--polygons", "starts.json"]) == 1 and not pathlib.Path("c.npy").exists()
    assert numpy.array_equal(labels, isoline.snake(IMAGE, starts, [10]).labels()) and labels[10].any()
    assert not labels[:10].any() and not labels[11:].any()
    assert main(["isosurface", "image.npy", "s.npz", "--level", "50", "--spacing", "2,1,1"]) == 0
    mesh, surface = numpy.load("s.npz"), isoline.isosurface(IMAGE, level=50, spacing=(2, 1, 1))
    assert numpy.array_equal(mesh["vertices"], surface.vertices) and numpy.array_equal(mesh["triangles"], surface.triangles)
    assert mesh["area"] == surface.area > 0 and mesh["volume"] == surface.volume > 0
    assert main(["objects", "image.npy", "o.npy", "--starts", "start.npy", "--alpha", "0.6"]) == 0
    assert numpy.array_equal(numpy.load("o.npy"), isoline.objects(IMAGE, start, alpha=0.6)[0]) and numpy.load("o.npy").any()
    assert main(["isolines", "image.npy", "c.npz", "--levels", "50,100.5"]) == 0
    found, curves = numpy.load("c.npz"), isoline.isolines(IMAGE, [50, 100.5])
    assert numpy.array_equal(found["lines"], curves.lines) and numpy.array_equal(found["points"], curves.points)


def test_colours_that_are_taken_for_slices_have_a_line(folder, capsys):
    numpy.save("colours.npy", numpy.ascontiguousarray(numpy.moveaxis(IMAGE[:3], 0, 2)))
    assert main(["edge_drawing", "colours.npy", "a.npy"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("isoline: warning: image: the shape (60, 80, 3) is taken for (z, y, x)") and said.count("\n") == 1


def test_more_objects_than_16_bits_number(folder):
    image = numpy.kron(numpy.ones((260, 260), numpy.uint8), numpy.pad(numpy.full((3, 3), 200, numpy.uint8), 1))
    numpy.save("image.npy", image)
    options = ["--threshold", "50", "--sigma", "0", "--iterations", "0"]
    assert main(["objects", "image.npy", "a.npy", *options]) == 0
    labels = numpy.load("a.npy")
    assert labels.dtype == numpy.uint32 and (numpy.unique(labels) == numpy.arange(260 * 260 + 1)).all()
    numpy.save("image.npy", image[:100])
    assert main(["objects", "image.npy", "b.npy", *options]) == 0
    few = numpy.load("b.npy")
    assert few.dtype == numpy.uint16 and numpy.array_equal(few, labels[:100])


@pytest.mark.parametrize("kind", ["u4", "i4", "u8", ">i8"])
def test_labels_of_32_and_64_bits_are_read(folder, capsys, kind):
    labels = (IMAGE > 150).astype(kind) * 70000
    numpy.save("labels.npy", labels)
    floats = labels.astype("f4")
    assert main(["distance", "labels.npy", "a.npy", "--threshold", "0.5"]) == 0
    assert numpy.array_equal(numpy.load("a.npy"), isoline.distance(floats, threshold=0.5))
    assert main(["objects", "image.npy", "b.npy", "--starts", "labels.npy", "--iterations", "3"]) == 0
    found = numpy.load("b.npy")
    assert found.dtype == numpy.uint32 and numpy.array_equal(found, isoline.objects(IMAGE, floats, iterations=3)[0])
    capsys.readouterr()
    for value in (2 ** 24 + 1, -2 ** 24 - 1) if "i" in kind else (2 ** 24 + 1,):
        labels[3, 4, 5] = value
        numpy.save("labels.npy", labels)
        assert main(["distance", "labels.npy", "c.npy", "--threshold", "0.5"]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"isoline: cannot use labels.npy: whole numbers of {numpy.dtype(kind)} must be from -167")
        assert f"(got {value})" in said and said.count("\n") == 1


@pytest.mark.parametrize("workers", [[], ["--local", "2"]], ids=str)
def test_zarr_by_chunk(folder, workers):
    zarr = pytest.importorskip("zarr")
    image = zarr.open("image.zarr", mode="w", shape=IMAGE.shape, chunks=(20, 30, 40), dtype="u1")
    image[:] = IMAGE
    options = ["--threshold", "100", "--iterations", "10", "--dimensions", "volume"]
    assert main(["edge_strength", "image.zarr", "a.zarr", *options, *workers]) == 0
    assert numpy.array_equal(zarr.open("a.zarr", mode="r")[:],
                             isoline.edge_strength(IMAGE, threshold=100, iterations=10, dimensions="volume"))
    if not workers:
        assert main(["distance", "image.zarr", "b.zarr", "--threshold", "100"]) == 0
        wanted = isoline.distance(IMAGE, threshold=100)
        assert numpy.array_equal(zarr.open("b.zarr", mode="r")[:], wanted)
        assert main(["distance", "image.zarr", "b.zarr", "--threshold", "100", "--largest", "4", "--overwrite"]) == 0
        assert numpy.array_equal(zarr.open("b.zarr", mode="r")[:], wanted.clip(-4, 4))


@pytest.mark.parametrize("workers", [[], ["--local", "2"]], ids=str)
def test_chunks_that_have_not_converged_have_one_line(folder, capfd, workers):
    zarr = pytest.importorskip("zarr")
    zarr.open("image.zarr", mode="w", shape=IMAGE.shape, chunks=(5, 30, 40), dtype="u1")[:] = IMAGE
    options = ["--threshold", "100", "--mode", "converged"]
    assert main(["edge_strength", "image.zarr", "a.zarr", *options, *workers, "--max_cycles", "1"]) == 0
    assert capfd.readouterr().err == ("isoline: warning: not converged (number of iterations: 1); more may change the "
                                      "result\n")
    assert main(["edge_strength", "image.zarr", "b.zarr", *options, *workers]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("workers", [[], ["--local", "2"]], ids=str)
def test_objects_of_chunks_that_may_be_wrong_have_lines(folder, capfd, workers):
    zarr = pytest.importorskip("zarr")
    zarr.open("image.zarr", mode="w", shape=IMAGE.shape, chunks=(20, 30, 20), dtype="u1")[:] = IMAGE
    options = ["--threshold", "100", "--reach", "9", "--margin", "5", "--iterations", "10"]
    assert main(["objects", "image.zarr", "a.zarr", *options, *workers]) == 0
    said = capfd.readouterr().err.splitlines()
    assert len(said) == len(set(said)) > 0 and all(line.startswith("isoline: warning: objects: ") for line in said)


@pytest.mark.parametrize("address, text", [
    ("foo", "missing port number"), ("tcp://1.2.3", "missing port number"), ("foo://x:1", "unknown address scheme"),
    ("127.0.0.1:1", "Timed out trying to connect")])
def test_a_scheduler_that_is_not_there_is_named(folder, capsys, address, text):
    dask, zarr = pytest.importorskip("dask"), pytest.importorskip("zarr")
    pytest.importorskip("distributed")
    zarr.open("image.zarr", mode="w", shape=IMAGE.shape, chunks=(20, 30, 40), dtype="u1")[:] = IMAGE
    # A client that finds no scheduler has named itself in Dask's settings before, which other tests use.
    with dask.config.set({"distributed.comm.timeouts.connect": "1s", "scheduler": None, "shuffle": None}):
        assert main(["distance", "image.zarr", "a.npy", "--scheduler", address]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"isoline: cannot use --scheduler {address}: it must be the address of a scheduler that runs")
    assert f"(got {text}" in said and said.endswith("give the address that it shows\n") and said.count("\n") == 1


@pytest.mark.parametrize("arguments, text", [
    (["distance", "nothing.npy", "a.npy"], "cannot read nothing.npy: there is no such file"),
    (["distance", "image.npy", "image.npy"], "it is the input"), (["distance", "image.npy", "a.png"], "got '.png'"),
    (["isolines", "image.npy", "a.npy"], "the ending must be .npz"),
    (["edge_strength", "image.npy", "a.npy", "--rho", "0"], "rho must be at least 1e-18"),
    (["edge_strength", "image.npy", "a.npy", "--mode", "converged", "--iterations", "5"], "iterations of edge_strength has"),
    (["edge_strength", "image.npy", "a.npy", "--local", "2"], "they are for a .zarr"),
    (["distance", "image.npy", "a.npy", "--largest", "2"], "they are for a .zarr"),
    (["distance", "image.npy", "a.npy", "--multiscale", "2"], "more than 1 for a .zarr alone (got a.npy)"),
    (["distance", "image.npy", "a.npy", "--multiscale", "0"], "cannot use --multiscale 0: it must be at least 1"),
    (["level_set", "image.npy", "a.npy", "--initial_mask", "none.tif"], "cannot read none.tif"),
    (["distance", "folder.npy", "a.npy"], "cannot read folder.npy: it must be a whole .npy file that can be decoded")],
    ids=str)
def test_failures_say_why(folder, capsys, arguments, text):
    (folder / "folder.npy").mkdir()
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("isoline: ") and text in said and said.count("\n") == 1
    assert not (folder / "a.npy").exists()


@pytest.mark.parametrize("arguments", [[], ["sharpen", "a", "b"], ["distance", "image.npy", "a.npy", "--roh", "1"],
                                       ["edge_strength", "image.npy", "a.npy", "--mode", "fast"]], ids=str)
def test_misuse_shows_the_usage(folder, capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2 and "usage: python -m isoline" in capsys.readouterr().err


@pytest.mark.parametrize("contents, text", [
    ("[[[1, 2", "cannot read starts.json: it must be a list in JSON (got Expecting"),
    ("5", "cannot read starts.json: it must be a list in JSON (got the value 5)"),
    (None, "cannot read starts.json: it must be a list in JSON (got [Errno 2] No such file"),
    ('{"x": 1}', "cannot read starts.json: it must be a list"), ("[[[1, 2], [3]]]", "cannot use polygon 0: it must be")])
def test_starts_that_cannot_be_used(folder, capsys, contents, text):
    if contents is not None:
        pathlib.Path("starts.json").write_text(contents, encoding="utf-8")
    numpy.save("slice.npy", IMAGE[10])
    assert main(["snake", "slice.npy", "a.npy", "--polygons", "starts.json"]) == 1
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1


def test_levels_may_be_negative(folder):
    assert main(["distance", "image.npy", "a.npy", "--threshold", "100"]) == 0
    assert main(["isolines", "a.npy", "a.npz", "--levels=-5e-1,1"]) == 0
    assert set(numpy.load("a.npz")["lines"]["level"]) == {-0.5, 1}


def test_words_are_no_numbers(folder, capsys):
    with pytest.raises(SystemExit):
        main(["distance", "image.npy", "a.npy", "--spacing", "1,x,1"])
    assert "--spacing: must be one number, or several separated by commas (got '1,x,1')" in capsys.readouterr().err


def test_help_comes_from_the_table(capsys):
    with pytest.raises(SystemExit):
        main(["edge_drawing", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "--gradient_threshold VALUE float, ≥ 0, pixel values, None (default) for automatic" in said


def test_an_output_stays_a_link_and_keeps_its_mode(folder):
    pathlib.Path("real").mkdir()
    numpy.save("real/a.npy", IMAGE)
    pathlib.Path("real/a.npy").chmod(0o640)
    pathlib.Path("a.npy").symlink_to("real/a.npy")
    pathlib.Path("new.npy").symlink_to("real/new.npy")
    for name in ("a.npy", "new.npy"):
        assert main(["distance", "image.npy", name, "--threshold", "100", "--overwrite"]) == 0
        assert pathlib.Path(name).is_symlink()
        assert numpy.array_equal(numpy.load(f"real/{name}"), isoline.distance(IMAGE, threshold=100))
    assert pathlib.Path("real/a.npy").stat().st_mode & 0o777 == 0o640


def test_a_zarr_that_is_a_link_stays_one(folder):
    zarr = pytest.importorskip("zarr")
    pathlib.Path("real").mkdir()
    pathlib.Path("a.zarr").symlink_to("real/a.zarr")
    for threshold in ("100", "101"):
        assert main(["distance", "image.npy", "a.zarr", "--threshold", threshold, "--overwrite"]) == 0
        assert pathlib.Path("a.zarr").is_symlink()
        found = zarr.open("real/a.zarr", mode="r")[:]
        assert numpy.array_equal(found, isoline.distance(IMAGE, threshold=float(threshold)))


@pytest.fixture
def interruptible():
    """SIGINT raises an exception, also where the tests run in the background, which a shell starts with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_has_a_line(folder, monkeypatch, capsys):
    monkeypatch.setattr(program, "computed", lambda *_: signal.raise_signal(signal.SIGINT))
    assert main(["distance", "image.npy", "a.npy"]) == 130
    assert capsys.readouterr().err == "isoline: cancelled: a.npy is not written\n"
    monkeypatch.setattr(program, "parser", lambda: signal.raise_signal(signal.SIGINT))
    assert main([]) == 130 and capsys.readouterr().err == "isoline: cancelled: the output is not written\n"


def test_a_scheduler_of_the_caller_is_not_used_unasked(folder):
    dask, _ = pytest.importorskip("dask"), pytest.importorskip("zarr")

    def refuse(*_arguments, **_keywords):
        raise AssertionError("the scheduler of the caller was used")

    with dask.config.set(scheduler=refuse):
        assert main(["distance", "image.npy", "a.zarr", "--threshold", "100"]) == 0


def test_an_output_is_whole_or_as_it_was(folder, monkeypatch, capsys):
    def full(file, _array):
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    numpy.save("a.npy", IMAGE)
    before = pathlib.Path("a.npy").read_bytes()
    monkeypatch.setattr(numpy, "save", full)
    assert main(["distance", "image.npy", "a.npy", "--threshold", "100", "--quiet", "--overwrite"]) == 1
    assert "cannot write a.npy: No space left on device; make room" in capsys.readouterr().err
    assert pathlib.Path("a.npy").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["a.npy", "image.npy"]


@pytest.mark.parametrize("fails", [False, True])
def test_two_processes_may_write_the_same_output(folder, fails):
    """Each has a file of its own, with the permissions of a new one; that of the last one to end stays, if it may replace
    the other."""
    with open("usual.npy", "wb"):
        pass
    with complete("a.npy", overwrite=True) as one:
        one.write(b"one: ")
        with contextlib.suppress(ZeroDivisionError), complete("a.npy", overwrite=False) as other:
            other.write(b"other")
            if fails:
                raise ZeroDivisionError
        assert pathlib.Path("a.npy").exists() != fails and (fails or pathlib.Path("a.npy").read_bytes() == b"other")
        one.write(b"whole")
    assert pathlib.Path("a.npy").read_bytes() == b"one: whole"
    assert pathlib.Path("a.npy").stat().st_mode == pathlib.Path("usual.npy").stat().st_mode
    assert sorted(path.name for path in folder.iterdir()) == ["a.npy", "image.npy", "usual.npy"]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("operation, target", [("distance", "a.npy"), ("distance", "a.tif"), ("isolines", "a.npz")])
def test_of_two_runs_that_make_the_same_file_one_is_refused(folder, monkeypatch, capsys, operation, target, links):
    pytest.importorskip("tifffile" if target == "a.tif" else "numpy")
    publish = program.publish

    def late(*given):
        monkeypatch.setattr(program, "publish", publish)
        assert main([operation, "image.npy", target]) == 0
        written.append(pathlib.Path(target).read_bytes())
        publish(*given)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")  # the answer of a file system without links

    written: list = []
    monkeypatch.setattr(program, "publish", late)
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    other = ["--threshold", "220"] if operation == "distance" else ["--levels", "9"]
    assert main([operation, "image.npy", target, *other]) == 1
    assert capsys.readouterr().err == (f"isoline: cannot write {target}: another run has written it meanwhile; give "
                                       "--overwrite to replace it, or name another file\n")
    assert [pathlib.Path(target).read_bytes()] == written
    assert sorted(path.name for path in folder.iterdir()) == [target, "image.npy"]


def test_a_file_that_cannot_get_its_name_is_not_there(folder, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(pathlib.Path, "replace", refuse)
    assert main(["distance", "image.npy", "a.npy"]) == 1
    assert "cannot write a.npy: Input/output error" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["image.npy"]


def test_the_end_of_a_cluster_job_leaves_no_part_of_a_file(folder):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, complete("a.npy", overwrite=False) as file:
        file.write(b"a part")
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 143 and signal.getsignal(signal.SIGTERM) == before
    assert [path.name for path in folder.iterdir()] == ["image.npy"]


@pytest.mark.parametrize("arguments, text", [
    (["level_set", "image.npy", "a.npy", "--initial_mask", "start.npy", "--target", "1000", "--epsilon", "10"],
     "level_set: no front is left, and the mask is empty"),
    (["level_set", "image.npy", "a.npy", "--initial_mask", "start.npy", "--iterations", "1"],
     "not converged (number of iterations: 1)"),
    (["level_set", "image.npy", "a.npy", "--initial_mask", "start.npy", "--iterations", "1", "--change_tolerance", "0",
      "--rms_tolerance", "0"], None),
    (["objects", "image.npy", "a.npy", "--threshold", "250"], "objects: no object was found"),
    (["distance", "image.npy", "a.npy", "--threshold", "250"], "distance: the result is infinite"),
    (["edge_strength", "image.npy", "a.npy", "--foreground", "below", "--threshold", "250"], "edge_strength: the result"),
    (["edge_strength", "image.npy", "a.npy", "--threshold", "250"], "edge_strength: the result is 0 everywhere"),
    (["edge_strength", "image.npy", "a.npy", "--mode", "converged", "--threshold", "100", "--max_cycles", "1"],
     "not converged (number of iterations: 1)"),
    (["edge_strength", "image.npy", "a.npy", "--threshold", "100"], None),
    (["objects", "image.npy", "a.npy", "--threshold", "100"], None)])
def test_a_result_that_may_be_of_no_use_has_a_warning(folder, capsys, arguments, text):
    start = numpy.zeros_like(IMAGE)
    start[8:12, 25:35, 30:50] = 1
    numpy.save("start.npy", start)
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"isoline: warning: {text}") and said.count("\n") == 1 if text else said == ""
