#!/usr/bin/env python3
"""Times commands of the ImageJ plugin in a macro, without a window, beside the same calls of the C API, in milliseconds.

Usage: plugin.py [FOLDER-OF-LIBISOLINE] [--quick]; ISOLINE_BENCH_DEVICE (auto, cpu, cuda, cuda:N) chooses where the calls
run besides the CPU, and ISOLINE_BENCH_JSON names a file for the numbers, which are in seconds there. Without Java or
'make plugin' it says so and measures nothing.

  command  a command from an open image to its open result
  library  the part of it that the plugin spends in the library
  C API    the same call from Python, with results in memory fresh from the system; those of the plugin are in buffers
Each is the median of some calls, after one that is not counted. The plugin's jar has a library of its own.
"""
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import numpy

# In a checkout the modules are in these folders, and in a bundle of tests in the one above bench/.
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "python"), str(ROOT / "benches")]
import peers  # noqa: E402
import sizes  # noqa: E402
import whole  # noqa: E402

CALLS = 3


def cases(quick):
    """Returns the calls of the C API, each with the name and the options of the command."""
    cube = (32,) * 3 if quick else (512,) * 3
    yield (whole.image_case("", "distance", whole.ball(cube), numpy.float32),
           "Signed Distance...", "inside=bright stack=volume")
    for shape, n in [((4, 64, 64), 50)] if quick else [((1, 4096, 4096), 200), ((100, 1024, 1024), 50)]:
        yield (whole.image_case(f", {n} iterations", "edge_strength", whole.blobs(shape), numpy.float32, iterations=n,
                                threshold=128),
               "Edge Strength Function...", f"stack=slices foreground=above threshold=128 mode=iterations iterations={n}")
    yield (sizes.level_set(cube), "Level Set...",
           f"stack=volume start=mask mask_image=start range=values target={sizes.TARGET} epsilon={sizes.EPSILON} "
           f"mode=iterations iterations={sizes.ITERATIONS} show_every=0 mask_stack")


def missing():
    """Returns why ImageJ cannot run here, or nothing."""
    if (ROOT / "imagej.sh").exists():
        return ""  # a bundle has all that is needed
    if not shutil.which("java"):
        return "Java is not installed"
    return "" if list(ROOT.glob("fiji-plugin/target/Isoline_-*[0-9].jar")) else "there is no jar; 'make plugin' makes it"


def write_stack(path, image):
    """Writes a stack of bytes as ImageJ does: a TIFF file with one directory, which says that more slices follow."""
    depth, height, width = image.shape
    told = f"ImageJ=1.53\nimages={depth}\nslices={depth}\n".encode() + b"\0"
    # Tags: width, height, bits, no compression, 0 is black, description, where the bytes are, samples, rows, bytes.
    end = 8 + 2 + 10 * 12 + 4
    tags = ((256, width), (257, height), (258, 8), (259, 1), (262, 1), (270, end), (273, end + len(told)), (277, 1),
            (278, height), (279, width * height))
    kinds = {270: (2, len(told))}  # text; the others are a number each
    directory = b"".join(struct.pack("<HHII", tag, *kinds.get(tag, (4, 1)), value) for tag, value in tags)
    with path.open("wb") as file:
        file.write(struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + directory + bytes(4) + told)
        image.tofile(file)


def commands(rows, folder):
    """Returns the seconds of each row's commands and, of these, in the library; `rows` are lines for benches/plugin.ijm."""
    (folder / "rows").write_text("\n".join(rows), encoding="utf-8")
    bundle = (ROOT / "imagej.sh").exists()
    program = [ROOT / "imagej.sh"] if bundle else [ROOT / "scripts/imagej.sh", "headless"]
    macro = ROOT / "plugin.ijm" if bundle else ROOT / "benches/plugin.ijm"
    done = subprocess.run([*program, macro, folder / "rows"], stdout=subprocess.PIPE, text=True)
    lines = [line.split(";")[1:] for line in done.stdout.splitlines() if line.startswith("timed;")]
    if done.returncode != 0 or len(lines) != len(rows):
        sys.exit(f"plugin: the macro failed:\n{done.stdout}")
    # The first run is not counted.
    return [[1e-3 * statistics.median(map(float, line[part + 2::2])) for part in (0, 1)] for line in lines]


def main():
    if missing():
        print(f"the plugin is left out: {missing()}")
        return
    arguments, records = whole.parse(__doc__), []
    print(f"  {'':<60}{'command':>11}{'library':>11}{'C API':>11}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for device in peers.devices(arguments.library):
            context, rows, calls = arguments.library.context(device), [], []
            for number, (case, command, options) in enumerate(cases(arguments.quick)):
                files = []
                for image in case.inputs:
                    files.append(folder / f"{number}-{len(files)}.tif")
                    write_stack(files[-1], image)
                row = command, f"device={device} {options}", CALLS + 1, *[*files, "-"][:2]
                rows.append(";".join(map(str, row)))
                calls.append((case.name, whole.measure(case, context, None)["untouched"]))
            del context
            for (what, c_api), (command, library) in zip(calls, commands(rows, folder)):
                print(f"  {what + ', ' + device:<60}" + "".join(f"{1e3 * s:>11.1f}" for s in (command, library, c_api)))
                records.append({"what": what, "device": device.partition(":")[0], "command": command, "library": library,
                                "c_api": c_api})
    whole.write(calls=CALLS, results=records)


if __name__ == "__main__":
    main()
