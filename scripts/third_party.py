#!/usr/bin/env python3
"""Writes THIRD-PARTY-NOTICES: the Rust crates in the native library, with the licences that their authors gave them.

Usage: third_party.py [--check | --sbom FILE]
With --check nothing is written, and the status is 1 if the file is not the present one. With --sbom the crates are written
to FILE instead, as a software bill of materials in the form of SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/).
The crates are those that Cargo.lock links into the library on any of the platforms of scripts/jar-all.sh; crates that
only a build or a test needs are not among them. It goes into the plugin's jar.
"""
import json
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

HEAD = """Third-party notices of Isoline's native library
===============================================

Isoline itself is under MIT OR Apache-2.0 (LICENSE-MIT, LICENSE-APACHE). Its native library contains these Rust crates, in
part only on some platforms, and Rust's standard library (Copyright (c) The Rust Project Contributors, MIT OR Apache-2.0,
https://github.com/rust-lang/rust). Texts that several crates share are printed once. Where a crate offers MIT besides
others, it is used and redistributed under MIT. The sources of all of them, MPL-2.0's included, are at the addresses below,
and unchanged here.

Nothing of NVIDIA's is redistributed: neither the CUDA toolkit's headers and libraries nor a driver. The kernels are
compiled from Isoline's own sources, and the driver of the user's system is loaded when the library runs.

"""


def linked_crates():
    """Returns the packages that are linked into the library on any platform, by name and version."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    for triple in TRIPLES:
        command += ["--filter-platform", triple]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
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


def licence_texts(package):
    """Returns the licence files of a crate: that of MIT where it is offered, else all."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if re.match(r"(?i)licen[cs]e|copying|unlicense|notice", file.name))
    files = [file for file in files if file.is_file()]
    if "MIT" in re.split(r"\W+", package["license"] or ""):
        files = [file for file in files if "mit" in file.name.lower()] or files
    texts = [file.read_text(encoding="utf-8") for file in files]
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts]


def notices():
    """Returns the text of the file."""
    crates = linked_crates()
    shared = {}
    for package in crates:
        if not package["license"]:
            raise SystemExit(f"third_party: {package['name']} names no licence in its Cargo.toml; add it here by hand")
        for text in licence_texts(package):
            shared.setdefault(text, []).append(package)
    with_text = {package["id"] for packages in shared.values() for package in packages}
    lines = [HEAD]
    for package in crates:
        place = package["repository"] or f"https://crates.io/crates/{package['name']}"
        lines.append(f"{package['name']} {package['version']}: {package['license']}, {place}\n")
        if package["id"] not in with_text:
            authors = ", ".join(package["authors"]) or "its authors, who are not named"
            if "MIT" not in re.split(r"\W+", package["license"]):
                raise SystemExit(f"third_party: {package['name']} comes without its licence's text; add it here by hand")
            lines.append(f"    Copyright (c) {authors}. It comes without its licence's text; MIT's is in LICENSE-MIT.\n")
    for text, packages in sorted(shared.items(), key=lambda item: item[1][0]["name"]):
        names = ", ".join(package["name"] for package in packages)
        lines.append(f"\n{RULE}\n{names}\n{RULE}\n\n{text}\n")
    return "".join(lines)


def bill_of_materials():
    """Returns the crates and Isoline itself as a document of SPDX 2.3, the same for the same Cargo.lock."""
    library = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    sums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    }

    def entry(name, version, licence):
        checksum = sums.get((name, version))
        return {
            "name": name,
            "SPDXID": f"SPDXRef-{name}-{version}".replace("_", "-"),
            "versionInfo": version,
            # Older crates write a slash for OR.
            "licenseDeclared": licence.replace("/", " OR "),
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "filesAnalyzed": False,
            "downloadLocation": f"https://crates.io/api/v1/crates/{name}/{version}/download" if checksum else "NOASSERTION",
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:cargo/{name}@{version}",
            }],
        } | ({"checksums": [{"algorithm": "SHA256", "checksumValue": checksum}]} if checksum else {})

    main = entry(library["name"], library["version"], library["license"])
    crates = [entry(crate["name"], crate["version"], crate["license"]) for crate in linked_crates()]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"isoline-{library['version']}",
        "documentNamespace": f"https://spdx.org/spdxdocs/isoline-{library['version']}",
        # A fixed date, so that the same sources give the same file.
        "creationInfo": {"created": "2026-01-01T00:00:00Z", "creators": ["Tool: scripts/third_party.py"]},
        "packages": [main, *crates],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": main["SPDXID"]},
            *({"spdxElementId": main["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": crate["SPDXID"]}
              for crate in crates),
        ],
    }


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--sbom":
        pathlib.Path(sys.argv[2]).write_text(json.dumps(bill_of_materials(), indent=1) + "\n", encoding="utf-8")
        return
    text = notices()
    if sys.argv[1:] == ["--check"]:
        if not NOTICES.exists() or NOTICES.read_text(encoding="utf-8") != text:
            raise SystemExit("third_party: THIRD-PARTY-NOTICES is not of the present crates; run scripts/third_party.py")
        return
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    NOTICES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
