package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library as a file of the user's cache. */
class LibraryCacheTest {
    private static final String NAME = "libisoline.so";

    @TempDir
    Path folder;

    private final byte[] library = new byte[300_000];
    private Path root;
    private LibraryCache cache;
    private URL resource;

    @BeforeEach
    void jar() throws IOException {
        new Random(1).nextBytes(library);
        root = folder.resolve("caches/isoline");
        cache = new LibraryCache(root);
        resource = jar("plugin.jar", library);
    }

    @Test
    void firstUseUnpacks() throws IOException {
        Path file = cache.file(resource, "1.2.3").toPath();
        assertArrayEquals(library, Files.readAllBytes(file));
        assertEquals(NAME, file.getFileName().toString());
        assertTrue(file.getParent().getFileName().toString().matches("1\\.2\\.3-[0-9a-f]{8}"), file.toString());
        assertEquals(root, file.getParent().getParent());
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())));
        assertEquals(1, files(), "nothing else is left");
    }

    @Test
    void secondUseTakesTheSameFile() throws IOException {
        Path file = cache.file(resource, "1").toPath();
        Files.setLastModifiedTime(file, FileTime.fromMillis(0));
        Object key = key(file);
        assertEquals(file, new LibraryCache(root).file(resource, "1").toPath());
        assertEquals(key, key(file));
        assertTrue(Files.getLastModifiedTime(file).toMillis() > 0, "the use is noted");
    }

    @Test
    void damagedFileIsReplaced() throws IOException {
        Path file = cache.file(resource, "1").toPath();
        byte[] damaged = library.clone();
        damaged[200_000] ^= 1;
        for (byte[] wrong : new byte[][] {damaged, new byte[0], new byte[library.length + 1]}) {
            Files.write(file, wrong);
            Object key = key(file);
            assertEquals(file, cache.file(resource, "1").toPath());
            assertArrayEquals(library, Files.readAllBytes(file));
            assertNotEquals(key, key(file), "a program that has loaded the old file keeps it");
        }
        assertEquals(1, files());
    }

    @Test
    void folderThatCannotBeWritten() throws IOException {
        Path blocked = Files.createFile(folder.resolve("blocked"));
        assertThrows(IOException.class, () -> new LibraryCache(blocked.resolve("isoline")).file(resource, "1"));
        assertThrows(
                IOException.class, () -> new LibraryCache(folder.getFileSystem().getPath("?")).file(resource, "1"));
    }

    @Test
    void fileIsUsedWhereItCannotBeWritten() throws IOException {
        Path file = cache.file(resource, "1").toPath();
        Files.setPosixFilePermissions(file.getParent(), PosixFilePermissions.fromString("r-x------"));
        try {
            assertEquals(file, cache.file(resource, "1").toPath());
        } finally {
            Files.setPosixFilePermissions(file.getParent(), PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void anotherLibraryOfTheSameVersionHasItsOwnFile() throws IOException {
        File one = cache.file(resource, "1");
        byte[] other = library.clone();
        other[0] ^= 1;
        File two = cache.file(jar("other.jar", other), "1");
        assertNotEquals(one, two);
        assertArrayEquals(library, Files.readAllBytes(one.toPath()));
        assertArrayEquals(other, Files.readAllBytes(two.toPath()));
    }

    @Test
    void manyAtOnce() throws Exception {
        ExecutorService programs = Executors.newFixedThreadPool(8);
        try {
            for (int run = 0; run < 10; run++) {
                List<Future<byte[]>> found = new ArrayList<>();
                String version = Integer.toString(run);
                for (int i = 0; i < 8; i++) {
                    found.add(programs.submit(() -> Files.readAllBytes(
                            new LibraryCache(root).file(resource, version).toPath())));
                }
                for (Future<byte[]> one : found) {
                    assertArrayEquals(library, one.get());
                }
                assertEquals(run + 1, files());
            }
        } finally {
            programs.shutdownNow();
        }
    }

    @Test
    void unusedFilesOfOtherVersionsAreRemoved() throws IOException {
        FileTime old = FileTime.from(Instant.now().minus(Duration.ofDays(31)));
        Path unused = cache.file(resource, "1").toPath();
        Path used = cache.file(resource, "2").toPath();
        Path foreign = Files.createFile(used.getParent().resolve("notes.txt"));
        Path broken = Files.createFile(used.getParent().resolve("unpacking7.tmp"));
        for (Path file : new Path[] {unused, foreign, broken}) {
            Files.setLastModifiedTime(file, old);
        }
        cache.file(resource, "2");
        assertTrue(Files.exists(unused), "a start that unpacks nothing removes nothing");
        cache.file(resource, "3");
        assertFalse(Files.exists(unused.getParent()));
        assertFalse(Files.exists(broken));
        assertTrue(Files.exists(used));
        assertTrue(Files.exists(foreign));
    }

    @Test
    void resourceThatIsNoJars() throws IOException {
        Path file = Files.write(folder.resolve(NAME), library);
        assertNull(cache.file(file.toUri().toURL(), "1"));
        assertFalse(Files.exists(root));
    }

    @Test
    void damagedJar() throws IOException {
        // The bytes of a file that is stored and not compressed can be changed without other effects.
        Path jar = folder.resolve("plugin.jar");
        byte[] bytes = Files.readAllBytes(jar);
        bytes[bytes.length / 2] ^= 1;
        Files.write(folder.resolve("damaged.jar"), bytes);
        URL damaged = new URL(resource.toString().replace("plugin.jar", "damaged.jar"));
        assertThrows(IOException.class, () -> cache.file(damaged, "1"));
        assertEquals(0, files());
    }

    @Test
    void foldersOfTheSystems() throws IOException {
        Map<String, String> none = Collections.emptyMap();
        assertPlace(".cache/isoline", "Linux", none);
        assertPlace("own/isoline", "Linux", Collections.singletonMap("XDG_CACHE_HOME", folder + "/own"));
        assertPlace(".cache/isoline", "Linux", Collections.singletonMap("XDG_CACHE_HOME", "relative"));
        assertPlace("Library/Caches/isoline", "Mac OS X", none);
        assertPlace("AppData/Local/isoline", "Windows 11", none);
        assertPlace("local/isoline", "Windows 11", Collections.singletonMap("LOCALAPPDATA", folder + "/local"));
    }

    private void assertPlace(String expected, String system, Map<String, String> environment) throws IOException {
        Path file = LibraryCache.ofUser(system, environment, folder.toString())
                .file(resource, "1")
                .toPath();
        assertEquals(folder.resolve(expected), file.getParent().getParent());
    }

    private URL jar(String name, byte[] content) throws IOException {
        Path jar = folder.resolve(name);
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out)) {
            entries.putNextEntry(new ZipEntry("linux-x86-64/" + NAME));
            entries.write(content);
            entries.closeEntry();
        }
        return new URL("jar:" + jar.toUri() + "!/linux-x86-64/" + NAME);
    }

    private static Object key(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    /** Returns the number of files in the cache. */
    private long files() throws IOException {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile).count();
        }
    }
}
