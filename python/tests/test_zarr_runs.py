"""Runs of the command that meet another run's result, or an interrupt: none is mixed with another, nor deleted unasked."""
import json
import os
import pathlib
import signal
import sys
import time

import numpy
import pytest

import isoline
from isoline.__main__ import main

zarr = pytest.importorskip("zarr")
dask = pytest.importorskip("dask")
from zarr_files import DISTANCE, IMAGE, OPTIONS, attributes_of, finished, ome, plain, start  # noqa: E402

from isoline import __main__ as program  # noqa: E402
from isoline import _zarr  # noqa: E402
from isoline import dask as by_chunk  # noqa: E402


@pytest.mark.parametrize("last", [False, True], ids=["chunk", "attributes"])
def test_a_run_whose_result_was_replaced_ends(folder, monkeypatch, capsys, last):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    strength, fill = by_chunk.strength, _zarr.fill
    run = ["edge_strength", "image.zarr", "a.zarr", *OPTIONS]

    def replace():
        monkeypatch.setattr(by_chunk, "strength", strength)
        monkeypatch.setattr(_zarr, "fill", fill)
        assert main([*run[:-1], "10", "--overwrite"]) == 0

    if last:
        monkeypatch.setattr(_zarr, "fill", lambda *given: (fill(*given), replace()))
    else:
        monkeypatch.setattr(by_chunk, "strength", lambda *given, **more: (replace(), strength(*given, **more))[1])
    assert main(run) == 1 and "cannot write a.zarr: another run has replaced it" in capsys.readouterr().err
    field = isoline.edge_strength(IMAGE, dimensions="volume", threshold=100, iterations=10)
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], field)
    _, written = attributes_of("a.zarr")
    assert written["complete"] and written["run"]["parameters"]["iterations"] == 10


def test_a_worker_that_does_not_see_the_result_says_so(folder):
    with pytest.raises(FileNotFoundError, match="cannot write a.zarr: /none/a.zarr is not there; let all workers see"):
        _zarr.store(numpy.zeros((2, 2)), "/none/a.zarr", "0", "a.zarr", None)


def test_a_run_that_begins_at_the_same_time_deletes_nothing(folder, monkeypatch, capsys):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    begun, before = _zarr.begun, {}

    def other(run):
        monkeypatch.setattr(_zarr, "begun", begun)
        assert main(DISTANCE) == 0
        before.update(finished("a.zarr"))
        return begun(run)

    monkeypatch.setattr(_zarr, "begun", other)
    assert main(DISTANCE) == 1
    assert "cannot write a.zarr: another run began it at the same time" in capsys.readouterr().err
    assert before and finished("a.zarr") == before and main(DISTANCE) == 0


@pytest.mark.parametrize("function, source", [("create_group", "0.4"), ("create_group", "0.5"), ("create_array", None)])
def test_no_run_begins_a_result_that_another_one_is_making(folder, monkeypatch, capsys, function, source):
    if source:
        ome("image.zarr", source)
    else:
        plain()
    make, run = getattr(zarr, function), ["edge_strength", "image.zarr", "a.zarr", *OPTIONS]

    def late(*given, **options):
        monkeypatch.setattr(zarr, function, make)
        assert main([*run[:-1], "3"]) == 1
        assert "cannot write a.zarr: it is there, and is no result of this command" in capsys.readouterr().err
        return make(*given, **options)

    monkeypatch.setattr(zarr, function, late)
    assert main(run) == 0 and main(run) == 0


def test_a_complete_result_is_not_computed_again(folder, monkeypatch):
    ome("image.zarr")
    distance = ["distance", "image.zarr", "a.zarr", "--threshold", "100"]
    assert main(distance) == 0
    calls, computed = [], program.computed
    monkeypatch.setattr(program, "computed", lambda *given: calls.append(0) or computed(*given))
    assert main(distance) == 0 and not calls
    next(iter(finished("a.zarr"))).unlink()
    assert main(distance) == 0 and len(calls) == 1 and len(finished("a.zarr")) == 8


def test_a_corrected_unit_or_place_is_another_run(folder, capsys):
    ome("image.zarr")
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    group = zarr.open("image.zarr", mode="r+")
    right = group.attrs["ome"]
    for change, name in ((lambda found: [axis.update(unit="nanometer") for axis in found["axes"][2:]], "axes"),
                         (lambda found: found["datasets"][0]["coordinateTransformations"][1]["translation"].reverse(),
                          "translation")):
        changed = json.loads(json.dumps(right))
        change(changed["multiscales"][0])
        group.attrs["ome"] = changed
        assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
        assert f"the result of another run (input {name}: [" in capsys.readouterr().err
    group.attrs["ome"] = right
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0


