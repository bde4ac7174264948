package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs programs in separate processes, mainly HeadlessImageJ. */
final class HeadlessProcess {
    private static final int SECONDS = 900;

    private HeadlessProcess() {}

    /** The exit status and the output of a program. */
    static final class Outcome {
        final int status;
        final String out;
        final String errors;

        Outcome(int status, String out, String errors) {
            this.status = status;
            this.out = out;
            this.errors = errors;
        }

        /** Returns both outputs. */
        String text() {
            return out + errors;
        }
    }

    /** Runs macro code like a scheduler. */
    static Outcome imagej(Path folder, String classPath, String macro, String... properties)
            throws IOException, InterruptedException {
        Path file = folder.resolve("macro.ijm");
        Files.write(file, macro.getBytes(StandardCharsets.UTF_8));
        return java(folder, classPath, Arrays.asList(properties), HeadlessImageJ.class.getName(), file.toString());
    }

    /**
     * Returns the beginning of a command that runs a class of Java. A process of some seconds ends sooner with the
     * first compiler alone and the plain garbage collector: the others take a third of its time.
     */
    static List<String> javaCommand() {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        return new ArrayList<>(Arrays.asList(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    }

    /** Runs a class of Java. */
    static Outcome java(Path folder, String classPath, List<String> properties, String... program)
            throws IOException, InterruptedException {
        List<String> command = javaCommand();
        command.addAll(properties);
        command.add("-Duser.home=" + folder);
        command.addAll(Arrays.asList("-cp", classPath));
        command.addAll(Arrays.asList(program));
        return call(folder, command);
    }

    static String classPath(boolean withJna) throws URISyntaxException {
        List<String> entries = new ArrayList<>();
        entries.add(location(HeadlessImageJ.class));
        entries.add(location(ij.IJ.class));
        if (withJna) {
            entries.add(location(com.sun.jna.Native.class));
        }
        return String.join(File.pathSeparator, entries);
    }

    static String location(Class<?> type) throws URISyntaxException {
        return new File(type.getProtectionDomain().getCodeSource().getLocation().toURI()).getPath();
    }

    /**
     * Runs a program to its end.
     *
     * @param folder for its outputs
     */
    static Outcome call(Path folder, List<String> command) throws IOException, InterruptedException {
        Path out = folder.resolve("out.txt");
        Path errors = folder.resolve("errors.txt");
        ProcessBuilder builder = new ProcessBuilder(command);
        // The cache is then that of the home that the caller chose.
        builder.environment().remove("XDG_CACHE_HOME");
        Process process = builder.redirectOutput(out.toFile())
                .redirectError(errors.toFile())
                .start();
        process.getOutputStream().close();
        boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        assertTrue(ended, "still running after " + SECONDS + " s: " + command.subList(0, Math.min(command.size(), 16)));
        return new Outcome(process.exitValue(), text(out), text(errors));
    }

    private static String text(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
