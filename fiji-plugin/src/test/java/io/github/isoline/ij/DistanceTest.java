package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Memory;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.Line;
import ij.gui.NewImage;
import ij.gui.OvalRoi;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.LUT;
import ij.process.ShortProcessor;
import io.github.isoline.IsolineException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the signed distance without a window: the C API's pixels, the inside pixels, the properties that the result
 * copies, macro options and failures.
 */
class DistanceTest extends HeadlessTest implements CommandContract {
    private static final int WIDTH = 23;
    private static final int HEIGHT = 17;

    @Override
    public String command() {
        return "Signed Distance...";
    }

    @Override
    public String quick() {
        return "threshold=100";
    }

    /** The plugin passes masks, this test the image itself and its threshold. */
    @ParameterizedTest
    @CsvSource({
        "horse.png,            8, 1, 0, 127, slices, 1,     1,    1",
        "camera.png,           8, 0, 1,  90, slices, 0.5,   0.25, 1",
        "cell.png,            16, 0, 2, 110, slices, 0.107, 0.107, 1",
        "microaneurysms.png,  32, 1, 0, 120, slices, 3,     7,    1",
        "brain.tif,            8, 0, 0, 100, slices, 0.9,   0.9,  5",
        "brain.tif,            8, 0, 0, 100, volume, 0.9,   0.9,  5",
        "brain.tif,           16, 1, 1, 100, volume, 1,     1,    1",
        "brain.tif,           32, 0, 2, 100, volume, 0.2,   0.3,  0.4"
    })
    void macroGivesWhatTheCApiGives(
            String name, int bits, int dark, int region, double threshold, String stack, double x, double y, double z)
            throws IOException {
        ImagePlus image = open(name);
        convert(image, bits);
        scale(image, x, y, z);
        String words = "device=cpu threshold=%s inside=%s region=%s stack=%s";
        String word = CApi.words("distance", "region")[region];
        String options = String.format(words, threshold, dark == 1 ? "dark" : "bright", word, stack);
        ImagePlus result = distance(image, options);

        Memory params = CApi.struct("isoline_distance_params_init", 24);
        params.setInt(4, stack.equals("volume") ? 3 : 2);
        params.setInt(8, dark);
        params.setInt(12, region);
        params.setDouble(16, threshold);
        Memory out = new Memory((long) image.getWidth() * image.getHeight() * image.getStackSize() * Float.BYTES);
        int type = bits == 8 ? CApi.TYPE_U8 : bits == 16 ? CApi.TYPE_U16 : CApi.TYPE_F32;
        Memory in = CApi.describe(image, type, CApi.pixels(image));
        in.setDouble(56, x);
        in.setDouble(64, y);
        in.setDouble(72, z);
        CApi.onCpu("isoline_distance", in, params, null, CApi.describe(image, CApi.TYPE_F32, out), null);
        CApi.assertSameBits(out, result);
    }

