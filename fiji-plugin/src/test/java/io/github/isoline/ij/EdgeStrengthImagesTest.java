package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.CompositeImage;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.process.ImageProcessor;
import ij.process.LUT;
import io.github.isoline.IsolineException;
import java.awt.Color;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests results of images: pixel types, stacks, and the properties that a result copies. */
class EdgeStrengthImagesTest extends HeadlessTest {
    /** The largest difference of CPU and GPU results from float64. */
    private static final double EXACT = 1e-5;

    @Test
    void eightBitAgreesWithTheDefinition() {
        ImagePlus horse = open("horse.png");
        ImagePlus esf = run(horse, "rho=32 mode=iterations iterations=30 foreground=below threshold=127");
        check(esf, shape(horse, 127, false), 32, 30, 0.2, false);
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void otherDepthsGiveTheSameAsEightBit(int bits) {
        ImagePlus camera = open("camera.png");
        ImagePlus converted = new ImagePlus("converted", processor(camera, bits));
        assertEquals(bits, converted.getBitDepth());
        String options = "rho=16 mode=iterations iterations=20 threshold=200";
        assertArrayEquals((float[]) run(camera, options).getProcessor().getPixels(), (float[])
                run(converted, options).getProcessor().getPixels());
    }

    @Test
    void sixteenBitValuesAreUnsigned() {
        ImagePlus image = new ImagePlus("high", processor(open("camera.png"), 16));
        image.getProcessor().multiply(257);
        assertTrue(image.getStatistics().max > 40000);
        ImagePlus esf = run(image, "rho=16 mode=iterations iterations=20 threshold=40000");
        check(esf, shape(image, 40000, true), 16, 20, 0.2, false);
    }

    @Test
    void signedSixteenBitThresholdIsTheValueThatImageJShows() {
        ImagePlus camera = open("camera.png");
        ImagePlus signed = new ImagePlus("signed", processor(camera, 16));
        signed.getProcessor().add(32768 - 100);
        signed.getLocalCalibration().setSigned16BitCalibration();
        assertEquals(
                camera.getProcessor().getPixelValue(7, 9) - 100,
                signed.getProcessor().getPixelValue(7, 9));
        assertArrayEquals(
                (float[]) run(camera, "threshold=90 mode=iterations iterations=10")
                        .getProcessor()
                        .getPixels(),
                (float[]) run(signed, "threshold=-10 mode=iterations iterations=10")
                        .getProcessor()
                        .getPixels());
    }

    @Test
    void startFromTheImageScalesTheGreyRangeOfTheWholeStack() throws Exception {
        ImagePlus brain = crop(open("brain.tif"), 6);
        ImagePlus deep = new ImagePlus("16-bit", brain.getStack().duplicate());
        new ij.process.StackConverter(deep).convertToGray16();
        String options = "start=image mode=iterations iterations=5 threshold=200 stack=slices";
        ImagePlus whole = run(deep, options);
        // Each call has one slice: the range must not become that of the slice.
        assertSameInParts(whole, new EdgeStrengthJob(deep, Settings.fromMacro(new EdgeStrengthSettings(), options)), 1);
    }

    @Test
    void currentSliceIsOfOneChannelAndOfTheFramesAskedFor() {
        ImagePlus hyper = CommandContract.hyperstack(false);
        hyper.setPosition(2, 3, 1);
        for (String mode : new String[] {" mode=iterations iterations=5", " find=axes overlay"}) {
            ImagePlus slices = run(hyper, "threshold=100 all_frames" + mode);
            ImagePlus current = run(hyper, "threshold=100 stack=current all_frames" + mode);
            assertEquals("1 1 4", CommandContract.sizes(current));
            for (int t = 1; t <= 4; t++) {
                assertArrayEquals(pixels(slices, slices.getStackIndex(1, 3, t)), pixels(current, t));
            }
        }
        for (Roi roi : hyper.getOverlay().toArray()) {
            assertEquals("2 3", roi.getCPosition() + " " + roi.getZPosition());
        }
    }

    @Test
    void toleranceThatIsNotReachedIsSaid() {
        String line = "run(\"" + COMMAND + "\", \"foreground=below threshold=127 max_cycles=1 tolerance=1e-9\");";
        String log = macro(open("horse.png"), line).log;
        assertTrue(log.contains("the tolerance 1.0E-9 was not reached after 1 cycle (residual "), log);
        assertTrue(log.contains("Raise max_cycles or the tolerance."), log);
    }

    @Test
    void greyRangeIsThatOfThePlanesThatAreTaken() {
        ImagePlus camera = open("camera.png");
        ImageStack stack = new ImageStack(camera.getWidth(), camera.getHeight());
        for (int c = 1; c <= 2; c++) {
            ImageProcessor channel = processor(camera, 16);
            channel.multiply(c == 1 ? 1 : 200);
            stack.addSlice(channel);
        }
        ImagePlus two = new ImagePlus("two", stack);
        two.setDimensions(2, 1, 1);
        String options = "start=image mode=iterations iterations=5 threshold=150";
        ImagePlus alone = run(new ImagePlus("one", processor(camera, 16)), options);
        assertSamePixels(alone, run(two, options));
        ImagePlus both = run(two, options + " all_channels");
        assertArrayEquals((float[]) alone.getProcessor().getPixels(), (float[])
                both.getStack().getPixels(1));
        two.setDimensions(1, 1, 2);
        both = run(two, options + " all_frames");
        // The brighter frame extends the range of both.
        double darker = both.getStack().getProcessor(1).getStatistics().mean;
        assertTrue(darker < alone.getStatistics().mean, "mean " + darker);
    }

    @Test
    void stackIsEachSliceByItself() {
        ImagePlus brain = open("brain.tif");
        ImagePlus esf = run(brain, "rho=8 mode=iterations iterations=20 threshold=200");
        assertEquals(20, esf.getStackSize());
        for (int z : new int[] {1, 9, 20}) {
            ImagePlus slice =
                    new ImagePlus("one", brain.getStack().getProcessor(z).duplicate());
            ImagePlus alone = run(slice, "rho=8 mode=iterations iterations=20 threshold=200");
            assertArrayEquals((float[]) alone.getProcessor().getPixels(), (float[])
                    esf.getStack().getPixels(z));
        }
    }

    @Test
    void stackIsOneVolume() {
        ImagePlus brain = crop(open("brain.tif"), 7);
        ImagePlus esf = run(brain, "rho=8 mode=iterations iterations=15 threshold=200 stack=volume");
        // The automatic step keeps a tenth below the limit 1 / (6 + 1/ρ²).
        check(esf, shape(brain, 200, true), 8, 15, 0.9 / (6 + 1 / 64.0), true);
    }

    @Test
    void volumeHasTheVoxelSizeOfItsCalibration() {
        ImagePlus brain = crop(open("brain.tif"), 7);
        String options = "rho=8 mode=iterations iterations=15 threshold=200";
        ImagePlus cubes = run(brain, options + " stack=volume");
        scale(brain, 0.2, 0.2, 0.2);
        assertSamePixels(cubes, run(brain, options + " stack=volume"));
        ImagePlus slices = run(brain, options);
        scale(brain, 0.5, 0.5, 1.5);
        assertSamePixels(slices, run(brain, options));
        // The decay length is in widths of a pixel, of which the slices are three apart.
        ImagePlus flat = run(brain, options + " stack=volume");
        double[][] wanted = Reference.iterate(shape(brain, 200, true), brain.getWidth(), 8, 0.15, 15, 1 / 9.0);
        assertClose(wanted, flat);
        // Converged, too, it does not depend on the unit.
        String converged = "rho=8 threshold=200 stack=volume device=cpu";
        ImagePlus half = run(brain, converged);
        scale(brain, 1, 1, 3);
        assertSamePixels(half, run(brain, converged));
    }

    @Test
    void doubtfulVoxelDepthOfAVolumeIsSaid() {
        ImagePlus brain = crop(open("brain.tif"), 3);
        scale(brain, 0.5, 0.5, 1);
        brain.getCalibration().setUnit("pixel");
        String command = "run(\"" + COMMAND + "\", \"mode=iterations iterations=1 threshold=200";
        String log = macro(brain, command + " stack=volume\");").log;
        assertTrue(log.contains("the voxel depth is 1, "), log);
        log = macro(brain, command + "\");").log;
        assertFalse(log.contains("voxel depth"), log);
        scale(brain, 0, 0.5, 1);
        log = macro(brain, command + " stack=volume\");").log;
        assertTrue(log.contains("have the size 0 x 0.500"), log);
    }

    private static void scale(ImagePlus image, double x, double y, double z) {
        Calibration size = image.getCalibration();
        size.pixelWidth = x;
        size.pixelHeight = y;
        size.pixelDepth = z;
        size.setUnit("um");
    }

    @Test
    void stackInSeveralCallsIsTheStackInOne() throws Exception {
        ImagePlus brain = open("brain.tif");
        String options = "rho=8 mode=iterations iterations=10 threshold=200";
        ImagePlus whole = run(brain, options);
        long slice = (long) brain.getWidth() * brain.getHeight() * 5;
        for (long bytes : new long[] {1, slice * 3, slice * 19}) {
            EdgeStrengthJob job = new EdgeStrengthJob(brain, Settings.fromMacro(new EdgeStrengthSettings(), options));
            assertSameInParts(whole, job, bytes);
        }
    }

    @Test
    void volumeNeverMixesChannelsOrFrames() {
        ImagePlus brain = open("brain.tif");
        // The image has 2 channels, 5 slices, 2 frames: ImageJ stores channels fastest, then
        // slices.
        ImagePlus hyper = new ImagePlus("hyper", brain.getStack());
        hyper.setDimensions(2, 5, 2);
        hyper.setOpenAsHyperStack(true);
        ImagePlus composite = new CompositeImage(hyper, CompositeImage.COMPOSITE);
        String options = "rho=8 mode=iterations iterations=10 threshold=200 stack=volume";
        ImagePlus esf = run(composite, options + " all_channels all_frames");
        assertEquals(2, esf.getNChannels());
        assertEquals(5, esf.getNSlices());
        assertEquals(2, esf.getNFrames());
        assertTrue(esf.isHyperStack() || esf.getOpenAsHyperStack());
        assertVolumesAlone(COMMAND, options, hyper, esf);
    }

    @Test
    void convergedModeIsSteady() {
        ImagePlus image = open("microaneurysms.png");
        String options = "threshold=120 rho=4 mode=converged tolerance=1e-6";
        float[] v = (float[]) run(image, options).getProcessor().getPixels();
        int width = image.getWidth();
        boolean[] shape = shape(image, 120, true)[0];
        double worst = 0;
        for (int y = 1; y < image.getHeight() - 1; y++) {
            for (int x = 1; x < width - 1; x++) {
                int p = y * width + x;
                if (shape[p]) {
                    assertEquals(1f, v[p]);
                } else {
                    double sum = (double) v[p - 1] + v[p + 1] + v[p - width] + v[p + width];
                    worst = Math.max(worst, Math.abs(sum - (4 + 1 / 16.0) * v[p]));
                }
            }
        }
        assertTrue(worst < 1e-5, "residual " + worst);
    }

    @Test
    void greyCalibrationDoesNotReachTheResult() {
        ImagePlus coins = open("coins.png");
        coins.getCalibration().setFunction(Calibration.STRAIGHT_LINE, new double[] {5, 2}, "optical density");
        assertTrue(coins.getCalibration().calibrated());
        ImagePlus esf = run(coins, "mode=iterations iterations=3 threshold=405");
        assertFalse(esf.getCalibration().calibrated());
        // The threshold is a value that ImageJ shows.
        check(esf, shape(coins, 200, true), 64, 3, 0.2, false);
    }

    @Test
    void colourTablesAreKeptWhereTheyMakeSense() {
        ImagePlus camera = open("camera.png");
        ImagePlus red = new ImagePlus("red", processor(camera, 16));
        red.setLut(LUT.createLutFromColor(Color.red));
        LUT kept = run(red, "mode=iterations iterations=1 threshold=200")
                .getProcessor()
                .getLut();
        assertEquals(0, kept.getGreen(255));
        assertEquals(255, kept.getRed(255));

        ImagePlus inverted = open("camera.png");
        inverted.getProcessor().invertLut();
        ImagePlus esf = run(inverted, "mode=iterations iterations=1 threshold=200");
        assertFalse(esf.isInvertedLut());
        // An inverting LUT changes the display, not the computation.
        assertSamePixels(run(camera, "mode=iterations iterations=1 threshold=200"), esf);
    }

    @Test
    void compositeKeepsItsChannelColours() {
        ImageStack stack = new ImageStack(64, 64);
        for (int i = 0; i < 2; i++) {
            ImageProcessor camera = open("camera.png").getProcessor();
            camera.setRoi(64 * i, 64, 64, 64);
            stack.addSlice(camera.crop());
        }
        ImagePlus two = new ImagePlus("two", stack);
        two.setDimensions(2, 1, 1);
        CompositeImage composite = new CompositeImage(two, CompositeImage.COLOR);
        composite.setChannelLut(LUT.createLutFromColor(Color.magenta), 2);
        ImagePlus esf = run(composite, "mode=iterations iterations=1 threshold=100 all_channels");
        assertTrue(esf.isComposite());
        LUT lut = ((CompositeImage) esf).getChannelLut(2);
        assertEquals(255, lut.getRed(255));
        assertEquals(0, lut.getGreen(255));
        assertEquals(0, lut.min);
        assertEquals(1, lut.max);
        assertEquals(CompositeImage.COLOR, ((CompositeImage) esf).getMode());
        composite.setC(2);
        ImagePlus second = run(composite, "mode=iterations iterations=1 threshold=100");
        assertFalse(second.isComposite());
        assertEquals(0, second.getProcessor().getLut().getGreen(255));
        assertEquals(1, second.getDisplayRangeMax());
    }

    @Test
    void fieldThatIsNearlyOneIsDisplayedFromItsSmallestValue() {
        ImagePlus coins = open("coins.png");
        ImagePlus esf = run(coins, "threshold=128");
        double smallest = esf.getStatistics().min;
        assertTrue(smallest > 0.5 && smallest < 0.99, "smallest " + smallest);
        assertEquals(smallest, esf.getDisplayRangeMin(), 1e-6);
        assertEquals(1, esf.getDisplayRangeMax());
    }

    @Test
    void fromJavaWithoutMacroOrWindow() {
        ImagePlus horse = open("horse.png");
        StackCommand plugin = (StackCommand) ij.IJ.runPlugIn(horse, StackCommand.class.getName(), "edge_strength");
        assertNotNull(plugin.getResult());
        assertEquals("ESF of horse.png", plugin.getResult().getTitle());
        assertNull(horse.getOverlay());
    }

    @Test
    void everyGpuGivesTheSameAsTheCpu() throws IsolineException {
        assertSameOnGpus(COMMAND, "rho=16 mode=iterations iterations=200 threshold=200", 1e-6f);
    }

    private static void assertClose(double[][] wanted, ImagePlus made) {
        for (int z = 0; z < wanted.length; z++) {
            float[] got = (float[]) made.getStack().getPixels(z + 1);
            for (int p = 0; p < got.length; p++) {
                assertEquals(wanted[z][p], got[p], EXACT, "slice " + z + " pixel " + p);
            }
        }
    }

    private static void check(
            ImagePlus esf, boolean[][] shape, double rho, int iterations, double step, boolean volume) {
        double[][] wanted = Reference.iterate(shape, esf.getWidth(), rho, step, iterations, volume);
        assertClose(wanted, esf);
    }

    private static boolean[][] shape(ImagePlus image, double threshold, boolean above) {
        boolean[][] shape = new boolean[image.getStackSize()][];
        for (int z = 0; z < shape.length; z++) {
            ImageProcessor slice = image.getStack().getProcessor(z + 1);
            shape[z] = new boolean[slice.getPixelCount()];
            for (int p = 0; p < shape[z].length; p++) {
                shape[z][p] = slice.getf(p) > threshold == above;
            }
        }
        return shape;
    }

    private static ImageProcessor processor(ImagePlus image, int bits) {
        ImageProcessor from = image.getProcessor();
        return bits == 16 ? from.convertToShort(false) : from.convertToFloat();
    }

    private static ImagePlus crop(ImagePlus image, int slices) {
        ImageStack stack = new ImageStack(60, 50);
        for (int z = 1; z <= slices; z++) {
            ImageProcessor slice = image.getStack().getProcessor(z);
            slice.setRoi(60, 80, 60, 50);
            stack.addSlice(slice.crop());
        }
        return new ImagePlus("crop", stack);
    }

    @Test
    void thresholdOfAMaskIsFoundBetweenItsValues() {
        ImagePlus mask = open("coins.png");
        for (int p = 0; p < mask.getProcessor().getPixelCount(); p++) {
            mask.getProcessor().set(p, mask.getProcessor().get(p) > 110 ? 97 : 20);
        }
        assertSamePixels(
                run(mask, "mode=iterations iterations=5 threshold=50"), run(mask, "mode=iterations iterations=5"));
    }

    @Test
    void thresholdThatTheImageShowsIsTaken() {
        ImagePlus coins = open("coins.png");
        coins.getProcessor().setThreshold(111, 255, ImageProcessor.NO_LUT_UPDATE);
        String options = "mode=iterations iterations=5 foreground=";
        ImagePlus wanted = run(coins, options + "above threshold=110");
        assertSamePixels(wanted, run(coins, options + "thresholded"));
        // A range with two limits is a mask that no single threshold gives.
        coins.getProcessor().setThreshold(60, 110, ImageProcessor.NO_LUT_UPDATE);
        ImagePlus band = run(coins, options + "thresholded");
        for (int p = 0; p < band.getProcessor().getPixelCount(); p++) {
            int value = coins.getProcessor().get(p);
            assertEquals(value >= 60 && value <= 110, band.getProcessor().getf(p) == 1);
        }
    }

    @Test
    void shapeOfNoOrAllPixelsIsSaid() {
        String command = "run(\"" + COMMAND + "\", \"mode=iterations iterations=1 threshold=";
        String log = macro(open("coins.png"), command + "0\");").log;
        assertTrue(log.contains("the image has no pixel that is not shape"), log);
        log = macro(open("coins.png"), command + "255\");").log;
        assertTrue(log.contains("the image has no pixel that is shape"), log);
        log = macro(open("coins.png"), command + "110\");").log;
        assertFalse(log.contains("shape"), log);
    }
}
