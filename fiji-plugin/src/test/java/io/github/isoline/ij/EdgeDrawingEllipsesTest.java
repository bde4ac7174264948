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
import ij.gui.EllipseRoi;
import ij.gui.OvalRoi;
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

/** Tests the circles and ellipses of edge drawing: selections, rows, macro options and failures. */
class EdgeDrawingEllipsesTest extends EdgeDrawingTest {
    private static final int PARAMS_BYTES = 128;
    private static final int ELLIPSE_BYTES = 88;

    /** The drawn ellipse: its centre, semi-axes, and the direction of the longer one, downwards to the right. */
    private static final double[] ELLIPSE = {105, 60, 44, 16, Math.toRadians(30)};

    private static final double[] DISC = {34, 35, 22, 22, 0};

    @TempDir
    Path folder;

    /** Returns a bright disc and a dark ellipse on grey. */
    private static ImageProcessor shapes() {
        ByteProcessor pixels = new ByteProcessor(160, 120);
        for (int i = 0; i < pixels.getPixelCount(); i++) {
            int x = i % 160;
            int y = i / 160;
            pixels.set(i, (int) Math.round(120 + 80 * inside(DISC, x, y) - 80 * inside(ELLIPSE, x, y)));
        }
        return pixels;
    }

    /** Returns the share of a pixel that is inside, to first order. */
    private static double inside(double[] of, double x, double y) {
        double cos = Math.cos(of[4]);
        double sin = Math.sin(of[4]);
        double u = (cos * (x - of[0]) + sin * (y - of[1])) / of[2];
        double v = (cos * (y - of[1]) - sin * (x - of[0])) / of[3];
        double level = Math.max(Math.hypot(u, v), 1e-9);
        double distance = (level - 1) * level / Math.hypot(u / of[2], v / of[3]);
        return Math.max(0, Math.min(1, 0.5 - distance));
    }

    @ParameterizedTest
    @ValueSource(strings = {"paper", "reference"})
    void shapesHaveOvalsAndRows(String profile) throws Exception {
        ImagePlus image = new ImagePlus("shapes", shapes());
        Calibration scale = image.getCalibration();
        scale.pixelWidth = 0.5;
        scale.pixelHeight = 0.5;
        scale.xOrigin = 10;
        scale.setUnit("um");
        Path file = folder.resolve("ellipses.zip");
        Outcome outcome = macro(
                image,
                call("profile=" + profile + " find=ellipses edge_map overlay results_table roi_file=[" + file + "]")
                        + "return getTitle;");
        assertEquals("Edges of shapes", outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("2 ellipses"), outcome.log);
        Roi[] all = image.getOverlay().toArray();
        assertEquals(2, all.length);
        List<Roi> saved = RoiFile.read(file.toString(), "lines");
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(2, table.size());
        for (int row = 0; row < 2; row++) {
            boolean isDisc = table.getValue("Circle", row) == 1;
            double[] truth = isDisc ? DISC : ELLIPSE;
            assertEquals(isDisc ? OvalRoi.class : EllipseRoi.class, all[row].getClass());
            assertEquals("ellipse-000" + (row + 1), all[row].getName());
            assertEquals(SegmentColours.of(row), all[row].getStrokeColor());
            assertEquals("edge drawing", all[row].getProperty(RoiOutput.PROPERTY));
            assertEquals(row + 1, table.getValue("Ellipse", row));
            assertEquals(1, table.getValue("Slice", row));
            assertEquals((truth[0] + 0.5 - 10) * 0.5, table.getValue("X", row), 0.15);
            assertEquals((truth[1] + 0.5) * 0.5, table.getValue("Y", row), 0.15);
            assertEquals(truth[2], table.getValue("Major", row), 0.3);
            assertEquals(truth[3], table.getValue("Minor", row), 0.3);
            // ImageJ measures angles upwards.
            assertEquals(isDisc ? 0 : 150, table.getValue("Angle", row), 0.5);
            assertEquals(
                    Math.PI * table.getValue("Major", row) * table.getValue("Minor", row) / 4,
                    table.getValue("Area", row),
                    1e-9);
            assertEquals(truth[3] / truth[2], table.getValue("Round", row), 0.01);
            assertEquals(isDisc ? 1 : 0, table.getValue("Bright", row));
            assertTrue(table.getValue("Coverage", row) > 0.9, "coverage");
            assertTrue(table.getValue("Arcs", row) >= 1 && table.getValue("Points", row) > 80, "points");
            assertTrue(table.getValue("RMS", row) < 0.3, "distance");
            assertTrue(table.getValue("Log NFA", row) < -10, "false alarms");
            assertEquals("\u00b5m", table.getStringValue("Unit", row));
            // The selection has the pixels that the row says.
            double area = 4 * table.getValue("Area", row);
            assertEquals(area, all[row].getStatistics().pixelCount, 0.03 * area);
            double[] centre = all[row].getContourCentroid();
            assertEquals(truth[0] + 0.5, centre[0], 0.6);
            assertEquals(truth[1] + 0.5, centre[1], 0.6);
            Roi read = saved.get(row);
            assertEquals(all[row].getClass(), read.getClass());
            assertEquals(all[row].getBounds(), read.getBounds());
        }
        // Circles alone; and where pixels are not square, a circle is none.
        assertEquals(1, overlay(image, "profile=" + profile + " find=ellipses ellipse_shapes=circles").length);
        scale.pixelHeight = 1;
        ResultsTable.getResultsTable().reset();
        macro(image, call("profile=" + profile + " find=ellipses ellipse_shapes=circles results_table"));
        table = ResultsTable.getResultsTable();
        assertEquals(44, table.getValue("Major", 0), 0.6);
        assertEquals(22, table.getValue("Minor", 0), 0.3);
        assertEquals(90, table.getValue("Angle", 0), 1e-6);
    }