    @Test
    void whatIsSeenBrightIsInsideWhateverTheLut() {
        ImagePlus mask = blobs(1, 7);
        ImagePlus bright = distance(mask, "");
        ImagePlus dark = distance(mask, "inside=dark");
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            assertEquals(mask.getProcessor().get(p) > 0, bright.getProcessor().getf(p) < 0);
            assertEquals(bright.getProcessor().getf(p), -dark.getProcessor().getf(p));
        }
        // The picture on the screen is the same: values and LUT are both inverted.
        ImagePlus inverted = new ImagePlus("inverted", mask.getProcessor().duplicate());
        inverted.getProcessor().invert();
        inverted.getProcessor().invertLut();
        assertTrue(inverted.isInvertedLut());
        assertSamePixels(bright, distance(inverted, ""));
        assertSamePixels(dark, distance(inverted, "inside=dark"));
        assertSamePixels(bright, distance(inverted, "threshold=128"));
    }

    /** ImageJ's sample image of blobs has such a LUT. */
    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void proposedThresholdIsOtsusWhateverTheLut(int bits) throws Exception {
        ImagePlus cell = open("cell.png");
        IJ.run(cell, "8-bit", "");
        convert(cell, bits);
        String wanted = ShapeThreshold.proposal(cell);
        double[] range = {cell.getStatistics().min, cell.getStatistics().max};
        assertTrue(Double.parseDouble(wanted) > range[0] && Double.parseDouble(wanted) < range[1], wanted);
        cell.getProcessor().invertLut();
        assertTrue(cell.isInvertedLut());
        assertEquals(wanted, ShapeThreshold.proposal(cell));
        assertTrue(cell.isInvertedLut());
    }

    @Test
    void blankMaskHasNothingInsideAlsoWithASign() {
        ImagePlus blank = new ImagePlus("blank", processor(16));
        blank.getProcessor().setValue(32768);
        blank.getProcessor().fill();
        blank.getLocalCalibration().setSigned16BitCalibration();
        assertEquals(Float.POSITIVE_INFINITY, distance(blank, "").getProcessor().getf(3, 3));
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void twoValuesNeedNoThreshold(int bits) {
        ImagePlus mask = blobs(1, 8);
        ImagePlus wanted = distance(mask, "");
        for (double[] values : new double[][] {{0, 1}, {3, 200}, {0, 255}}) {
            ImageProcessor other = processor(bits);
            for (int p = 0; p < WIDTH * HEIGHT; p++) {
                other.setf(p, (float) values[mask.getProcessor().get(p) == 0 ? 0 : 1]);
            }
            assertSamePixels(wanted, distance(new ImagePlus("two", other), ""));
        }
    }

    @Test
    void thresholdIsAPixelValueAndBelongsToTheLower() {
        ImagePlus ramp = new ImagePlus("ramp", processor(16));
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            ramp.getProcessor().set(p, 60000 + p % WIDTH);
        }
        ImagePlus distance = distance(ramp, "threshold=60010");
        assertPixels(distance, 10, 3, 0.5f, -0.5f, -1.5f);
        ramp.getLocalCalibration().setSigned16BitCalibration();
        assertSamePixels(distance, distance(ramp, "threshold=" + (60010 - 32768)));
    }

    @Test
    void notANumberIsNeverInside() {
        FloatProcessor pixels = (FloatProcessor) processor(32);
        pixels.setValue(-1e30);
        pixels.fill();
        pixels.setf(5, 5, Float.NaN);
        pixels.setf(9, 9, Float.POSITIVE_INFINITY);
        ImagePlus image = new ImagePlus("nan", pixels);
        ImagePlus dark = distance(image, "inside=dark threshold=0");
        assertPixels(dark, 5, 5, 0.5f);
        assertPixels(dark, 9, 9, 0.5f);
        assertPixels(dark, 9, 8, -0.5f);
        ImagePlus bright = distance(image, "threshold=0");
        assertPixels(bright, 9, 9, -0.5f);
        assertTrue(bright.getProcessor().getf(5, 5) > 0);
    }

    @Test
    void thresholdThatTheImageShowsIsTaken() {
        ImagePlus ramp = new ImagePlus("ramp", processor(8));
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            ramp.getProcessor().set(p, p % WIDTH);
        }
        ramp.getProcessor().setThreshold(5, 9, ImageProcessor.NO_LUT_UPDATE);
        float[] wanted = {4.5f, 3.5f, 2.5f, 1.5f, .5f, -.5f, -1.5f, -2.5f, -1.5f, -.5f, .5f, 1.5f};
        assertPixels(distance(ramp, "inside=thresholded"), 0, 4, wanted);
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
        ImagePlus wanted = distance(new ImagePlus("drawn", drawn), "");
        assertTrue(wanted.getStatistics().min < -3);
        ImagePlus got = distance(image, "inside=selection");
        for (int z = 1; z <= 4; z++) {
            assertArrayEquals((float[]) wanted.getProcessor().getPixels(), pixels(got, z));
        }
        assertEquals(oval, image.getRoi());
        image.setRoi(2, 3, 4, 5);
        assertPixels(distance(image, "inside=selection"), 1, 5, .5f, -.5f, -1.5f, -1.5f, -.5f, .5f);
        // The threshold has no effect on the other choices.
        ImagePlus ignored = distance(image, "");
        image.deleteRoi();
        assertSamePixels(distance(image, ""), ignored);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Signed", "Outside", "Inside"})
    void titleNamesTheRegion(String region) {
        ImagePlus made = distance(blobs(3, 10), "region=" + region.toLowerCase(Locale.ROOT));
        assertEquals(region + " distance (pixels) of blobs", made.getTitle());
    }

    @Test
    void whiteIsTheBoundaryAndColoursReachBothSides() {
        ImagePlus mask = blobs(1, 11);
        ImagePlus signed = distance(mask, "");
        double max = signed.getDisplayRangeMax();
        assertEquals(-max, signed.getDisplayRangeMin());
        double[] range = {signed.getStatistics().min, signed.getStatistics().max};
        assertTrue(max <= Math.max(-range[0], range[1]) && max >= Math.min(-range[0], range[1]));
        LUT lut = signed.getProcessor().getLut();
        assertTrue(lut.getBlue(0) > lut.getRed(0), "inside is blue");
        assertTrue(lut.getRed(255) > lut.getBlue(255), "outside is red");
        assertTrue(lut.getGreen(127) > 230 && lut.getGreen(128) > 230, "the boundary is white");
        ImagePlus inside = distance(mask, "region=inside");
        assertEquals(0, inside.getDisplayRangeMin());
        assertEquals(-range[0], inside.getDisplayRangeMax(), 1e-6);
    }

    @Test
    void valuesAreInTheImagesUnit() {
        ImagePlus brain = open("brain.tif");
        scale(brain, 0.25, 0.5, 2);
        ImagePlus distance = distance(brain, "device=cpu threshold=100 stack=volume");
        assertEquals("Signed distance (\u00b5m) of brain.tif", distance.getTitle());
        assertEquals("\u00b5m", distance.getCalibration().getValueUnit());
        String info = (String) distance.getProperty("Info");
        assertTrue(info.contains("Isoline distance unit: \u00b5m"), info);
        assertTrue(info.contains("inside=bright threshold=100 region=signed stack=volume"), info);
        ImagePlus mask = blobs(1, 13);
        mask.getCalibration().setUnit(" ");
        ImagePlus made = distance(mask, "");
        assertEquals("Signed distance (pixels) of blobs", made.getTitle());
        assertEquals("pixels", made.getCalibration().getValueUnit());
    }

    @Test
    void noBoundaryIsInfiniteAndSaid() {
        ImagePlus image = blobs(3, 12);
        Arrays.fill((byte[]) image.getStack().getPixels(2), (byte) 0);
        Arrays.fill((byte[]) image.getStack().getPixels(3), (byte) 255);
        Outcome slices = macro(image, line(""));
        ImagePlus distance = WindowManager.getCurrentImage();
        assertEquals(Float.POSITIVE_INFINITY, pixels(distance, 2)[7]);
        assertEquals(Float.NEGATIVE_INFINITY, pixels(distance, 3)[7]);
        assertTrue(slices.log.contains("1 of 3 slices (the first at 2) has no pixel inside"));
        assertTrue(slices.log.contains("1 of 3 slices (the first at 3) has no pixel outside"));
        assertTrue(distance.getDisplayRangeMax() < 100, "infinite values are not for the display");
        image.setDimensions(1, 1, 3);
        image.setOpenAsHyperStack(true);
        assertTrue(macro(image, line("all_frames")).log.contains("1 of 3 slices (the first at "));

        ImagePlus empty = new ImagePlus("empty", processor(8));
        for (String region : CApi.words("distance", "region")) {
            String look = "getMinAndMax(low, high); return \"\" + getPixel(1, 1) + \"|\" + (low < high);";
            Outcome outcome = macro(empty, line("region=" + region) + look);
            boolean infinite = !region.equals("inside");
            assertEquals(infinite ? "Infinity|1" : "0|1", outcome.returned, outcome.log);
            assertTrue(
                    outcome.log.contains("the image has no pixel inside and so no boundary: all distances are "
                            + (infinite ? "infinite" : "0")),
                    outcome.log);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0.2, um,    volume, false",
        "1.0, um,    volume, true",
        "0.2, pixel, volume, true",
        "0.2, ' ',   volume, true",
        "1.0, pixel, volume, false",
        "1.0, ' ',   volume, false",
        "1.0, um,    slices, false"
    })
    void doubtfulScalesAreSaid(double width, String unit, String stack, boolean doubtful) {
        ImagePlus mask = blobs(3, 13);
        scale(mask, width, width, 1);
        mask.getCalibration().setUnit(unit);
        Outcome outcome = macro(mask, line("stack=" + stack));
        assertEquals(doubtful, outcome.log.contains("the voxel depth is 1"), outcome.log);
    }

    @Test
    void everyGpuGivesTheSameAsTheCpu() throws IsolineException {
        assertSameOnGpus(command(), "threshold=100", 1e-4f);
    }

    @Test
    void thresholdAndSelectionOfAMacroAreTaken() {
        ImagePlus camera = open("camera.png");
        String look = "return \"\" + getPixel(19, 40) + \"|\" + getPixel(20, 40);";
        Outcome shown = macro(camera, "setThreshold(0, 80);" + line("inside=thresholded") + look);
        Outcome dark = macro(camera, line("inside=dark threshold=80") + look);
        assertEquals(dark.returned, shown.returned, shown.log);
        Outcome box = macro(camera, "makeRectangle(20, 30, 40, 50);" + line("inside=selection") + look);
        assertEquals("0.5|-0.5", box.returned, box.log);
    }

    @Test
    void volumeIsOfOneChannelAndFrame() {
        ImagePlus hyper = CommandContract.hyperstack(false);
        String options = "threshold=100 stack=volume";
        hyper.setPosition(2, 1, 3);
        ImagePlus one = distance(hyper, options);
        ImagePlus all = distance(hyper, options + " all_channels all_frames");
        assertEquals("1 3 1", CommandContract.sizes(one));
        assertEquals("2 3 4", CommandContract.sizes(all));
        assertVolumesAlone(command(), options, hyper, all);
        for (int z = 1; z <= 3; z++) {
            assertArrayEquals(pixels(all, all.getStackIndex(2, z, 3)), pixels(one, z));
        }
    }

    @Test
    void currentSliceIsOfOneChannelAndOfTheFramesAskedFor() {
        ImagePlus hyper = CommandContract.hyperstack(false);
        hyper.setPosition(2, 3, 1);
        ImagePlus slices = distance(hyper, "threshold=100 all_frames");
        ImagePlus current = distance(hyper, "threshold=100 stack=current all_frames");
        assertEquals("1 1 4", CommandContract.sizes(current));
        for (int t = 1; t <= 4; t++) {
            assertArrayEquals(pixels(slices, slices.getStackIndex(1, 3, t)), pixels(current, t));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "threshold=auto        | has more than two values, so there is no automatic threshold",
                "inside=dark           | Give one (threshold=VALUE",
                "threshold=high        | threshold must be \"auto\" or a number, got \"high\"",
                "threshold=NaN         | threshold must be \"auto\" or a number",
                "threshold=1e999       | threshold must be \"auto\" or a number",
                "inside=white          | inside must be one of bright, dark, thresholded, selection",
                "inside=thresholded    | shows no threshold. Set one with Image > Adjust > Threshold",
                "inside=selection      | inside=selection needs a selection with an area on",
                "inside=selection threshold=9 | threshold is used with inside=bright and inside=dark",
                "region=both           | region must be one of signed, outside, inside",
                "threshold=9 stack=all     | stack must be one of slices, volume, current",
                "threshold=9 stack=volume  | is a single image",
                "threshold=9 all_frames=1  | all_frames is a switch: write all_frames alone",
                "threshold=9 device=cuda:99| cuda:99",
                "treshold=9            | There is no option \"treshold\". The options are device,",
                "signed                | not of the form key=value"
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = open("microaneurysms.png");
        assertRefused(image, options, sentence);
        // The plugin still works afterwards.
        assertEquals(32, distance(image, "threshold=100").getBitDepth());
    }

    @Test
    void imagesThatDoNotFitAreSaid() {
        ImagePlus image = open("microaneurysms.png");
        image.setRoi(new Line(3, 4, 30, 40));
        assertRefused(image, "inside=selection", "needs a selection with an area");
        image.getCalibration().pixelWidth = 0;
        assertRefused(image, "threshold=100", "Set pixel width and height in Image > Properties");
        ImagePlus film = NewImage.createByteImage("film", 8, 8, 5, NewImage.FILL_BLACK);
        film.setDimensions(1, 1, 5);
        assertRefused(film, "stack=volume", "5 frame(s), which are never mixed into a volume");
    }

    @Test
    void escapeCancelsAndLeavesNothingBehind() {
        ImagePlus stack = longStack(512, 400, 1);
        pressEscapeAfter(50, stack);
        assertCancelled(stack, "stack=volume");
        assertEquals(32, distance(open("horse.png"), "").getBitDepth());
    }

    /** Asserts that pixels have these values, from one on to the right. */
    private static void assertPixels(ImagePlus image, int x, int y, float... wanted) {
        for (int i = 0; i < wanted.length; i++) {
            assertEquals(wanted[i], image.getProcessor().getf(x + i, y), 1e-6f, "at " + (x + i) + ", " + y);
        }
    }

    private static ImagePlus distance(ImagePlus image, String options) {
        return run("Signed Distance...", image, options);
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
}
