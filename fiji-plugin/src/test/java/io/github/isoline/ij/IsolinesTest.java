package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.FloatPolygon;
import ij.process.FloatProcessor;
import ij.process.ImageConverter;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import java.awt.Color;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the isolines command without a window: selections, rows, macro options and failures. */
class IsolinesTest extends HeadlessTest {
    private static final String LINE = "run(\"Isolines...\", \"%s\");";

    private static Outcome isolines(ImagePlus image, String options) {
        return macro(image, String.format(LINE, options.replace("\\", "/")));
    }

    private static Roi[] overlay(ImagePlus image, String options) {
        Outcome outcome = isolines(image, options + " overlay");
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        return image.getOverlay() == null ? new Roi[0] : image.getOverlay().toArray();
    }

    /** Returns a square of 3 x 2 pixels with a hole beside a bar that ends at the border: 100 on 0. */
    private static ImagePlus shapes() {
        ByteProcessor pixels = new ByteProcessor(20, 12);
        pixels.setColor(100);
        pixels.fill(new Roi(2, 3, 5, 5));
        pixels.setColor(0);
        pixels.fill(new Roi(4, 5, 1, 1));
        pixels.setColor(100);
        pixels.fill(new Roi(15, 4, 5, 3));
        return new ImagePlus("shapes", pixels);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Isolines...|level_count=3 overlay",
                "Edge Strength Function...|mode=iterations iterations=5 threshold=50 find=axes overlay"
            })
    void pixelsWithoutASizeAreRefusedWithWhatToDo(String scene) {
        ImagePlus image = shapes();
        image.getCalibration().pixelWidth = 0;
        String[] parts = scene.split("\\|");
        Outcome outcome = macro(image, String.format("run(\"%s\", \"%s\");", parts[0], parts[1]));
        assertTrue(outcome.log.contains("Set pixel width and height in Image > Properties"), outcome.log);
    }

    @Test
    void levelsOfSignedImagesAreTheValuesThatImageJShows() {
        ImagePlus image = new ImagePlus("signed", shapes().getProcessor().convertToShort(false));
        image.getProcessor().add(32718);
        image.getLocalCalibration().setSigned16BitCalibration();
        Roi[] rois = overlay(image, "levels=0 results_table");
        assertEquals(3, rois.length);
        assertEquals("0.0", rois[0].getProperty("level"));
        assertEquals(0, ResultsTable.getResultsTable().getValue("Level", 0));
    }

    @Test
    void curvesAreSelectionsBetweenPixels() {
        ImagePlus image = shapes();
        Roi[] rois = overlay(image, "levels=50");
        assertEquals(3, rois.length);
        // The square: from the first crossing, above its first pixel, clockwise. ImageJ counts areas from corners.
        assertEquals(Roi.POLYGON, rois[0].getType());
        FloatPolygon square = rois[0].getFloatPolygon();
        assertEquals(20, square.npoints);
        assertEquals(2.5, square.xpoints[0]);
        assertEquals(3, square.ypoints[0]);
        assertEquals(3.5, square.xpoints[1]);
        assertEquals("iso-0001", rois[0].getName());
        assertEquals("50.0", rois[0].getProperty("level"));
        assertEquals(Color.YELLOW, rois[0].getStrokeColor());
        // The bar is open; ImageJ counts lines from pixel centres.
        Roi bar = rois[2];
        assertEquals(Roi.FREELINE, bar.getType());
        assertTrue(bar instanceof PolygonRoi && bar.subPixelResolution());
        FloatPolygon line = bar.getFloatPolygon();
        assertEquals(19, line.xpoints[0]);
        assertEquals(6.5, line.ypoints[0]);
        assertEquals(19, line.xpoints[line.npoints - 1]);
        assertEquals(3.5, line.ypoints[line.npoints - 1]);
        assertEquals(Roi.POLYGON, rois[1].getType());
        // Another run replaces them, and leaves what is the user's own.
        image.getOverlay().add(new Roi(0, 0, 2, 2));
        rois = overlay(image, "levels=[20 50; 80]");
        assertEquals(10, rois.length);
        assertEquals("isolines", rois[9].getProperty("isoline"));
        assertEquals(Color.getHSBColor(2 / 3f, 1, 1), rois[1].getStrokeColor());
    }

    @Test
    void rowsHaveLevelLengthAreaAndParent() {
        ImagePlus image = shapes();
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 2;
        image.getCalibration().setUnit("mm");
        isolines(image, "levels=[50 20] results_table");
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(6, table.size());
        double[][] wanted = {
            // Level, area, parent, points, closed
            {50, 24.5, 0, 20, 1},
            {50, -0.5, 1, 4, 1},
            {50, 0, 0, 13, 0},
        };
        for (int row = 0; row < wanted.length; row++) {
            assertEquals("shapes", table.getLabel(row));
            assertEquals(row + 1, table.getValue("Isoline", row));
            assertEquals(1, table.getValue("Slice", row));
            assertEquals(wanted[row][0], table.getValue("Level", row));
            assertEquals(wanted[row][1], table.getValue("Area", row), 1e-12);
            assertEquals(wanted[row][2], table.getValue("Parent", row));
            assertEquals(wanted[row][3], table.getValue("Points", row));
            assertEquals(wanted[row][4], table.getValue("Closed", row));
        }
        // The hole is the pixel at 4, 5, whose centre is half a pixel farther; lengths are in millimetres.
        assertEquals(4.5 * 0.5, table.getValue("X", 1), 1e-12);
        assertEquals(5.5 * 2, table.getValue("Y", 1), 1e-12);
        assertEquals("mm", table.getStringValue("Unit", 1));
        // Four halves of a pixel's diagonal.
        assertEquals(4 * Math.hypot(0.25, 1), table.getValue("Length", 1), 1e-12);
        assertEquals(20, table.getValue("Level", 3));
        assertEquals(4, table.getValue("Parent", 4));
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void stackInSeveralCallsIsTheStackInOne(int bits) throws Exception {
        ImagePlus brain = open("brain.tif");
        convert(brain, bits);
        String options = "level_count=3 results_table";
        isolines(brain, options);
        String whole = rows();
        assertTrue(whole.length() > 10_000);
        long slice = (long) brain.getWidth() * brain.getHeight() * (bits / 8);
        for (long bytes : new long[] {1, slice * 7}) {
            ResultsTable.getResultsTable().reset();
            IsolinesJob job = new IsolinesJob(brain, Settings.fromMacro(new IsolinesSettings(), options));
            job.callBytes = bytes;
            assertNull(job.run(null));
            job.deliver();
            assertEquals(whole, rows());
        }
    }

    private static String rows() {
        ResultsTable table = ResultsTable.getResultsTable();
        StringBuilder text = new StringBuilder();
        for (int row = 0; row < table.size(); row++) {
            text.append(table.getRowAsString(row)).append('\n');
        }
        return text.toString();
    }

    @Test
    void curvesLieOnTheirPlanes() {
        ImageStack stack = new ImageStack(20, 12);
        for (int i = 0; i < 12; i++) {
            stack.addSlice(i % 5 == 0 ? shapes().getProcessor() : new ByteProcessor(20, 12));
        }
        ImagePlus plain = new ImagePlus("plain", stack);
        for (Roi roi : overlay(plain, "")) {
            assertEquals(1, roi.getPosition() % 5);
            assertTrue(roi.getName().endsWith(" s" + roi.getPosition()), roi.getName());
        }
        assertEquals(9, plain.getOverlay().size());
        plain.setSlice(6);
        plain.setOverlay(null);
        assertEquals(3, overlay(plain, "stack=current").length);
        ImagePlus hyper = new ImagePlus("hyper", stack);
        hyper.setDimensions(2, 3, 2);
        hyper.setOpenAsHyperStack(true);
        Roi[] rois = overlay(hyper, "all_channels all_frames results_table");
        assertEquals(9, rois.length);
        for (int i = 0; i < rois.length; i++) {
            int index = hyper.getStackIndex(rois[i].getCPosition(), rois[i].getZPosition(), rois[i].getTPosition());
            assertEquals(1, index % 5);
            ResultsTable table = ResultsTable.getResultsTable();
            assertEquals(rois[i].getCPosition(), table.getValue("Ch", i));
            assertEquals(rois[i].getZPosition(), table.getValue("Slice", i));
            assertEquals(rois[i].getTPosition(), table.getValue("Frame", i));
        }
    }

    @Test
    void theLongestAreTakenAndTheFileHasAll(@TempDir Path folder) throws Exception {
        ImagePlus image = shapes();
        Path file = folder.resolve("curves.zip");
        Outcome outcome = isolines(image, "levels=50 most_rois=2 overlay roi_file=[" + file + "]");
        assertTrue(outcome.log.contains("of 3 isolines only the longest 2"), outcome.log);
        assertEquals(2, image.getOverlay().size());
        List<Roi> all = RoiFile.read(file.toString(), "the test");
        assertEquals(3, all.size());
        assertEquals("iso-0002", all.get(1).getName());
        assertEquals(Roi.POLYGON, all.get(1).getType());
        assertEquals(4.5, all.get(1).getFloatPolygon().xpoints[0]);
        assertEquals(5, all.get(1).getFloatPolygon().ypoints[0]);
    }

    @Test
    void badOptionsAreSaid() {
        String[][] bad = {
            {"levels=[20 x] overlay", "levels must be \"auto\" or numbers with blanks between them, got \"20 x\""},
            {
                "levels=127,5 overlay",
                "got \"127,5\". Write 127 5 (in a macro levels=[127 5]) for several levels, 127.5 for one."
            },
            {"levels=20,60,90 overlay", "Write 20 60 90 (in a macro levels=[20 60 90]) for several levels."},
            {"levels=20 60 overlay", "If it belongs to levels, put the value in brackets: levels=[20 60]. The options"},
            {"levels=20 level_count=3 overlay", "level_count has no effect without levels=auto"},
            {"level_count=0 overlay", "level_count must be"},
            {"levels=20", "No output is chosen"},
            {"range_min=3 overlay", "range_min"},
        };
        for (String[] options : bad) {
            Outcome outcome = isolines(shapes(), options[0]);
            assertEquals(ABORTED, outcome.returned, outcome.log);
            assertOneSentence(outcome.log, options[1]);
        }
        ImagePlus rgb = open("coins.png");
        new ImageConverter(rgb).convertToRGB();
        assertOneSentence(isolines(rgb, "overlay").log, "(option luminance)");
        assertTrue(overlay(rgb, "luminance").length > 20);
        ImagePlus flat = new ImagePlus("flat", new FloatProcessor(9, 9));
        Outcome none = isolines(flat, "overlay");
        assertTrue(none.log.contains("there are no isolines"), none.log);
    }

    @Test
    void levelsMayHaveCommasWithBlanks() {
        for (String levels : new String[] {"[20, 60]", "[20; 60]", "20;60"}) {
            assertEquals(overlay(shapes(), "levels=[20 60]").length, overlay(shapes(), "levels=" + levels).length);
        }
    }

    @Test
    void scriptsGetSelectionsAndRows() throws Exception {
        Result found = Isoline.isolines(shapes(), "levels=50");
        assertEquals(3, found.getRois().size());
        assertEquals(3, found.getTable().size());
        assertNull(found.getImage());
        assertThrows(IsolineException.class, () -> Isoline.isolines(shapes(), "levels=none"));
    }

    @Test
    void curvesAreThoseOfTheLibrary() throws Exception {
        ImagePlus coins = open("coins.png");
        Roi[] rois = overlay(coins, "device=cpu levels=110.5 connect=high");
        try (Context context = Context.open("cpu");
                PixelBuffer pixels =
                        new PixelBuffer(context, PixelBuffer.Type.U8, coins.getWidth(), coins.getHeight(), 1)) {
            pixels.write(0, coins.getProcessor().getPixels());
            Params params = new Params(Isolines.NAME).set("connect", "high");
            Polylines curves = Isolines.run(context, params, new double[] {110.5}, pixels, 1, null)
                    .found();
            assertEquals(curves.count(), rois.length);
            assertTrue(curves.count() > 20);
            for (int i = 0; i < rois.length; i++) {
                FloatPolygon polygon = rois[i].getFloatPolygon();
                double offset = rois[i].isArea() ? 0.5 : 0;
                assertEquals(curves.pointCount(i), polygon.npoints);
                assertEquals(curves.isClosed(i) && polygon.npoints > 2, rois[i].isArea());
                for (int p = 0; p < polygon.npoints; p++) {
                    assertEquals(curves.x(i, p) + offset, polygon.xpoints[p], 1e-3);
                    assertEquals(curves.y(i, p) + offset, polygon.ypoints[p], 1e-3);
                }
            }
        }
    }
}
