package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Line;
import ij.gui.NewImage;
import java.awt.event.KeyEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the macro options of the signed distance and its failures. */
class DistanceMacroTest extends HeadlessTest implements CommandContract {
    @Override
    public String command() {
        return "Signed Distance...";
    }

    @Override
    public String quick() {
        return "threshold=100";
    }

    @Test
    void resultIsTheCurrentImageOfTheMacro() {
        Outcome outcome = macro(
                open("horse.png"),
                line("inside=dark device=cpu")
                        + "getMinAndMax(low, high);"
                        + "return getTitle + \"|\" + bitDepth + \"|\" + (low + high) + \"|\""
                        + " + (getPixel(0, 0) > 0) + \"|\" + (getPixel(200, 150) < 0);");
        assertEquals("Signed distance (pixels) of horse.png|32|0|1|1", outcome.returned, outcome.log);
        assertTrue(outcome.log.contains("Signed Distance (horse.png): cpu"), outcome.log);
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
        ImagePlus one = run(command(), hyper, options);
        ImagePlus all = run(command(), hyper, options + " all_channels all_frames");
        assertEquals("1 3 1", CommandContract.sizes(one));
        assertEquals("2 3 4", CommandContract.sizes(all));
        for (int t = 1; t <= 4; t++) {
            for (int c = 1; c <= 2; c++) {
                ImageStack volume = new ImageStack(hyper.getWidth(), hyper.getHeight());
                for (int z = 1; z <= 3; z++) {
                    volume.addSlice(hyper.getStack().getProcessor(hyper.getStackIndex(c, z, t)));
                }
                ImagePlus part = new ImagePlus("part", volume);
                part.setCalibration(hyper.getCalibration());
                ImagePlus alone = run(command(), part, options);
                for (int z = 1; z <= 3; z++) {
                    float[] wanted = (float[]) alone.getStack().getPixels(z);
                    assertArrayEquals(wanted, (float[]) all.getStack().getPixels(all.getStackIndex(c, z, t)));
                    if (c == 2 && t == 3) {
                        assertArrayEquals(wanted, (float[]) one.getStack().getPixels(z));
                    }
                }
            }
        }
    }

    @Test
    void currentSliceIsOfOneChannelAndOfTheFramesAskedFor() {
        ImagePlus hyper = CommandContract.hyperstack(false);
        hyper.setPosition(2, 3, 1);
        ImagePlus slices = run(command(), hyper, "threshold=100 all_frames");
        ImagePlus current = run(command(), hyper, "threshold=100 stack=current all_frames");
        assertEquals("1 1 4", CommandContract.sizes(current));
        for (int t = 1; t <= 4; t++) {
            assertArrayEquals((float[]) slices.getStack().getPixels(slices.getStackIndex(1, 3, t)), (float[])
                    current.getStack().getPixels(t));
        }
    }

    @Test
    void rememberedDialogValuesDoNotChangeMacros() throws Exception {
        ImagePlus horse = open("horse.png");
        float[] before = (float[]) run(command(), horse, "").getProcessor().getPixels();
        DistanceSettings other = new DistanceSettings();
        other.set("inside", "dark").set("region", "inside").set("all_frames", true);
        other.savePrefs(8);
        DistanceSettings read = new DistanceSettings();
        read.readPrefs(8);
        assertEquals(other.toString(), read.toString());
        float[] after = (float[]) run(command(), horse, "").getProcessor().getPixels();
        assertArrayEquals(before, after);
        new DistanceSettings().savePrefs(8);
    }

    @Test
    void settingsAreWrittenAsTheMacroThatRepeatsThem() throws Exception {
        for (String options : new String[] {
            "device=cpu inside=dark threshold=-3.25 region=outside stack=volume" + " all_channels all_frames",
            "device=auto inside=bright threshold=auto region=signed stack=slices",
            "device=auto inside=selection region=inside stack=slices all_frames"
        }) {
            assertEquals(options, DistanceSettings.fromMacro(options).toString());
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
                "treshold=9            | There is no macro key \"treshold\". The keys are device,",
                "signed                | not of the form key=value"
            })
    void invalidOptionsEndTheMacroWithOneSentence(String options, String sentence) {
        ImagePlus image = open("microaneurysms.png");
        assertRefused(image, options, sentence);
        // The plugin still works afterwards.
        assertEquals(32, run(command(), image, "threshold=100").getBitDepth());
    }

    @Test
    void linesEncloseNothing() {
        ImagePlus image = open("microaneurysms.png");
        image.setRoi(new Line(3, 4, 30, 40));
        assertRefused(image, "inside=selection", "needs a selection with an area");
    }

    @Test
    void pixelsWithoutASizeAreSaid() {
        ImagePlus image = open("microaneurysms.png");
        image.getCalibration().pixelWidth = 0;
        assertRefused(image, "threshold=100", "Set pixel width and height in Image > Properties");
    }

    @Test
    void framesAreNotTakenForSlices() {
        ImagePlus film = NewImage.createByteImage("film", 8, 8, 5, NewImage.FILL_BLACK);
        film.setDimensions(1, 1, 5);
        assertRefused(film, "stack=volume", "5 frame(s), which are never mixed into a volume");
    }

    @Test
    void escapeCancelsAndLeavesNothingBehind() {
        // The many slices share their pixels: a long run with little memory for the input.
        byte[] pixels = new byte[512 * 512];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = (byte) (i * 2654435761L >> 13 & 1);
        }
        ImageStack slices = new ImageStack(512, 512);
        for (int i = 0; i < 400; i++) {
            slices.addSlice("", pixels);
        }
        ImagePlus stack = new ImagePlus("stack", slices);
        Thread finger = new Thread(() -> {
            while (!stack.isLocked()) {
                IJ.wait(1);
            }
            IJ.wait(50);
            IJ.setKeyDown(KeyEvent.VK_ESCAPE);
        });
        finger.start();
        assertCancelled(stack, "stack=volume");
        assertEquals(32, run(command(), open("horse.png"), "").getBitDepth());
    }

    @Test
    void fromJavaWithoutMacroOrWindow() {
        ImagePlus horse = open("horse.png");
        DistancePlugin plugin = (DistancePlugin) IJ.runPlugIn(horse, DistancePlugin.class.getName(), "");
        assertEquals("Signed distance (pixels) of horse.png", plugin.getResult().getTitle());
    }
}
