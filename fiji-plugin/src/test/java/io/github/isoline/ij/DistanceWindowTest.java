package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
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
        String options = assertUnderstood(recorded, new DistanceSettings());
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
    void previewOfAVolumeIsOfTheSliceByItself() throws Exception {
        assertTrue(play("distance volume").get("status").contains(" inside, "));
    }

    /** Plays a user who measures distances. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes extends GuiDriver.Scenes {
        private static final String COMMAND = "Signed Distance...";
        private static final String THRESHOLD = "threshold";

        /** Plays a grey image: a threshold is proposed, the preview follows, the recorder records it. */
        private void dialog(ImagePlus image) throws Exception {
            Recorder recorder = new Recorder();
            recorder.setLocation(20, 700);
            dialogPicture(image, COMMAND, "distance-dialog");
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
            picture("distance-result");
            say("title", made.getTitle());
            say("result's overlay", made.getOverlay().size());
            sayRecorded("recorded", recorder, "Signed Distance");
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
            picture("distance-mask");
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
            picture("distance-selection");
            EventQueue.invokeAndWait(() -> image.setRoi(new OvalRoi(100, 80, 300, 250)));
            await("another preview", () -> !status(dialog).split("%")[0].equals(first));
            press(button(dialog, "Cancel"));
            await("no dialog", () -> !dialog.isShowing());
            await("no overlay", () -> image.getOverlay() == null);
            say("selection", image.getRoi().getBounds().width);
            say("images", WindowManager.getImageCount());
        }

        private void volume(ImagePlus cell) throws Exception {
            ImagePlus image = IJ.openImage(cell.getOriginalFileInfo().directory + "brain.tif");
            // The window of another image could become the active one while the command starts.
            cell.close();
            image.show();
            Dialog dialog = open(image, COMMAND);
            choose(dialog, "volume");
            await("a preview", () -> status(dialog).contains("of this slice by itself"));
            say("status", status(dialog));
            press(button(dialog, "Cancel"));
            await("no dialog", () -> !dialog.isShowing());
        }
    }
}
