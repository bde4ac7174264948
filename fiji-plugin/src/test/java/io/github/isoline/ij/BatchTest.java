package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.io.TiffDecoder;
import ij.process.ByteProcessor;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests HeadlessImageJ with a macro and many files, as a cluster's scheduler would run it. */
class BatchTest {
    private static final int FILES = 260;

    /** The size of an image: one that is kept for each file would be 80 MB in the end. */
    private static final int WIDTH = 640;

    private static final int HEIGHT = 480;

    /** The width and height of an image that no memory holds. */
    private static final long HUGE = 100000;

    /** The resident memory in MB may grow by this between the middle and the end: noise of Java's own. */
    private static final int GROWTH_MB = 24;

    /** Runs all other commands but isosurface, which takes volumes, with little to do. */
    private static final String OTHERS =
            "run('Edge Strength Function...', 'threshold=90 mode=iterations iterations=2');\n"
                    + "close();\n"
                    + "run('Signed Distance...', 'threshold=90');\n"
                    + "close();\n"
                    + "run('Isolines...', 'levels=90 overlay');\n"
                    + "makeOval(20, 12, 16, 16);\n"
                    + "run('Region Snake...', 'label_image');\n"
                    + "close();\n"
                    + "run('Level Set...', 'range=values target=180 epsilon=90 mode=iterations iterations=2 mask_stack');\n"
                    + "close();\n"
                    + "run('Grow Objects...', 'start=roi margin=20 label_image');\n"
                    + "close();\n";

    @TempDir
    Path folder;

