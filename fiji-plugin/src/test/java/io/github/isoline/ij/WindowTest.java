package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs ImageJ's own window, with the plugin installed as a user installs it, on a virtual display of Xvfb. Screenshots
 * are saved in target/gui-screenshots. Skipped where there is no Xvfb.
 */
abstract class WindowTest {
    private static final int DRIVER_SECONDS = 900;

    private static Process xvfb;
    private static String display;

    @TempDir
    static Path home;

    @BeforeAll
    static void install() throws Exception {
        startDisplay("1280x900x24");
        Path jars = Files.createDirectories(home.resolve("plugins").resolve("jars"));
        Files.copy(Paths.get(location(com.sun.jna.Native.class)), jars.resolve("jna.jar"));
        Path classes = Paths.get(location(StackCommand.class));
        Path jar = home.resolve("plugins").resolve("Isoline_-test.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).toArray(Path[]::new)) {
                String name = classes.relativize(file).toString().replace(File.separatorChar, '/');
                out.putNextEntry(new JarEntry(name));
                Files.copy(file, out);
            }
        }
    }

    @AfterAll
    static void stopDisplay() {
        if (xvfb != null) {
            xvfb.destroy();
        }
    }

    /** Starts an ImageJ in which {@link GuiDriver} plays a scene; returns its observations, by their keys. */
    static Map<String, String> play(String scene, String... properties) throws Exception {
        Path pictures = Files.createDirectories(Paths.get("target", "gui-screenshots"));
        List<String> command = HeadlessProcess.javaCommand();
        command.add("-Duser.home=" + home);
        command.add("-Dplugins.dir=" + home);
        command.add("-Dfile.encoding=UTF-8");
        command.addAll(Arrays.asList(properties));
        // The plugin itself is not on the class path: ImageJ must find it in its folder.
        String classPath = location(GuiDriver.class) + File.pathSeparator + location(ij.IJ.class);
        command.addAll(Arrays.asList("-cp", classPath, GuiDriver.class.getName(), scene));
        command.add(new File(System.getProperty("isoline.test.data"), "cell.png").getPath());
        command.add(pictures.toAbsolutePath().toString());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("DISPLAY", display);
        Path log = home.resolve(scene + ".log");
        Process process = builder.redirectOutput(log.toFile()).start();
        boolean ended = process.waitFor(DRIVER_SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        String text = new String(Files.readAllBytes(log), StandardCharsets.UTF_8);
        assertTrue(ended, "still running: " + text);
        assertEquals(0, process.exitValue(), text);
        assertFalse(text.contains("\tat "), text);
        Map<String, String> seen = new LinkedHashMap<>();
        for (String line : text.split("\n")) {
            int colon = line.indexOf(": ");
            if (colon > 0) {
                seen.put(line.substring(0, colon), line.substring(colon + 2).trim());
            }
        }
        return seen;
    }

    /** Asserts that the windows responded while a run went on. */
    static void assertAnswered(Map<String, String> seen) {
        long answered = Long.parseLong(seen.get("event thread answered in ms"));
        assertTrue(answered < 1000, "the windows were frozen for " + answered + " ms");
    }

    /** Asserts that a macro understands the options of a line that was recorded, and returns them. */
    static String assertUnderstood(String recorded, Settings defaults) throws BadInput {
        String options = recorded.split("\"")[3];
        assertEquals(options, Settings.fromMacro(defaults, options).toString());
        return options;
    }

    static void startDisplay(String screen) throws IOException {
        // With -displayfd Xvfb chooses a free number and prints it.
        ProcessBuilder builder =
                new ProcessBuilder("Xvfb", "-displayfd", "1", "-screen", "0", screen, "-nolisten", "tcp");
        try {
            xvfb = builder.redirectError(home.resolve("xvfb.log").toFile()).start();
        } catch (IOException e) {
            assumeTrue(false, "Xvfb is not installed: no window, no test of windows");
        }
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(xvfb.getInputStream(), StandardCharsets.US_ASCII))) {
            String number = out.readLine();
            assumeTrue(number != null, "Xvfb did not start");
            display = ":" + number.trim();
        }
    }

    private static String location(Class<?> type) throws URISyntaxException {
        return new File(type.getProtectionDomain().getCodeSource().getLocation().toURI()).getPath();
    }
}
