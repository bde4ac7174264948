"""The command and OME-Zarr: axes and scale, several levels, runs that were ended, and files that cannot be used."""
import contextlib
import importlib
import json
import os
import pathlib
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy
import pytest

import isoline
from isoline.__main__ import main

zarr = pytest.importorskip("zarr")
dask = pytest.importorskip("dask")
from zarr_files import (  # noqa: E402
    AXES,
    CHUNKS,
    DISTANCE,
    FIELD,
    IMAGE,
    OPTIONS,
    SHAPE,
    attributes_of,
    environment,
    finished,
    ome,
    plain,
    start,
)

from isoline import __main__ as program  # noqa: E402
from isoline import _zarr  # noqa: E402
from isoline import dask as by_chunk  # noqa: E402


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_axes_and_scale_are_kept(folder, version):
    ome("image.zarr", version)
    assert main(["edge_strength", "image.zarr", "field.zarr", *OPTIONS, "--multiscale", "3"]) == 0
    multiscale, run = attributes_of("field.zarr")
    assert run["complete"] and run["run"]["parameters"]["iterations"] == 9
    group = zarr.open("field.zarr", mode="r")
    assert group.metadata.zarr_format == (3 if version == "0.5" else 2)
    assert multiscale["axes"] == AXES[2:] and group.attrs.get("ome", multiscale)["version"] == version
    assert [one["path"] for one in multiscale["datasets"]] == ["0", "1", "2"]
    scale, translation = multiscale["datasets"][0]["coordinateTransformations"]
    assert scale["scale"] == [2, 0.5, 0.5] and translation["translation"] == [7, 0, 1]
    scale, translation = multiscale["datasets"][2]["coordinateTransformations"]
    assert scale["scale"] == [8, 2, 2] and translation["translation"] == [7 + 3, 0.75, 1 + 0.75]
    field = isoline.edge_strength(IMAGE, spacing=(2, 0.5, 0.5), dimensions="volume", threshold=100, iterations=9)
    assert numpy.array_equal(group["0"][:], field) and group["0"].chunks == CHUNKS
    if version == "0.5":
        assert group["0"].metadata.dimension_names == ("z", "y", "x")
    half = field[:, :60].reshape(10, 2, 30, 2, 40, 2).mean((1, 3, 5))
    assert numpy.allclose(group["1"][:], half, rtol=1e-6) and group["2"].shape == (5, 15, 20)
    # The command reads the images that it writes.
    assert main(["distance", "field.zarr/1", "distance.npy", "--threshold", "0.5"]) == 0
    assert numpy.array_equal(numpy.load("distance.npy"), isoline.distance(group["1"][:], threshold=0.5, spacing=(4, 1, 1)))


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_images_are_those_of_the_specification(folder, version):
    """The validator of OME-Zarr takes what the tests here read, and what the command writes."""
    models = pytest.importorskip("ome_zarr_models")
    ome("image.zarr", version)
    assert main(["edge_strength", "image.zarr", "field.zarr", *OPTIONS, "--multiscale", "2"]) == 0
    for path in ("image.zarr", "field.zarr"):
        found = models.open_ome_zarr(zarr.open_group(path, mode="r"))
        assert type(found).__name__ == "Image" and found.ome_zarr_version == version


def test_a_converged_volume_is_computed_by_one_call(folder, capsys):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    run = ["edge_strength", "image.zarr", "a.zarr", *OPTIONS[:-2], "--mode", "converged", "--rho", "4"]
    assert main([*run, "--multiscale", "2"]) == 0
    group = zarr.open("a.zarr", mode="r")
    wanted = isoline.edge_strength(IMAGE, dimensions="volume", threshold=100, mode="converged", rho=4)
    assert numpy.array_equal(group["0"][:], wanted) and group["1"].shape == (10, 30, 40)
    assert main([*run, "--local", "2"]) == 1
    assert "one call computes the converged edge strength of a volume" in capsys.readouterr().err


