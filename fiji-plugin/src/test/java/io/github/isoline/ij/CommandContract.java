package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.CompositeImage;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.VirtualStack;
import ij.WindowManager;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.process.ByteProcessor;
import ij.process.ColorProcessor;
import ij.process.ImageConverter;
import ij.process.ImageProcessor;
import ij.process.StackConverter;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The common behaviour of every command that makes an image from an image: the planes of a hyperstack that it takes,
 * the properties that it copies, and its failures. The test of a command implements this.
 */
interface CommandContract {
    int CHANNELS = 2;
    int SLICES = 3;
    int FRAMES = 4;
    int SIDE = 40;

    /** Returns the command's name in the menu. */
    String command();

    /** Returns options with which it makes an image, slice by slice and quickly. */
    String quick();

    /** Returns a line of a macro. */
    default String line(String options) {
        return "run(\"" + command() + "\", \"" + options + "\");";
    }

    /** Asserts that a macro with these options ends with this sentence and without any effect. */
    default void assertRefused(ImagePlus image, String options, String sentence) {
        HeadlessTest.Outcome outcome = HeadlessTest.macro(image, "\n" + line(options) + "print(\"went on\");");
        assertEquals(HeadlessTest.ABORTED, outcome.returned, outcome.log);
        assertFalse(outcome.log.contains("went on"), outcome.log);
        HeadlessTest.assertOneSentence(outcome.log, sentence);
        assertTrue(outcome.log.contains("(macro line 2)"), outcome.log);
        assertFalse(image != null && image.isLocked());
    }

    /** Asserts that Escape ends a macro within seconds, and that the image is unlocked after it. */
    default void assertCancelled(ImagePlus image, String options) {
        HeadlessTest.Outcome outcome = assertTimeoutPreemptively(
                Duration.ofSeconds(30), () -> HeadlessTest.macro(image, line(options) + "print(\"went on\");"));
        assertEquals(HeadlessTest.ABORTED, outcome.returned, outcome.log);
        String name = command().replace("...", "") + " (" + image.getTitle() + ")";
        HeadlessTest.assertOneSentence(outcome.log, name + ": cancelled");
        assertFalse(image.isLocked());
        assertFalse(IJ.escapePressed());
    }

    @Test
    default void rgbImagesAreToldWhatToDo() {
        ImagePlus rgb = HeadlessTest.open("microaneurysms.png");
        new ImageConverter(rgb).convertToRGB();
        assertRefused(rgb, quick(), "works on one channel: choose \"RGB as luminance\" (option luminance)");
        assertRefused(rgb, quick(), "Split Channels");
    }

    @Test
    default void rgbIsTakenAsLuminanceOnRequest() {
        ImagePlus rgb = coloured();
        ImagePlus grey = rgb.duplicate();
        double[] usual = ColorProcessor.getWeightingFactors();
        // These are the weights of ImageJ's own weighted conversion, which is off.
        ColorProcessor.setWeightingFactors(0.299, 0.587, 0.114);
        try {
            new StackConverter(grey).convertToGray8();
        } finally {
            ColorProcessor.setWeightingFactors(usual[0], usual[1], usual[2]);
        }
        ImagePlus made = HeadlessTest.run(command(), rgb, quick() + " luminance");
        ImagePlus wanted = HeadlessTest.run(command(), grey, quick());
        assertEquals(wanted.getBitDepth(), made.getBitDepth());
        for (int z = 1; z <= SLICES; z++) {
            assertArrayEquals(
                    (float[]) wanted.getStack().getProcessor(z).convertToFloat().getPixels(),
                    (float[]) made.getStack().getProcessor(z).convertToFloat().getPixels());
        }
        assertTrue(made.getStatistics().max > made.getStatistics().min, "nothing is compared");
        assertTrue(((String) made.getProperty("Info")).contains(" luminance"));
    }

    /** Returns an RGB stack whose channels differ. */
    static ImagePlus coloured() {
        ImagePlus cell = HeadlessTest.open("microaneurysms.png");
        ImageStack slices = new ImageStack(SIDE, SIDE);
        for (int z = 0; z < SLICES; z++) {
            ColorProcessor slice = new ColorProcessor(SIDE, SIDE);
            for (int channel = 1; channel <= 3; channel++) {
                cell.getProcessor().setRoi(7 * channel, 5 * z, SIDE, SIDE);
                slice.setChannel(channel, (ByteProcessor) cell.getProcessor().crop());
            }
            slices.addSlice(slice);
        }
        return new ImagePlus("colours", slices);
    }

