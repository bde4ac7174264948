package io.github.isoline;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.CRC32;

/**
 * The native library of a jar as a file in the user's cache, unpacked once and not at every start. A file is used only
 * if its size and its CRC-32 are those in the jar; a new one appears under its name only when it is complete, so that
 * several programs may start at once.
 */
final class LibraryCache {
    /** The time after which a library that no program has used is removed. */
    private static final Duration KEPT = Duration.ofDays(30);

    private static final String UNFINISHED = ".tmp";
    private static final int BLOCK = 1 << 16;

    private final Path root;

    /** @param root the folder of this program's files in the user's cache, which need not exist */
    LibraryCache(Path root) {
        this.root = root;
    }

    /**
     * Returns the user's cache by the rules of the system.
     *
     * @param system the name of the system, as in "os.name"
     * @param home the user's folder
     */
    static LibraryCache ofUser(String system, Map<String, String> environment, String home) {
        Path caches;
        if (system.startsWith("Windows")) {
            caches = absolute(environment.get("LOCALAPPDATA"), Paths.get(home, "AppData", "Local"));
        } else if (system.startsWith("Mac")) {
            caches = Paths.get(home, "Library", "Caches");
        } else {
            caches = absolute(environment.get("XDG_CACHE_HOME"), Paths.get(home, ".cache"));
        }
        return new LibraryCache(caches.resolve("isoline"));
    }

    /** Returns a folder that a variable names; a relative one does not count. */
    private static Path absolute(String folder, Path otherwise) {
        return folder != null && Paths.get(folder).isAbsolute() ? Paths.get(folder) : otherwise;
    }

    /**
     * Returns the file with the library; unpacks it if it is not there or damaged.
     *
     * @param resource in a jar
     * @return null if the resource is not in a jar
     * @throws IOException if there is no such file and none can be written
     */
    File file(URL resource, String version) throws IOException {
        if (!root.isAbsolute()) {
            throw new IOException("this user has no folder for a cache");
        }
        URLConnection connection = resource.openConnection();
        if (!(connection instanceof JarURLConnection)) {
            return null;
        }
        // The jar is opened apart from the class loader's, and closed here; only its table is read.
        connection.setUseCaches(false);
        try (JarFile jar = ((JarURLConnection) connection).getJarFile()) {
            JarEntry entry = ((JarURLConnection) connection).getJarEntry();
            String name = entry.getName().substring(entry.getName().lastIndexOf('/') + 1);
            Path folder = root.resolve(String.format(Locale.ROOT, "%s-%08x", version, entry.getCrc()));
            Path file = folder.resolve(name);
            if (!isWhole(file, entry)) {
                createFolder(folder);
                try (InputStream in = jar.getInputStream(entry)) {
                    unpack(in, entry, file);
                }
                removeUnused(name);
            }
            touch(file);
            return file.toFile();
        }
    }

    /** Returns true if a file is what the jar's entry says. */
    private static boolean isWhole(Path file, JarEntry entry) throws IOException {
        if (!Files.isRegularFile(file) || Files.size(file) != entry.getSize()) {
            return false;
        }
        try (InputStream in = Files.newInputStream(file)) {
            return copy(in, null) == entry.getCrc();
        }
    }

    private static void unpack(InputStream in, JarEntry entry, Path file) throws IOException {
        // The new file is readable for its owner only.
        Path unfinished = Files.createTempFile(file.getParent(), "unpacking", UNFINISHED);
        try {
            try (OutputStream out = Files.newOutputStream(unfinished)) {
                if (copy(in, out) != entry.getCrc()) {
                    throw new IOException("the jar is damaged");
                }
            }
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            // Windows does not replace a file that is in use: another program has just unpacked it.
            if (!isWhole(file, entry)) {
                throw e;
            }
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** Copies a stream, to nowhere for null, and returns the CRC-32 of its bytes. */
    private static long copy(InputStream in, OutputStream out) throws IOException {
        CRC32 crc = new CRC32();
        byte[] block = new byte[BLOCK];
        for (int count = in.read(block); count >= 0; count = in.read(block)) {
            crc.update(block, 0, count);
            if (out != null) {
                out.write(block, 0, count);
            }
        }
        return crc.getValue();
    }

    /** Creates a folder for its owner only, and the folders above it. */
    private static void createFolder(Path folder) throws IOException {
        boolean posix = folder.getFileSystem().supportedFileAttributeViews().contains("posix");
        FileAttribute<?>[] access = posix
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
                }
                : new FileAttribute<?>[0];
        Files.createDirectories(folder, access);
    }

    /** Notes that a file has been used now, where that is possible. */
    private static void touch(Path file) {
        try {
            Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
        } catch (IOException e) {
            // The cache may be readable only. The file can be used even so.
        }
    }

    /**
     * Removes libraries of other versions that no program has used for a while, and what a broken start has left. A
     * running program keeps its library in memory (on Linux and macOS) or the system refuses (on Windows).
     */
    private void removeUnused(String name) {
        FileTime limit = FileTime.from(Instant.now().minus(KEPT));
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(root)) {
            for (Path folder : folders) {
                if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
                    removeUnused(folder, name, limit);
                }
            }
        } catch (IOException e) {
            // Old files stay until the next time.
        }
    }

    private static void removeUnused(Path folder, String name, FileTime limit) {
        try {
            boolean empty = true;
            try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
                for (Path file : files) {
                    String own = file.getFileName().toString();
                    boolean known = own.equals(name) || own.endsWith(UNFINISHED);
                    if (known && Files.getLastModifiedTime(file).compareTo(limit) < 0) {
                        Files.delete(file);
                    } else {
                        empty = false;
                    }
                }
            }
            if (empty) {
                Files.delete(folder);
            }
        } catch (IOException e) {
            // It is in use, or another program was faster.
        }
    }
}