def test_levels_of_an_edge_map_keep_edges(folder):
    ome("image.zarr")
    assert main(["edge_drawing", "image.zarr", "edges.zarr", "--gradient_threshold", "30", "--multiscale", "2"]) == 0
    edges = isoline.edge_drawing(IMAGE, gradient_threshold=30)[0]
    group = zarr.open("edges.zarr", mode="r")
    assert edges.any() and numpy.array_equal(group["0"][:], edges)
    assert numpy.array_equal(group["1"][:], edges[:, :60].reshape(10, 2, 30, 2, 40, 2).max((1, 3, 5)))


@pytest.mark.parametrize("operation, more", [("isosurface", ["--level", "99.5"]), ("isolines", ["--levels", "50,100.5"])])
@pytest.mark.workers
def test_curves_and_surfaces_by_workers(folder, operation, more):
    ome("image.zarr", coordinateTransformations=[dict(type="scale", scale=[1, 1, 1, 2, 2])])
    assert main([operation, "image.zarr", "a.npz", *more]) == 0
    assert main([operation, "image.zarr", "b.npz", *more, "--local", "2"]) == 0
    one, other = (numpy.load(name) for name in ("a.npz", "b.npz"))
    assert sorted(one) == sorted(other) and len(one[{"isosurface": "triangles", "isolines": "points"}[operation]]) > 1000
    assert all(one[name].dtype == other[name].dtype and numpy.array_equal(one[name], other[name]) for name in one)


@pytest.mark.workers
def test_objects_by_workers(folder, capsys):
    ome("image.zarr")
    starts = numpy.zeros(IMAGE.shape, numpy.uint16)
    starts[8:12, 20:26, 20:26], starts[8:12, 40:46, 55:61] = 70, 3
    numpy.save("starts.npy", starts)
    run = ["objects", "image.zarr", "a.zarr", "--margin", "9", "--starts", "starts.npy", "--iterations", "20"]
    assert main([*run, "--local", "1"]) == 1
    assert "cannot grow objects in chunks without --reach" in capsys.readouterr().err and not pathlib.Path("a.zarr").exists()
    assert main([*run, "--reach", "30", "--local", "2", "--multiscale", "2"]) == 0
    image, options = dask.array.from_array(IMAGE, chunks=CHUNKS), dict(margin=9, iterations=20, spacing=(2, 0.5, 0.5))
    wanted = by_chunk.objects(image, dask.array.from_array(starts), reach=30, **options)[0].compute()
    group = zarr.open("a.zarr", mode="r")
    assert numpy.array_equal(group["0"][:], wanted) and set(numpy.unique(wanted)) == {0, 3, 70}
    blocks = wanted[:, :60].reshape(10, 2, 30, 2, 40, 2).transpose(0, 2, 4, 1, 3, 5).reshape(10, 30, 40, 8)
    smaller = group["1"][:]
    assert set(numpy.unique(smaller)) == {0, 3, 70}
    own = (blocks == smaller[..., None]).sum(-1)
    assert all((own >= (blocks == label).sum(-1)).all() for label in (0, 3, 70))


def test_labels_are_read_again(folder, capsys):
    ome("image.zarr")
    run = ["objects", "image.zarr", "a.zarr", "--reach", "60", "--margin", "5", "--threshold", "110", "--iterations", "2"]
    assert main(run) == 0
    labels = zarr.open("a.zarr/0", mode="r+")
    assert labels.dtype == numpy.uint32 and labels[:].any()
    options = ["--threshold", "0.5", "--largest", "3"]
    for more in options[:2], options:
        assert main(["distance", "a.zarr", "b.npy", "--overwrite", *more]) == 0
        wanted = isoline.distance(labels[:].astype("f4"), threshold=0.5, spacing=(2, 0.5, 0.5))
        assert numpy.array_equal(numpy.load("b.npy"), wanted if more != options else wanted.clip(-3, 3))
    assert main([*run[:2], "c.zarr", *run[3:-4], "--starts", "a.zarr", "--iterations", "2"]) == 0
    labels[0, 0, 0] = 2 ** 24 + 1
    assert main(["distance", "a.zarr", "c.npy", *options]) == 1
    assert "cannot use a.zarr: whole numbers of uint32 must be" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [".npy", ".tif"])