    @Test
    default void noImageIsSaid() {
        assertRefused(null, quick(), "No image is open");
    }

    @Test
    default void imageInUseIsSaid() throws InterruptedException {
        ImagePlus image = HeadlessTest.open("microaneurysms.png");
        Thread other = new Thread(image::lock);
        other.start();
        other.join();
        HeadlessTest.Outcome outcome = HeadlessTest.macro(image, line(quick()));
        assertEquals(HeadlessTest.ABORTED, outcome.returned);
        HeadlessTest.assertOneSentence(outcome.log, "in use by another command");
        image.unlock();
    }

    @Test
    default void everyLineOfTheLogNamesTheImage() {
        ImagePlus image = HeadlessTest.open("microaneurysms.png");
        image.setTitle("my eye.tif");
        String wrong = line("no_such_key=1");
        String log = HeadlessTest.macro(image, line(quick())).log + HeadlessTest.macro(image, wrong).log;
        String[] lines = log.trim().split("\n");
        assertTrue(lines.length >= 2, log);
        for (String line : lines) {
            String name = command().replace("...", "") + " (my eye.tif): ";
            assertTrue(line.startsWith(name), line);
        }
    }

    @Test
    default void currentChannelAndFrameAreTakenUnlessAllAreAskedFor() {
        ImagePlus hyper = hyperstack(false);
        hyper.setPosition(2, 3, 4);
        HeadlessTest.Outcome outcome = HeadlessTest.macro(hyper, line(quick()));
        ImagePlus made = WindowManager.getCurrentImage();
        assertTrue(made != hyper, outcome.log);
        assertTrue(outcome.log.contains("channel 2 of 2, frame 4 of 4"), outcome.log);
        assertEquals("1 3 1", sizes(made));
        String info = (String) made.getProperty("Info");
        assertTrue(info.contains("Isoline planes: channel 2 of 2, frame 4 of 4"), info);
        assertPlanes(hyper, made, quick());
        assertEquals(3, made.getCurrentSlice());
        // Another position selects other planes: nothing is remembered.
        hyper.setPosition(1, 1, 2);
        assertPlanes(hyper, HeadlessTest.run(command(), hyper, quick()), quick());
    }

    @ParameterizedTest
    @ValueSource(strings = {"all_channels", "all_frames", "all_channels all_frames"})
    default void allOfAHyperstackAreTakenOnRequest(String all) {
        ImagePlus hyper = hyperstack(false);
        hyper.setPosition(2, 2, 3);
        ImagePlus made = HeadlessTest.run(command(), hyper, quick() + " " + all);
        boolean channels = all.contains("all_channels");
        boolean frames = all.contains("all_frames");
        assertEquals((channels ? CHANNELS : 1) + " " + SLICES + " " + (frames ? FRAMES : 1), sizes(made));
        assertTrue(made.getOpenAsHyperStack());
        assertPlanes(hyper, made, quick());
        assertEquals(channels ? 2 : 1, made.getC());
        assertEquals(2, made.getZ());
        assertEquals(frames ? 3 : 1, made.getT());
    }

    @Test
    default void compositeIsTakenByTheChannelThatIsShown() {
        ImagePlus composite = new CompositeImage(hyperstack(false), CompositeImage.COMPOSITE);
        composite.setPosition(2, 1, 3);
        ImagePlus made = HeadlessTest.run(command(), composite, quick());
        assertFalse(made.isComposite());
        assertPlanes(composite, made, quick());
        made = HeadlessTest.run(command(), composite, quick() + " all_channels");
        assertEquals("2 3 1", sizes(made));
        assertPlanes(composite, made, quick());
    }

    @Test
    default void virtualStackIsReadPlaneByPlane() {
        ImagePlus hyper = hyperstack(true);
        assertTrue(hyper.getStack().isVirtual());
        hyper.setPosition(1, 2, 3);
        assertPlanes(hyper, HeadlessTest.run(command(), hyper, quick()), quick());
        ImagePlus all = HeadlessTest.run(command(), hyper, quick() + " all_channels all_frames");
        assertEquals("2 3 4", sizes(all));
        assertPlanes(hyper, all, quick());
    }

