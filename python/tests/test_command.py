"""python -m isoline: files in and out, parameters from the tables, and errors in a line."""
import json
import pathlib

import numpy
import pytest

import isoline
from isoline.__main__ import main

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
    assert main(["snake", "image.npy", "b.npy", "--polygons", "starts.json", "--slices", "slices.json"]) == 0
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


@pytest.mark.parametrize("arguments, text", [
    (["distance", "nothing.npy", "a.npy"], "cannot read nothing.npy: there is no such file"),
    (["distance", "image.npy", "image.npy"], "it is the input"), (["distance", "image.npy", "a.png"], "got '.png'"),
    (["isolines", "image.npy", "a.npy"], "the ending must be .npz"),
    (["edge_strength", "image.npy", "a.npy", "--rho", "0"], "rho must be at least 1e-18"),
    (["edge_strength", "image.npy", "a.npy", "--local", "2"], "they are for a .zarr"),
    (["distance", "image.npy", "a.npy", "--largest", "2"], "they are for a .zarr"),
    (["level_set", "image.npy", "a.npy", "--initial_mask", "none.tif"], "cannot read none.tif")], ids=str)
def test_failures_say_why(folder, capsys, arguments, text):
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


def test_help_comes_from_the_table(capsys):
    with pytest.raises(SystemExit):
        main(["edge_drawing", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "--gradient_threshold VALUE float, ≥ 0, pixel values, None (default) for automatic" in said


def test_an_output_is_whole_or_as_it_was(folder, monkeypatch, capsys):
    def full(file, _array):
        pathlib.Path(file).write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    numpy.save("a.npy", IMAGE)
    before = pathlib.Path("a.npy").read_bytes()
    monkeypatch.setattr(numpy, "save", full)
    assert main(["distance", "image.npy", "a.npy", "--threshold", "100", "--quiet"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert pathlib.Path("a.npy").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["a.npy", "image.npy"]