def test_starts_of_a_file_are_not_sent_to_workers(folder, monkeypatch, kind):
    pytest.importorskip("tifffile" if kind == ".tif" else "numpy")
    starts = numpy.zeros((64, 96, 99), numpy.uint16)
    starts[8:12, 20:26, 20:26] = 70
    numpy.save("starts.npy", starts)
    if kind == ".tif":
        importlib.import_module("tifffile").imwrite("starts.tif", starts)
    lazy = _zarr.lazily(f"starts{kind}", program.read(f"starts{kind}", False))
    assert len(pickle.dumps(dict(lazy.__dask_graph__()))) < 10_000 and numpy.array_equal(lazy.compute(), starts)
    monkeypatch.chdir("/")
    assert numpy.array_equal(pickle.loads(pickle.dumps(lazy)).compute(), starts)


@pytest.mark.workers
def test_a_level_that_chunks_cannot_measure(folder, capsys):
    plain()
    assert main(["isolines", "image.zarr", "a.npz", "--local", "1"]) == 1
    assert "cannot leave levels automatic in chunks" in capsys.readouterr().err
    assert main(["isosurface", "image.zarr", "a.npz", "--local", "1"]) == 1
    assert "cannot leave level automatic in chunks" in capsys.readouterr().err and not pathlib.Path("a.npz").exists()


def test_chunks_smaller_than_the_halo_are_joined(folder):
    plain()
    options = ["--dimensions", "volume", "--threshold", "100", "--iterations", "25"]
    assert main(["edge_strength", "image.zarr", "a.zarr", *options]) == 0
    array = zarr.open("a.zarr", mode="r")
    wanted = isoline.edge_strength(IMAGE, dimensions="volume", threshold=100, iterations=25)
    assert numpy.array_equal(array[:], wanted) and array.chunks == CHUNKS


def test_large_chunks_are_split(folder, monkeypatch):
    assert _zarr.storable((1024, 1024, 1024), 4) == (256, 512, 512) and _zarr.storable((7, 99, 25), 1) == (7, 99, 25)
    monkeypatch.setattr(_zarr, "LARGEST", 10_000)
    plain()
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    array = zarr.open("a.zarr", mode="r")
    assert array.chunks == (5, 31, 10) and numpy.array_equal(array[:], FIELD)


@pytest.mark.parametrize("operation, target", [("edge_strength", "a.zarr"), ("edge_strength", "a.npy"),
                                               ("isolines", "a.npz")])
@pytest.mark.workers
def test_a_block_that_ends_workers_is_an_error(folder, monkeypatch, capsys, operation, target):
    pytest.importorskip("distributed")
    plain()

    def deadly(image, **_):
        if target == "a.npz":
            return dask.delayed(lambda: os._exit(3))()
        return image.map_blocks(lambda block: os._exit(3), dtype="f4", meta=numpy.empty((0, 0, 0), "f4"))

    monkeypatch.setattr(by_chunk, operation, deadly)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        assert main([operation, "image.zarr", target, "--local", "1"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"isoline: cannot compute {target}: the same block ended several workers")
    assert said.count("\n") == 1


@pytest.mark.workers
def test_two_commands_with_workers_say_nothing(folder):
    pytest.importorskip("distributed")
    plain()
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # It may be taken already.
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        command = start("edge_strength", "image.zarr", "a.zarr", *OPTIONS, "--local", "1")
        assert command.communicate()[1] == "" and command.returncode == 0


@pytest.fixture
def scheduler(folder):
    """A scheduler and a worker, which are processes: the first one's process and address."""
    pytest.importorskip("distributed")
    programs = [["dask_scheduler", "--port", "0"], ["dask_worker", "--nthreads", "1"]]
    os.mkdir("elsewhere")
    processes = [subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", "--scheduler-file", folder / "at.json",
                                   "--no-dashboard", *more], stderr=subprocess.DEVNULL, env=environment(), cwd="elsewhere")
                 for name, *more in programs]
    while not pathlib.Path("at.json").exists() or not pathlib.Path("at.json").read_text(encoding="utf-8").endswith("}"):
        assert processes[0].poll() is None
        time.sleep(0.05)
    yield processes[0], json.loads(pathlib.Path("at.json").read_text(encoding="utf-8"))["address"]
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.workers
def test_workers_may_be_in_another_folder(scheduler):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    assert main([*DISTANCE, "--scheduler", scheduler[1]]) == 0
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], isoline.distance(IMAGE, threshold=100))
    assert not list(pathlib.Path("elsewhere").rglob("*.zarr"))


