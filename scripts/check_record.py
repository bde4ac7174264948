"""The numbers that the documents take from the GPU record, docs/gpu-validation.json, are the record's.

A number in a document is right if it is the record's, rounded to as many digits. A check is a piece of a document, with
{} for each number, and those numbers; any space in it stands for any space or line break. After a new record this names
what the documents have to say now, and with --fix writes it. With --release it also tells which folder of
sources has changed since the record was made.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SQUARES = (1024, 2048, 4096, 8192)


class Record:
    def __init__(self, path):
        self.whole = json.loads(path.read_text(encoding="utf-8"))
        self.results = {bench["name"]: bench["numbers"]["results"] for bench in self.whole["benches"] if bench["numbers"]}

    def all(self, bench, field, **wanted):
        """A field of all results that have these values."""
        return [result[field] for result in self.results[bench]
                if all(result.get(key) == value for key, value in wanted.items())]

    def one(self, bench, field, **wanted):
        values = self.all(bench, field, **wanted)
        if len(values) != 1:
            sys.exit(f"check_record: the record has {len(values)} results of {bench} with {wanted}")
        return values[0]

    def ms(self, bench, field, **wanted):
        return 1e3 * self.one(bench, f"seconds{field}", **wanted)


def edge_strength(record):
    def fused(side, iterations):
        return record.ms("edge_strength", "", variant="fused", **gpu(side, iterations))

    def gpu(side, iterations, picture="lines"):
        return dict(what="iterations", device="cuda:0", picture=picture, side=side, iterations=iterations)

    def paper(side):
        return [record.ms("edge_strength", "", variant=variant, **gpu(side, 200)) for variant in ("shared", "texture")]

    for side, asked in zip(SQUARES, (" 0.2 ", " ", " ", " 4.5 ")):
        yield ("docs/edge_strength.md", f"| {side}² | {{}} | {{}} |{asked}| {{}} | {{}} |",
               [fused(side, 50), fused(side, 200), *paper(side)])

    def span(side):
        times = [1e3 * value for picture in ("lines", "shape", "white")
                 for value in record.all("edge_strength", "seconds", variant="fused", **gpu(side, 200, picture))]
        return [min(times), max(times)]

    kernels = "kernels/README.md"
    yield kernels, "| shared | {} |", paper(8192)[:1]
    yield kernels, "| texture | {} |", paper(8192)[1:]
    yield kernels, "| **fused, stream of 8 levels** | **{} to {}** |", span(8192)
    yield kernels, "200 iterations: 4096^2 {}, 2048^2 {} to {} ms;", [fused(4096, 200), *span(2048)]
    yield kernels, "(tile of 16 levels) {} to {} ms, where shared takes {}", [*span(1024), paper(1024)[0]]

    stack = dict(what="stack", memory="pinned")
    yield ("docs/edge_strength.md", "50 iterations, takes {} ms, {} times the link alone",
           [record.ms("edge_strength", "", **stack), record.one("edge_strength", "ratio", **stack)])
    def rates(*sides):
        calls = [rate / 1e9 for side in sides for rate in record.all(
            "edge_strength", "updates_per_second_call", device="cpu", variant="fused", side=side)]
        return [min(calls), max(calls)]

    yield ("docs/edge_strength_cpu.md", "and 200 iterations): {} to {} at 1024², {} to {} at the other sizes",
           rates(1024) + rates(*SQUARES[1:]))
    converged = dict(what="converged", device="cuda:0")
    yield ("docs/edge_strength_converged.md", "| H200 | {} ms (4 cycles) |",
           [record.ms("edge_strength", "", **converged)])
    yield ("docs/edge_strength_converged.md", "ms (6 cycles) | {} ms |",
           [record.ms("edge_strength", "_500_iterations", **converged)])


def edge_drawing(record):
    def call(what, field, side):
        return record.ms("edge_drawing", field, what=what, device="cuda:0", profile="paper", side=side)

    for side in (256, 512, 1024, 2048, 4096):
        drawn = [call("map", "_kernels", side), call("map + segments", "_resident", side)]
        if side > 256:
            yield ("docs/edge_drawing.md", f"| {side}² | {{}} | {{}} | {{}} |",
                   [*drawn, call("map + segments", "_host_to_host", side)])
        yield ("kernels/README.md", f"| {side}^2 | {{}} | {{}} | {{}} | {{}} | {{}} | {{}} | {{}} |",
               [None] * 4 + [drawn[0], call("map", "_resident", side), drawn[1]])
    yield ("docs/edge_drawing.md", "takes {} ms at 512² and {} ms at 4096² as a whole call",
           [call("map", "_resident", side) for side in (512, 4096)])


def distance(record):
    shapes = ((256, 256, 256), (512, 512, 512), (4096, 4096, 1))
    spacings = ((1.0, 1.0, 1.0), (1.0, 1.5, 2.5), (0.1, 0.13, 0.17))
    names = {"gyroid": "gyroid", "ball": "ball, disc", "specks": "specks", "half-space": "a half-space askew to the axes"}
    for mask, name in names.items():
        rows, numbers = [f"| {name}"], []
        for spacing in spacings:
            rows.append(f"| {' '.join(f'{h:g}' for h in spacing)} | {{}} | {{}} | {{}} | |")
            numbers += [record.ms("distance", "_kernels", what=mask, device="cuda:0", width=width, height=height,
                                  depth=depth, spacing=list(spacing)) for width, height, depth in shapes]
        yield "docs/distance.md", " ".join(rows).removesuffix(" |"), numbers


def snake(record):
    cases = {"one target, 15 Mpixel": "one target, 15.2 Mpixel", "one target, 100 Mpixel": "one target, 100.0 Mpixel",
             "one target, 150 Mpixel": "one target, 150.0 Mpixel", "1000 targets, 4096²": "1000 targets, 4096 x 4096"}
    asked = {"one target, 150 Mpixel": " 1.5 and 15 ", "1000 targets, 4096²": " search 50 "}
    for name, what in cases.items():
        gpu, cpu = dict(what=what, device="cuda:0"), dict(what=what, device="cpu x2")
        search = [record.ms("snake", "_made_resident", **gpu), record.ms("snake", "_search", **gpu)]
        yield ("docs/snake.md", f"| {name} | {{}} | {{}} |{asked.get(name, ' ')}| {{}} ({{}}) | {{}} | {{}} |",
               [*search, record.ms("snake", "_host_to_host", **gpu),
                record.one("snake", "ratio_to_link_and_compute", **gpu),
                record.ms("snake", "_made", **cpu), record.ms("snake", "_search", **cpu)])
        yield ("kernels/README.md", f"| {name.removeprefix('one target, ')} | {{}} | {{}} | {{}} |",
               [*search, record.one("snake", "steps", **gpu)])
    for side, name in ((3900, "15 Mpixel"), (10000, "100 Mpixel"), (12247, "150 Mpixel")):
        one = dict(what="sequential", width=side)
        seconds = [record.one("snake", field, **one) for field in ("seconds_made", "seconds_search")]
        yield "docs/snake.md", f"| {name} | {{}} | {{}} | {{}} |", [*seconds, sum(seconds)]


def level_set(record):
    sizes = {"head": "head, 181 × 217 × 181", "64^3": "64³", "128^3": "128³", "256^3": "256³", "512^3": "512³",
             "256^2": "256²", "512^2": "512²"}
    for image, name in sizes.items():
        cells, numbers = [], []
        for variant in ("Paper", "Dense", "Band"):
            wanted = dict(image=image, device="cuda:0", variant=variant)
            found = record.all("level_set", "ms", **wanted)
            cells.append("{}" if found else "")
            numbers += [1e3 * ms / record.one("level_set", "iterations", **wanted) for ms in found]
        rest = dict(image=image, device="cuda:0", variant="to rest")
        found = [*record.all("level_set", "ms", **rest), *record.all("level_set", "iterations", **rest)]
        cells.append("{}, {}" if found else "")
        row = "|".join(f" {cell} " if cell else " " for cell in cells)
        iterations = record.one("level_set", "iterations", image=image, device="cuda:0", variant="Dense")
        yield "docs/level_set.md", f"| {name} | {iterations} |{row}|", numbers + found
    # The iterations are those of the paper's tables, whose own times are not the record's.
    for name, image, iterations in (("4.1, liver, 256²", "256^2", 5000), ("4.2, brain, 512²", "512^2", 5000),
                                    ("4.3, head, 181 × 217 × 181", "head", 1000)):
        times = []
        for variant in ("Dense", "Band"):
            wanted = dict(image=image, device="cuda:0", variant=variant)
            each = record.one("level_set", "ms", **wanted) / record.one("level_set", "iterations", **wanted)
            times.append(each * iterations)
        yield "docs/level_set.md", f"| {name} | {iterations} | {{}} | {{}} | {{}} | {{}} |", [None, None, *times]


def scale(record):
    yield ("docs/scale.md", "r = 512³ voxels in {} ms",
           [record.ms("sizes", "", sweep="size", operation="edge strength, 3D", who="cuda", at=512)])


def is_rounded(text, value):
    digits = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5000001 * 10**-digits


def compared(text, document, template, values):
    """Returns the error of a check in words, or nothing, and the text with the record's numbers."""
    pieces = [re.escape(piece).replace("\\ ", r"\s+") for piece in template.split("{}")]
    found = list(re.finditer(r"([0-9]+(?:\.[0-9]+)?)".join(pieces), text))
    if len(found) != 1:
        return f"{document} has {len(found)} times: {template}", text
    match, off = found[0], []
    for group, value in reversed(list(enumerate(values, 1))):
        shown, (start, end) = match[group], match.span(group)
        if value is not None and not is_rounded(shown, value):
            off.insert(0, f"{shown} for {value:.6g}")
            text = f"{text[:start]}{value:.{len(shown.partition('.')[2])}f}{text[end:]}"
    return off and f"{document}: {template}: {', '.join(off)}", text


def main():
    record = Record(ROOT / "docs" / "gpu-validation.json")
    fix, problems, texts = "--fix" in sys.argv[1:], [], {}
    for document, template, values in (check for bench in (edge_strength, edge_drawing, distance, snake, level_set, scale)
                                       for check in bench(record)):
        text = texts.get(document) or (ROOT / document).read_text(encoding="utf-8")
        problem, corrected = compared(text, document, template, values)
        texts[document] = corrected if fix else text
        if problem and (not fix or corrected == text):
            problems.append(problem)
    if fix:
        for document, text in texts.items():
            (ROOT / document).write_text(text, encoding="utf-8")
    if "--release" in sys.argv[1:]:
        for folder in ("kernels", "src"):
            tree = subprocess.check_output(["git", "rev-parse", f"HEAD:{folder}"], cwd=ROOT, text=True).strip()
            if tree != record.whole[f"{folder}_tree"]:
                problems.append(f"the record is not of the present {folder}/; renew it (CONTRIBUTING.md)")
    for problem in problems:
        print(f"check_record: {problem}", file=sys.stderr)
    if problems:
        sys.exit("check_record: correct the documents (--fix does the numbers), or this script where it looks for "
                 "another text")


if __name__ == "__main__":
    main()
