package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.macro.Interpreter;
import ij.measure.ResultsTable;
import ij.process.ImageProcessor;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import java.awt.event.KeyEvent;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** A real ImageJ without a display, with the plugin's commands in it, and real images to open. */
abstract class HeadlessTest {
    static final String COMMAND = "Edge Strength Function...";

    /** Macro_Runner returns this for a macro that did not reach its end. */
    static final String ABORTED = "[aborted]";

    @BeforeAll
    static void startImageJ() throws IOException {
        HeadlessImageJ.registerCommands();
    }

    @AfterEach
    void forgetImages() {
        WindowManager.setTempCurrentImage(null);
        while (Interpreter.getBatchModeImageCount() > 0) {
            Interpreter.removeBatchModeImage(Interpreter.getLastBatchModeImage());
        }
        Interpreter.batchMode = false;
        IJ.resetEscape();
    }

    @AfterEach
    void clearTable() {
        ResultsTable.getResultsTable().reset();
    }

    static ImagePlus current() {
        return WindowManager.getCurrentImage();
    }

    /** Opens one of the images in tests/data. */
    static ImagePlus open(String name) {
        File file = new File(System.getProperty("isoline.test.data"), name);
        ImagePlus image = IJ.openImage(file.getPath());
        assertNotNull(image, file.getPath());
        return image;
    }

    /** Converts an image of 8 bits with its values to 16 or 32 bits. */
    static void convert(ImagePlus image, int bits) {
        ImageStack converted = new ImageStack(image.getWidth(), image.getHeight());
        for (int z = 1; z <= image.getStackSize(); z++) {
            ImageProcessor slice = image.getStack().getProcessor(z);
            converted.addSlice(
                    bits == 8 ? slice : bits == 16 ? slice.convertToShort(false) : slice.convertToFloatProcessor());
        }
        image.setStack(converted);
    }

    /** Returns the pixels of a slice of floats. */
    static float[] pixels(ImagePlus image, int slice) {
        return (float[]) image.getStack().getPixels(slice);
    }

    /** Asserts that two images of floats have the same pixels. */
    static void assertSamePixels(ImagePlus wanted, ImagePlus got) {
        assertEquals(wanted.getStackSize(), got.getStackSize());
        for (int i = 1; i <= wanted.getStackSize(); i++) {
            assertArrayEquals(pixels(wanted, i), pixels(got, i));
        }
    }

    /** Asserts that a job makes the same pixels if a call may take no more than some memory. */
    static void assertSameInParts(ImagePlus whole, StackJob<?> job, long callBytes) throws IsolineException {
        job.callBytes = callBytes;
        assertSamePixels(whole, job.run(null));
    }

    /** Runs edge strength on an image as another plugin would, and returns the new image. */
    static ImagePlus run(ImagePlus image, String options) {
        return run(COMMAND, image, options);
    }

    /** Runs a command on an image as another plugin would, and returns the new image. */
    static ImagePlus run(String command, ImagePlus image, String options) {
        captured(() -> {
            WindowManager.setTempCurrentImage(image);
            IJ.run(command, options);
            return "";
        });
        ImagePlus result = WindowManager.getCurrentImage();
        assertTrue(result != image, "the command made no new image");
        return result;
    }

    /** The value that a macro returned and its log. */
    static final class Outcome {
        final String returned;
        final String log;

        Outcome(String returned, String log) {
            this.returned = returned;
            this.log = log;
        }
    }

    /** Runs macro code with an image as the current one. */
    static Outcome macro(ImagePlus image, String code) {
        return captured(() -> {
            WindowManager.setTempCurrentImage(image);
            return IJ.runMacro(code, "");
        });
    }

