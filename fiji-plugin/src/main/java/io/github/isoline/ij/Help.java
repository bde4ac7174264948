package io.github.isoline.ij;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** The help pages: they are in the jar, so that they are available without a network. */
final class Help {
    private static final int BLOCK_BYTES = 4096;

    private Help() {}

    /** Returns the HTML page help-NAME.html, in the form that GenericDialog.addHelp displays. */
    static String text(String name) {
        try (InputStream in = Help.class.getResourceAsStream("help-" + name + ".html")) {
            if (in == null) {
                return "<html>The help page \"" + name + "\" is missing from the plugin.";
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] block = new byte[BLOCK_BYTES];
            for (int n = in.read(block); n > 0; n = in.read(block)) {
                out.write(block, 0, n);
            }
            return new String(out.toByteArray(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "<html>The help page cannot be read: " + e.getMessage();
        }
    }
}
