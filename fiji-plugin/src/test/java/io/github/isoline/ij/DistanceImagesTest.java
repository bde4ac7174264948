package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.LUT;
import ij.process.ShortProcessor;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests distances of masks: their values, the inside pixels, and the properties that the result copies. */
class DistanceImagesTest extends HeadlessTest {
    private static final String DISTANCE = "Signed Distance...";
    private static final int WIDTH = 23;
    private static final int HEIGHT = 17;
    private static final double EXACT = 1e-4;

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "0.25, 0.5, 2", "0.107, 0.107, 0.3", "3, 0.4, 1"})
    void distancesAreThoseOfTheDefinitionInTheImagesUnit(double x, double y, double z) {
        ImagePlus mask = blobs(7, 5);
        scale(mask, x, y, z);
        check(run(DISTANCE, mask, "stack=volume"), inside(mask, 0), x, y, z);
        ImagePlus slices = run(DISTANCE, mask, "");
        for (int s = 1; s <= 7; s++) {
            boolean[][] alone = {inside(mask, 0)[s - 1]};
            double[] wanted = DistanceReference.volume(alone, WIDTH, x, y, z)[0];
            float[] got = (float[]) slices.getStack().getPixels(s);
            for (int p = 0; p < got.length; p++) {
                assertEquals(wanted[p], got[p], EXACT, "slice " + s + " pixel " + p);
            }
        }
    }

    @Test
    void stackInSeveralCallsIsTheStackInOne() throws Exception {
        ImagePlus mask = blobs(20, 6);
        ImagePlus whole = run(DISTANCE, mask, "");
        for (long bytes : new long[] {1, WIDTH * HEIGHT * 5 * 3, WIDTH * HEIGHT * 5 * 19}) {
            DistanceJob job = new DistanceJob(mask, DistanceSettings.fromMacro(""), bytes);
            assertSamePixels(whole, job.run(null));
        }
    }

    @Test
    void whatIsSeenBrightIsInsideWhateverTheLut() {
        ImagePlus mask = blobs(1, 7);
        ImagePlus bright = run(DISTANCE, mask, "");
        assertTrue(bright.getProcessor().getf(inside(mask, 0)[0][0] ? 1 : 0) != 0);
        ImagePlus dark = run(DISTANCE, mask, "inside=dark");
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            assertEquals(bright.getProcessor().getf(p), -dark.getProcessor().getf(p));
        }
        // The picture on the screen is the same: values and LUT are both inverted.
        ImagePlus inverted = new ImagePlus("inverted", mask.getProcessor().duplicate());
        inverted.getProcessor().invert();
        inverted.getProcessor().invertLut();
        assertTrue(inverted.isInvertedLut());
        assertSamePixels(bright, run(DISTANCE, inverted, ""));
        assertSamePixels(dark, run(DISTANCE, inverted, "inside=dark"));
        assertSamePixels(bright, run(DISTANCE, inverted, "threshold=128"));
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void twoValuesNeedNoThreshold(int bits) {
        ImagePlus mask = blobs(1, 8);
        ImagePlus wanted = run(DISTANCE, mask, "");
        for (double[] values : new double[][] {{0, 1}, {3, 200}, {0, 255}}) {
            ImageProcessor other = processor(bits);
            for (int p = 0; p < WIDTH * HEIGHT; p++) {
                other.setf(p, (float) values[mask.getProcessor().get(p) == 0 ? 0 : 1]);
            }
            assertSamePixels(wanted, run(DISTANCE, new ImagePlus("two", other), ""));
        }
    }

    @Test
    void thresholdIsAPixelValueAndBelongsToTheLower() {
        ImagePlus ramp = new ImagePlus("ramp", processor(16));
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            ramp.getProcessor().set(p, 60000 + p % WIDTH);
        }
        ImagePlus distance = run(DISTANCE, ramp, "threshold=60010");
        assertEquals(0.5f, distance.getProcessor().getf(10, 3));
        assertEquals(-0.5f, distance.getProcessor().getf(11, 3));
        assertEquals(-11.5f, distance.getProcessor().getf(22, 3));
        ramp.getLocalCalibration().setSigned16BitCalibration();
        assertSamePixels(distance, run(DISTANCE, ramp, "threshold=" + (60010 - 32768)));
    }

    @Test
    void notANumberIsNeverInside() {
        FloatProcessor pixels = (FloatProcessor) processor(32);
        pixels.setValue(-1e30);
        pixels.fill();
        pixels.setf(5, 5, Float.NaN);
        pixels.setf(9, 9, Float.POSITIVE_INFINITY);
        ImagePlus image = new ImagePlus("nan", pixels);
        ImagePlus dark = run(DISTANCE, image, "inside=dark threshold=0");
        assertEquals(0.5f, dark.getProcessor().getf(5, 5));
        assertEquals(0.5f, dark.getProcessor().getf(9, 9));
        assertEquals(-0.5f, dark.getProcessor().getf(9, 8));
        ImagePlus bright = run(DISTANCE, image, "threshold=0");
        assertEquals(-0.5f, bright.getProcessor().getf(9, 9));
        assertTrue(bright.getProcessor().getf(5, 5) > 0);
    }

    @Test
    void thresholdThatTheImageShowsIsTaken() {
        ImagePlus ramp = new ImagePlus("ramp", processor(8));
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            ramp.getProcessor().set(p, p % WIDTH);
        }
        ramp.getProcessor().setThreshold(5, 9, ImageProcessor.NO_LUT_UPDATE);
        ImagePlus distance = run(DISTANCE, ramp, "inside=thresholded");
        float[] wanted = {4.5f, 3.5f, 2.5f, 1.5f, .5f, -.5f, -1.5f, -2.5f, -1.5f, -.5f, .5f, 1.5f};
        for (int x = 0; x < wanted.length; x++) {
            assertEquals(wanted[x], distance.getProcessor().getf(x, 4), 1e-6f);
        }
    }

    @Test
    void selectionIsTakenInEverySlice() {
        ImagePlus image = blobs(4, 9);
        // The oval extends beyond the border of the image.
        Roi oval = new OvalRoi(-4, 3, 15, 11);
        image.setRoi(oval);
        ByteProcessor drawn = new ByteProcessor(WIDTH, HEIGHT);
        drawn.setColor(255);
        drawn.fill(new OvalRoi(-4, 3, 15, 11));
        ImagePlus wanted = run(DISTANCE, new ImagePlus("drawn", drawn), "");
        assertTrue(wanted.getStatistics().min < -3);
        ImagePlus got = run(DISTANCE, image, "inside=selection");
        for (int z = 1; z <= 4; z++) {
            assertArrayEquals((float[]) wanted.getProcessor().getPixels(), (float[])
                    got.getStack().getPixels(z));
        }
        assertEquals(oval, image.getRoi());
        image.setRoi(2, 3, 4, 5);
        ImagePlus box = run(DISTANCE, image, "inside=selection");
        assertEquals(-2, box.getProcessor().getf(3, 5), 0.51);
        assertEquals(0.5f, box.getProcessor().getf(1, 5));
        // The threshold has no effect on the other choices.
        ImagePlus ignored = run(DISTANCE, image, "");
        image.deleteRoi();
        assertSamePixels(run(DISTANCE, image, ""), ignored);
    }

    @Test
    void regionsAreThePartsOfTheSigned() {
        ImagePlus mask = blobs(3, 10);
        ImagePlus signed = run(DISTANCE, mask, "region=signed");
        ImagePlus outside = run(DISTANCE, mask, "region=outside");
        ImagePlus inside = run(DISTANCE, mask, "region=inside");
        for (int z = 1; z <= 3; z++) {
            for (int p = 0; p < WIDTH * HEIGHT; p++) {
                float d = signed.getStack().getProcessor(z).getf(p);
                assertEquals(Math.max(d, 0), outside.getStack().getProcessor(z).getf(p));
                assertEquals(Math.max(-d, 0), inside.getStack().getProcessor(z).getf(p));
            }
        }
        assertEquals("Signed distance (pixels) of blobs", signed.getTitle());
        assertEquals("Outside distance (pixels) of blobs", outside.getTitle());
        assertEquals("Inside distance (pixels) of blobs", inside.getTitle());
    }

    @Test
    void whiteIsTheBoundaryAndColoursReachBothSides() {
        ImagePlus mask = blobs(1, 11);
        ImagePlus signed = run(DISTANCE, mask, "");
        double max = signed.getDisplayRangeMax();
        assertEquals(-max, signed.getDisplayRangeMin());
        double[] range = {signed.getStatistics().min, signed.getStatistics().max};
        assertTrue(max <= Math.max(-range[0], range[1]) && max >= Math.min(-range[0], range[1]));
        LUT lut = signed.getProcessor().getLut();
        assertTrue(lut.getBlue(0) > lut.getRed(0), "inside is blue");
        assertTrue(lut.getRed(255) > lut.getBlue(255), "outside is red");
        assertTrue(lut.getGreen(127) > 230 && lut.getGreen(128) > 230, "the boundary is white");
        ImagePlus inside = run(DISTANCE, mask, "region=inside");
        assertEquals(0, inside.getDisplayRangeMin());
        assertEquals(-range[0], inside.getDisplayRangeMax(), 1e-6);
    }

    @Test
    void resultTakesOverWhatDescribesTheInput() {
        ImagePlus brain = open("brain.tif");
        brain.setTitle("brain 1");
        scale(brain, 0.25, 0.5, 2);
        brain.getCalibration().frameInterval = 3;
        brain.getCalibration().setFunction(Calibration.STRAIGHT_LINE, new double[] {5, 2}, "density");
        brain.getStack().setSliceLabel("third", 3);
        brain.setProperty("Info", "taken on a Monday");
        Roi roi = new Roi(1, 2, 3, 4);
        roi.setPosition(2);
        brain.setOverlay(new Overlay(roi));
        byte[] before = ((byte[]) brain.getStack().getPixels(4)).clone();

        ImagePlus distance = run(DISTANCE, brain, "device=cpu threshold=100 stack=volume");

        assertEquals("Signed distance (\u00b5m) of brain 1", distance.getTitle());
        assertEquals(32, distance.getBitDepth());
        assertEquals(20, distance.getNSlices());
        assertEquals(2, distance.getCalibration().pixelDepth);
        assertEquals(3, distance.getCalibration().frameInterval);
        assertEquals(brain.getCalibration().getUnit(), distance.getCalibration().getUnit());
        assertEquals("\u00b5m", distance.getCalibration().getValueUnit());
        assertFalse(distance.getCalibration().calibrated(), "values are not the input's");
        assertEquals("third", distance.getStack().getSliceLabel(3));
        assertEquals(2, distance.getOverlay().get(0).getPosition());
        String info = (String) distance.getProperty("Info");
        assertTrue(info.startsWith("taken on a Monday\n"), info);
        assertTrue(info.contains("Isoline distance unit: \u00b5m"), info);
        assertTrue(info.contains("Isoline device: cpu"), info);
        assertTrue(info.contains("inside=bright threshold=100 region=signed stack=volume"), info);
        assertArrayEquals(before, (byte[]) brain.getStack().getPixels(4));
        assertFalse(brain.isLocked());
    }

    @Test
    void noBoundaryIsInfiniteAndSaid() {
        ImagePlus image = blobs(3, 12);
        Arrays.fill((byte[]) image.getStack().getPixels(2), (byte) 0);
        Arrays.fill((byte[]) image.getStack().getPixels(3), (byte) 255);
        Outcome slices = macro(image, "run(\"" + DISTANCE + "\", \"\");");
        ImagePlus distance = ij.WindowManager.getCurrentImage();
        assertEquals(Float.POSITIVE_INFINITY, ((float[]) distance.getStack().getPixels(2))[7]);
        assertEquals(Float.NEGATIVE_INFINITY, ((float[]) distance.getStack().getPixels(3))[7]);
        assertTrue(slices.log.contains("1 of 3 slices (the first at 2) has no pixel inside"));
        assertTrue(slices.log.contains("1 of 3 slices (the first at 3) has no pixel outside"));
        assertTrue(distance.getDisplayRangeMax() < 100, "infinite values are not for the display");
        image.setDimensions(1, 1, 3);
        image.setOpenAsHyperStack(true);
        assertTrue(macro(image, "run(\"" + DISTANCE + "\", \"all_frames\");")
                .log
                .contains("1 of 3 slices (the first at "));

        ImagePlus empty = new ImagePlus("empty", processor(8));
        for (String region : CApi.words("distance", "region")) {
            Outcome outcome = macro(
                    empty,
                    "run(\""
                            + DISTANCE
                            + "\", \"region="
                            + region
                            + "\");"
                            + "getMinAndMax(low, high);"
                            + "return \"\" + getPixel(1, 1) + \"|\" + (low < high);");
            boolean infinite = !region.equals("inside");
            assertEquals(infinite ? "Infinity|1" : "0|1", outcome.returned, outcome.log);
            assertTrue(
                    outcome.log.contains("the image has no pixel inside and so no boundary: all distances are "
                            + (infinite ? "infinite" : "0")),
                    outcome.log);
        }
    }

    @Test
    void blankUnitReadsAsPixels() {
        ImagePlus mask = blobs(1, 13);
        mask.getCalibration().setUnit(" ");
        ImagePlus made = run(DISTANCE, mask, "");
        assertTrue(made.getTitle().startsWith("Signed distance (pixels) of "), made.getTitle());
        assertEquals("pixels", made.getCalibration().getValueUnit());
    }

    @Test
    void doubtfulScalesAreSaid() {
        ImagePlus mask = blobs(3, 13);
        // Each row has the width, the unit, and whether a depth of 1 is doubtful.
        Object[][] scales = {
            {0.2, "um", false},
            {1.0, "um", true},
            {0.2, "pixel", true},
            {0.2, " ", true},
            {1.0, "pixel", false},
            {1.0, " ", false}
        };
        for (Object[] scale : scales) {
            scale(mask, (double) scale[0], (double) scale[0], 1);
            mask.getCalibration().setUnit((String) scale[1]);
            Outcome outcome = macro(mask, "run(\"" + DISTANCE + "\", \"stack=volume\");");
            String what = scale[0] + scale[1].toString() + ": " + outcome.log;
            assertEquals(scale[2], outcome.log.contains("the voxel depth is 1"), what);
        }
        assertFalse(
                macro(mask, "run(\"" + DISTANCE + "\", \"\");").log.contains("voxel depth"),
                "independent slices have no depth");
    }

    @Test
    void everyGpuGivesTheSameAsTheCpu() throws IsolineException {
        boolean found = false;
        for (DeviceInfo device : DeviceInfo.list()) {
            if (!device.isCuda() || !device.isUsable()) {
                continue;
            }
            found = true;
            ImagePlus brain = open("brain.tif");
            for (String stack : new String[] {"slices", "volume"}) {
                String options = "threshold=100 stack=" + stack;
                ImagePlus cpu = run(DISTANCE, brain, options + " device=cpu");
                ImagePlus gpu = run(DISTANCE, brain, options + " device=" + device.id());
                for (int z = 1; z <= brain.getStackSize(); z++) {
                    assertArrayEquals(
                            (float[]) cpu.getStack().getPixels(z),
                            (float[]) gpu.getStack().getPixels(z),
                            (float) EXACT);
                }
            }
        }
        if (!found) {
            System.out.println("distance's everyGpuGivesTheSameAsTheCpu is skipped: no GPU");
        }
        assumeTrue(found, "no GPU");
    }

    private static void check(ImagePlus got, boolean[][] inside, double x, double y, double z) {
        double[][] wanted = DistanceReference.volume(inside, WIDTH, x, y, z);
        for (int s = 0; s < wanted.length; s++) {
            float[] slice = (float[]) got.getStack().getPixels(s + 1);
            for (int p = 0; p < slice.length; p++) {
                assertEquals(wanted[s][p], slice[p], EXACT, "slice " + s + " pixel " + p);
            }
        }
    }

    private static boolean[][] inside(ImagePlus image, int threshold) {
        boolean[][] inside = new boolean[image.getStackSize()][];
        for (int z = 0; z < inside.length; z++) {
            ImageProcessor slice = image.getStack().getProcessor(z + 1);
            inside[z] = new boolean[slice.getPixelCount()];
            for (int p = 0; p < inside[z].length; p++) {
                inside[z][p] = slice.get(p) > threshold;
            }
        }
        return inside;
    }

    private static void scale(ImagePlus image, double x, double y, double z) {
        Calibration scale = image.getCalibration();
        scale.pixelWidth = x;
        scale.pixelHeight = y;
        scale.pixelDepth = z;
        scale.setUnit("um");
    }

    private static ImageProcessor processor(int bits) {
        return bits == 8
                ? new ByteProcessor(WIDTH, HEIGHT)
                : bits == 16 ? new ShortProcessor(WIDTH, HEIGHT) : new FloatProcessor(WIDTH, HEIGHT);
    }

    /** Returns discs of 255 on 0, some in every slice. */
    private static ImagePlus blobs(int slices, int seed) {
        Random random = new Random(seed);
        ImageStack stack = new ImageStack(WIDTH, HEIGHT);
        for (int z = 0; z < slices; z++) {
            ByteProcessor slice = new ByteProcessor(WIDTH, HEIGHT);
            slice.setColor(255);
            for (int i = 0; i < 3; i++) {
                int size = 2 + random.nextInt(7);
                slice.fill(new OvalRoi(random.nextInt(WIDTH), random.nextInt(HEIGHT - 3), size, size));
            }
            stack.addSlice(slice);
        }
        return new ImagePlus("blobs", stack);
    }

    private static void assertSamePixels(ImagePlus wanted, ImagePlus got) {
        assertEquals(wanted.getStackSize(), got.getStackSize());
        for (int i = 1; i <= wanted.getStackSize(); i++) {
            assertArrayEquals((float[]) wanted.getStack().getPixels(i), (float[])
                    got.getStack().getPixels(i));
        }
    }
}
