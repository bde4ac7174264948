package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.gui.NewImage;
import ij.gui.OvalRoi;
import ij.gui.Roi;
import ij.measure.Measurements;
import ij.measure.ResultsTable;
import ij.plugin.filter.Analyzer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests names, units and numbers of the columns of the tables. */
class TablesTest extends SnakeTest {
    static final String SHAPE = "X Y Perim. Major Minor Angle Circ. Feret FeretAngle MinFeret AR Round Solidity";

    @Test
    void shapesAreThoseOfImageJsOwnMeasure() {
        ImagePlus image = disc(120, 90, 70, 40, 20);
        for (double height : new double[] {0.5, 0.25}) {
            table().reset();
            image.getCalibration().pixelWidth = 0.5;
            image.getCalibration().pixelHeight = height;
            image.getCalibration().xOrigin = 12;
            image.getCalibration().yOrigin = -7;
            image.setRoi(new OvalRoi(54, 20, 34, 44));
            macro(image, call("results_table overlay background=image"));
            ResultsTable measured = measured(image, image.getOverlay().get(0));
            for (String column : SHAPE.split(" ")) {
                // ImageJ measures ellipses in pixels, not in the unit, where pixels are not square.
                boolean ellipse = "Major Minor Angle AR Round".contains(column);
                double wanted = ellipse && height != 0.5 ? Double.NaN : measured.getValue(column, 0);
                assertEquals(wanted, table().getValue(column, 0), 1e-6, column);
            }
            // ImageJ decides differently on pixels whose very centre lies on an edge.
            assertEquals(measured.getValue("Area", 0), table().getValue("Area", 0), 20 * height);
            assertEquals((70 - 12) * 0.5, table().getValue("X", 0), 0.4);
            assertEquals((40 + 7) * height, table().getValue("Y", 0), 0.4);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"level_set", "grow_objects"})
    void pixelsThatAreNoNumberAreNotMeasured(String operation) throws Exception {
        ImagePlus image = disc(80, 60, 40, 30, 16);
        convert(image, 32);
        Result plain = quickly(operation, image);
        image.getProcessor().setf(40, 30, Float.NaN);
        image.getProcessor().setf(42, 30, Float.POSITIVE_INFINITY);
        Result gap = quickly(operation, image);
        for (String column : new String[] {"Mean", "IntDen", "RawIntDen"}) {
            double wanted = plain.getTable().getValue(column, 0);
            assertEquals(wanted, gap.getTable().getValue(column, 0), 0.05 * wanted, column);
        }
    }

    private static Result quickly(String operation, ImagePlus image) throws Exception {
        image.setRoi(new OvalRoi(28, 18, 24, 24));
        return Isoline.OPERATIONS
                .get(operation)
                .on(
                        image,
                        operation.equals("level_set")
                                ? "start=roi range=values target=150 epsilon=60 results_table"
                                : "start=roi results_table");
    }

    static ResultsTable measured(ImagePlus image, Roi outline) {
        ResultsTable measured = new ResultsTable();
        image.setRoi(outline);
        int what = Measurements.AREA
                + Measurements.MEAN
                + Measurements.INTEGRATED_DENSITY
                + Measurements.CENTROID
                + Measurements.PERIMETER
                + Measurements.ELLIPSE
                + Measurements.SHAPE_DESCRIPTORS
                + Measurements.FERET;
        new Analyzer(image, what, measured).saveResults(image.getStatistics(what), image.getRoi());
        return measured;
    }

    @Test
    void intensitiesAreThoseOfThePixelsInTheLabel() {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        image.getCalibration().pixelWidth = 2;
        image.getCalibration().pixelHeight = 3;
        image.setRoi(new OvalRoi(34, 30, 24, 24));
        ImagePlus labels = labels(image, "results_table");
        double sum = 0;
        for (int i = 0; i < 90 * 80; i++) {
            sum += labels.getProcessor().get(i) == 1 ? image.getProcessor().get(i) : 0;
        }
        int pixels = count(labels.getProcessor(), 1);
        assertEquals(sum, table().getValue("RawIntDen", 0), 1e-6 * sum);
        assertEquals(sum / pixels, table().getValue("Mean", 0), 1e-6 * sum);
        assertEquals(6 * sum, table().getValue("IntDen", 0), 1e-6 * sum);
        assertEquals(6 * pixels, table().getValue("Area", 0), 1e-9);
    }

    @Test
    void columnsHaveOneNameWhateverTheUnit() {
        String[] units = {"um", "pixel", " ", "mm", "inch", "micron"};
        String[] shown = {"\u00b5m", "pixel", "pixel", "mm", "inch", "micron"};
        for (String kind : ROWS) {
            String[] headings = new String[units.length];
            for (int i = 0; i < units.length; i++) {
                table().reset();
                addRows(kind, units[i]);
                headings[i] = String.join(",", table().getHeadings());
                assertEquals(shown[i], table().getStringValue("Unit", 0), kind + " \"" + units[i] + "\"");
                assertEquals(headings[0], headings[i], kind);
            }
            assertEquals(-1, headings[0].indexOf('('), headings[0]);
        }
    }

    @Test
    void rowsBelowThoseOfAnotherCommandAreSaidWithoutADisplay() {
        table().incrementCounter();
        table().addValue("Area", 7);
        ImagePlus image = disc(90, 80, 45, 40, 14);
        image.setRoi(new OvalRoi(34, 30, 24, 24));
        Outcome outcome = macro(image, call("results_table"));
        assertTrue(outcome.log.contains("Run \"Clear Results\" first"), outcome.log);
        assertEquals(2, table().size());
        outcome = macro(image, call("results_table"));
        assertEquals(-1, outcome.log.indexOf("Clear Results"), outcome.log);
    }

