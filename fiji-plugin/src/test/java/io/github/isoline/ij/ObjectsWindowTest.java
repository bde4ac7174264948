package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import java.awt.Dialog;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the command that grows objects in ImageJ's window: its dialog, preview, outputs and the recorder. */
class ObjectsWindowTest extends WindowTest {
    @Test
    void dialogPreviewsAndIsRecorded() throws Exception {
        Map<String, String> seen = play("objects dialog");
        assertTrue(
                seen.get("first status").matches("Preview: [1-9][0-9]* objects in this slice alone"), seen.toString());
        assertEquals("1", seen.get("overlay during preview"));
        assertEquals("false", seen.get("ok with a bad weight"));
        String inverting = "its dark pixels have the high values";
        assertFalse(seen.get("hint before").contains(inverting), seen.toString());
        assertTrue(seen.get("hint with an inverting LUT").contains(inverting), seen.toString());
        int objects = Integer.parseInt(seen.get("largest label"));
        assertTrue(objects > 5, seen.toString());
        assertEquals(String.valueOf(objects), seen.get("rows"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.contains("alpha=0.6") && recorded.contains("label_image"), recorded);
        assertUnderstood(recorded, new ObjectsSettings());
    }

    /** Plays a user who looks for nuclei. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes extends GuiDriver.Scenes {
        void dialog(ImagePlus single) throws Exception {
            ImagePlus image = IJ.openImage(single.getOriginalFileInfo().directory + "nuclei.png");
            image.show();
            Recorder recorder = new Recorder();
            recorder.setLocation(20, 700);
            Dialog dialog = open(image, "Grow Objects...");
            await("a preview", () -> status(dialog).contains(" in this slice alone"));
            say("first status", status(dialog));
            await("outlines", () -> image.getOverlay() != null);
            say("overlay during preview", image.getOverlay().size());
            picture("objects-dialog", dialog);
            picture("objects-preview", image.getCanvas());
            say("hint before", hint(dialog).replace('\n', '/'));
            // The pixel values stay as they are.
            image.getProcessor().invertLut();
            type(dialog, ObjectsSettings.ALPHA, "7");
            await("a complaint", () -> !button(dialog, "OK").isEnabled());
            say("ok with a bad weight", button(dialog, "OK").isEnabled());
            say("hint with an inverting LUT", hint(dialog).replace('\n', '/'));
            type(dialog, ObjectsSettings.ALPHA, "0.6");
            await("OK", () -> button(dialog, "OK").isEnabled());
            toggle(checkbox(dialog, "Results table"), true);
            press(button(dialog, "OK"));
            await("the end", () -> !dialog.isShowing() && !image.isLocked());
            awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
            await("the labels", () -> opened("Labels of") != null);
            say("largest label", (int) opened("Labels of").getStatistics().max);
            say("rows", ResultsTable.getResultsTable().size());
            picture("objects");
            sayRecorded("recorded", recorder, "Grow Objects");
        }
    }
}
