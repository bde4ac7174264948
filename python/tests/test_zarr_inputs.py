"""The .zarr files that the command reads: groups, versions, spacing, and what cannot be used."""
import os
import pathlib
import shutil

import numpy
import pytest

import isoline
from isoline.__main__ import main

zarr = pytest.importorskip("zarr")
dask = pytest.importorskip("dask")
from zarr_files import AXES, CHUNKS, FIELD, IMAGE, OPTIONS, SHAPE, ome, plain  # noqa: E402

from isoline import _zarr  # noqa: E402


@pytest.mark.parametrize("more", [[], ["--largest", "3"], ["--local", "2"], ["--multiscale", "2"]], ids=str)
def test_spacing_is_that_of_the_file(folder, more):
    ome("image.zarr", coordinateTransformations=[dict(type="scale", scale=[1, 1, 1, 2, 2])])
    assert main(["distance", "image.zarr", "a.zarr", "--threshold", "100", *more]) == 0
    wanted = isoline.distance(IMAGE, threshold=100, spacing=(2, 1, 1))
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], wanted.clip(-3, 3) if "3" in more else wanted)
    assert main(["distance", "image.zarr", "b.npy", "--threshold", "100", "--spacing", "1"]) == 0
    assert numpy.array_equal(numpy.load("b.npy"), isoline.distance(IMAGE, threshold=100))


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_the_nearest_group_says_the_spacing(folder, version):
    """Label images, wells and results may be in the folder of another image, or in one that is none."""
    ome("image.zarr", version)
    for group, z in (("image.zarr/labels/nuclei", 3), ("image.zarr/A/1/0", 4), ("plain.zarr/in.zarr", 5)):
        ome(group, version, scale=(1, 1, z, 1, 1))
        wanted = isoline.distance(IMAGE, threshold=100, spacing=(z, 1, 1))
        for path in (group, f"{group}/full"):
            assert main(["distance", path, "a.npy", "--overwrite", "--threshold", "100"]) == 0
            assert numpy.array_equal(numpy.load("a.npy"), wanted)
    numpy.save("plain.zarr/b.npy", IMAGE)
    assert main(["distance", "plain.zarr/b.npy", "a.npy", "--overwrite"]) == 0
    assert main(["edge_strength", "image.zarr/A/1/0", "image.zarr/labels/a.zarr", *OPTIONS]) == 0
    assert main(["distance", "image.zarr/labels/a.zarr/0", "a.npy", "--overwrite", "--threshold", "0.5"]) == 0
    field = zarr.open("image.zarr/labels/a.zarr/0", mode="r")[:]
    assert numpy.array_equal(numpy.load("a.npy"), isoline.distance(field, threshold=0.5, spacing=(4, 1, 1)))


def test_a_result_that_is_being_written_is_not_read_at_any_depth(folder, capsys):
    ome("image.zarr")
    ome("image.zarr/a.zarr")
    zarr.open("image.zarr/a.zarr", mode="r+").attrs["isoline"] = {"complete": False}
    for path in ("image.zarr/a.zarr", "image.zarr/a.zarr/full"):
        assert main(["distance", path, "a.npy", "--overwrite"]) == 1
        assert "a run that has not ended is writing it" in capsys.readouterr().err
    assert main(["distance", "image.zarr", "a.npy", "--overwrite"]) == 0


def test_groups_without_an_image_name_what_is_in_them(folder, capsys):
    zarr.create_group("image.zarr").create_group("A")
    ome("image.zarr/A/1")
    for path in ("image.zarr", "image.zarr/A"):
        assert main(["distance", path, "a.npy", "--overwrite"]) == 1
        said = capsys.readouterr().err
        assert "it is a group without an image of OME-Zarr" in said
        assert f"such as {path}/A" in said or path == "image.zarr/A" and "such as image.zarr/A/1" in said
    assert main(["distance", "image.zarr/A/1", "a.npy", "--overwrite"]) == 0


