#!/usr/bin/env python3
"""Writes THIRD-PARTY-NOTICES: the Rust crates in the native library, with the licences that their authors gave them, and
what the compiler and the linkers of scripts/jar-all.sh put into it.

Usage: third_party.py [--check | --check-all | --sbom FILE]
With --check nothing is written, and the status is 1 if the crates of the file are not the present ones; with --check-all
also if the parts of the compiler and the linkers are not. With --sbom both are written to FILE instead, as a software bill
of materials in the form of SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/).
The crates are those that Cargo.lock links into the library on any of the platforms of scripts/jar-all.sh; crates that
only a build or a test needs are not among them. Where compiler and linkers are not installed (scripts/setup-system.sh
jar-all, scripts/setup-python.sh platforms), their parts stay as they are in the file. It goes into the plugin's jar.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD-PARTY-NOTICES"
TRIPLES = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-pc-windows-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
]
RULE = "=" * 100
RUST = pathlib.Path("/usr/lib/rustlib/src/rust/library/std/Cargo.toml")
MINGW = pathlib.Path("/usr/share/doc/mingw-w64-x86-64-dev/copyright")

HEAD = """Third-party notices of Isoline's native library
===============================================

Isoline itself is under MIT OR Apache-2.0 (LICENSE-MIT, LICENSE-APACHE). Its native library contains these Rust crates, in
part only on some platforms, and parts of the compiler and the linkers, which follow them. Texts that several crates share
are printed once. Where a crate offers MIT besides others, it is used and redistributed under MIT. The sources of all of
them, MPL-2.0's included, are at the addresses below, and unchanged here.

Nothing of NVIDIA's is redistributed: neither the CUDA toolkit's headers and libraries nor a driver. The kernels are
compiled from Isoline's own sources, and the driver of the user's system is loaded when the library runs.

"""
TOOLS_HEAD = """

Parts of the compiler and the linkers
=====================================

The released libraries also contain Rust's standard library, with the crates in it, and what the linkers add: zig's
compiler-rt, and for Linux LLVM's libunwind, which comes with zig; for Windows the runtime of MinGW-w64 and GCC's libgcc,
whose GCC Runtime Library Exception allows it in programs under any terms.

"""


def linked_crates(manifest=ROOT / "Cargo.toml", cargo="cargo", options=()):
    """Returns the packages that are linked into the library of a Cargo.toml on any platform, by name and version."""
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--manifest-path", manifest, *options]
    for triple in TRIPLES:
        command += ["--filter-platform", triple]
    # The standard library's manifest is not for stable compilers otherwise.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
    found = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    linked, waiting = set(), [found["resolve"]["root"]]
    while waiting:
        crate = waiting.pop()
        for dependency in nodes[crate]["deps"]:
            package = packages[dependency["pkg"]]
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            macro = any("proc-macro" in target["kind"] for target in package["targets"])
            if normal and not macro and package["id"] not in linked:
                linked.add(package["id"])
                waiting.append(package["id"])
    return sorted((packages[crate] for crate in linked), key=lambda package: (package["name"], package["version"]))


def said_by(*command):
    """Returns the first number with dots, such as 1.96.0, in what a command prints."""
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    return re.search(r"\d+(\.\d+)+", said)[0]


def mingw_licences():
    """Returns what Debian's file says of MinGW-w64's runtime, not of its headers and tools, and the licences named there."""
    paragraphs = MINGW.read_text(encoding="utf-8").split("\n\n")[1:]
    kept = [text for text in paragraphs if re.match(r"Files:\s+(\*|mingw-w64-crt/)", text)]
    kept = [text for text in kept if "License: public-domain" not in text]
    named = " and ".join(re.search(r"^License: (.*)", text, re.M)[1] for text in kept).split(" and ")
    return "\n\n".join(kept + [text for text in paragraphs if text.partition("\n")[0].removeprefix("License: ") in named])


def tool_parts():
    """Returns what compiler and linkers put into the library, as packages like Cargo's, or None if they are not there."""
    zig_folder = next(ROOT.glob(".tools/venv/lib/python*/site-packages/ziglang"), None)
    if not RUST.exists() or not MINGW.exists() or zig_folder is None:
        return None

    def part(name, version, licence, repository, texts=(), authors=()):
        return {"id": name, "name": name, "version": version, "license": licence, "repository": repository,
                "texts": list(texts), "authors": list(authors)}

    # RUSTC as for Cargo: that of rustup is another one.
    os.environ["RUSTC"] = "/usr/bin/rustc"
    crates = linked_crates(RUST, "/usr/bin/cargo", ["--features", "backtrace"])
    del os.environ["RUSTC"]
    zig = said_by(zig_folder / "zig", "version")
    return [
        part("Rust's standard library", said_by("/usr/bin/rustc", "--version"), "MIT OR Apache-2.0",
             "https://github.com/rust-lang/rust", authors=["The Rust Project Contributors"]),
        *(crate for crate in crates if crate["source"] or crate["name"] == "compiler_builtins"),
        part("zig compiler-rt", zig, "MIT", "https://ziglang.org", [(zig_folder / "LICENSE").read_text(encoding="utf-8")]),
        part("LLVM libunwind of zig", zig, "Apache-2.0 WITH LLVM-exception", "https://llvm.org",
             [(zig_folder / "lib/libunwind/LICENSE.TXT").read_text(encoding="utf-8")]),
        part("MinGW-w64 runtime", said_by("dpkg-query", "--show", "mingw-w64-x86-64-dev"), "ZPL-2.1",
             "https://www.mingw-w64.org", [mingw_licences()]),
        part("GCC libgcc", said_by("dpkg-query", "--show", "gcc-mingw-w64-base"),
             "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org", ["See https://www.gnu.org/licenses/gcc-exception.html"]),
    ]


