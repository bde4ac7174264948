package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.FloatPolygon;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Records each command in ImageJ's window, runs the recorded line without a display, and compares what they make. */
class RecordedMacroTest extends WindowTest {
    /** The columns that differ from run to run. */
    private static final List<String> OF_A_RUN = Arrays.asList("Seconds");

    @ParameterizedTest
    @CsvSource({
        "Edge Strength Function..., converged, mode=converged",
        "Edge Strength Function..., axes, find=axes",
        "Edge Drawing..., reference, profile=reference",
        "Edge Drawing..., lines, find=lines",
        "Edge Drawing..., ellipses, find=ellipses",
        "Signed Distance..., outside, region=outside",
        "Level Set..., roi, range=roi",
        "Region Snake..., poisson, noise=poisson",
        "Isolines..., high, connect=high",
        "Grow Objects..., roi, start=roi",
    })
    void recordedLineMakesTheSame(String command, String word, String option, @TempDir Path folder) throws Exception {
        Map<String, String> seen = play(command + "|" + word, "-Disoline.record.folder=" + folder);
        assertEquals("0", seen.get("dialogs left"));
        String recorded = seen.get("recorded");
        int at = recorded.indexOf("run(\"" + command);
        assertTrue(at >= 0 && recorded.contains(option), recorded);
        String line = recorded.substring(at, recorded.indexOf(");", at) + 2);
        boolean outlines = line.contains("roi_manager");
        boolean table = line.contains("results_table");
        Path rois = folder.resolve("macro.zip");
        // There is no ROI Manager without a display.
        line = line.replace("roi_manager", "roi_file=[" + rois + "]");

        File input = new File(System.getProperty("isoline.test.data"), "cell.png");
        StringBuilder macro = new StringBuilder("setBatchMode(true);\n");
        macro.append("open(\"").append(input).append("\");\n");
        macro.append("setVoxelSize(0.107, 0.107, 1, \"um\");\nmakeOval(375, 320, 100, 100);\n")
                .append(line);
        int images = Integer.parseInt(seen.get("images"));
        for (int i = 2; i <= images; i++) {
            macro.append("\nselectImage(").append(i).append(");\nsaveAs(\"Tiff\", \"");
            macro.append(folder.resolve("macro " + i + ".tif")).append("\");");
        }
        if (table) {
            macro.append("\nsaveAs(\"Results\", \"")
                    .append(folder.resolve("macro.csv"))
                    .append("\");");
        }
        HeadlessProcess.Outcome outcome =
                HeadlessProcess.imagej(folder, HeadlessProcess.classPath(true), macro.toString());
        assertEquals(0, outcome.status, outcome.text());

        assertTrue(images > 1 || outlines, "nothing is compared");
        for (int i = 2; i <= images; i++) {
            assertSamePixels(image(folder, "window " + i), image(folder, "macro " + i));
        }
        if (table) {
            assertSameTables(folder);
        }
        if (outlines) {
            assertSameRois(
                    RoiFile.read(folder.resolve("window.zip").toString(), "the test"),
                    RoiFile.read(rois.toString(), "the test"));
        }
        assertEquals(table, Files.exists(folder.resolve("window.csv")));
        assertEquals(outlines, Files.exists(folder.resolve("window.zip")));
    }

    /** Isosurface, which needs a volume, has a test of its own in {@link IsosurfaceWindowTest}. */
    @Test
    void everyCommandIsRecorded() {
        assertEquals(
                new HashSet<>(Arrays.asList("Isosurface", "Devices")),
                SampleImagesTest.commandsWithoutRow(getClass(), "recordedLineMakesTheSame"));
    }

    private static ImagePlus image(Path folder, String name) {
        return IJ.openImage(folder.resolve(name + ".tif").toString());
    }

    private static void assertSamePixels(ImagePlus wanted, ImagePlus got) {
        assertEquals(wanted.getBitDepth(), got.getBitDepth());
        assertEquals(wanted.getCalibration().getUnit(), got.getCalibration().getUnit());
        assertArrayEquals((float[]) wanted.getProcessor().convertToFloat().getPixels(), (float[])
                got.getProcessor().convertToFloat().getPixels());
        double range = wanted.getStatistics().max - wanted.getStatistics().min;
        assertTrue(range > 0, "nothing is compared");
    }

    private static void assertSameTables(Path folder) throws Exception {
        ResultsTable wanted = ResultsTable.open(folder.resolve("window.csv").toString());
        ResultsTable got = ResultsTable.open(folder.resolve("macro.csv").toString());
        assertTrue(wanted.size() > 0);
        assertEquals(wanted.size(), got.size());
        List<String> columns = new ArrayList<>(Arrays.asList(wanted.getHeadings()));
        assertArrayEquals(wanted.getHeadings(), got.getHeadings());
        columns.removeAll(OF_A_RUN);
        for (int row = 0; row < wanted.size(); row++) {
            for (String column : columns) {
                assertEquals(wanted.getStringValue(column, row), got.getStringValue(column, row), column);
            }
        }
    }

    private static void assertSameRois(List<Roi> wanted, List<Roi> got) {
        assertFalse(wanted.isEmpty());
        assertEquals(wanted.size(), got.size());
        for (int i = 0; i < wanted.size(); i++) {
            assertEquals(wanted.get(i).getName(), got.get(i).getName());
            assertEquals(wanted.get(i).getType(), got.get(i).getType());
            assertEquals(wanted.get(i).getBounds(), got.get(i).getBounds());
            FloatPolygon points = wanted.get(i).getFloatPolygon();
            assertArrayEquals(points.xpoints, got.get(i).getFloatPolygon().xpoints);
            assertArrayEquals(points.ypoints, got.get(i).getFloatPolygon().ypoints);
        }
    }
}
