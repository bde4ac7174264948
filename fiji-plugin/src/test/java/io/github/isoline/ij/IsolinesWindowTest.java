package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import ij.plugin.frame.RoiManager;
import java.awt.Dialog;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the isolines command in ImageJ's window: its dialog, preview, outputs and the recorder. */
class IsolinesWindowTest extends WindowTest {
    @Test
    void dialogPreviewsAndIsRecorded() throws Exception {
        Map<String, String> seen = play("isolines dialog");
        assertTrue(seen.get("first status").matches("Preview: [1-9][0-9]* curves?, .* ms on .*"), seen.toString());
        assertEquals("1", seen.get("overlay during preview"));
        assertEquals("false", seen.get("ok with a word"));
        int curves = Integer.parseInt(seen.get("overlay"));
        assertTrue(curves > 10, seen.toString());
        assertEquals(seen.get("overlay"), seen.get("rows"));
        assertEquals(seen.get("overlay"), seen.get("rois"));
        assertEquals("1", seen.get("images"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.contains("levels=[60 90.5]"), recorded);
        assertUnderstood(recorded, new IsolinesSettings());
    }

    /** Plays a user who looks for isolines. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes extends GuiDriver.Scenes {
        void dialog(ImagePlus image) throws Exception {
            Recorder recorder = new Recorder();
            recorder.setLocation(20, 700);
            Dialog dialog = open(image, "Isolines...");
            await("a preview", () -> status(dialog).contains(" ms on "));
            String first = status(dialog);
            say("first status", first);
            await("curves", () -> image.getOverlay() != null);
            say("overlay during preview", image.getOverlay().size());
            picture("isolines-dialog");
            type(dialog, IsolinesSettings.LEVELS, "60 many");
            await("a complaint", () -> !button(dialog, "OK").isEnabled());
            say("ok with a word", button(dialog, "OK").isEnabled());
            type(dialog, IsolinesSettings.LEVELS, "60 90.5");
            await(
                    "another preview",
                    () -> status(dialog).contains(" ms on ") && !status(dialog).equals(first));
            toggle(checkbox(dialog, "Results table"), true);
            toggle(checkbox(dialog, "ROI Manager"), true);
            press(button(dialog, "OK"));
            await("the end", () -> !dialog.isShowing() && !image.isLocked());
            // The preview is one element; the rows come last.
            awaitEnd("rows", () -> {
                int curves = image.getOverlay() == null ? 0 : image.getOverlay().size();
                return curves > 1 && ResultsTable.getResultsTable().size() >= curves;
            });
            say("overlay", image.getOverlay().size());
            say("rows", ResultsTable.getResultsTable().size());
            say("rois", RoiManager.getInstance().getCount());
            say("images", ij.WindowManager.getImageCount());
            picture("isolines");
            sayRecorded("recorded", recorder, "Isolines");
        }
    }
}
