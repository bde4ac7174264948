package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Line;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the straight lines of edge drawing: selections, rows, macro options and failures. */
class EdgeDrawingLinesTest extends EdgeDrawingTest {
    private static final int PARAMS_BYTES = 128;
    private static final int LINE_BYTES = 64;

    /** The border of the drawn square: its first and last bright column are 30 and 89, its rows 20 and 79. */
    private static final double[][] SIDES = {
        // From x and y, to x and y: the bright side is to the right.
        {29.5, 19.5, 89.5, 19.5},
        {89.5, 19.5, 89.5, 79.5},
        {89.5, 79.5, 29.5, 79.5},
        {29.5, 79.5, 29.5, 19.5},
    };

    @TempDir
    Path folder;

    private static ImageProcessor square() {
        ByteProcessor pixels = new ByteProcessor(128, 100);
        pixels.setValue(40);
        pixels.fill();
        pixels.setValue(200);
        pixels.fill(new Roi(30, 20, 60, 60));
        return pixels;
    }

    /**
     * Returns the side that a line is along; -1 for none. Smoothing rounds corners, so that lines end up to 4 pixels
     * before them; across the side the ends are within a pixel of it.
     */
    private static int side(Line line) {
        for (int side = 0; side < SIDES.length; side++) {
            double[] of = SIDES[side];
            double length = Math.hypot(of[2] - of[0], of[3] - of[1]);
            double dx = (of[2] - of[0]) / length;
            double dy = (of[3] - of[1]) / length;
            double first = (line.x1d - of[0]) * dx + (line.y1d - of[1]) * dy;
            double last = (line.x2d - of[0]) * dx + (line.y2d - of[1]) * dy;
            double across = Math.max(
                    Math.abs((line.y1d - of[1]) * dx - (line.x1d - of[0]) * dy),
                    Math.abs((line.y2d - of[1]) * dx - (line.x2d - of[0]) * dy));
            if (across <= 1 && first >= -1 && first <= 4 && last >= length - 4 && last <= length + 1) {
                return side;
            }
        }
        return -1;
    }

    /** Asserts that the selections are the four sides of the square. */
    private static void assertSides(Roi... lines) {
        int[] sides = Arrays.stream(lines)
                .mapToInt(line -> side((Line) line))
                .sorted()
                .toArray();
        assertEquals("[0, 1, 2, 3]", Arrays.toString(sides), Arrays.toString(lines));
    }

    @ParameterizedTest
    @ValueSource(strings = {"paper", "reference"})
    void squareHasFourLinesAndRows(String profile) throws Exception {
        ImagePlus image = new ImagePlus("square", square());
        Calibration scale = image.getCalibration();
        scale.pixelWidth = 0.5;
        scale.pixelHeight = 2;
        scale.xOrigin = 10;
        scale.setUnit("um");
        Overlay own = new Overlay(new Roi(1, 2, 3, 4));
        image.setOverlay(own);
        Path file = folder.resolve("lines.zip");
        Outcome outcome = macro(
                image,
                call("profile=" + profile + " find=lines edge_map overlay results_table roi_file=[" + file + "]")
                        + "return getTitle;");
        assertEquals("Edges of square", outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("4 lines"), outcome.log);
        Roi[] all = image.getOverlay().toArray();
        assertEquals(5, all.length);
        assertSides(Arrays.copyOfRange(all, 1, all.length));
        List<Roi> saved = RoiFile.read(file.toString(), "lines");
        assertEquals(4, saved.size());
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(4, table.size());
        for (int row = 0; row < 4; row++) {
            Line line = (Line) all[row + 1];
            assertEquals("line-000" + (row + 1), line.getName());
            assertEquals(SegmentColours.of(row), line.getStrokeColor());
            assertEquals(0, line.getPosition());
            assertEquals("edge drawing", line.getProperty(RoiOutput.PROPERTY));
            assertEquals("square", table.getLabel(row));
            assertEquals(row + 1, table.getValue("Line", row));
            assertEquals(1, table.getValue("Slice", row));
            // Tables count from the corners of pixels, and lines from their centres.
            assertEquals((line.x1d + 0.5 - 10) * 0.5, table.getValue("X1", row), 1e-9);
            assertEquals((line.y1d + 0.5) * 2, table.getValue("Y1", row), 1e-9);
            assertEquals((line.x2d + 0.5 - 10) * 0.5, table.getValue("X2", row), 1e-9);
            assertEquals((line.y2d + 0.5) * 2, table.getValue("Y2", row), 1e-9);
            line.setImage(image);
            assertEquals(line.getLength(), table.getValue("Length", row), 1e-9);
            assertEquals(
                    line.getFloatAngle(line.x1d, line.y1d, line.x2d, line.y2d), table.getValue("Angle", row), 1e-9);
            assertTrue(table.getValue("Points", row) >= 50, "points");
            // A distance in pixels has no length where these are not square.
            assertTrue(Double.isNaN(table.getValue("RMS", row)), "distance");
            assertTrue(table.getValue("Log NFA", row) < -10, "false alarms");
            assertEquals("\u00b5m", table.getStringValue("Unit", row));
            // Files hold single precision.
            Line read = (Line) saved.get(row);
            assertEquals(line.getName(), read.getName());
            assertEquals(line.x1d, read.x1d, 1e-4);
            assertEquals(line.y1d, read.y1d, 1e-4);
            assertEquals(line.x2d, read.x2d, 1e-4);
            assertEquals(line.y2d, read.y2d, 1e-4);
        }
        // Another run replaces them, also by segments.
        macro(image, call("profile=" + profile + " overlay"));
        assertFalse(image.getOverlay().get(1) instanceof Line);
        assertTrue(Arrays.stream(image.getOverlay().toArray()).noneMatch(roi -> roi instanceof Line));
        assertEquals(own.get(0).getBounds(), image.getOverlay().get(0).getBounds());
    }

