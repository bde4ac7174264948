#!/usr/bin/env python3
"""Installs the plugin from an update site by ImageJ's own updater, without a window, into an empty ImageJ folder.

Usage: imagej_updater.py Isoline_-VERSION.jar WORK-FOLDER

The updater is built from its source, since Maven Central does not have it: of https://github.com/imagej/imagej-updater, or
of the git repository that ISOLINE_IMAGEJ_UPDATER names. What it uses comes from Maven Central, but for imagej-common, which
is not there either: the updater takes two empty interfaces of it, and a client for imagej.net, which this test does not ask.
"""

import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import update_site  # noqa: E402

SOURCE = "https://github.com/imagej/imagej-updater"
COMMIT = "4819c3c4dd8e48dceca266f8b9253d938b596e33"  # version 2.0.3
ARTIFACTS = ("org.scijava:scijava-common:2.100.1", "org.scijava:parsington:3.1.0", "org.scijava:app-launcher:2.3.1")
COMMON = {
    "net/imagej/ImageJService.java": "package net.imagej;\n"
    "public interface ImageJService extends org.scijava.service.Service {}",
    "net/imagej/ImageJPlugin.java": "package net.imagej;\n"
    "public interface ImageJPlugin extends org.scijava.plugin.SciJavaPlugin {}",
    "net/imagej/util/MediaWikiClient.java": """package net.imagej.util;
public class MediaWikiClient {
    public MediaWikiClient(String address) {}
    public String getPageSource(String title) throws java.io.IOException {
        throw new java.io.IOException("this test asks no other computer");
    }
}
""",
}


def build(work):
    """Builds the updater in a folder; returns its class path."""
    source, classes, jars = (work / name for name in ("source", "classes", "jars"))
    built = classes / COMMIT
    path = os.pathsep.join([str(classes), *map(str, sorted(jars.glob("*.jar")))])
    if built.exists():
        return path
    shutil.rmtree(work, ignore_errors=True)
    address = os.environ.get("ISOLINE_IMAGEJ_UPDATER", SOURCE)
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", address, source], check=True)
    subprocess.run(["git", "-C", source, "checkout", "--quiet", COMMIT], check=True)
    for artifact in ARTIFACTS:
        get = "org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy"
        subprocess.run(
            ["mvn", "--batch-mode", "--quiet", get, f"-Dartifact={artifact}", f"-DoutputDirectory={jars}"],
            check=True,
            cwd=work,
        )
    for name, text in COMMON.items():
        file = work / "common" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    files = sorted([*(source / "src/main/java").rglob("*.java"), *(work / "common").rglob("*.java")])
    subprocess.run(["javac", "-nowarn", "-XDsuppressNotes", "-d", classes, "-cp", f"{jars}/*", *files], check=True)
    built.touch()
    return build(work)


def state_of(listing):
    """Returns the state that the updater's list gives the plugin, "" if it is not in it."""
    states = re.findall(r"^plugins/Isoline_-\S+\.jar\s+\((\w+)", listing, re.MULTILINE)
    assert len(states) <= 1, listing
    return states[0] if states else ""


def another_version(jar, path):
    """Writes a copy of a jar with one more entry."""
    shutil.copyfile(jar, path)
    with zipfile.ZipFile(path, "a") as entries:
        entries.writestr("another.txt", "version")
    return path


def installed(imagej):
    return sorted(file.name for file in (imagej / "plugins").glob("*"))


def test(jar, path, folder):
    site, imagej, user = (folder / name for name in ("site", "imagej", "user"))
    imagej.mkdir()
    update_site.put(jar, site, "20260101120000")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"

    def updater(*words):
        options = [f"-Dimagej.dir={imagej}", f"-Duser.home={user}", "-Djava.awt.headless=true"]
        command = ["java", "-cp", path, *options, "net.imagej.updater.CommandLine", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout

    def expect(state):
        listing = updater("list")
        assert state_of(listing) == state, f"not {state}: {listing}"

    try:
        # ImageJ's own site, which the updater knows from the start, is not asked.
        updater("edit-update-site", "ImageJ", address + "none/")
        expect("")
        updater("add-update-site", "Isoline", address)
        expect("NEW")
        updater("update", f"plugins/{jar.name}")
        expect("INSTALLED")
        assert (imagej / "plugins" / jar.name).read_bytes() == jar.read_bytes()

        update_site.put(another_version(jar, folder / "Isoline_-99.0.0.jar"), site, "20260201120000")
        expect("UPDATEABLE")
        updater("update")
        expect("INSTALLED")
        assert installed(imagej) == ["Isoline_-99.0.0.jar"], installed(imagej)
        with zipfile.ZipFile(imagej / "plugins" / "Isoline_-99.0.0.jar", "a") as entries:
            entries.writestr("changed.txt", "by the user")
        expect("MODIFIED")
    finally:
        server.shutdown()
        server.server_close()


def main():
    jar, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    path = build(work)
    with tempfile.TemporaryDirectory() as folder:
        test(jar, path, pathlib.Path(folder))
    print("ImageJ's updater: lists, installs and updates the plugin from its site")


if __name__ == "__main__":
    main()