    @ParameterizedTest
    @CsvSource({
        "coins.png, paper, -1, -1, -1, 1",
        "coins.png, reference, 1, 0.7, 20, 1",
        "nuclei.png, paper, 2.5, 0.3, 4, 0"
    })
    void macroGivesWhatTheCApiGives(
            String name, String profile, double deviation, double coverage, double radius, int validation)
            throws Exception {
        ImagePlus image = open(name);
        Memory params = CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES);
        params.setInt(4, CApi.words("edge_drawing", "profile")[0].equals(profile) ? 0 : 1);
        String options = "device=cpu find=ellipses profile=" + profile;
        if (deviation >= 0) {
            params.setDouble(96, deviation);
            params.setDouble(104, coverage);
            params.setDouble(112, radius);
            options += " ellipse_deviation=" + deviation + " least_coverage=" + coverage + " smallest_radius=" + radius;
        }
        params.setInt(124, validation);
        options += validation == 0 ? " all_ellipses" : "";
        Memory input = CApi.describe(image, CApi.TYPE_U8, CApi.pixels(image));
        PointerByReference segments = new PointerByReference();
        PointerByReference ellipses = new PointerByReference();
        CApi.onCpu("isoline_edge_drawing", input, params, null, null, segments, null);
        CApi.onCpu("isoline_edge_drawing_ellipses", input, segments.getValue(), params, null, ellipses, null);
        PointerByReference all = new PointerByReference();
        LongByReference count = new LongByReference();
        CApi.function("isoline_ellipses_all").invokeInt(new Object[] {ellipses.getValue(), all, count});

        Outcome outcome = macro(image, call(options + " overlay results_table"));
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(count.getValue(), table.size(), outcome.log);
        assertEquals(count.getValue(), image.getOverlay().size());
        assertTrue(count.getValue() > 10, "only " + count.getValue());
        for (int row = 0; row < table.size(); row++) {
            Pointer one = all.getValue().share((long) row * ELLIPSE_BYTES);
            assertEquals(one.getDouble(0) + 0.5, table.getValue("X", row));
            assertEquals(one.getDouble(8) + 0.5, table.getValue("Y", row));
            assertEquals(2 * one.getDouble(16), table.getValue("Major", row), 1e-9);
            assertEquals(2 * one.getDouble(24), table.getValue("Minor", row), 1e-9);
            double angle = Math.toDegrees(one.getDouble(32));
            assertEquals(angle == 0 ? 0 : 180 - angle, table.getValue("Angle", row), 1e-6);
            assertEquals(one.getDouble(40), table.getValue("RMS", row));
            assertEquals(one.getDouble(48), table.getValue("Coverage", row));
            assertEquals(one.getDouble(56), table.getValue("Log NFA", row));
            assertEquals(one.getInt(72), table.getValue("Points", row));
            assertEquals(one.getInt(76), table.getValue("Arcs", row));
            assertEquals(one.getInt(80) & 1, table.getValue("Circle", row));
        }
        CApi.function("isoline_ellipses_free").invokeVoid(new Object[] {ellipses.getValue()});
        CApi.function("isoline_segments_free").invokeVoid(new Object[] {segments.getValue()});
    }

    @Test
    void ellipsesLieOnTheirPlanes() throws Exception {
        ImageStack stack = new ImageStack(160, 120);
        for (int i = 0; i < 6; i++) {
            stack.addSlice(i % 5 == 0 ? shapes() : new ByteProcessor(160, 120));
        }
        ImagePlus plain = new ImagePlus("plain", stack);
        Roi[] found = overlay(plain, "find=ellipses");
        assertEquals(
                "[1, 1, 6, 6]",
                Arrays.toString(Arrays.stream(found).mapToInt(Roi::getPosition).toArray()));
        // Calls for one slice each number them on.
        EdgeDrawingSettings settings = Settings.fromMacro(new EdgeDrawingSettings(), "find=ellipses overlay");
        EdgeDrawingJob job = new EdgeDrawingJob(plain, settings);
        job.callBytes = 1;
        assertNull(job.run(null));
        job.deliver();
        assertEquals("ellipse-0004 s6", job.rois.get(3).getName());
    }

    @Test
    void largestAreKeptWhereThereAreTooMany() throws Exception {
        ImagePlus image = open("coins.png");
        int all = overlay(image, "find=ellipses profile=reference").length;
        Outcome outcome = macro(image, call("find=ellipses profile=reference overlay most_rois=5"));
        assertEquals(5, image.getOverlay().size());
        assertTrue(outcome.log.contains("of " + all + " ellipses only the longest 5 went to"), outcome.log);
        assertTrue(outcome.log.contains("or smallest_radius or gradient_threshold for fewer ellipses"), outcome.log);
    }

    @Test
    void settingsAreWrittenAsTheMacroThatRepeatsThem() throws Exception {
        String options = "find=ellipses ellipse_deviation=1 least_coverage=0.6 smallest_radius=5 ellipse_shapes=circles"
                + " all_ellipses";
        String written = Settings.fromMacro(new EdgeDrawingSettings(), options + " overlay")
                .toString();
        assertTrue(written.contains(" " + options + " "), written);
        assertFalse(written.contains("roi_shape") || written.contains("line_gap"), written);
        assertEquals(
                written, Settings.fromMacro(new EdgeDrawingSettings(), written).toString());
        written = Settings.fromMacro(new EdgeDrawingSettings(), "find=lines overlay")
                .toString();
        assertFalse(written.contains("ellipse_"), written);
    }
}