    @ParameterizedTest
    @CsvSource({
        "camera.png, paper, -1, -1, -1, 1",
        "camera.png, reference, 20, 1.5, 0, 1",
        "coins.png, reference, 5, 0.75, 12, 0",
        "page.png, paper, -1, 2, -1, 0",
        "brain.tif, reference, -1, -1, -1, 1"
    })
    void macroGivesWhatTheCApiGives(
            String name, String profile, int shortest, double deviation, double gap, int validation) throws Exception {
        ImagePlus image = open(name);
        Memory params = CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES);
        params.setInt(4, CApi.words("edge_drawing", "profile")[0].equals(profile) ? 0 : 1);
        String options = "device=cpu find=lines profile=" + profile;
        if (deviation >= 0) {
            params.setDouble(72, deviation);
            options += " line_deviation=" + deviation;
        }
        if (gap >= 0) {
            params.setDouble(80, gap);
            options += " line_gap=" + gap;
        }
        if (shortest >= 0) {
            params.setInt(88, shortest);
            options += " shortest_line=" + shortest;
        }
        params.setInt(92, validation);
        options += validation == 0 ? " all_lines" : "";
        Memory input = CApi.describe(image, CApi.TYPE_U8, CApi.pixels(image));
        PointerByReference segments = new PointerByReference();
        PointerByReference lines = new PointerByReference();
        CApi.onCpu("isoline_edge_drawing", input, params, null, null, segments, null);
        CApi.onCpu("isoline_edge_drawing_lines", input, segments.getValue(), params, null, lines, null);
        PointerByReference all = new PointerByReference();
        LongByReference count = new LongByReference();
        CApi.function("isoline_lines_all").invokeInt(new Object[] {lines.getValue(), all, count});

