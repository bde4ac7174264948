package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.PointRoi;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
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

/** Tests the axes and critical points of edge strengths: selections, rows, macro options and failures. */
class EdgeStrengthAxesTest extends HeadlessTest {
    private static final int PARAMS_BYTES = 104;
    private static final int ARRAYS_BYTES = 40;
    private static final int POLYLINE_BYTES = 56;
    private static final String SHAPE = "mode=converged tolerance=1e-6 rho=16 threshold=127 ";

    @TempDir
    Path folder;

    private static String call(String options) {
        return "run(\"" + COMMAND + "\", \"" + (SHAPE + options).replace("\\", "/") + "\");";
    }

    /** Returns the outline of a rectangle around (29, 21). */
    private static ImageProcessor rectangle() {
        ImageProcessor pixels = new ByteProcessor(60, 44);
        pixels.setValue(255);
        pixels.drawRect(5, 5, 49, 33);
        return pixels;
    }

    @Test
    void rectangleHasACentreAndAxes() throws Exception {
        ImagePlus image = new ImagePlus("rectangle", rectangle());
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.5;
        image.getCalibration().setUnit("um");
        Path file = folder.resolve("axes.zip");
        Outcome outcome =
                macro(image, call("find=axes overlay results_table roi_file=[" + file + "]") + "return getTitle;");
        assertEquals("ESF of rectangle", outcome.returned, outcome.log);
        Roi[] all = image.getOverlay().toArray();
        List<Roi> saved = RoiFile.read(file.toString(), "the test");
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(all.length, table.size());
        assertEquals(all.length, saved.size());
        assertTrue(outcome.log.contains(all.length + " skeleton parts"), outcome.log);
        assertEquals("elliptic-0001", all[0].getName());
        assertSame(PointRoi.class, all[0].getClass());
        assertEquals(29, all[0].getFloatPolygon().xpoints[0], 0.01);
        assertEquals(21, all[0].getFloatPolygon().ypoints[0], 0.01);
        assertEquals(29.5 / 2, table.getValue("X", 0), 0.01);
        assertEquals(21.5 / 2, table.getValue("Y", 0), 0.01);
        assertEquals(0, table.getValue("Length", 0));
        int fromCorners = 0;
        for (int row = 0; row < all.length; row++) {
            String name = table.getStringValue("Class", row);
            assertEquals(String.format("%s-%04d", name, row + 1), all[row].getName());
            assertEquals("edge strength", all[row].getProperty(RoiOutput.PROPERTY));
            assertEquals(row + 1, table.getValue("Skeleton part", row));
            assertEquals(1, table.getValue("Slice", row));
            assertEquals("\u00b5m", table.getStringValue("Unit", row));
            assertTrue(table.getValue("Strength", row) > 0 && table.getValue("Strength", row) < 1, name);
            assertEquals(all[row].getBounds(), saved.get(row).getBounds());
            if (row > 0) {
                assertTrue("S+".equals(name) || "S-".equals(name), name);
                assertSame(PolygonRoi.class, all[row].getClass());
                assertEquals(table.getValue("Points", row), all[row].getFloatPolygon().npoints);
                assertTrue(table.getValue("Length", row) >= 2.5, name);
                float x = all[row].getFloatPolygon().xpoints[0];
                float y = all[row].getFloatPolygon().ypoints[0];
                boolean corner = Math.abs(Math.abs(x - 29) - 22) < 1 && Math.abs(Math.abs(y - 21) - 14) < 1;
                fromCorners += corner && "S+".equals(name) ? 1 : 0;
            }
        }
        assertEquals(4, fromCorners);
        // Critical points alone.
        macro(image, call("find=critical_points overlay"));
        assertEquals(1, image.getOverlay().size());
        assertEquals("elliptic-0001", image.getOverlay().get(0).getName());
    }

    @Test
    void tableWithoutNewRowsIsSaid() {
        ImagePlus blank = new ImagePlus("blank", new ByteProcessor(20, 20));
        String log = macro(blank, call("find=axes results_table")).log;
        assertTrue(log.contains("warning: no skeleton parts, so no new rows in the table."), log);
    }

    @ParameterizedTest
    @CsvSource({"horse.png, 1e-4, 5", "horse.png, 0.5, 12.5", "coins.png, 0.01, 0"})
    void macroGivesWhatTheCApiGives(String name, double strength, double length) throws Exception {
        ImagePlus image = open(name);
        Memory params = CApi.struct("isoline_edge_strength_params_init", PARAMS_BYTES);
        params.setInt(8, 1);
        params.setDouble(40, 16);
        params.setDouble(56, 127);
        params.setDouble(80, 1e-6);
        params.setDouble(88, strength);
        params.setDouble(96, length);
        Memory output = new Memory(4L * image.getWidth() * image.getHeight());
        Memory in = CApi.describe(image, CApi.TYPE_U8, CApi.pixels(image));
        Memory out = CApi.describe(image, CApi.TYPE_F32, output);
        PointerByReference found = new PointerByReference();
        CApi.onCpu("isoline_edge_strength", in, params, null, out, null);
        CApi.onCpu("isoline_edge_strength_axes", out, params, null, found, null);
        Memory arrays = CApi.struct("isoline_polyline_arrays_init", ARRAYS_BYTES);
        CApi.function("isoline_polylines_all").invokeInt(new Object[] {found.getValue(), arrays});
        long count = arrays.getLong(8);
        assertTrue(count > 20, "only " + count);

        String options = "find=axes least_strength=" + strength + " shortest_axis=" + length;
        Outcome outcome = macro(image, call(options + " device=cpu overlay results_table"));
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(count, table.size(), outcome.log);
        assertEquals(count, image.getOverlay().size());
        for (int row = 0; row < count; row++) {
            Pointer line = arrays.getPointer(24).share((long) row * POLYLINE_BYTES);
            Pointer point = arrays.getPointer(32).share(16 * line.getLong(0));
            assertEquals(line.getLong(8), table.getValue("Points", row));
            assertEquals(line.getDouble(24), table.getValue("Strength", row));
            assertEquals(line.getDouble(32), table.getValue("Length", row));
            assertEquals(FoundAxes.name(line.getInt(52)), table.getStringValue("Class", row));
            Roi roi = image.getOverlay().get(row);
            assertEquals(point.getDouble(0), roi.getFloatPolygon().xpoints[0], 1e-4);
            assertEquals(point.getDouble(8), roi.getFloatPolygon().ypoints[0], 1e-4);
        }
        CApi.function("isoline_polylines_free").invokeVoid(new Object[] {found.getValue()});
    }

