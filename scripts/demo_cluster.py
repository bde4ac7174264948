#!/usr/bin/env python3
"""Edge strength of a large OME-Zarr volume on a local Dask cluster, of which processes are killed, with the bits of one.

Usage: demo_cluster.py [--keep] [--side N] [--folder FOLDER]

Makes a volume of N³ voxels of 16 bits (1024: 2.1 GB) in chunks of 64 MiB from tests/data/brain.tif, and computes its edge
strength in 3D by 'python -m isoline' on a cluster of two processes. Meanwhile it kills a worker by SIGKILL, and then the
command, which it starts again: chunks that are done are not computed again. At last it compares every voxel with calls of
the library on slabs of 128 slices and a halo, without Dask. The exit status is 0 if all bits are the same. It takes up to
3 GB of disk in a new folder in FOLDER (the system's folder for temporary files), and removes it unless told to keep it, and
some 4 GB of memory.

The volume: the brain is repeated with every second copy mirrored, so that it has no seams, and multiplied by 128; each copy
is brightened by an amount of its own, from 0 to 8191, and each voxel by noise from 0 to 255, both from a fixed seed.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy
import tifffile
import zarr

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import isoline  # noqa: E402

CHUNK = (256, 256, 512)
SLAB = 128
SEED = 2026
SPACING = (2.0, 1.0, 1.0)
PARAMETERS = dict(dimensions="volume", threshold=16000.0, rho=8.0, iterations=8)
PATIENCE = 900  # seconds without a new chunk


def say(text):
    print(f"demo-cluster: {time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def make_volume(path, side):
    """Writes the volume, and returns how many bytes its voxels have."""
    brain = tifffile.imread(ROOT / "tests/data/brain.tif").astype(numpy.uint16) * 128
    random = numpy.random.default_rng(SEED)
    bright = random.integers(0, 8192, [-(-side // size) for size in brain.shape], numpy.uint16)
    axes = [dict(name=name, type="space", unit="millimeter") for name in "zyx"]
    dataset = dict(path="0", coordinateTransformations=[dict(type="scale", scale=list(SPACING))])
    described = dict(version="0.5", multiscales=[dict(axes=axes, datasets=[dataset])])
    group = zarr.create_group(path, attributes=dict(ome=described))
    array = group.create_array("0", shape=(side,) * 3, chunks=tuple(min(one, side) for one in CHUNK), dtype="u2",
                               dimension_names=list("zyx"), config=dict(write_empty_chunks=True))
    for place in numpy.ndindex(array.cdata_shape):
        starts = [at * one for at, one in zip(place, array.chunks)]
        ranges = [numpy.arange(start, min(start + one, side)) for start, one in zip(starts, array.chunks)]
        copies = [one // size for one, size in zip(ranges, brain.shape)]
        within = [numpy.where(copy % 2, size - 1 - one % size, one % size)
                  for one, copy, size in zip(ranges, copies, brain.shape)]
        block = brain[numpy.ix_(*within)]
        block += bright[numpy.ix_(*copies)]
        block += numpy.random.default_rng([SEED, *place]).integers(0, 256, block.shape, numpy.uint8)
        array[tuple(slice(one[0], one[-1] + 1) for one in ranges)] = block
    return array.nbytes


def files_of(path):
    """The files of chunks that are whole, with their inodes."""
    return {file: file.stat().st_ino for file in (path / "0" / "c").rglob("*[0-9]") if file.is_file()}


def size_of(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def start(volume, field, address):
    options = [part for key, value in PARAMETERS.items() for part in (f"--{key}", str(value))]
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen([sys.executable, "-m", "isoline", "edge_strength", volume, field, *options, "--device", "cpu",
                             "--scheduler", address], env={**os.environ, "PYTHONPATH": path})


def wait_until(command, field, count):
    """Waits until so many chunks are written, and returns them; the command must go on meanwhile."""
    seen, last = -1, time.monotonic()
    while True:
        done = files_of(field)
        if len(done) >= count:
            return done
        if len(done) > seen:
            seen, last = len(done), time.monotonic()
        if command.poll() is not None:
            sys.exit(f"demo-cluster: the command ended with status {command.returncode} before {count} chunks were written")
        if time.monotonic() - last > PATIENCE:
            sys.exit(f"demo-cluster: no chunk was written for {PATIENCE} s")
        time.sleep(0.05)


def compute(volume, field):
    """Computes the edge strength on the cluster, and kills a worker and a command meanwhile."""
    from distributed import Client, LocalCluster
    total = zarr.open(volume / "0", mode="r").nchunks
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL") as cluster, \
            Client(cluster) as client:
        workers = client.run(os.getpid)
        say(f"a cluster of two workers, processes {sorted(workers.values())}; {total} chunks")
        command = start(volume, field, cluster.scheduler_address)
        try:
            done = wait_until(command, field, total // 4)
            address, process = max(workers.items(), key=lambda worker: len(client.processing().get(worker[0], ())))
            tasks = len(client.processing().get(address, ()))
            os.kill(process, signal.SIGKILL)
            say(f"{len(done)} of {total} chunks are written: worker {process}, with {tasks} tasks, killed by SIGKILL")
            done = wait_until(command, field, total // 2)
            command.send_signal(signal.SIGKILL)
            command.wait()
            say(f"{len(done)} of {total} chunks are written: the command, process {command.pid}, killed by SIGKILL")
            if zarr.open(field, mode="r").attrs["isoline"]["complete"]:
                sys.exit("demo-cluster: the field says that it is complete, and is not")
            command = start(volume, field, cluster.scheduler_address)
            if command.wait() != 0:
                sys.exit(f"demo-cluster: the command ended with status {command.returncode}")
        finally:
            if command.poll() is None:
                command.kill()
                command.wait()
        workers_now = client.run(os.getpid).values()
    whole = files_of(field)
    if process in workers_now or len(whole) != total or not zarr.open(field, mode="r").attrs["isoline"]["complete"]:
        sys.exit(f"demo-cluster: {len(whole)} of {total} chunks are there, by workers {sorted(workers_now)}")
    again = [file for file, inode in done.items() if whole[file] != inode]
    if again:
        sys.exit(f"demo-cluster: {len(again)} chunks were computed again, such as {again[0]}")
    say(f"complete, by workers {sorted(workers_now)}; none of the {len(done)} chunks was computed again")


def different(volume, field):
    """The number of voxels of the field that are not those of direct calls on slabs of the volume."""
    image, found = zarr.open(volume / "0", mode="r"), zarr.open(field / "0", mode="r")
    halo, count = PARAMETERS["iterations"], 0
    for first in range(0, image.shape[0], SLAB):
        last = min(first + SLAB, image.shape[0])
        begin = max(first - halo, 0)
        wanted = isoline.edge_strength(image[begin:last + halo], spacing=SPACING, device="cpu", **PARAMETERS)
        wanted = wanted[first - begin:last - begin]
        count += numpy.count_nonzero(found[first:last].view(numpy.uint32) != wanted.view(numpy.uint32))
        if not 0 < wanted.mean() < 1:
            sys.exit(f"demo-cluster: slices {first} to {last} have nothing to compare")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="do not remove the files")
    parser.add_argument("--side", type=int, default=1024, help="voxels along each axis, at least 512 (default 1024)")
    parser.add_argument("--folder", help="the folder in which that of the files is made")
    options = parser.parse_args()
    if options.side < 512:
        parser.error(f"--side must be at least 512 (got {options.side})")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="isoline-cluster-", dir=options.folder))
    volume, field = folder / "volume.zarr", folder / "field.zarr"
    try:
        count = make_volume(volume, options.side)
        say(f"{volume}: {options.side}³ voxels, {count / 1e9:.2f} GB, {size_of(volume) / 1e9:.2f} GB compressed")
        compute(volume, field)
        say(f"{field}: {2 * count / 1e9:.2f} GB, {size_of(field) / 1e9:.2f} GB compressed")
        wrong = different(volume, field)
        say(f"{wrong} of {count // 2} voxels are not those of direct calls")
    finally:
        if options.keep:
            say(f"the files are in {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if wrong else 0


BEGAN = time.monotonic()
if __name__ == "__main__":
    sys.exit(main())