def test_other_versions_of_ome_zarr(folder, capsys):
    """The array that the error names can be read. Without a version the structure decides."""
    ome("image.zarr", "0.3")
    assert main(["distance", "image.zarr", "a.npy", "--overwrite"]) == 1
    assert "(got 0.3); convert it, or name an array in it, such as image.zarr/full, and its --spa" in capsys.readouterr().err
    assert main(["distance", "image.zarr/full", "a.npy", "--overwrite", "--threshold", "100", "--spacing", "2,1,1"]) == 1
    assert "(z, y, x)" in capsys.readouterr().err  # It has axes of size 1 besides.
    ome("three.zarr", "0.3", axes=AXES[2:], scale=(2, 1, 1))
    assert main(["distance", "three.zarr/full", "a.npy", "--overwrite", "--threshold", "100", "--spacing", "2,1,1"]) == 0
    wanted = isoline.distance(IMAGE, threshold=100, spacing=(2, 1, 1))
    assert numpy.array_equal(numpy.load("a.npy"), wanted)
    ome("none.zarr", None, axes=AXES[2:], scale=(2, 1, 1))
    assert main(["distance", "none.zarr", "a.npy", "--overwrite", "--threshold", "100"]) == 0
    assert numpy.array_equal(numpy.load("a.npy"), wanted)
    ome("names.zarr", None, axes=["z", "y", "x"], scale=(2, 1, 1))
    assert main(["distance", "names.zarr", "a.npy", "--overwrite"]) == 1 and "(got None)" in capsys.readouterr().err


@pytest.mark.parametrize("error, text", [
    (PermissionError(13, "Permission denied", "c/0"), "must be readable (got [Errno 13] Permission denied: 'c/0')"),
    (MemoryError(), "must fit into memory (got MemoryError())"),
    (OSError("Invalid data"), "is damaged (Invalid data)")], ids=str)
def test_a_chunk_that_cannot_be_read_says_why(folder, monkeypatch, capsys, error, text):
    def failing(*_):
        raise error

    plain()
    monkeypatch.setattr(zarr.Array, "__getitem__", failing)
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    said = capsys.readouterr().err
    assert said.startswith("isoline: cannot read image.zarr: the chunk of the pixels ") and text in said


def test_missing_chunks_are_refused(folder, capsys):
    empty = IMAGE.copy()
    empty[10:, 31:] = 0  # Zarr leaves chunks of the fill value out.
    plain(image=empty)
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    said = capsys.readouterr().err
    assert "2 of its 8 chunks are not there (the first is image.zarr/c/1/1/0), and Zarr reads such as 0" in said
    assert "--fill_missing" in said and not pathlib.Path("a.zarr").exists()
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS, "--fill_missing"]) == 0
    wanted = isoline.edge_strength(empty, dimensions="volume", threshold=100, iterations=9)
    assert numpy.array_equal(zarr.open("a.zarr", mode="r")[:], wanted)


@pytest.mark.parametrize("lost", ["image.zarr/full/c/0/0/1/0/1", "image.zarr"])
def test_a_chunk_that_a_process_does_not_see_is_an_error(folder, monkeypatch, capsys, lost):
    """Zarr reads it as the fill value, also where the whole folder is another one."""
    ome("image.zarr")
    read, more = _zarr.read, [] if lost != "image.zarr" else ["--fill_missing"]
    monkeypatch.setattr(_zarr, "read", lambda *given: (read(*given), os.rename(lost, "moved"))[0])
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS, *more]) == 1
    said = capsys.readouterr().err
    assert said.startswith("isoline: cannot read image.zarr: ") and f"{folder / lost} is not there; let all" in said


def test_a_damaged_chunk_of_five_axes_is_an_error(folder, capsys):
    ome("image.zarr")
    pathlib.Path("image.zarr/full/c/0/0/1/0/1").write_bytes(b"not compressed")
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    assert "the chunk of the pixels 0 to 1, 0 to 1, 10 to 20, 0 to 31, 40 to 80 is damaged" in capsys.readouterr().err


def test_a_damaged_chunk_is_an_error(folder, capsys):
    plain()
    pathlib.Path("image.zarr/c/1/0/1").write_bytes(b"not compressed")
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    said = capsys.readouterr().err
    assert "cannot read image.zarr: the chunk of the pixels 10 to 20, 0 to 31, 40 to 80 is damaged" in said
    assert "copy image.zarr/c/1/0/1 again" in said
    assert main(["distance", "a.zarr", "b.npy"]) == 1 and "has not ended" in capsys.readouterr().err
    # The run goes on when its advice is followed.
    plain("source.zarr")
    shutil.copystat("image.zarr/c/1/0/1", "source.zarr/c/1/0/1")
    os.replace("source.zarr/c/1/0/1", "image.zarr/c/1/0/1")
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    assert numpy.array_equal(zarr.open("a.zarr", mode="r")[:], FIELD)


def reordered():
    ome("image.zarr", axes=[AXES[2 + at] for at in (2, 1, 0)], scale=(1, 1, 1))


def two_channels():
    ome("image.zarr", axes=AXES[1:], image=numpy.stack([IMAGE, IMAGE]), scale=(1, 1, 1, 1))