        Outcome outcome = macro(image, call(options + " overlay results_table most_rois=1000000"));
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(count.getValue(), table.size(), outcome.log);
        assertEquals(count.getValue(), image.getOverlay().size());
        assertTrue(count.getValue() > 20, "only " + count.getValue());
        for (int row = 0; row < table.size(); row++) {
            Pointer line = all.getValue().share((long) row * LINE_BYTES);
            Line roi = (Line) image.getOverlay().get(row);
            double[] ends = {roi.x1d, roi.y1d, roi.x2d, roi.y2d};
            for (int i = 0; i < 4; i++) {
                // A selection keeps a corner and the distances from it.
                assertEquals(line.getDouble(8L * i), ends[i], 1e-9);
                assertEquals(line.getDouble(8L * i) + 0.5, table.getValue((i % 2 == 0 ? "X" : "Y") + (i / 2 + 1), row));
            }
            assertEquals(line.getDouble(32), table.getValue("RMS", row));
            assertEquals(line.getDouble(40), table.getValue("Log NFA", row));
            assertEquals(line.getInt(56), table.getValue("Points", row));
            assertEquals(line.getInt(60) + 1, table.getValue("Slice", row));
            assertEquals(image.getStackSize() > 1 ? line.getInt(60) + 1 : 0, roi.getPosition());
        }
        table.reset();
        image.getCalibration().pixelWidth = 0.25;
        image.getCalibration().pixelHeight = 0.25;
        macro(image, call(options + " results_table"));
        assertEquals(all.getValue().getDouble(32) / 4, table.getValue("RMS", 0));
        CApi.function("isoline_lines_free").invokeVoid(new Object[] {lines.getValue()});
        CApi.function("isoline_segments_free").invokeVoid(new Object[] {segments.getValue()});
    }

    @Test
    void linesLieOnTheirPlanes() throws Exception {
        ImageStack stack = new ImageStack(128, 100);
        for (int i = 0; i < 12; i++) {
            stack.addSlice(i % 5 == 0 ? square() : new ByteProcessor(128, 100));
        }
        ImagePlus plain = new ImagePlus("plain", stack);
        Roi[] lines = overlay(plain, "find=lines");
        assertEquals(12, lines.length);
        for (int slice = 0; slice < 3; slice++) {
            Roi[] here = Arrays.copyOfRange(lines, 4 * slice, 4 * slice + 4);
            assertSides(here);
            for (Roi line : here) {
                assertEquals(1 + 5 * slice, line.getPosition());
                assertTrue(line.getName().endsWith(" s" + (1 + 5 * slice)), line.getName());
            }
        }
        plain.setSlice(6);
        plain.setOverlay(null);
        assertSides(overlay(plain, "find=lines stack=current"));
        // Calls for one slice each number the lines on.
        EdgeDrawingSettings settings =
                Settings.fromMacro(new EdgeDrawingSettings(), "find=lines overlay results_table");
        ResultsTable.getResultsTable().reset();
        EdgeDrawingJob job = new EdgeDrawingJob(plain, settings);
        job.callBytes = 1;
        assertNull(job.run(null));
        job.deliver();
        assertEquals(12, job.rois.size());
        assertEquals("line-0012 s11", job.rois.get(11).getName());
        assertEquals(11, ResultsTable.getResultsTable().getValue("Slice", 11));
        ImagePlus hyper = new ImagePlus("hyper", stack);
        hyper.setDimensions(2, 3, 2);
        hyper.setOpenAsHyperStack(true);
        lines = overlay(hyper, "find=lines all_channels all_frames results_table");
        assertEquals(12, lines.length);
        // The sixth plane is channel 2, slice 3 of the first frame.
        assertEquals("2 3 1", lines[4].getCPosition() + " " + lines[4].getZPosition() + " " + lines[4].getTPosition());
        assertTrue(lines[4].getName().endsWith(" c2z3t1"), lines[4].getName());
    }

    @Test
    void longestAreKeptWhereThereAreTooMany() {
        ImagePlus image = open("camera.png");
        Roi[] all = overlay(image, "find=lines");
        assertTrue(all.length > 100, "only " + all.length);
        double[] lengths =
                Arrays.stream(all).mapToDouble(Roi::getLength).sorted().toArray();
        Outcome outcome = macro(image, call("find=lines overlay results_table most_rois=20"));
        Roi[] few = image.getOverlay().toArray();
        assertEquals(20, few.length);
        int last = 0;
        for (Roi line : few) {
            assertTrue(line.getLength() >= lengths[all.length - 20] - 1e-9, line.getName());
            int number = Integer.parseInt(line.getName().substring("line-".length()));
            assertTrue(number > last, line.getName());
            assertEquals(all[number - 1].getLength(), line.getLength(), 1e-9);
            last = number;
        }
        assertTrue(outcome.log.contains("of " + all.length + " lines only the longest 20 went to"), outcome.log);
        assertTrue(outcome.log.contains("or shortest_line or gradient_threshold for fewer lines"), outcome.log);
        assertEquals(all.length, ResultsTable.getResultsTable().size());
    }

    @Test
    void settingsAreWrittenAsTheMacroThatRepeatsThem() throws Exception {
        String options = "find=lines shortest_line=20 line_deviation=1.5 line_gap=0 all_lines";
        EdgeDrawingSettings settings = Settings.fromMacro(new EdgeDrawingSettings(), options + " overlay");
        String written = settings.toString();
        assertTrue(written.contains(" " + options + " "), written);
        assertFalse(written.contains("roi_shape"), written);
        assertEquals(
                written, Settings.fromMacro(new EdgeDrawingSettings(), written).toString());
        // Segments have no parameters of lines.
        written = Settings.fromMacro(new EdgeDrawingSettings(), "overlay").toString();
        assertTrue(written.contains(" find=segments "), written);
        assertFalse(written.contains("line_"), written);
        assertFalse(written.contains("_line"), written);
    }

    @Test
    void scriptsGetLinesAndRows() throws Exception {
        ImagePlus image = new ImagePlus("square", square());
        Result[] result = new Result[1];
        Outcome outcome = captured(() -> {
            try {
                result[0] = Isoline.edgeDrawing(image, "find=lines");
            } catch (io.github.isoline.IsolineException e) {
                throw new IllegalStateException(e);
            }
            return "";
        });
        assertEquals("", outcome.log);
        assertSides(result[0].getRois().toArray(new Roi[0]));
        assertEquals(4, result[0].getTable().size());
        assertTrue(result[0].getSummary().endsWith("4 lines"), result[0].getSummary());
        assertNull(image.getOverlay());
        assertEquals(0, ResultsTable.getResultsTable().size());
    }
}