@pytest.mark.parametrize("operation, target", [("edge_strength", "a.zarr"), ("isolines", "a.npz")])
@pytest.mark.workers
def test_a_scheduler_that_ends_is_an_error(scheduler, monkeypatch, capsys, operation, target):
    plain()
    process, address = scheduler

    def endless(image, **_):
        threading.Timer(1, process.kill).start()
        if target == "a.npz":
            return dask.delayed(lambda: time.sleep(60))()
        return image.map_blocks(lambda block: time.sleep(60), dtype="f4", meta=numpy.empty((0, 0, 0), "f4"))

    monkeypatch.setattr(by_chunk, operation, endless)
    assert main([operation, "image.zarr", target, "--scheduler", address]) == 1
    said = capsys.readouterr().err
    assert "the connection to the scheduler was lost" in said and said.startswith("isoline: cannot compute ")
    assert said.count("\n") == 1
    if target == "a.zarr":
        assert zarr.open(target, mode="r").attrs["isoline"]["complete"] is False


def test_a_result_that_lacks_a_chunk_is_not_complete(folder, monkeypatch, capsys):
    plain()
    stored = _zarr.store
    monkeypatch.setattr(_zarr, "store", lambda block, block_info=None, **options: stored(
        block, block_info=block_info, **options) if block_info[0]["chunk-location"] != (1, 0, 1) else block[:1, :1, :1])
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    assert "the file of a chunk is not there (the first is a.zarr/c/1/0/1)" in capsys.readouterr().err
    assert zarr.open("a.zarr", mode="r").attrs["isoline"]["complete"] is False


def test_finished_chunks_are_not_computed_again(folder):
    plain(shards=(20, 62, 40))
    run = ["edge_strength", "image.zarr", "a.zarr", *OPTIONS]
    assert main(run) == 0
    chunks = [file for file in pathlib.Path("a.zarr/c").rglob("*") if file.is_file()]
    assert len(chunks) == 2
    before = {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in chunks}
    assert main(run) == 0
    assert before == {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in chunks}
    # One that is lost is computed, and no other.
    chunks[0].unlink()
    assert main(run) == 0
    changed = [file for file in chunks if before[file] != (file.stat().st_mtime_ns, file.stat().st_ino)]
    assert changed == chunks[:1] and numpy.array_equal(zarr.open("a.zarr", mode="r")[:], FIELD)


def test_chunks_of_the_fill_value_are_written(folder):
    plain(image=numpy.ones(SHAPE, numpy.uint8))
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    assert len(finished("a.zarr/c")) == 8 and not zarr.open("a.zarr", mode="r")[:].any()