    /** The kinds of rows: the command, and options that give rows on a slice of balls, or on its volume. */
    static final String[] ROWS = {
        "Region Snake..., slice, start=rectangle max_iterations=3",
        "Region Snake..., volume, stack=track start=rectangle max_iterations=3",
        "Level Set..., slice, start=box mode=iterations iterations=1",
        "Level Set..., volume, start=box mode=iterations iterations=1 stack=volume",
        "Level Set..., slice, start=box mode=iterations iterations=1 label_image",
        "Level Set..., volume, start=box mode=iterations iterations=1 label_image stack=volume",
        "Grow Objects..., slice, threshold=90",
        "Grow Objects..., volume, threshold=90 stack=volume",
        "Edge Strength Function..., slice, threshold=90 find=axes",
        "Edge Drawing..., slice, gradient_threshold=30",
        "Edge Drawing..., slice, gradient_threshold=30 find=lines all_lines",
        "Edge Drawing..., slice, gradient_threshold=30 find=ellipses all_ellipses",
        "Isolines..., slice, levels=90",
        "Isosurface..., volume, level=90",
    };

    /** Adds rows of a kind to the Results table, of an image in a unit; returns what was logged. */
    private static String addRows(String kind, String unit) {
        String[] parts = kind.split(", ");
        ImagePlus balls = ObjectsTest.balls();
        balls.getCalibration().setUnit(unit);
        ImagePlus slice = new ImagePlus("slice", balls.getStack().getProcessor(8));
        slice.setCalibration(balls.getCalibration());
        ImagePlus image = "slice".equals(parts[1]) ? slice : balls;
        int before = table().size();
        String log = macro(image, "run(\"" + parts[0] + "\", \"results_table " + parts[2] + "\");").log;
        assertTrue(table().size() > before, "no row: " + kind + ": " + log);
        return log;
    }

    @Test
    void rowsComeBelowThoseOfTheirKindAlone() {
        for (String first : ROWS) {
            table().reset();
            addRows(first, "um");
            ResultsTable rows = (ResultsTable) table().clone();
            for (String second : ROWS) {
                Analyzer.setResultsTable((ResultsTable) rows.clone());
                boolean said = addRows(second, "um").contains("the Results table has rows of another kind");
                assertEquals(!first.equals(second), said, second + " below " + first);
            }
        }
    }

    /** A channel of 0 would stand in the rows of the other image. */
    @Test
    void rowsOfAHyperstackAndOfAnImageAreApart() {
        for (boolean first : new boolean[] {true, false}) {
            table().reset();
            String log = "";
            for (boolean hyperstack : new boolean[] {first, !first}) {
                ImagePlus balls = ObjectsTest.balls();
                balls.setDimensions(1, hyperstack ? 5 : 15, hyperstack ? 3 : 1);
                balls.setOpenAsHyperStack(hyperstack);
                log = macro(balls, "run(\"Grow Objects...\", \"results_table threshold=90\");").log;
            }
            assertTrue(log.contains("the Results table has rows of another kind"), log);
        }
    }

    /** An overlap of 0 would stand in the rows where none was measured. */
    @Test
    void rowsWithAndWithoutAnOverlapAreApart() {
        for (String first : new String[] {"", " follow"}) {
            table().reset();
            for (String follow : new String[] {first, first, first.isEmpty() ? " follow" : ""}) {
                ImagePlus balls = ObjectsTest.balls();
                balls.setDimensions(1, 1, 15);
                balls.setOpenAsHyperStack(true);
                String options = "start=box mode=iterations iterations=1 results_table all_frames";
                String log = macro(balls, "run(\"Level Set...\", \"" + options + follow + "\");").log;
                assertEquals(!follow.equals(first), log.contains("has rows of another kind"), log);
            }
        }
    }

    /** Volumes have the pixel width for a depth that is none, and so do their places. */
    @ParameterizedTest
    @ValueSource(strings = {"level_set", "grow_objects"})
    void placesAreInTheDepthOfTheVolume(String operation) throws Exception {
        String options = operation.equals("level_set")
                ? "stack=volume start=box mode=iterations iterations=1 results_table"
                : "stack=volume threshold=90 results_table";
        double[] places = new double[2];
        for (int i = 0; i < 2; i++) {
            ImagePlus balls = ObjectsTest.balls();
            balls.getCalibration().pixelWidth = 0.5;
            balls.getCalibration().pixelHeight = 0.5;
            balls.getCalibration().pixelDepth = i == 0 ? 0.5 : 0;
            balls.getCalibration().zOrigin = 3;
            Result result = Isoline.OPERATIONS.get(operation).on(balls, options);
            places[i] = result.getTable().getValue("Z", 0);
        }
        assertEquals(places[0], places[1], 1e-9);
        assertTrue(places[0] != 0);
    }

    @Test
    void slantedSegmentHasItsDirection() {
        ImagePlus image = NewImage.createByteImage("slope", 80, 80, 1, NewImage.FILL_BLACK);
        for (int i = 0; i < 80 * 80; i++) {
            // The border rises to the right, by one row in two columns.
            image.getProcessor().set(i, 2 * (i / 80) + i % 80 > 120 ? 200 : 0);
        }
        macro(image, "run(\"Edge Drawing...\", \"profile=paper min_length=40 results_table\");");
        assertEquals(1, table().size(), Arrays.toString(table().getHeadings()));
        assertEquals(Math.toDegrees(Math.atan2(1, 2)), table().getValue("Angle", 0), 1);
        assertEquals(40, table().getValue("X", 0), 1);
        assertEquals(40, table().getValue("Y", 0), 1);
    }
}
