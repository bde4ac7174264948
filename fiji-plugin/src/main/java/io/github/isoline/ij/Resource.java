package io.github.isoline.ij;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Files in the plugin's jar. */
final class Resource {
    private static final int BLOCK_BYTES = 4096;

    private Resource() {}

    /** Returns a text file of the jar, by its path as {@link Class#getResourceAsStream} understands it. */
    static String text(String path) {
        return new String(bytes(path), StandardCharsets.UTF_8);
    }

    /** Returns the bytes of a file of the jar. */
    static byte[] bytes(String path) {
        try (InputStream in = Resource.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new FileNotFoundException("it is missing from the plugin's jar; install the plugin again");
            }
            return bytes(in);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + path + ": " + e.getMessage(), e);
        }
    }

    /** Returns the bytes that are left of a stream. */
    static byte[] bytes(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] block = new byte[BLOCK_BYTES];
        for (int n = in.read(block); n > 0; n = in.read(block)) {
            out.write(block, 0, n);
        }
        return out.toByteArray();
    }
}
