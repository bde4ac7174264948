package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Images whose values ImageJ shows otherwise than they are stored. */
class ShownValuesTest extends HeadlessTest {
    private static final int SIDE = 64;

    /** The values of a stored 0 and of a stored 1, less that. */
    private static final double ZERO = -10;

    private static final double STEP = 0.1;

    /** Returns a ball of the stored values 147 to 153 on ground of 37 to 43. */
    private static ImagePlus ball(int function, double... coefficients) {
        ImageStack stack = new ImageStack(SIDE, SIDE);
        for (int z = 0; z < 8; z++) {
            ByteProcessor pixels = new ByteProcessor(SIDE, SIDE);
            for (int i = 0; i < SIDE * SIDE; i++) {
                int x = i % SIDE - 32;
                int y = i / SIDE - 32;
                pixels.set(i, (x * x + y * y < 320 - 4 * (z - 4) * (z - 4) ? 150 : 40) + (i + z) * 7919 % 7 - 3);
            }
            stack.addSlice(pixels);
        }
        ImagePlus image = new ImagePlus("ball", stack);
        image.getCalibration().setFunction(function, function == Calibration.NONE ? null : coefficients, "HU");
        image.setSlice(4);
        image.setRoi(new OvalRoi(24, 24, 16, 16));
        return image;
    }

    private static Result call(String operation, ImagePlus image, String options) throws Exception {
        return Isoline.OPERATIONS.get(operation).on(image, options);
    }

    private static void assertColumn(ResultsTable stored, ResultsTable shown, String column, double zero, double step) {
        assertTrue(stored.size() > 0);
        assertEquals(stored.size(), shown.size());
        for (int row = 0; row < stored.size(); row++) {
            double wanted = zero + step * stored.getValue(column, row);
            assertEquals(wanted, shown.getValue(column, row), 1e-9 * Math.abs(wanted) + 1e-9, column);
        }
    }

    /** Each has the options with stored values, and with those that ImageJ shows for them. */
    @ParameterizedTest
    @CsvSource({
        "level_set, range=values target=140 epsilon=60 edge_weight=1 edge_contrast=30,"
                + " range=values target=4 epsilon=6 edge_weight=1 edge_contrast=3",
        "level_set, range=roi deviations=9 side=above, range=roi deviations=9 side=above",
        "grow_objects, threshold=90, threshold=-1",
        "region_snake, smooth, smooth",
        "edge_drawing, gradient_threshold=60 anchor_threshold=3, gradient_threshold=6 anchor_threshold=0.3",
        "edge_drawing, sigma=1, sigma=1",
        "isolines, levels=[90 100], levels=[-1 0]",
        "isosurface, level=90, level=-1",
        "signed_distance, threshold=153, threshold=5.3",
        "edge_strength, threshold=40, threshold=-6",
    })
    void straightLinesAreFollowed(String operation, String stored, String shown) throws Exception {
        ImagePlus line = ball(Calibration.STRAIGHT_LINE, ZERO, STEP);
        Result wanted = call(operation, ball(Calibration.NONE), stored);
        Result result = call(operation, line, shown);
        assertEquals(wanted.getWarnings(), result.getWarnings());
        for (int i = 0; i < wanted.getImages().size(); i++) {
            for (int z = 1; z <= wanted.getImages().get(i).getStackSize(); z++) {
                Object here = result.getImages().get(i).getStack().getPixels(z);
                Object there = wanted.getImages().get(i).getStack().getPixels(z);
                assertArrayEquals(new Object[] {there}, new Object[] {here});
            }
        }
        assertEquals(wanted.getRois().size(), result.getRois().size());
        for (String column : new String[] {"Mean", "Mean outside", "Level"}) {
            if (wanted.getTable().columnExists(column)) {
                assertColumn(wanted.getTable(), result.getTable(), column, ZERO, STEP);
            }
        }
        for (String column : new String[] {"SD inside", "SD outside", "Mean gradient"}) {
            if (wanted.getTable().columnExists(column)) {
                assertColumn(wanted.getTable(), result.getTable(), column, 0, STEP);
            }
        }
    }

    /** Sums are those of ImageJ, whose pixels are counted. */
    @Test
    void sumsAreOfShownValues() throws Exception {
        ImagePlus line = ball(Calibration.STRAIGHT_LINE, ZERO, STEP);
        ResultsTable table = call("grow_objects", line, "results_table").getTable();
        assertEquals(table.getValue("Mean", 0) * table.getValue("Voxels", 0), table.getValue("RawIntDen", 0), 1e-6);
        line.setSlice(1);
        line.setRoi((ij.gui.Roi) null);
        ImagePlus labels = call("grow_objects", line, "label_image").getImage();
        double sum = 0;
        for (int i = 0; i < SIDE * SIDE; i++) {
            boolean in = labels.getStack().getProcessor(1).get(i) == 1;
            sum += in
                    ? line.getCalibration()
                            .getCValue(line.getStack().getProcessor(1).get(i))
                    : 0;
        }
        assertEquals(sum, table.getValue("RawIntDen", 0), 1e-6);
    }

    /** These are uncalibrated optical density, a line that falls, one that is cut off at 0, and a curve. */
    @ParameterizedTest
    @ValueSource(strings = {"density", "falling", "clipped", "curve"})
    void otherFunctionsAreNotFollowedAndTold(String kind) throws Exception {
        ImagePlus image = ball(Calibration.STRAIGHT_LINE, kind.equals("falling") ? 300 : ZERO, -STEP);
        Calibration calibration = image.getCalibration();
        if (kind.equals("density")) {
            calibration.setFunction(Calibration.UNCALIBRATED_OD, null, "OD");
        } else if (kind.equals("clipped")) {
            calibration.setFunction(Calibration.STRAIGHT_LINE, new double[] {ZERO, STEP}, "HU", true);
        } else if (kind.equals("curve")) {
            calibration.setFunction(Calibration.POLY2, new double[] {1, 2, 3}, "HU");
        }
        Result result = call("grow_objects", image, "threshold=90 results_table");
        Result stored = call("grow_objects", ball(Calibration.NONE), "threshold=90 results_table");
        assertColumn(stored.getTable(), result.getTable(), "Mean", 0, 1);
        assertEquals(1, result.getWarnings().size(), result.getWarnings().toString());
        assertTrue(
                result.getWarnings().get(0).contains("are the stored ones"),
                result.getWarnings().toString());
        assertEquals(0, stored.getWarnings().size());
    }

    @ParameterizedTest
    @CsvSource({
        "1e300, 1E+300",
        "-3.4028234663852886e38, -3.40282E+38",
        "123456789, 123456789",
        "0, 0",
        "-2.5, -2.500",
        "0.16249999403953552, 0.162",
        "0.001, 1.000E-3",
        "Infinity, Infinity",
        "NaN, NaN"
    })
    void numbersInMessagesAreShort(double value, String text) {
        assertEquals(text, OperationDialog.number(value));
    }

    @ParameterizedTest
    @ValueSource(strings = {"edge-strength", "distance"})
    void helpSaysWhichThresholdIsTyped(String page) {
        String help = Help.text(page).replaceAll("\\s+", " ");
        assertTrue(help.contains("the value that ImageJ shows if the calibration is a straight line that rises"), help);
        assertTrue(help.contains("with any other function"), help);
    }
}