    @Test
    default void filmIsTakenFrameByFrame() {
        ImagePlus hyper = hyperstack(false);
        ImagePlus film = new ImagePlus("film", hyper.getStack());
        film.setDimensions(1, 1, film.getStackSize());
        film.setSlice(17);
        ImagePlus one = HeadlessTest.run(command(), film, quick());
        assertEquals("1 1 1", sizes(one));
        assertPlanes(film, one, quick());
        ImagePlus all = HeadlessTest.run(command(), film, quick() + " all_frames");
        assertEquals("1 1 24", sizes(all));
        assertPlanes(film, all, quick());
    }

    @Test
    default void selectionsAndScaleGoToTheirPlanes() {
        ImagePlus hyper = hyperstack(false);
        Roi everywhere = new Roi(1, 1, 3, 3);
        Roi[] own = {everywhere, at(1, 2, 3), at(2, 3, 3), at(2, 0, 0), at(2, 1, 4)};
        Overlay overlay = new Overlay();
        for (Roi roi : own) {
            overlay.add(roi);
        }
        hyper.setOverlay(overlay);
        hyper.setPosition(2, 2, 3);
        ImagePlus made = HeadlessTest.run(command(), hyper, quick());
        assertEquals(0.5, made.getCalibration().pixelWidth);
        assertEquals(1.5, made.getCalibration().pixelDepth);
        assertEquals(7, made.getCalibration().frameInterval);
        assertEquals("\u00b5m", made.getCalibration().getUnits());
        // One element is everywhere; one at c2 z3 t3, which is slice 3 now; one at c2 in every
        // slice and frame.
        assertEquals("0 3 0", stackPositions(made));
        made = HeadlessTest.run(command(), hyper, quick() + " all_frames");
        assertEquals("0/0/0 1/3/3 1/0/0 1/1/4", hyperPositions(made));
        assertEquals(own.length, hyper.getOverlay().size(), "the input has its own");
    }

    @Test
    default void resultTakesOverWhatDescribesTheInput() {
        ImagePlus brain = HeadlessTest.open("brain.tif");
        brain.setTitle("brain 1");
        Calibration scale = brain.getCalibration();
        scale.pixelWidth = 0.25;
        scale.pixelHeight = 0.5;
        scale.pixelDepth = 2;
        scale.frameInterval = 3;
        scale.xOrigin = 11;
        scale.setUnit("um");
        scale.setFunction(Calibration.STRAIGHT_LINE, new double[] {5, 2}, "density");
        brain.getStack().setSliceLabel("third", 3);
        brain.setProperty("Info", "taken on a Monday");
        Roi own = new Roi(1, 2, 3, 4);
        own.setPosition(2);
        brain.setOverlay(new Overlay(own));
        byte[] before = ((byte[]) brain.getStack().getPixels(4)).clone();

        ImagePlus made = HeadlessTest.run(command(), brain, quick() + " device=cpu");

        Calibration taken = made.getCalibration();
        double[] sizes = {taken.pixelWidth, taken.pixelHeight, taken.pixelDepth, taken.frameInterval, taken.xOrigin};
        assertArrayEquals(new double[] {0.25, 0.5, 2, 3, 11}, sizes);
        assertEquals(scale.getUnit(), taken.getUnit());
        assertFalse(taken.calibrated(), "values are not the input's");
        assertTrue(made.getTitle().endsWith(" of brain 1"), made.getTitle());
        assertEquals(brain.getNSlices(), made.getNSlices());
        assertEquals("third", made.getStack().getSliceLabel(3));
        assertEquals(1, made.getOverlay().size());
        assertEquals(2, made.getOverlay().get(0).getPosition());
        assertFalse(made.isInvertedLut());
        String info = (String) made.getProperty("Info");
        assertTrue(info.startsWith("taken on a Monday\n"), info);
        assertTrue(info.contains("Isoline device: cpu"), info);
        for (String option : quick().split(" ")) {
            assertTrue(info.contains(option), option + " in " + info);
        }
        // The input is unchanged.
        assertArrayEquals(before, (byte[]) brain.getStack().getPixels(4));
        assertEquals(0.25, brain.getCalibration().pixelWidth);
        assertEquals(own, brain.getOverlay().get(0));
        assertFalse(brain.isLocked());
    }