@pytest.mark.workers
def test_no_result_is_replaced_without_overwrite(folder, capsys):
    """By a call with all pixels as little as by chunk, and of any operation. The same run goes on in both ways."""
    ome("image.zarr")
    distance = ["distance", "image.zarr", "a.zarr", "--threshold"]
    assert main([*distance, "100", "--local", "1"]) == 0
    before = finished("a.zarr")
    assert main([*distance, "101"]) == 1
    assert "the result of another run (parameters threshold: 100.0, now 101.0)" in capsys.readouterr().err
    next(iter(before)).unlink()
    assert main([*distance, "100"]) == 0
    after = finished("a.zarr")
    assert before.keys() == after.keys() and len(before.items() - after.items()) == 1
    assert main([*distance, "101", "--overwrite"]) == 0
    wanted = isoline.distance(IMAGE, threshold=101, spacing=(2, 0.5, 0.5))
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], wanted)
    numpy.save("image.npy", IMAGE)
    numpy.save("starts.npy", (IMAGE > 100).astype("u1"))
    objects = ["objects", "image.npy", "b.zarr", "--starts", "starts.npy", "--iterations", "2"]
    assert main(objects) == 0 and main(objects) == 0
    numpy.save("starts.npy", (IMAGE > 120).astype("u1"))
    assert main(objects) == 1 and "the result of another run (starts newest: " in capsys.readouterr().err
    assert main([*objects, "--overwrite"]) == 0


@pytest.mark.parametrize("more", [[], ["--overwrite"], ["--largest", "3", "--overwrite"]], ids=str)
@pytest.mark.workers
def test_no_folder_of_others_is_deleted(folder, capsys, more):
    plain()
    os.mkdir("notes.zarr")
    pathlib.Path("notes.zarr/notes.txt").write_text("important", encoding="utf-8")
    ome("other.zarr")
    for target in ("notes.zarr", "other.zarr"):
        before = sorted(pathlib.Path(target).rglob("*"))
        assert main(["distance", "image.zarr", target, "--threshold", "100", *more]) == 1
        assert f"cannot write {target}: it is there, and is no result of this command" in capsys.readouterr().err
        assert sorted(pathlib.Path(target).rglob("*")) == before
    os.rename("notes.zarr", "a.steps.zarr")
    assert main(["distance", "image.zarr", "a.zarr", "--threshold", "100", "--local", "1", "--overwrite"]) == 1
    assert pathlib.Path("a.steps.zarr/notes.txt").exists()
    assert main(["distance", "image.zarr", "b.zarr", "--threshold", "100"]) == 0


@pytest.mark.parametrize("source", ["a.steps.zarr", "a.steps.zarr/full", "image.zarr"])
@pytest.mark.parametrize("more", [[], ["--overwrite"]], ids=str)
def test_no_steps_replace_a_result_or_an_input(folder, capsys, more, source):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    options = ["--threshold", "100", "--multiscale", "2"]
    if more:
        assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    if "full" in source:
        ome("a.steps.zarr")
    else:
        assert main(["distance", "image.zarr", "a.steps.zarr", *options]) == 0
    before = finished(".")
    assert main(["distance", source, "a.zarr", *options, *more]) == 1
    assert "cannot write a.steps.zarr: " in capsys.readouterr().err and finished(".") == before
    assert main(["distance", source, "a.zarr", "--largest", "3", *more]) == 0 and finished("a.steps.zarr")


@pytest.mark.workers
def test_workers_say_no_more_than_the_command(folder):
    pytest.importorskip("distributed")
    ome("image.zarr")
    command = start(*DISTANCE, "--local", "2")
    assert command.communicate()[1] == "" and command.returncode == 0
    next(pathlib.Path("image.zarr").rglob("c/*/*/1/0/1")).write_bytes(b"not compressed")
    command = start(*DISTANCE, "--local", "1", "--overwrite")
    said = command.communicate()[1]
    assert command.returncode == 1 and said.startswith("isoline: cannot read image.zarr") and said.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.workers
def test_an_interrupt_ends_the_command_and_its_workers_with_a_line(folder, begun):
    """Also while the workers start, when they have no handler of their own yet."""
    pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    plain()
    hours = [*OPTIONS[:-1], "10000000"]
    # Tests may run in the background, where interrupts are ignored, and a new process would ignore them, too.
    command = start("edge_strength", "image.zarr", "a.zarr", *hours, "--local", "2", "--overwrite", start_new_session=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    # The first child is that of multiprocessing.
    while not (pathlib.Path("a.zarr").exists() if begun else len(psutil.Process(command.pid).children()) > 1):
        assert command.poll() is None
        time.sleep(0.01)
    time.sleep(1 if begun else 0.2)
    os.killpg(command.pid, signal.SIGINT)
    errors = command.communicate(timeout=120)[1]
    kept = ("chunks of a.zarr that are done stay; start the same command again without --overwrite to compute the others"
            if begun else "a.zarr is not written")
    assert errors == f"isoline: cancelled: {kept}\n" and command.returncode == 130
