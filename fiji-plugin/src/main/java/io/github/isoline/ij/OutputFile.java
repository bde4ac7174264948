package io.github.isoline.ij;

import ij.IJ;
import ij.gui.YesNoCancelDialog;
import io.github.isoline.IsolineException;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/** Files that commands write: they are checked before the work, and are complete or absent after it. */
final class OutputFile {
    /** The number of files that a message names. */
    private static final int MOST_NAMED = 20;

    private OutputFile() {}

    /** The writer of a file's contents. */
    @FunctionalInterface
    interface Body {
        void write(OutputStream out) throws IOException, IsolineException;
    }

    /** Returns the path of a name that a macro or a person gave. */
    static Path path(String name) {
        return Paths.get(name.trim()).toAbsolutePath();
    }

    /**
     * Returns the problem with the ending of a name; null if it is one of those that are possible, such as ".zip".
     *
     * @param key the macro key that has the name, for the message
     */
    static String endingProblem(String key, String name, String... endings) {
        boolean known = Arrays.stream(endings)
                .anyMatch(ending -> name.trim().toLowerCase(Locale.ROOT).endsWith(ending));
        return known ? null : String.format("%s must end with %s, got \"%s\".", key, either(endings), name);
    }

    /**
     * Returns why a file cannot be written, as far as that is known before it is; null if nothing speaks against it.
     */
    static String problem(String key, String name) {
        Path file;
        try {
            file = path(name);
        } catch (InvalidPathException e) {
            return key + " cannot be written: " + illegal(name, e);
        }
        Path folder = file.getParent();
        if (!Files.isDirectory(folder)) {
            return key + " cannot be written: " + missing(folder);
        }
        if (Files.isDirectory(file)) {
            return String.format("%s cannot be written: \"%s\" is a folder. Give the name of a file.", key, file);
        }
        Path closed = !Files.isWritable(folder) ? folder : Files.exists(file) && !Files.isWritable(file) ? file : null;
        return closed == null
                ? null
                : String.format(
                        "%s cannot be written: you have no permission to write to \"%s\". Give a file in a folder of your"
                                + " own.",
                        key, closed);
    }

    /** Returns why a path is no folder that is seen, and what to do. */
    private static String missing(Path folder) {
        Path seen = folder;
        while (seen.getParent() != null && !Files.exists(seen)) {
            seen = seen.getParent();
        }
        if (!Files.isDirectory(seen)) {
            return String.format("\"%s\" is a file and no folder. Give a file in a folder.", seen);
        }
        return Files.isExecutable(seen)
                ? String.format("there is no folder \"%s\". Make it, or give a file in another one.", folder)
                : String.format(
                        "you have no permission to look into \"%s\". Give a file in a folder of your own.", seen);
    }

    /** Returns ".a, .b or .c". */
    private static String either(String... endings) {
        String last = endings[endings.length - 1];
        String others = String.join(", ", Arrays.copyOf(endings, endings.length - 1));
        return others.isEmpty() ? last : others + " or " + last;
    }

    /** Returns why a name cannot be that of a file, and what to do. */
    private static String illegal(String name, InvalidPathException e) {
        String encoding = System.getProperty("sun.jnu.encoding", "US-ASCII");
        boolean known =
                Charset.isSupported(encoding) && Charset.forName(encoding).canEncode();
        if (known && !Charset.forName(encoding).newEncoder().canEncode(name)) {
            return String.format(
                    "this Java has file names in %s, which lacks a character of \"%s\". Start ImageJ with the environment"
                            + " variable LC_ALL=C.UTF-8, or give a name of plain letters.",
                    encoding, name);
        }
        return String.format("\"%s\" is no name of a file (%s). Give another name.", name, e.getReason());
    }

    /**
     * Writes a file, which appears, or replaces another one, only when it is complete.
     *
     * @param what its contents, for messages
     */
    static void write(String name, String what, Body body) throws IsolineException {
        writeAll(Collections.singletonList(name), what, at -> body);
    }

    /** Writes files of one folder in this way; one that cannot be written leaves the others as they are. */
    static void writeAll(List<String> names, String what, IntFunction<Body> bodies) throws IsolineException {
        List<String> failed = new ArrayList<>();
        Set<String> reasons = new LinkedHashSet<>();
        for (int i = 0; i < names.size(); i++) {
            IJ.showStatus("Writing the " + what + " (Esc: cancel)");
            Path file = path(names.get(i));
            try {
                write(file, bodies.apply(i));
            } catch (IOException e) {
                failed.add("\"" + file.getFileName() + "\"");
                reasons.add(unwritten(file, e));
            }
        }
        if (!failed.isEmpty()) {
            String named = failed.stream().limit(MOST_NAMED).collect(Collectors.joining(", "));
            int more = failed.size() - MOST_NAMED;
            throw new BadInput(
                    "The %s %s for the %s cannot be written: %s. The other outputs are complete. Check that the folder"
                            + " \"%s\" exists, may be written and has room, or give a file in another one, and run the"
                            + " command again.",
                    failed.size() == 1 ? "file" : "files",
                    named + (more > 0 ? " and " + RunLog.count(more, "other") : ""),
                    what,
                    String.join("; ", reasons),
                    path(names.get(0)).getParent());
        }
    }

    private static void write(Path file, Body body) throws IOException, IsolineException {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        try {
            try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(part))) {
                body.write(out);
            }
            Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            // The partial file still exists if writing failed.
            part.toFile().delete();
        }
    }

    /** Returns why a file could not be written, in words: the system may miss a file that it has refused to make. */
    private static String unwritten(Path file, IOException e) {
        return e instanceof NoSuchFileException && Files.isDirectory(file.getParent())
                ? "the system makes no file in this folder"
                : reason(e);
    }

    /** Returns true if none of these files exists, or if the user wants them to be replaced. */
    static boolean mayReplace(List<String> names) {
        List<Path> existing =
                names.stream().map(OutputFile::path).filter(Files::exists).collect(Collectors.toList());
        if (existing.isEmpty()) {
            return true;
        }
        String others = existing.size() == 1 ? "" : " and " + (existing.size() - 1) + " others";
        String question = "The file \"" + existing.get(0) + "\"" + others + " would be replaced.";
        return new YesNoCancelDialog(IJ.getInstance(), "Replace file?", Host.wrap(question), "Replace", "Keep")
                .yesPressed();
    }

    /** Returns why a file could not be read or written, in words. */
    static String reason(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "there is no such file or folder";
        }
        if (e instanceof AccessDeniedException) {
            return "access is denied";
        }
        String reason = e instanceof FileSystemException ? ((FileSystemException) e).getReason() : e.getMessage();
        return reason == null ? "the system gives no reason" : reason;
    }
}