    @Test
    void partsLieOnTheirPlanes() throws Exception {
        ImageStack stack = new ImageStack(60, 44);
        for (int i = 0; i < 6; i++) {
            stack.addSlice(i % 5 == 0 ? rectangle() : new ByteProcessor(60, 44));
        }
        ImagePlus image = new ImagePlus("stack", stack);
        // One call for each slice numbers the parts on.
        EdgeStrengthSettings settings =
                Settings.fromMacro(new EdgeStrengthSettings(), SHAPE + "find=axes overlay results_table");
        EdgeStrengthJob job = new EdgeStrengthJob(image, settings);
        job.callBytes = 1;
        assertEquals(6, job.run(null).getStackSize());
        job.deliver();
        int half = job.rois.size() / 2;
        assertEquals(2 * half, ResultsTable.getResultsTable().size());
        for (int i = 0; i < half; i++) {
            assertEquals(1, job.rois.get(i).getPosition());
            assertEquals(6, job.rois.get(half + i).getPosition());
            assertEquals(job.rois.get(i).getBounds(), job.rois.get(half + i).getBounds());
        }
        assertTrue(
                job.rois.get(half).getName().endsWith(" s6"), job.rois.get(half).getName());
    }

    @Test
    void outputsOfAnEarlierDialogMakeNothingWithoutAxes() throws Exception {
        EdgeStrengthSettings settings = Settings.fromMacro(new EdgeStrengthSettings(), SHAPE);
        for (String output : settings.outputs()) {
            settings.set(output, true);
        }
        ImagePlus image = new ImagePlus("rectangle", rectangle());
        EdgeStrengthJob job = new EdgeStrengthJob(image, settings);
        job.run(null);
        job.deliver();
        assertNull(image.getOverlay());
        assertEquals(0, ResultsTable.getResultsTable().size());
        assertTrue(job.warnings().isEmpty());
        assertEquals("", job.outcome());
    }

    @Test
    void criticalPointsAndTheLongestAxesAreKept() {
        ImagePlus image = open("horse.png");
        Outcome outcome = macro(image, call("find=axes overlay most_rois=20"));
        Roi[] few = image.getOverlay().toArray();
        assertEquals(20, few.length);
        assertTrue(outcome.log.contains("only the longest 20 went to"), outcome.log);
        assertTrue(outcome.log.contains("or shortest_axis for fewer axes"), outcome.log);
        macro(image, call("find=critical_points overlay"));
        long points = image.getOverlay().size();
        assertTrue(points > 5 && points < 20, points + " points");
        assertEquals(
                points,
                Arrays.stream(few).filter(roi -> roi instanceof PointRoi).count());
    }

    @Test
    void settingsAreWrittenAsTheMacroThatRepeatsThem() throws Exception {
        String options = "find=axes least_strength=0.01 shortest_axis=8";
        String written = Settings.fromMacro(new EdgeStrengthSettings(), options + " overlay")
                .toString();
        assertTrue(written.contains(" " + options + " "), written);
        assertEquals(
                written, Settings.fromMacro(new EdgeStrengthSettings(), written).toString());
        // An image alone has none of these keys.
        written = Settings.fromMacro(new EdgeStrengthSettings(), "rho=8").toString();
        for (String key : new String[] {"find", "strength", "axis", "overlay", "rois"}) {
            assertFalse(written.contains(key), written);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "find=axes                                   | No output is chosen. Choose at least one of roi_manager",
                "overlay                                     | overlay is used with find=axes and find=critical_points only",
                "shortest_axis=3                             | shortest_axis is used with find=axes only",
                "find=critical_points shortest_axis=3 overlay | shortest_axis is used with find=axes only",
                "find=axes shortest_axis=-1 overlay          | shortest_axis must be at least 0 (pixels), but it is -1",
                "find=axes least_strength=1 overlay          | least_strength must be greater than 0 and less than 1, but it is 1",
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = new ImagePlus("rectangle", rectangle());
        Outcome outcome = macro(image, call(options) + "print(\"went on\");");
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertOneSentence(outcome.log, sentence);
        assertNull(image.getOverlay());
    }

    @Test
    void scriptsGetSelectionsAndRows() throws Exception {
        ImagePlus image = new ImagePlus("rectangle", rectangle());
        Result found = Isoline.edgeStrength(image, SHAPE + "find=axes");
        assertEquals("ESF of rectangle", found.getImage().getTitle());
        assertTrue(found.getRois().size() > 5
                && found.getRois().size() == found.getTable().size());
        // The image alone needs no outputs.
        found = Isoline.edgeStrength(image, SHAPE);
        assertTrue(found.getRois().isEmpty());
    }
}