    /** ImageJ without a window logs to System.out. */
    static Outcome captured(Supplier<String> body) {
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true));
        try {
            String returned = body.get();
            return new Outcome(returned, bytes.toString());
        } finally {
            System.setOut(before);
        }
    }

    /**
     * Asserts that values which a dialog remembers come back in the next one, and do not change what a macro makes.
     *
     * @param other the values; the defaults are remembered afterwards
     * @param fresh new ones, to read them into
     */
    static void assertRemembered(Settings other, Settings fresh, String command, ImagePlus image, String options) {
        Settings defaults = fresh.clone();
        Object before = run(command, image, options).getProcessor().getPixels();
        other.savePrefs(8);
        other.set(Settings.DEVICE, DefaultDevice.get());
        fresh.readPrefs(8);
        assertEquals(other.toString(), fresh.toString());
        Object after = run(command, image, options).getProcessor().getPixels();
        assertTrue(Objects.deepEquals(before, after), "the macro's result has changed");
        defaults.savePrefs(8);
    }

    /** Asserts that the parameters of a macro are written as they were given, and are read again. */
    static void assertWritten(Settings defaults, String options) throws BadInput {
        String written =
                Settings.fromMacro(defaults.clone(), options + " device=cpu").toString();
        assertEquals(written, Settings.fromMacro(defaults.clone(), written).toString());
        for (String option : options.split(" (?=[a-z])")) {
            assertTrue((written + " ").contains(option + " "), option + " in " + written);
        }
    }

    /** Asserts that the log has one line, with these words and no stack trace. */
    static void assertOneSentence(String log, String sentence) {
        assertTrue(log.contains(sentence), log);
        assertFalse(log.contains("\tat "), "a stack trace: " + log);
        assertEquals(1, log.trim().split("\n").length, log);
    }

    /** Returns the usable GPUs, or skips the test and prints why. */
    static List<String> gpus(String test) throws IsolineException {
        List<String> gpus = new ArrayList<>();
        StringBuilder why = new StringBuilder();
        for (DeviceInfo device : DeviceInfo.list()) {
            if (device.isCuda() && device.isUsable()) {
                gpus.add(device.id());
            } else if (device.isCuda()) {
                why.append(device.reason()).append(' ');
            }
        }
        if (gpus.isEmpty()) {
            System.out.println(test + " is skipped: " + why);
        }
        assumeTrue(!gpus.isEmpty(), why.toString());
        return gpus;
    }

    /**
     * Asserts that every GPU gives what the CPU gives, within a tolerance, for the slices of a stack and its volume.
     */
    static void assertSameOnGpus(String command, String options, float tolerance) throws IsolineException {
        List<String> gpus = gpus(command);
        ImagePlus brain = open("brain.tif");
        for (String stack : new String[] {" stack=slices", " stack=volume"}) {
            ImagePlus cpu = run(command, brain, options + stack + " device=cpu");
            for (String gpu : gpus) {
                ImagePlus result = run(command, brain, options + stack + " device=" + gpu);
                assertTrue(((String) result.getProperty("Info")).contains("device: " + gpu));
                for (int z = 1; z <= brain.getStackSize(); z++) {
                    assertArrayEquals(pixels(cpu, z), pixels(result, z), tolerance);
                }
            }
        }
    }

    /** Asserts that each channel and frame of a result is what the command makes of that volume alone. */
    static void assertVolumesAlone(String command, String options, ImagePlus hyper, ImagePlus all) {
        for (int t = 1; t <= hyper.getNFrames(); t++) {
            for (int c = 1; c <= hyper.getNChannels(); c++) {
                ImageStack volume = new ImageStack(hyper.getWidth(), hyper.getHeight());
                for (int z = 1; z <= hyper.getNSlices(); z++) {
                    volume.addSlice(hyper.getStack().getProcessor(hyper.getStackIndex(c, z, t)));
                }
                ImagePlus part = new ImagePlus("part", volume);
                part.setCalibration(hyper.getCalibration());
                ImagePlus alone = run(command, part, options);
                for (int z = 1; z <= hyper.getNSlices(); z++) {
                    assertArrayEquals(pixels(alone, z), pixels(all, all.getStackIndex(c, z, t)));
                }
            }
        }
    }

    /** Presses Escape like a user, a while after a command has begun to work on the image. */
    static void pressEscapeAfter(int milliseconds, ImagePlus image) {
        new Thread(() -> {
                    while (!image.isLocked()) {
                        IJ.wait(1);
                    }
                    IJ.wait(milliseconds);
                    IJ.setKeyDown(KeyEvent.VK_ESCAPE);
                })
                .start();
    }

    /** Returns noise whose slices share their pixels: a long run with little memory for the input. */
    static ImagePlus longStack(int side, int slices, int highest) {
        byte[] pixels = new byte[side * side];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = (byte) (i * 2654435761L >> 13 & highest);
        }
        ImageStack stack = new ImageStack(side, side);
        for (int i = 0; i < slices; i++) {
            stack.addSlice("", pixels);
        }
        return new ImagePlus("stack", stack);
    }
}
