package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import groovy.lang.GroovyShell;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.python.util.PythonInterpreter;

/** Runs the example scripts as Fiji's script editor would, and without ImageJ's windows. */
class ScriptExamplesTest extends HeadlessTest {
    private static final String SEGMENTS = "gradient_threshold=30 min_length=20";

    private static File example(String name) {
        return new File(System.getProperty("isoline.test.data"), "../../examples/" + name);
    }

    /** Returns the lines that a script prints which works on this image. */
    private static String[] lines(ImagePlus image, Runnable script) {
        return captured(() -> {
                    WindowManager.setTempCurrentImage(image);
                    script.run();
                    return "";
                })
                .log
                .trim()
                .split("\n");
    }

    private static Roi longest(Result result) {
        Roi longest = result.getRois().get(0);
        for (Roi roi : result.getRois()) {
            longest = roi.getLength() > longest.getLength() ? roi : longest;
        }
        return longest;
    }

    @Test
    void groovy() throws IsolineException {
        ImagePlus image = open("nuclei.png");
        String[] lines = lines(image, () -> {
            try {
                new GroovyShell().evaluate(example("segments.groovy"));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        Result wanted = Isoline.edgeDrawing(image, SEGMENTS);
        String count = wanted.getRois().size() + " segments, the longest is "
                + longest(wanted).getName();
        assertEquals(count, lines[0]);
        int targets = Integer.parseInt(lines[1].split(" ")[0]);
        assertTrue(targets > 20, lines[1]);
        int labels = Integer.parseInt(lines[1].replaceAll(".* ", ""));
        assertTrue(labels > 20 && labels <= targets, lines[1]);
    }

    @Test
    void jython() throws IsolineException {
        ImagePlus image = open("cell.png");
        String[] lines = lines(image, () -> {
            try (PythonInterpreter interpreter = new PythonInterpreter()) {
                interpreter.setOut(System.out);
                interpreter.execfile(example("segments.py").getPath());
            }
        });
        int count = Isoline.edgeDrawing(image, SEGMENTS).getRois().size();
        assertEquals(count + " segments in Edges of cell.png", lines[0]);
        assertTrue(lines[1].startsWith("Level set of cell.png: "), lines[1]);
        assertTrue(lines[2].startsWith("There is no option \"gradient_treshold\". The options are "), lines[2]);
    }

    @Test
    void java(@TempDir Path folder) throws Exception {
        String classPath = HeadlessProcess.classPath(true);
        String source = example("Segments.java").getPath();
        int status = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-Xlint:all", "-Werror", "-cp", classPath, "-d", folder.toString(), source);
        assertEquals(0, status);
        File image = new File(System.getProperty("isoline.test.data"), "cell.png");
        HeadlessProcess.Outcome outcome = HeadlessProcess.java(
                folder, classPath + File.pathSeparator + folder, Collections.emptyList(), "Segments", image.getPath());
        assertEquals(0, outcome.status, outcome.text());
        String[] lines = outcome.out.trim().split("\n");
        Result wanted = Isoline.edgeDrawing(open("cell.png"), SEGMENTS);
        assertEquals(wanted.getRois().size() + 1, lines.length, outcome.text());
        Roi first = wanted.getRois().get(0);
        assertEquals(first.getName() + " " + first.getLength(), lines[0]);
        assertTrue(lines[lines.length - 1].startsWith("Signed distance (pixels) of cell.png, "), outcome.text());
    }

    @Test
    void everyCommandRunsInFijisHeadlessMode() {
        Set<String> commands = new HashSet<>(SampleImagesTest.commands());
        commands.remove("Devices");
        assertEquals(
                commands,
                Arrays.stream(PatchedImageJ.LINES)
                        .map(line -> line.split("'")[1].replace("...", ""))
                        .collect(Collectors.toSet()));
    }

    /** Fiji's headless mode changes ImageJ's classes before they are loaded, and so needs a process of its own. */
    @Test
    void fijisHeadlessMode(@TempDir Path folder) throws Exception {
        String classPath = String.join(
                File.pathSeparator,
                HeadlessProcess.classPath(true),
                HeadlessProcess.location(PatchedImageJ.class),
                HeadlessProcess.location(net.imagej.patcher.LegacyInjector.class),
                HeadlessProcess.location(javassist.ClassPool.class));
        File image = new File(System.getProperty("isoline.test.data"), "cell.png");
        // ImageJ finds the commands by the list in a jar of its plugins; the classes are on the class path.
        Path plugins = Files.createDirectory(folder.resolve("plugins"));
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(plugins.resolve("Isoline_.jar")));
                InputStream config = Isoline.class.getResourceAsStream("/plugins.config")) {
            jar.putNextEntry(new JarEntry("plugins.config"));
            byte[] block = new byte[4096];
            for (int n = config.read(block); n > 0; n = config.read(block)) {
                jar.write(block, 0, n);
            }
        }
        HeadlessProcess.Outcome outcome = HeadlessProcess.java(
                folder,
                classPath,
                // The patcher defines ImageJ's classes by a method that Java 17 hides.
                Arrays.asList(
                        "--add-opens=java.base/java.lang=ALL-UNNAMED",
                        "-Djava.awt.headless=true",
                        "-Dplugins.dir=" + folder),
                PatchedImageJ.class.getName(),
                image.getPath());
        assertEquals(0, outcome.status, outcome.text());
        Result wanted = Isoline.edgeDrawing(open("cell.png"), SEGMENTS);
        assertTrue(outcome.out.contains("dialogs: HeadlessGenericDialog"), outcome.text());
        assertTrue(outcome.out.contains("script: " + wanted.getRois().size() + " segments"), outcome.text());
        assertTrue(outcome.out.contains("macro: " + wanted.getRois().size() + " segments"), outcome.text());
        String[] made = {
            "ESF of cell.png, rows 0",
            "Edges of cell.png, rows 0",
            "Signed distance (pixels) of cell.png, rows 0",
            "Level set of cell.png, rows 1",
            "Labels of cell.png, rows 1",
            "cell.png, rows 1",
            "brain.tif, rows 1",
            "Labels of cell.png, rows 1",
        };
        assertTrue(
                outcome.out
                        .replaceAll("(?m)^(?!made: ).*\\R", "")
                        .equals("made: " + String.join("\nmade: ", made) + "\n"),
                outcome.text());
        assertTrue(outcome.out.contains("refused: There is no option \"foo\""), outcome.text());
    }
}