    private HeadlessProcess.Outcome run(String code, List<String> arguments, String... properties) throws Exception {
        Path macro = folder.resolve("batch.ijm");
        Files.write(macro, code.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
        List<String> program = new ArrayList<>(Arrays.asList(HeadlessImageJ.class.getName(), macro.toString()));
        program.addAll(arguments);
        return HeadlessProcess.java(
                folder, HeadlessProcess.classPath(true), Arrays.asList(properties), program.toArray(new String[0]));
    }

    private static ImagePlus disc(int shift) {
        ByteProcessor pixels = new ByteProcessor(WIDTH, HEIGHT);
        pixels.setValue(180);
        pixels.fill(new OvalRoi(8 + shift % 16, 8, 24, 24));
        return new ImagePlus("disc", pixels);
    }

    @Test
    void manyFilesKeepMemoryAndListFailures() throws Exception {
        List<String> files = new ArrayList<>();
        for (int i = 1; i <= FILES; i++) {
            File file = folder.resolve("cells-" + i + ".tif").toFile();
            if (i == 7 || i == 200) {
                Files.write(file.toPath(), "no image".getBytes(StandardCharsets.UTF_8));
            } else {
                IJ.saveAsTiff(disc(i), file.getPath());
            }
            files.add(file.getPath());
        }
        List<String> arguments = new ArrayList<>(files);
        arguments.add("--quiet");
        HeadlessProcess.Outcome outcome = run(
                "path = getArgument();\n"
                        + "open(path);\n"
                        + "run('Edge Drawing...', 'gradient_threshold=30 edge_map results_table');\n"
                        + "saveAs('Tiff', path + '-edges.tif');\n"
                        + "if (nResults != 1) exit('' + nResults + ' rows in ' + path);\n"
                        + "close();\n"
                        + OTHERS
                        + "if (endsWith(path, '-130.tif') || endsWith(path, '-260.tif')) {\n"
                        + "    call('java.lang.System.gc');\n"
                        + "    if (File.exists('/proc/self/status')) print(File.openAsString('/proc/self/status'));\n"
                        + "}\n",
                arguments,
                "-Xmx64m",
                "-XX:+UseSerialGC");
        assertEquals(1, outcome.status, outcome.text());
        for (int i = 1; i <= FILES; i++) {
            boolean made = new File(files.get(i - 1) + "-edges.tif").isFile();
            assertEquals(i != 7 && i != 200, made, files.get(i - 1));
        }
        List<String> out = new ArrayList<>(Arrays.asList(outcome.out.trim().split("\n")));
        String summary = "Isoline: 1806 commands on 258 images, 0 warnings, 2 failures";
        assertEquals(
                Arrays.asList(summary, "failed: " + files.get(6), "failed: " + files.get(199)),
                out.subList(out.size() - 3, out.size()));
        // ImageJ has two sentences for such a file.
        String[] errors = outcome.errors.trim().split("\n");
        for (String line : errors) {
            boolean known = line.startsWith("batch.ijm (" + files.get(6) + "): ")
                    || line.startsWith("batch.ijm (" + files.get(199) + "): ");
            assertTrue(known && line.contains("Unsupported format") | line.contains("not supported"), line);
            assertTrue(line.contains("(macro line 2)"), line);
        }
        // Nothing else is printed but the two states of the process.
        out.removeIf(line -> !line.startsWith("VmRSS:"));
        if (new File("/proc/self/status").exists()) {
            assertEquals(2, out.size(), outcome.out);
            int growth = megabytes(out.get(1)) - megabytes(out.get(0));
            assertTrue(growth <= GROWTH_MB, out.toString());
        }
        assertTrue(outcome.out.indexOf("Edge Drawing") < 0, outcome.out);
    }

    private static int megabytes(String line) {
        return Integer.parseInt(line.replaceAll("[^0-9]", "")) >> 10;
    }

    @Test
    void summaryCountsWarningsAndEveryLineNamesTheImage() throws Exception {
        IJ.saveAsTiff(disc(0), folder.resolve("a.tif").toString());
        IJ.saveAsTiff(
                new ImagePlus("flat", new ByteProcessor(40, 30)),
                folder.resolve("b.tif").toString());
        String code = "open(getArgument());\n"
                + "run('Edge Drawing...', 'edge_map results_table');\n"
                + "run('Signed Distance...', 'threshold=90');\n";
        List<String> files = Arrays.asList(
                folder.resolve("a.tif").toString(), folder.resolve("b.tif").toString());
        HeadlessProcess.Outcome outcome = run(code, files);
        assertEquals(0, outcome.status, outcome.text());
        String[] lines = outcome.out.trim().split("\n");
        assertEquals("Isoline: 4 commands on 4 images, 2 warnings, 0 failures", lines[lines.length - 1]);
        for (int i = 0; i < lines.length - 1; i++) {
            assertTrue(lines[i].matches("(Edge Drawing|Signed Distance) \\((Edges of )?[ab].tif\\): .*"), lines[i]);
        }
        String[] warnings = Arrays.stream(lines)
                .filter(line -> line.contains("): warning: "))
                .toArray(String[]::new);
        assertEquals(2, warnings.length, outcome.out);
        // One argument, or none, is a run as ever.
        outcome = run(code, files.subList(0, 1), "-D" + RunLog.QUIET + "=true");
        assertEquals("Isoline: 2 commands on 2 images, 0 warnings, 0 failures", outcome.out.trim());
    }

    @Test
    void exampleGoesOnAfterADamagedFile() throws Exception {
        String data = System.getProperty("isoline.test.data");
        byte[] png = Files.readAllBytes(Paths.get(data, "cell.png"));
        IJ.saveAsTiff(disc(0), folder.resolve("f.tif").toString());
        byte[] tiff = Files.readAllBytes(folder.resolve("f.tif"));
        byte[] text = "no image".getBytes(StandardCharsets.UTF_8);
        Files.write(folder.resolve("a.png"), Arrays.copyOf(png, png.length / 2));
        Files.write(folder.resolve("b.tif"), new byte[0]);
        Files.write(folder.resolve("c.tif"), Arrays.copyOf(tiff, 4));
        Files.write(folder.resolve("d.tif"), Arrays.copyOf(tiff, tiff.length - WIDTH * HEIGHT));
        Files.write(folder.resolve("e.jpg"), text);
        Files.write(folder.resolve("g.tif"), Arrays.copyOf(tiff, tiff.length - WIDTH * HEIGHT / 2));
        Files.write(folder.resolve("h.tif"), huge(tiff));
        IJ.saveAsTiff(
                new ImagePlus("stack", ImageStack.create(8, 8, 20, 8)),
                folder.resolve("i.tif").toString());
        String stack = new String(Files.readAllBytes(folder.resolve("i.tif")), StandardCharsets.ISO_8859_1);
        Files.write(folder.resolve("i.tif"), stack.replace("s=20", "s=99").getBytes(StandardCharsets.ISO_8859_1));
        Files.write(folder.resolve("j.tif"), tiff);
        boolean denied = folder.resolve("j.tif").toFile().setReadable(false)
                && !folder.resolve("j.tif").toFile().canRead();
        if (!denied) {
            // The administrator may read every file.
            Files.delete(folder.resolve("j.tif"));
        }
        Files.write(folder.resolve("notes.txt"), text);
        Files.write(folder.resolve("Thumbs.db"), text);
        for (boolean again : new boolean[] {false, true}) {
            HeadlessProcess.Outcome outcome = HeadlessProcess.java(
                    folder,
                    HeadlessProcess.classPath(true),
                    Arrays.asList(),
                    HeadlessImageJ.class.getName(),
                    "--quiet",
                    data + "/../../examples/batch.ijm",
                    folder.toString());
            assertEquals(1, outcome.status, outcome.text());
            assertTrue(
                    outcome.errors.contains("Files that failed: " + (denied ? 9 : 8) + ", see " + folder),
                    outcome.errors);
            assertEquals(1, outcome.errors.trim().split("\n").length, outcome.errors);
            assertEquals(again, !outcome.out.contains("\nf.tif done\nIsoline: 1 command"), outcome.out);
            assertTrue(folder.resolve("esf/f.tif.tif").toFile().isFile());
            List<String> reasons = new ArrayList<>(Arrays.asList(
                    "a.png,javax.imageio.IIOException: Error reading PNG image data",
                    "b.tif,its content is in no image format that ImageJ reads itself; Bio-Formats may read it",
                    "c.tif,ImageJ cannot open it",
                    "d.tif,it is cut off or damaged: the last of 640 x 480 pixels",
                    "e.jpg,its content is in no image format that ImageJ reads itself; Bio-Formats may read it",
                    "g.tif,it is cut off or damaged: the last of 640 x 480 pixels",
                    "h.tif,it is cut off or damaged: the last of 100000 x 100000 pixels",
                    "i.tif,it is cut off or damaged: the last of 8 x 8 pixels in 99 slices"));
            if (denied) {
                reasons.add("j.tif,it cannot be read");
            }
            assertEquals(
                    reasons,
                    Files.readAllLines(folder.resolve("esf/failed.csv")).stream()
                            .skip(1)
                            .map(row -> row.substring(row.indexOf(',') + 1).split(" is at byte ")[0])
                            .collect(Collectors.toList()));
            assertEquals(2, folder.resolve("esf").toFile().list().length);
        }
    }

    /** Returns a TIFF file whose header says that the image is huge. */
    private static byte[] huge(byte[] tiff) {
        ByteBuffer changed = ByteBuffer.wrap(tiff.clone());
        changed.order(tiff[0] == 'I' ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
        int entries = changed.getInt(4) + 2;
        for (int at = entries; at < entries + 12 * changed.getShort(entries - 2); at += 12) {
            if (changed.getShort(at) == TiffDecoder.IMAGE_WIDTH || changed.getShort(at) == TiffDecoder.IMAGE_LENGTH) {
                // The value is one of four bytes.
                changed.putShort(at + 2, (short) 4).putInt(at + 8, (int) HUGE);
            }
        }
        return changed.array();
    }

    @Test
    void aCommandThatFailsDoesNotEndTheMacro() throws Exception {
        String call = "call('io.github.isoline.ij.Batch.run', ";
        HeadlessProcess.Outcome outcome = run(
                "newImage('disc', '8-bit black', 64, 64, 1);\n"
                        + "print('1 ' + " + call + "'Region Snake...', 'label_image'));\n"
                        + "print('2 ' + " + call + "'Signed Distance...', 'threshold=90 treshold=80'));\n"
                        + "print('3 ' + " + call + "'Signed Distance...', 'threshold=90') + '.');\n"
                        + "print('4 ' + getTitle());\n"
                        + "run('Region Snake...', 'label_image');\n"
                        + "print('5');\n",
                Arrays.asList("--quiet"));
        assertEquals(1, outcome.status, outcome.text());
        String[] lines = outcome.out.trim().split("\\R");
        assertTrue(lines[0].startsWith("1 Region Snake (disc): "), lines[0]);
        assertTrue(lines[1].startsWith("2 Signed Distance") && lines[1].contains("treshold"), lines[1]);
        List<String> others = Arrays.asList(lines).subList(2, lines.length);
        assertTrue(others.contains("3 .") && others.contains("4 Signed distance (pixels) of disc"), others.toString());
        assertTrue(!others.contains("5"), others.toString());
        assertEquals(1, outcome.errors.trim().split("\n").length, outcome.errors);
        assertTrue(outcome.errors.contains("(macro line 6)"), outcome.errors);
    }

    @Test
    void runsGoOnAfterAnImageThatNeedsTooMuchMemory() throws Exception {
        IJ.saveAsTiff(disc(0), folder.resolve("b.tif").toString());
        Files.write(folder.resolve("a.tif"), huge(Files.readAllBytes(folder.resolve("b.tif"))));
        List<String> files = Arrays.asList(
                folder.resolve("a.tif").toString(), folder.resolve("b.tif").toString());
        HeadlessProcess.Outcome outcome = run("open(getArgument());\nprint(getTitle());\n", files, "-Xmx64m");
        assertEquals(1, outcome.status, outcome.text());
        assertEquals(
                "b.tif\nIsoline: no command, 1 failure\nfailed: " + files.get(0),
                outcome.out.trim().replace("\r", ""));
        assertEquals(1, outcome.errors.trim().split("\n").length, outcome.errors);
        assertTrue(outcome.errors.contains("The macro failed: Not enough memory in Java."), outcome.errors);
        assertTrue(outcome.errors.contains("(macro line 1)"), outcome.errors);
    }

    @Test
    void missingMacroFileIsNamed() throws Exception {
        String missing = folder.resolve("no such.ijm").toString();
        HeadlessProcess.Outcome outcome = HeadlessProcess.java(
                folder, HeadlessProcess.classPath(true), Arrays.asList(), HeadlessImageJ.class.getName(), missing);
        assertEquals(2, outcome.status, outcome.text());
        assertTrue(outcome.errors.contains("there is no macro file " + missing), outcome.errors);
        assertTrue(outcome.errors.contains("usage: "), outcome.errors);
    }
}