@pytest.mark.workers
def test_a_run_that_was_killed_goes_on(folder, capsys):
    image = numpy.tile(IMAGE, (4, 3, 3))
    plain(image=image)
    run = ["edge_strength", "image.zarr", "a.zarr", "--dimensions", "volume", "--threshold", "100", "--iterations", "10"]
    command = start(*run)
    while command.poll() is None and len(finished("a.zarr/c")) < 20:
        time.sleep(0.005)
    command.send_signal(signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL
    chunks = finished("a.zarr/c")
    assert 20 <= len(chunks) < 8 * 6 * 6
    assert main(["distance", "a.zarr", "b.npy"]) == 1 and "a run that has not ended is writing it" in capsys.readouterr().err
    pathlib.Path("a.zarr/c/0/0/half.partial").write_bytes(b"as if it was ended while it wrote")
    other = [*run[:-1], "11"]
    assert main(other) == 1
    assert "the result of another run (parameters iterations: 10, now 11)" in capsys.readouterr().err
    assert main(run) == 0
    assert all((file.stat().st_mtime_ns, file.stat().st_ino) == status for file, status in chunks.items())
    assert not list(pathlib.Path("a.zarr").rglob("*.partial"))
    wanted = isoline.edge_strength(image, dimensions="volume", threshold=100, iterations=10)
    assert numpy.array_equal(zarr.open("a.zarr", mode="r")[:], wanted)
    assert main([*other, "--overwrite"]) == 0
    assert not numpy.array_equal(zarr.open("a.zarr", mode="r")[:], wanted)


@pytest.mark.parametrize("ended_at", [0, 5, 12, 13, 21, 25])
def test_passes_of_a_distance_that_were_ended_go_on(folder, monkeypatch, capsys, ended_at):
    """No chunk of a finished pass is computed again, and none of the pass that was ended but the one that it ended at."""
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    calls, one_pass, last = [], by_chunk.one_pass, None

    def counted(block, axis, **options):
        if len(calls) == last:
            raise OSError("ended")
        calls.append(axis)
        return one_pass(block, axis, **options)

    monkeypatch.setattr(by_chunk, "one_pass", counted)
    assert main(DISTANCE) == 0
    blocks = [calls.count(axis) for axis in range(3)]
    assert blocks == [12, 10, 10] and not pathlib.Path("a.steps.zarr").exists()
    calls.clear()
    last = ended_at
    assert main([*DISTANCE, "--overwrite"]) == 1 and capsys.readouterr().err == "isoline: ended\n"
    steps, result = finished("a.steps.zarr"), finished("a.zarr")
    # The step that is complete, and what is done of the next one, which may be the result.
    assert len(steps) == (ended_at if ended_at < 22 else 10)
    assert main(["edge_strength", f"a.steps.zarr/{min(file.parts[1] for file in steps) if steps else 0}", "b.npy"]) == 1
    assert "a run that has not ended is writing it" in capsys.readouterr().err
    calls.clear()
    last = None
    assert main(DISTANCE) == 0
    assert len(calls) == 32 - ended_at if ended_at < 22 else calls == [2] * len(calls)
    assert finished("a.zarr").items() >= result.items() and not pathlib.Path("a.steps.zarr").exists()
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], isoline.distance(IMAGE, threshold=100))


def test_steps_of_another_run_are_refused_and_replaced(folder, monkeypatch, capsys):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(by_chunk, "one_pass", lambda block, axis, **options: 1 / 0 if axis else numpy.ones(block.shape, "f4"))
        with pytest.raises(ZeroDivisionError):
            main(DISTANCE)
    shutil.rmtree("a.zarr")
    other = [*DISTANCE[:-3], "101", *DISTANCE[-2:]]
    assert main(other) == 1 and "cannot write a.steps.zarr: it is the result of another run" in capsys.readouterr().err
    assert main([*other, "--overwrite"]) == 0 and not pathlib.Path("a.steps.zarr").exists()
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], isoline.distance(IMAGE, threshold=101))


