package io.github.isoline.ij;

import static io.github.isoline.ij.GuiDriver.await;
import static io.github.isoline.ij.GuiDriver.awaitEnd;
import static io.github.isoline.ij.GuiDriver.button;
import static io.github.isoline.ij.GuiDriver.checkbox;
import static io.github.isoline.ij.GuiDriver.choose;
import static io.github.isoline.ij.GuiDriver.dialog;
import static io.github.isoline.ij.GuiDriver.hint;
import static io.github.isoline.ij.GuiDriver.open;
import static io.github.isoline.ij.GuiDriver.opened;
import static io.github.isoline.ij.GuiDriver.press;
import static io.github.isoline.ij.GuiDriver.say;
import static io.github.isoline.ij.GuiDriver.status;
import static io.github.isoline.ij.GuiDriver.toggle;
import static io.github.isoline.ij.GuiDriver.type;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.CompositeImage;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.Prefs;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.plugin.frame.Recorder;
import ij.process.ImageProcessor;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the signed distance in ImageJ's window: its dialog and its preview. */
class DistanceWindowTest extends WindowTest {
    @Test
    void dialogProposesAThresholdPreviewsAndIsRecorded() throws Exception {
        Map<String, String> seen = play("distance dialog");
        assertTrue(seen.get("hint").startsWith("Inside: bright pixels, value > "), seen.toString());
        assertTrue(seen.get("hint").contains("Distances in \u00b5m, pixels of 0.107 x 0.107"));
        assertEquals("Isoline preview", seen.get("elements of the picture"));
        assertEquals("2", seen.get("overlay during preview"));
        assertEquals("1", seen.get("overlay without one"));
        assertEquals("false", seen.get("ok with auto"));
        assertEquals("false", seen.get("ok with a word"));
        assertTrue(seen.get("complaint").startsWith("Threshold must be \"auto\" or a number"));
        assertEquals("Signed distance (\u00b5m) of cell.png", seen.get("title"));
        assertEquals("1", seen.get("result's overlay"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.startsWith("run(\"Signed Distance...\", \"device=auto "), recorded);
        String options = recorded.split("\"")[3];
        // A macro understands the recorded options.
        assertEquals(
                options, Settings.fromMacro(new DistanceSettings(), options).toString());
        assertTrue(options.contains("inside=bright threshold=110 region=signed"), options);
    }

    @Test
    void blackIsInsideInAMaskOfImageJ() throws Exception {
        Map<String, String> seen = play("distance mask");
        assertEquals("true", seen.get("inverting"));
        assertTrue(seen.get("hint").startsWith("Inside: dark pixels"), seen.get("hint"));
        assertEquals("0", seen.get("wrong pixels"));
    }

    @Test
    void selectionMayBeDrawnWhileTheDialogIsOpen() throws Exception {
        Map<String, String> seen = play("distance selection");
        assertEquals("false", seen.get("ok without selection"));
        assertEquals("300", seen.get("selection"));
        assertEquals("1", seen.get("images"));
    }

    @Test
    void hyperstackOffersItsAxes() throws Exception {
        Map<String, String> seen = play("distance hyperstack");
        assertEquals("1 3 4", seen.get("sizes"));
        assertEquals("1 2 3", seen.get("shown"));
        assertEquals("true", seen.get("hyperstack"));
        assertEquals("0.3", seen.get("depth"));
        assertEquals("0", seen.get("wrong pixels"));
    }

    /** Plays a user who measures distances. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes implements GuiDriver.Scenes {
        private static final String COMMAND = "Signed Distance...";
        private static final String THRESHOLD = "threshold";

        private final GuiDriver driver;

        Scenes(GuiDriver driver) {
            this.driver = driver;
        }

        @Override
        public void play(String scene, ImagePlus image) throws Exception {
            switch (scene) {
                case "distance dialog":
                    dialogAndResult(image);
                    break;
                case "distance mask":
                    mask(image);
                    break;
                case "distance selection":
                    selection(image);
                    break;
                case "distance hyperstack":
                    hyperstack(image);
                    break;
                default:
                    throw new IllegalArgumentException(scene);
            }
        }

        /** Plays a grey image: a threshold is proposed, the preview follows, the recorder records it. */
        private void dialogAndResult(ImagePlus image) throws Exception {
            Recorder recorder = new Recorder();
            recorder.setLocation(20, 700);
            driver.dialogPicture(image, COMMAND, "distance-dialog");
            Overlay own = new Overlay(new Roi(5, 5, 9, 9));
            image.setOverlay(own);
            Dialog dialog = open(image, COMMAND);
            await("a preview", () -> status(dialog).contains(" ms on "));
            say("hint", hint(dialog).replace('\n', '/'));
            say("overlay during preview", image.getOverlay().size());
            type(dialog, THRESHOLD, "auto");
            await("a refusal", () -> hint(dialog).contains("has more than two values"));
            say("ok with auto", button(dialog, "OK").isEnabled());
            say("overlay without one", image.getOverlay().size());
            type(dialog, THRESHOLD, "high");
            await("a complaint", () -> hint(dialog).startsWith("Threshold must be"));
            say("ok with a word", button(dialog, "OK").isEnabled());
            say("complaint", hint(dialog).split("\n")[0]);
            type(dialog, THRESHOLD, "110");
            await("a preview", () -> status(dialog).contains(" ms on "));
            press(button(dialog, "OK"));
            awaitEnd("a result", () -> opened("Signed distance") != null);
            await("the overlay", () -> image.getOverlay() == own);
            ImagePlus made = opened("Signed distance");
            made.getWindow().setLocation(20, 110);
            recorder.toFront();
            driver.picture("distance-result");
            say("title", made.getTitle());
            say("result's overlay", made.getOverlay().size());
            say("recorded", recorder.getText().trim().replace('\n', ' '));
        }

        /** Plays a mask of ImageJ's own, with an inverting LUT: its black objects are inside. */
        private void mask(ImagePlus image) throws Exception {
            Prefs.blackBackground = false;
            IJ.setThreshold(image, 110, 255);
            IJ.run(image, "Convert to Mask", "");
            say("inverting", image.isInvertedLut());
            Dialog dialog = open(image, COMMAND);
            await("a preview", () -> status(dialog).contains(" ms on "));
            say("hint", hint(dialog).replace('\n', '/'));
            driver.picture("distance-mask");
            press(button(dialog, "OK"));
            awaitEnd("a result", () -> opened("Signed distance") != null);
            ImageProcessor made = opened("Signed distance").getProcessor();
            int wrong = 0;
            for (int p = 0; p < made.getPixelCount(); p++) {
                boolean black = image.getProcessor().get(p) == 255;
                wrong += made.getf(p) < 0 == black ? 0 : 1;
            }
            say("wrong pixels", wrong);
        }

        /** Plays a selection that is drawn while the dialog is open. */
        private void selection(ImagePlus image) throws Exception {
            Dialog dialog = open(image, COMMAND);
            choose(dialog, "selection");
            await("a refusal", () -> hint(dialog).contains("Inside is \"selection\" needs a selection"));
            say("ok without selection", button(dialog, "OK").isEnabled());
            EventQueue.invokeAndWait(() -> image.setRoi(new OvalRoi(100, 80, 200, 150)));
            await("a preview", () -> status(dialog).contains(" ms on "));
            String first = status(dialog).split("%")[0];
            driver.picture("distance-selection");
            EventQueue.invokeAndWait(() -> image.setRoi(new OvalRoi(100, 80, 300, 250)));
            await("another preview", () -> !status(dialog).split("%")[0].equals(first));
            press(button(dialog, "Cancel"));
            await("no dialog", () -> !dialog.isShowing());
            await("no overlay", () -> image.getOverlay() == null);
            say("selection", image.getRoi().getBounds().width);
            say("images", WindowManager.getImageCount());
        }

        /** Plays a composite hyperstack: the switches for channels and frames, and their results. */
        private void hyperstack(ImagePlus cell) throws Exception {
            ImageStack planes = new ImageStack(250, 250);
            ImageProcessor whole = cell.getProcessor();
            for (int i = 0; i < 24; i++) {
                whole.setRoi(300 - 10 * i, 200 + 5 * i, 250, 250);
                planes.addSlice(whole.crop());
            }
            ImagePlus plain = new ImagePlus("planes", planes);
            plain.setDimensions(2, 3, 4);
            plain.getCalibration().pixelWidth = 0.107;
            plain.getCalibration().pixelHeight = 0.107;
            plain.getCalibration().pixelDepth = 0.3;
            plain.getCalibration().setUnit("um");
            ImagePlus image = new CompositeImage(plain, CompositeImage.COLOR);
            image.setOpenAsHyperStack(true);
            image.show();
            image.getWindow().setLocation(640, 200);
            EventQueue.invokeAndWait(() -> image.setPosition(2, 2, 3));
            Dialog dialog = open(image, COMMAND);
            type(dialog, THRESHOLD, "110");
            choose(dialog, "volume");
            await("the scope", () -> hint(dialog).contains("Takes channel 2 of 2, frame 3 of 4"));
            await("a preview", () -> status(dialog).contains("of this slice by itself"));
            toggle(checkbox(dialog, "All frames (4)"), true);
            await("the scope", () -> hint(dialog).contains("Takes channel 2 of 2, all 4 frames"));
            driver.picture("distance-hyperstack-dialog");
            press(button(dialog, "OK"));
            awaitEnd("a result", () -> opened("Signed distance") != null);
            ImagePlus made = opened("Signed distance");
            made.getWindow().setLocation(300, 200);
            driver.picture("distance-hyperstack");
            say("sizes", made.getNChannels() + " " + made.getNSlices() + " " + made.getNFrames());
            say("shown", made.getC() + " " + made.getZ() + " " + made.getT());
            say("hyperstack", made.isHyperStack());
            say("depth", made.getCalibration().pixelDepth);
            int wrong = 0;
            for (int t = 1; t <= 4; t++) {
                for (int z = 1; z <= 3; z++) {
                    ImageProcessor in = planes.getProcessor(image.getStackIndex(2, z, t));
                    ImageProcessor out = made.getStack().getProcessor(made.getStackIndex(1, z, t));
                    for (int p = 0; p < in.getPixelCount(); p++) {
                        wrong += out.getf(p) < 0 == in.get(p) > 110 ? 0 : 1;
                    }
                }
            }
            say("wrong pixels", wrong);
        }
    }
}
