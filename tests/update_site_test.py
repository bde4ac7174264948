"""Reads an update site back as ImageJ's updater does: index, download by address, size and checksum.

Usage: update_site_test.py [Isoline_-VERSION.jar]; with a jar, also a site of that one.
"""
import functools
import gzip
import hashlib
import http.server
import pathlib
import sys
import tempfile
import threading
import urllib.request
import xml.etree.ElementTree as ET
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import update_site  # noqa: E402

PROPERTIES = b"#Tue Nov 24\n#\nkey=1\n# dated\nlast=2\n\n# kept\n# gone"
# The line after a comment without text keeps what it is; a comment after an empty line stays.
FILTERED = b"\n\nkey=1\n\nlast=2\n\n# kept\n"


def make_jar(path, code):
    """Writes a jar whose entries are not in the order of their names."""
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("io/Code.class", code)
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nCreated-By: any\n")
        jar.writestr("io/", "")
        jar.writestr("io/a.properties", PROPERTIES)
    return path


def expected(code):
    """Returns the checksum of such a jar, from its definition written out."""
    text = b"META-INF/MANIFEST.MF" + b"io/" + b"io/Code.class" + code + b"io/a.properties" + FILTERED
    return hashlib.sha1(text).hexdigest()


def install(folder):
    """Installs from a server what the index names; returns the plugin's record."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        site = f"http://127.0.0.1:{server.server_port}/"
        records = ET.fromstring(gzip.decompress(urllib.request.urlopen(site + "db.xml.gz").read()))
        assert records.tag == "pluginRecords"
        (plugin,) = (record for record in records if "Isoline" in record.get("filename"))
        version = plugin.find("version")
        address = site + plugin.get("filename") + "-" + version.get("timestamp")
        content = urllib.request.urlopen(address).read()
    finally:
        server.shutdown()
        server.server_close()
    assert len(version.get("timestamp")) == 14 and version.get("timestamp").isdigit()
    assert len(content) == int(version.get("filesize")), "size"
    with tempfile.NamedTemporaryFile(suffix=".jar") as file:
        file.write(content)
        file.flush()
        assert update_site.checksum(file.name) == version.get("checksum"), "checksum"
    assert version.find("dependency").get("filename") == "jars/jna.jar"
    return plugin


def refuses(call, words):
    """Checks that a call ends with a message that has these words."""
    try:
        call()
    except SystemExit as message:
        assert words in str(message), message
    else:
        raise AssertionError(f"no message with {words}")


def test_two_versions(folder):
    site = folder / "site"
    first = make_jar(folder / "Isoline_-0.1.0.jar", b"one")
    update_site.put(first, site, "20260101120000")
    plugin = install(site)
    assert plugin.get("filename") == "plugins/Isoline_-0.1.0.jar"
    assert plugin.find("version").get("checksum") == expected(b"one")
    assert plugin.find("previous-version") is None
    assert update_site.put(first, site, "20260102120000") is None, "the same jar again"

    # Another plugin of the same site stays as it is.
    records = update_site.read_index(site)
    ET.SubElement(ET.SubElement(records, "plugin", filename="plugins/Other_.jar"), "platform").text = "win64"
    update_site.write_index(site, records)

    second = make_jar(folder / "Isoline_-0.2.0.jar", b"two")
    refuses(lambda: update_site.put(second, site, "20251231120000"), "not older")
    update_site.put(second, site, "20260301120000")
    third = make_jar(folder / "Isoline_-0.3.0.jar", b"three")
    update_site.put(third, site, "20260401120000")
    plugin = install(site)
    assert plugin.get("filename") == "plugins/Isoline_-0.3.0.jar"
    assert plugin.find("version").get("checksum") == expected(b"three")
    older = [
        (version.get("filename"), version.get("checksum"), version.get("timestamp"), version.get("timestamp-obsolete"))
        for version in plugin.findall("previous-version")
    ]
    assert older == [
        ("plugins/Isoline_-0.2.0.jar", expected(b"two"), "20260301120000", "20260401120000"),
        ("plugins/Isoline_-0.1.0.jar", expected(b"one"), "20260101120000", "20260301120000"),
    ], older
    names = [record.get("filename") for record in update_site.read_index(site)]
    assert names == ["plugins/Other_.jar", "plugins/Isoline_-0.3.0.jar"], names


def test_refusals(folder):
    other = make_jar(folder / "Other.jar", b"")
    refuses(lambda: update_site.put(other, folder, "20260101120000"), "is not the plugin's jar")
    jar = folder / "Isoline_-9.jar"
    with zipfile.ZipFile(jar, "w") as entries:
        entries.writestr("META-INF/MANIFEST.MF", "Main-Class: Any\n")
    refuses(lambda: update_site.put(jar, folder, "20260101120000"), "Main-Class")


def main():
    tests = [test_two_versions, test_refusals]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
    for jar in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            update_site.put(pathlib.Path(jar), pathlib.Path(folder), "20260101120000")
            print(install(folder).find("version").attrib)
    print(f"update site: {len(tests) + len(sys.argv[1:])} passed")


if __name__ == "__main__":
    main()
