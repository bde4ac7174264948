package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Broken installations, each in its own Java process: one sentence, never a stack trace. */
class BadLibraryTest {
    private static final String MACRO = "newImage(\"dot\", \"8-bit black\", 16, 16, 1);\n"
            + "setPixel(3, 3, 255);\n"
            + "run(\"Edge Strength Function...\", \"rho=4\");\n"
            + "print(\"went on\");\n";

    @TempDir
    Path folder;

    @Test
    void goodInstallationWorks() throws Exception {
        HeadlessProcess.Outcome outcome = imagej(HeadlessProcess.classPath(true), new String[0]);
        assertEquals(0, outcome.status, outcome.text());
        assertTrue(outcome.text().contains("went on"), outcome.text());
    }

    @Test
    void missingFile() throws Exception {
        String missing = folder.resolve("nowhere").toString();
        assertSays(
                imagej(HeadlessProcess.classPath(true), property(missing)),
                "There is no Isoline library at " + missing);
    }

    @Test
    void notALibrary() throws Exception {
        Path text = folder.resolve("libisoline.so");
        Files.write(text, "hello".getBytes(StandardCharsets.UTF_8));
        assertSays(
                imagej(HeadlessProcess.classPath(true), property(text.toString())),
                "cannot be loaded: " + text + ": file too short. It may be damaged");
    }

    @Test
    void libraryForANewerLinux() throws Exception {
        // The stub refers to a version that no C library has but the one it is linked with.
        Path versions = folder.resolve("versions.map");
        Files.write(versions, "GLIBC_99.1 { global: *; };\n".getBytes(StandardCharsets.UTF_8));
        Path newer = compile(
                "void from_the_future(void) {}\n",
                "libc.so.6",
                "-nostdlib",
                "-Wl,-soname,libc.so.6",
                "-Wl,--version-script=" + versions);
        Path library = compile(
                "void from_the_future(void);\n" + "unsigned isoline_version(void) { from_the_future(); return 0; }\n",
                System.mapLibraryName("isoline"),
                "-nostdlib",
                newer.toString());
        HeadlessProcess.Outcome outcome = imagej(HeadlessProcess.classPath(true), property(library.toString()));
        assertSays(outcome, "`GLIBC_99.1' not found");
        assertSays(outcome, "This Linux is older than the one that the library was built for");
        assertFalse(outcome.text().contains("damaged"), outcome.text());
    }

    @Test
    void anotherLibrary() throws Exception {
        // JNA's own native part is a library for this platform, whichever it is.
        Path other = folder.resolve(System.mapLibraryName("isoline"));
        String name = com.sun.jna.Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("jnidispatch");
        try (InputStream in = com.sun.jna.Native.class.getResourceAsStream(name)) {
            Files.copy(in, other, StandardCopyOption.REPLACE_EXISTING);
        }
        // The folder works as well as the file.
        assertSays(imagej(HeadlessProcess.classPath(true), property(folder.toString())), "is not the Isoline library");
    }

    @Test
    void libraryOfAnotherVersion() throws Exception {
        Path library = compile("unsigned isoline_version(void) { return 0x000903; }\n");
        assertSays(
                imagej(HeadlessProcess.classPath(true), property(library.toString())),
                "needs its own library, but found version 0.9.3");
    }

    @Test
    void libraryThatLacksAFunction() throws Exception {
        Path library = compile("unsigned isoline_version(void) { return 0x000100; }\n");
        assertSays(
                imagej(HeadlessProcess.classPath(true), property(library.toString())),
                "lacks a function that this plugin needs");
    }

    @Test
    void pluginWithoutLibraryForThisPlatform() throws Exception {
        Path classes = folder.resolve("classes");
        Path built = Paths.get(HeadlessProcess.location(HeadlessImageJ.class));
        try (Stream<Path> files = Files.walk(built)) {
            for (Path file : files.filter(Files::isRegularFile).toArray(Path[]::new)) {
                if (!file.getFileName().toString().equals(System.mapLibraryName("isoline"))) {
                    Path copy = classes.resolve(built.relativize(file).toString());
                    Files.createDirectories(copy.getParent());
                    Files.copy(file, copy);
                }
            }
        }
        String classPath = HeadlessProcess.classPath(true).replace(built.toString(), classes.toString());
        assertSays(imagej(classPath, new String[0]), "no native library for this computer");
    }

    @Test
    void imageJWithoutJna() throws Exception {
        assertSays(imagej(HeadlessProcess.classPath(false), new String[0]), "put jna.jar into the folder");
    }

    private static void assertSays(HeadlessProcess.Outcome outcome, String sentence) {
        assertEquals(1, outcome.status, outcome.text());
        assertTrue(outcome.text().contains(sentence), outcome.text());
        assertFalse(outcome.text().contains("went on"), outcome.text());
        assertFalse(outcome.text().contains("\tat "), outcome.text());
        assertEquals(1, outcome.text().trim().split("\n").length, outcome.text());
    }

    private static String[] property(String path) {
        return new String[] {"-Disoline.library.path=" + path};
    }

    private HeadlessProcess.Outcome imagej(String classPath, String[] properties)
            throws IOException, InterruptedException {
        return HeadlessProcess.imagej(folder, classPath, MACRO, properties);
    }

    private Path compile(String code) throws IOException, InterruptedException {
        return compile(code, System.mapLibraryName("isoline"));
    }

    private Path compile(String code, String name, String... options) throws IOException, InterruptedException {
        Path source = folder.resolve("stub.c");
        Files.write(source, code.getBytes(StandardCharsets.UTF_8));
        Path library = folder.resolve(name);
        List<String> command = new ArrayList<>();
        command.addAll(Arrays.asList("cc", "-shared", "-fPIC", "-o", library.toString()));
        command.add(source.toString());
        command.addAll(Arrays.asList(options));
        HeadlessProcess.Outcome outcome = HeadlessProcess.call(folder, command);
        assertEquals(0, outcome.status, outcome.text());
        return library;
    }
}