@pytest.mark.parametrize("workers", [[], ["--local", "2"]], ids=str)
@pytest.mark.workers
def test_passes_that_were_killed_go_on(folder, workers):
    image = numpy.tile(IMAGE, (2, 3, 3))
    ome("image.zarr", image=image, scale=(1, 1, 1, 1, 1))
    command = start(*DISTANCE)
    while command.poll() is None and len(finished("a.steps.zarr")) < 20:
        time.sleep(0.005)
    command.send_signal(signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL and len(finished("a.steps.zarr")) >= 20 and not finished("a.zarr")
    assert main([*DISTANCE, *workers]) == 0 and not pathlib.Path("a.steps.zarr").exists()
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], isoline.distance(image, threshold=100))


def test_steps_that_another_run_removes_are_an_error(folder, monkeypatch, capsys):
    ome("image.zarr", scale=(1, 1, 1, 1, 1))
    one_pass = by_chunk.one_pass

    def removing(block, axis, **options):
        if axis == 2 and pathlib.Path("a.steps.zarr").exists():
            shutil.rmtree("a.steps.zarr")
        return one_pass(block, axis, **options)

    with monkeypatch.context() as patch:
        patch.setattr(by_chunk, "one_pass", removing)
        assert main(DISTANCE) == 1
    said = capsys.readouterr().err
    assert said.startswith("isoline: cannot read a.steps.zarr: ") and "a.steps.zarr/1/c/" in said
    assert main(DISTANCE) == 0
    assert numpy.array_equal(zarr.open("a.zarr/0", mode="r")[:], isoline.distance(IMAGE, threshold=100))


def test_a_level_is_not_made_of_chunks_that_are_gone(folder, monkeypatch, capsys):
    ome("image.zarr")
    fill = _zarr.fill

    def losing(*given):
        fill(*given)
        pathlib.Path("a.zarr/0/c/1/0/1").unlink(missing_ok=True)

    monkeypatch.setattr(_zarr, "fill", losing)
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS, "--multiscale", "2"]) == 1
    assert "a.zarr/0/c/1/0/1 is not there" in capsys.readouterr().err


def test_an_input_that_has_changed_is_another_run(folder, capsys):
    plain()
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    zarr.open("image.zarr", mode="r+")[3, 4, 5] = 255
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    assert "the result of another run (input newest" in capsys.readouterr().err


def test_a_chunk_that_is_replaced_by_an_older_one_is_another_run(folder, capsys):
    plain()
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 0
    os.utime("image.zarr/c/0/1/0", ns=(0, 10 ** 18))
    assert main(["edge_strength", "image.zarr", "a.zarr", *OPTIONS]) == 1
    assert "the result of another run (input times" in capsys.readouterr().err


@pytest.mark.parametrize("workers", [[], ["--local", "1"]], ids=str)
@pytest.mark.workers
def test_a_full_disk_is_an_error_and_the_run_goes_on(folder, workers):
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("there is no namespace in which this user can mount a small disk")
    noise = numpy.random.default_rng(2).integers(0, 256, SHAPE, numpy.uint8)
    plain(image=noise)
    os.mkdir("disk")
    command = [sys.executable, "-m", "isoline", "edge_strength", "image.zarr", "disk/a.zarr", *OPTIONS, *workers]
    script = ('mount -t tmpfs -o size=100k tmpfs disk && ! "$@" && find disk -name "*.partial" && '
              'mount -o remount,size=9m disk && "$@" && cp -r disk/a.zarr a.zarr')
    ended = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", *command], capture_output=True, text=True,
                           env=environment())
    assert ended.returncode == 0, ended.stderr
    assert "isoline: cannot write disk/a.zarr: No space left on device" in ended.stderr and "start again" in ended.stderr
    wanted = isoline.edge_strength(noise, dimensions="volume", threshold=100, iterations=9)
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == "" and numpy.array_equal(zarr.open("a.zarr", mode="r")[:], wanted)


def test_the_input_is_not_overwritten(folder, capsys):
    ome("image.zarr")
    assert main(["edge_strength", "image.zarr/full", "image.zarr", *OPTIONS, "--overwrite"]) == 1
    assert "it is the input" in capsys.readouterr().err
