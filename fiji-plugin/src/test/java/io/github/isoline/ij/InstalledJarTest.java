package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The plugin as a jar, whose native library is unpacked into the user's cache; each start is a Java process. */
class InstalledJarTest {
    private static final String MACRO = "print(call(\"io.github.isoline.ij.DevicesPlugin.list\"));\n";

    @TempDir
    Path folder;

    @Test
    void libraryIsUnpackedOnce() throws Exception {
        String classPath = classPath();
        assertSays(classPath, "from the plugin's jar, unpacked to " + folder.resolve(".cache/isoline"));
        Path file = library();
        Object first = Files.getAttribute(file, "unix:ino");
        assertSays(classPath, "unpacked to " + file);
        assertEquals(first, Files.getAttribute(file, "unix:ino"));
    }

    @Test
    void damagedFileIsNotLoaded() throws Exception {
        String classPath = classPath();
        assertSays(classPath, "unpacked to ");
        Path file = library();
        byte[] bytes = new byte[(int) Files.size(file)];
        Files.write(file, bytes);
        assertSays(classPath, "unpacked to " + file);
    }

    @Test
    void cacheThatCannotBeWritten() throws Exception {
        Files.createFile(folder.resolve(".cache"));
        assertSays(classPath(), "from the plugin's jar, unpacked for this start only (");
    }

    private void assertSays(String classPath, String words) throws Exception {
        HeadlessProcess.Outcome outcome = HeadlessProcess.imagej(folder, classPath, MACRO);
        assertEquals(0, outcome.status, outcome.text());
        assertTrue(outcome.text().contains(words), outcome.text());
        assertTrue(outcome.text().contains("\ncpu"), outcome.text());
    }

    /** Returns the only file of the cache. */
    private Path library() throws IOException {
        try (Stream<Path> files = Files.walk(folder.resolve(".cache"))) {
            Path[] all = files.filter(Files::isRegularFile).toArray(Path[]::new);
            assertEquals(1, all.length);
            return all[0];
        }
    }

    /** Packs the compiled classes, as an installation has them. */
    private String classPath() throws Exception {
        Path built = Paths.get(HeadlessProcess.location(HeadlessImageJ.class));
        Path jar = folder.resolve("Isoline_.jar");
        try (Stream<Path> files = Files.walk(built);
                OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out)) {
            entries.setLevel(Deflater.BEST_SPEED);
            for (Path file : files.filter(Files::isRegularFile).toArray(Path[]::new)) {
                entries.putNextEntry(
                        new ZipEntry(built.relativize(file).toString().replace('\\', '/')));
                Files.copy(file, entries);
                entries.closeEntry();
            }
        }
        return HeadlessProcess.classPath(true).replace(built.toString(), jar.toString());
    }
}