def licence_texts(package):
    """Returns the texts of a package's licences; of a crate's files that of MIT where it is offered, else all."""
    texts = package.get("texts")
    if texts is None:
        folder = pathlib.Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if re.match(r"(?i)licen[cs]e|copying|unlicense|notice", file.name))
        files = [file for file in files if file.is_file()]
        if "MIT" in re.split(r"\W+", package["license"] or ""):
            files = [file for file in files if "mit" in file.name.lower()] or files
        texts = [file.read_text(encoding="utf-8") for file in files]
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts]


def listing(packages):
    """Returns a line for each package, and then the texts of their licences."""
    shared = {}
    for package in packages:
        if not package["license"]:
            raise SystemExit(f"third_party: {package['name']} names no licence in its Cargo.toml; add it here by hand")
        for text in licence_texts(package):
            shared.setdefault(text, []).append(package)
    with_text = {package["id"] for packages in shared.values() for package in packages}
    lines = []
    for package in packages:
        place = package["repository"] or f"https://crates.io/crates/{package['name']}"
        lines.append(f"{package['name']} {package['version']}: {package['license']}, {place}\n")
        if package["id"] not in with_text:
            authors = ", ".join(package["authors"]) or "its authors, who are not named"
            if "MIT" not in re.split(r"\W+", package["license"]):
                raise SystemExit(f"third_party: {package['name']} comes without its licence's text; add it here by hand")
            lines.append(f"    Copyright (c) {authors}. It comes without its licence's text; MIT's is in LICENSE-MIT.\n")
    for text, owners in sorted(shared.items(), key=lambda item: item[1][0]["name"]):
        names = ", ".join(package["name"] for package in owners)
        lines.append(f"\n{RULE}\n{names}\n{RULE}\n\n{text}\n")
    return "".join(lines)


def notices(needs_tools):
    """Returns the text of the file. Parts of tools that are not installed are those of the file that there is."""
    parts = tool_parts()
    if parts is None:
        if needs_tools:
            raise SystemExit("third_party: compiler and linkers are not installed; run 'make jar-all' first")
        text = NOTICES.read_text(encoding="utf-8").partition(TOOLS_HEAD)[2]
    else:
        text = listing(parts)
    return HEAD + listing(linked_crates()) + TOOLS_HEAD + text


def bill_of_materials():
    """Returns Isoline, the crates and the parts of tools as a document of SPDX 2.3, the same for the same of them."""
    library = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    sums = {
        (package["name"], package["version"]): package.get("checksum")
        for lock in (ROOT / "Cargo.lock", RUST.parent.parent / "Cargo.lock")
        for package in tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    }

    def entry(package):
        name, version, licence = package["name"], package["version"], package["license"]
        checksum = sums.get((name, version))
        address = {
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:cargo/{name}@{version}",
        }
        return {
            "name": name,
            "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{name}-{version}"),
            "versionInfo": version,
            # Older crates write a slash for OR.
            "licenseDeclared": licence.replace("/", " OR "),
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "filesAnalyzed": False,
            "downloadLocation": f"https://crates.io/api/v1/crates/{name}/{version}/download" if checksum else "NOASSERTION",
            "externalRefs": [] if "texts" in package else [address],
        } | ({"checksums": [{"algorithm": "SHA256", "checksumValue": checksum}]} if checksum else {})

    main = entry(library)
    # A crate of the standard library may be one of Isoline's.
    linked = {part["SPDXID"]: part for part in map(entry, linked_crates() + tool_parts())}
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"isoline-{library['version']}",
        "documentNamespace": f"https://spdx.org/spdxdocs/isoline-{library['version']}",
        # A fixed date, so that the same sources give the same file.
        "creationInfo": {"created": "2026-01-01T00:00:00Z", "creators": ["Tool: scripts/third_party.py"]},
        "packages": [main, *linked.values()],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": main["SPDXID"]},
            *({"spdxElementId": main["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": part}
              for part in linked),
        ],
    }


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--sbom":
        pathlib.Path(sys.argv[2]).write_text(json.dumps(bill_of_materials(), indent=1) + "\n", encoding="utf-8")
        return
    text = notices(sys.argv[1:] == ["--check-all"])
    if sys.argv[1:] in (["--check"], ["--check-all"]):
        there = NOTICES.read_text(encoding="utf-8")
        if sys.argv[1] == "--check":
            # Compiler and linkers may be others than those of a release.
            there, text = (file.partition(TOOLS_HEAD)[0] for file in (there, text))
        if there != text:
            raise SystemExit("third_party: THIRD-PARTY-NOTICES is not of the present crates; run scripts/third_party.py")
        return
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    NOTICES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
