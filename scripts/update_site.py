#!/usr/bin/env python3
"""Puts a jar of the plugin into the folder of an ImageJ update site, from which Fiji's updater installs it.

Usage: update_site.py Isoline_-VERSION.jar FOLDER

Writes FOLDER/plugins/Isoline_-VERSION.jar-TIMESTAMP and FOLDER/db.xml.gz. If the folder is a site already, its present
jar becomes a previous version: the updater takes files that it finds in that list as old, and not as modified by the
user. If the jar is that of the site already, nothing changes. Other plugins of the site stay.
"""
import datetime
import gzip
import hashlib
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree as ET
import zipfile

INDEX = "db.xml.gz"
PLUGIN = "plugins/Isoline_-"
MANIFEST = "META-INF/MANIFEST.MF"
DESCRIPTION = ("Edge strength, edge drawing, level sets, region snakes, distances, isolines, isosurfaces and objects on "
               "the GPU or on all CPU cores")
# Fiji has it; the updater installs it where it is missing. It ignores the version in the name of a dependency.
DEPENDENCY = "jars/jna.jar"

# The updater's type of document, for the index of a site.
DOCTYPE = """<!DOCTYPE pluginRecords [
<!ELEMENT pluginRecords (plugin*)>
<!ELEMENT plugin (platform*, category*, version?, previous-version*)>
<!ELEMENT platform (#PCDATA)>
<!ELEMENT category (#PCDATA)>
<!ELEMENT version (description?, dependency*, link*, author*)>
<!ELEMENT previous-version EMPTY>
<!ELEMENT description (#PCDATA)>
<!ELEMENT dependency EMPTY>
<!ELEMENT link (#PCDATA)>
<!ELEMENT author (#PCDATA)>
<!ATTLIST plugin filename CDATA #REQUIRED executable CDATA #IMPLIED>
<!ATTLIST dependency filename CDATA #REQUIRED timestamp CDATA #IMPLIED overrides CDATA #IMPLIED>
<!ATTLIST version timestamp CDATA #REQUIRED checksum CDATA #REQUIRED filesize CDATA #REQUIRED>
<!ATTLIST previous-version filename CDATA #IMPLIED timestamp CDATA #REQUIRED timestamp-obsolete CDATA #IMPLIED
    checksum CDATA #REQUIRED>
]>
"""


def without_comments(properties):
    """Returns a file of properties as the updater reads it: a line of comment is a bare newline.

    The updater does not see the start of a line that follows an empty one, or a comment without text, so that a comment
    there stays.
    """
    out, sees_start = [], True
    for line in re.findall(rb"[^\n]*\n|[^\n]+", properties):
        comment = sees_start and line.startswith(b"#")
        out.append(b"\n" * line.endswith(b"\n") if comment else line)
        sees_start = not sees_start or line.lstrip(b"#") != b"\n"
    return b"".join(out)


def checksum(jar):
    """Returns the updater's checksum of a jar: SHA-1 of the names and contents of its entries, by name."""
    digest = hashlib.sha1()
    with zipfile.ZipFile(jar) as entries:
        for name in sorted(entries.namelist()):
            digest.update(name.encode("ascii"))
            content = entries.read(name)
            if name == MANIFEST:
                # The updater ignores all of it but the class to start, which the plugin does not have.
                if b"Main-Class:" in content:
                    raise SystemExit(f"update_site: {jar} has a Main-Class, for which this has no checksum; leave it out")
                continue
            digest.update(without_comments(content) if name.endswith(".properties") else content)
    return digest.hexdigest()


def read_index(folder):
    """Returns the root of the site's index, an empty one if there is none yet."""
    index = folder / INDEX
    return ET.fromstring(gzip.decompress(index.read_bytes())) if index.exists() else ET.Element("pluginRecords")


def write_index(folder, records):
    """Writes the index, with the same bytes for the same records."""
    ET.indent(records, "    ")
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' + DOCTYPE + ET.tostring(records, encoding="unicode") + "\n"
    (folder / INDEX).write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def put(jar, folder, timestamp):
    """Makes the jar the present version of the site; returns its file, or None if it was that already."""
    if not f"plugins/{jar.name}".startswith(PLUGIN):
        raise SystemExit(f"update_site: {jar.name} is not the plugin's jar, Isoline_-VERSION.jar")
    records = read_index(folder)
    name, digest = f"plugins/{jar.name}", checksum(jar)
    previous = []
    for plugin in [record for record in records if record.get("filename").startswith(PLUGIN)]:
        present = plugin.find("version")
        if present.get("checksum") == digest and plugin.get("filename") == name:
            return None
        if int(present.get("timestamp")) >= int(timestamp):
            raise SystemExit(f"update_site: the site's version is of {present.get('timestamp')}, not older than {timestamp}")
        previous = [
            ET.Element(
                "previous-version",
                {
                    "filename": plugin.get("filename"),
                    "timestamp": present.get("timestamp"),
                    "timestamp-obsolete": timestamp,
                    "checksum": present.get("checksum"),
                },
            ),
            *plugin.findall("previous-version"),
        ]
        records.remove(plugin)
    plugin = ET.SubElement(records, "plugin", filename=name)
    size = str(jar.stat().st_size)
    version = ET.SubElement(plugin, "version", checksum=digest, timestamp=timestamp, filesize=size)
    ET.SubElement(version, "description").text = DESCRIPTION
    ET.SubElement(version, "dependency", filename=DEPENDENCY)
    ET.SubElement(version, "author").text = "The Isoline authors"
    plugin.extend(previous)
    # The index comes last: it names no file that is not there.
    file = folder / f"{name}-{timestamp}"
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(jar, file)
    write_index(folder, records)
    return file


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    jar, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if not jar.is_file():
        raise SystemExit(f"update_site: there is no jar {jar}; 'make jar-all' builds it")
    file = put(jar, folder, datetime.datetime.now(datetime.UTC).strftime("%Y%m%d%H%M%S"))
    print(f"update_site: {file}" if file else f"update_site: {folder} has this jar already")


if __name__ == "__main__":
    main()