@pytest.mark.parametrize("make, arguments, text", [
    (reordered, [], "its axes must be (y, x) or (z, y, x), after others of size 1 (got x 20, y 61, z 80)"),
    (two_channels, [], "(got c 2, z 20, y 61, x 80); write the channel"),
    (lambda: ome("image.zarr", axes=AXES[:4]), [], "(got t 1, c 1, z 20, y 61, None 80)"),
    (lambda: ome("image.zarr", coordinateTransformations=[dict(type="scale", scale=[2])]), [],
     "must be a scale or a translation of 5 axes (got {"),
    (lambda: ome("image.zarr", "0.3"), [], "must have the version 0.4 or 0.5 (got 0.3)"),
    (lambda: zarr.create_group("image.zarr").create_array("raw", shape=(9, 9), dtype="u1"), [], "such as image.zarr/raw"),
    (lambda: os.mkdir("image.zarr"), [], "there is no Zarr array or group"),
    (plain, ["--multiscale", "2"], "they are for a source that is an OME-Zarr image"),
    (plain, ["--multiscale", "2", "--rho", "0"], "they are for a source that is an OME-Zarr image"),
    (plain, ["--multiscale", "0"], "cannot use --multiscale 0: it must be at least 1"),
    (plain, ["--local", "0"], "--local must be at least 1 (got 0)"), (plain, ["--local", "-1"], "(got -1)"),
    (lambda: (plain(), plain("a.zarr")), [], "it is there, and is no result of this command"),
    (lambda: (plain(), os.mkdir("a.zarr")), [], "it is there, and is no result of this command"),
    (lambda: plain(image=IMAGE.astype("f8")), [], "got float64")], ids=lambda value: value if isinstance(value, str) else "")
def test_files_that_cannot_be_used_say_why(folder, capsys, make, arguments, text):
    make()
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS, *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("isoline: ") and text in said and said.count("\n") == 1
    assert not list(pathlib.Path(".").glob("a.zarr/isoline"))


@pytest.mark.parametrize("multiscale", [
    dict(version="0.4"), dict(version="0.4", axes=AXES[2:], datasets=[]), dict(version="0.4", axes=AXES[2:], datasets="0"),
    "0.4", dict(version="0.4", datasets=[dict(path="0")]),
    dict(version="0.4", axes=AXES[2:], datasets=[dict(path="0", coordinateTransformations=[
        dict(type="scale", scale=["2", "1", "1"])])])], ids=str)
def test_attributes_that_are_not_those_of_an_image(folder, capsys, multiscale):
    group = zarr.create_group("image.zarr", attributes=dict(multiscales=[multiscale]))
    group.create_array("0", shape=SHAPE, chunks=CHUNKS, dtype="u1")[:] = IMAGE | 1
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    said = capsys.readouterr().err
    assert "cannot read image.zarr: its attributes must be those of an image of OME-Zarr" in said and said.count("\n") == 1
    pathlib.Path("image.zarr/zarr.json").write_text("{", encoding="utf-8")
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    assert "cannot read image.zarr: its metadata must be those of Zarr" in capsys.readouterr().err


def test_bytes_in_the_other_order(folder):
    plain(image=IMAGE.astype(">u2"), zarr_format=2)
    for more in ([], ["--local", "1"]):
        assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS, *more, "--overwrite"]) == 0
        assert numpy.array_equal(zarr.open("a.zarr", mode="r")[:], FIELD)


def test_units_that_differ_need_a_spacing(folder, capsys):
    ome("image.zarr", axes=[*AXES[:2], dict(name="z", unit="millimeter"), *AXES[3:]])
    assert main(["distance", "image.zarr", "a.npy", "--overwrite"]) == 1
    assert "the units of its axes must be the same" in capsys.readouterr().err
    assert main(["distance", "image.zarr", "a.npy", "--overwrite", "--spacing", "1"]) == 0
    # Slices do not use the distance between them.
    assert main(["distance", "image.zarr", "a.npy", "--overwrite", "--threshold", "100", "--dimensions", "slices"]) == 0
    assert numpy.array_equal(numpy.load("a.npy"), isoline.distance(IMAGE, threshold=100, spacing=0.5, dimensions="slices"))
    assert main(["edge_strength", "image.zarr", "a.npy", "--overwrite"]) == 0
    assert main(["edge_strength", "image.zarr", "b.zarr"]) == 0
    assert main(["isolines", "image.zarr", "a.npz", "--overwrite"]) == 0
    assert main(["edge_strength", "image.zarr", "a.npy", "--overwrite", *OPTIONS]) == 1
    ome("other.zarr", axes=[*AXES[:4], dict(name="x", unit="millimeter")])
    assert main(["isolines", "other.zarr", "a.npz", "--overwrite"]) == 1
    assert "must be the same (got ['micrometer', 'millimeter'])" in capsys.readouterr().err
