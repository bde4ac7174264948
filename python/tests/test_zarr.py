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
from zarr_files import AXES, CHUNKS, FIELD, IMAGE, OPTIONS, SHAPE, ome, plain  # noqa: E402

from isoline import __main__ as program  # noqa: E402
from isoline import _zarr  # noqa: E402
from isoline import dask as by_chunk  # noqa: E402


def attributes_of(path):
    found = zarr.open(path, mode="r").attrs.asdict()
    return found.get("ome", found)["multiscales"][0], found["isoline"]


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


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            "ISOLINE_LIBRARY": str(pathlib.Path(isoline.default_library().path).resolve())}


def start(*arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "isoline", *arguments], stderr=subprocess.PIPE, text=True,
                            env=environment(), **options)


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


def finished(path):
    """The chunks that have been written, also while another process makes and removes folders."""
    chunks = {}
    for folder, _, names in os.walk(path):
        for name in filter(lambda name: name[-1].isdigit(), names):
            with contextlib.suppress(FileNotFoundError):
                # The inode of a file that is removed may be that of the next one.
                status = os.stat(os.path.join(folder, name))
                chunks[pathlib.Path(folder, name)] = status.st_mtime_ns, status.st_ino
    return chunks


DISTANCE = ["distance", "image.zarr", "a.zarr", "--threshold", "100", "--multiscale", "2"]


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


def test_the_input_is_not_overwritten(folder, capsys):
    ome("image.zarr")
    assert main(["edge_strength", "image.zarr/full", "image.zarr", *OPTIONS, "--overwrite"]) == 1
    assert "it is the input" in capsys.readouterr().err