    /** Asserts that every plane of the result is the command's result for that plane alone. */
    default void assertPlanes(ImagePlus from, ImagePlus made, String options) {
        int[] shown = {from.getC(), from.getZ(), from.getT()};
        for (int t = 1; t <= made.getNFrames(); t++) {
            for (int z = 1; z <= made.getNSlices(); z++) {
                for (int c = 1; c <= made.getNChannels(); c++) {
                    int index = from.getStackIndex(
                            made.getNChannels() == 1 ? shown[0] : c, z, made.getNFrames() == 1 ? shown[2] : t);
                    ImageProcessor plane = from.getStack().getProcessor(index).duplicate();
                    ImagePlus alone = new ImagePlus("alone", plane);
                    alone.setCalibration(from.getCalibration());
                    ImagePlus wanted = HeadlessTest.run(command(), alone, options);
                    int place = made.getStackIndex(c, z, t);
                    assertArrayEquals(
                            values(wanted.getProcessor()),
                            values(made.getStack().getProcessor(place)),
                            "channel " + c + ", slice " + z + ", frame " + t);
                    assertEquals(
                            from.getStack().getSliceLabel(index),
                            made.getStack().getSliceLabel(place));
                }
            }
        }
    }

    /** Returns planes that are all different: a moving part of a photograph. */
    static ImagePlus hyperstack(boolean virtual) {
        ImageProcessor photograph = HeadlessTest.open("camera.png").getProcessor();
        ImageStack planes = virtual ? new Planes() : new ImageStack(SIDE, SIDE);
        for (int i = 0; i < CHANNELS * SLICES * FRAMES; i++) {
            photograph.setRoi(100 + 7 * i, 60 + 5 * i, SIDE, SIDE);
            ImageProcessor plane = photograph.crop();
            if (virtual) {
                ((Planes) planes).all.addSlice("plane " + i, plane);
            } else {
                planes.addSlice("plane " + i, plane);
            }
        }
        ImagePlus hyper = new ImagePlus("hyper", planes);
        hyper.setDimensions(CHANNELS, SLICES, FRAMES);
        hyper.setOpenAsHyperStack(true);
        hyper.getCalibration().pixelWidth = 0.5;
        hyper.getCalibration().pixelHeight = 0.5;
        hyper.getCalibration().pixelDepth = 1.5;
        hyper.getCalibration().frameInterval = 7;
        hyper.getCalibration().setUnit("um");
        return hyper;
    }

    /** Pixels that are computed anew at each access, like those read from files. */
    final class Planes extends VirtualStack {
        final ImageStack all = new ImageStack(SIDE, SIDE);

        Planes() {
            super(SIDE, SIDE, null, "");
        }

        @Override
        public ImageProcessor getProcessor(int n) {
            return all.getProcessor(n).duplicate();
        }

        @Override
        public Object getPixels(int n) {
            return getProcessor(n).getPixels();
        }

        @Override
        public int size() {
            return all.size();
        }

        @Override
        public int getSize() {
            return size();
        }

        @Override
        public String getSliceLabel(int n) {
            return all.getSliceLabel(n);
        }

        @Override
        public int getBitDepth() {
            return 8;
        }
    }

    static float[] values(ImageProcessor pixels) {
        float[] values = new float[pixels.getPixelCount()];
        for (int p = 0; p < values.length; p++) {
            values[p] = pixels.getf(p);
        }
        return values;
    }

    static String sizes(ImagePlus image) {
        return image.getNChannels() + " " + image.getNSlices() + " " + image.getNFrames();
    }

    static Roi at(int c, int z, int t) {
        Roi roi = new Roi(c, z, 5, 5);
        roi.setPosition(c, z, t);
        return roi;
    }

    static String stackPositions(ImagePlus image) {
        StringBuilder text = new StringBuilder();
        for (Roi roi : image.getOverlay().toArray()) {
            text.append(' ').append(roi.getPosition());
        }
        return text.toString().trim();
    }

    static String hyperPositions(ImagePlus image) {
        StringBuilder text = new StringBuilder();
        for (Roi roi : image.getOverlay().toArray()) {
            text.append(' ').append(roi.getCPosition());
            text.append('/').append(roi.getZPosition());
            text.append('/').append(roi.getTPosition());
        }
        return text.toString().trim();
    }
}
