package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import ij.plugin.frame.RoiManager;
import java.awt.Checkbox;
import java.awt.Dialog;
import java.awt.Window;
import java.util.Arrays;
import java.util.List;

/** Plays a user who records a command with all of its outputs, and saves what it makes; see {@link GuiDriver}. */
final class RecordScenes extends GuiDriver {
    private static final List<String> OUTPUTS = Arrays.asList(
            "Edge map", "ROI Manager", "Overlay", "Results table", "Mask stack", "Level set function", "Label image");

    private RecordScenes() {}

    /**
     * Plays a scene.
     *
     * @param scene the command and a word to choose in its dialog, separated by a bar
     */
    static void play(String scene, ImagePlus image) throws Exception {
        String[] parts = scene.split("\\|");
        String folder = System.getProperty("isoline.record.folder") + "/";
        image.setRoi(new OvalRoi(375, 320, 100, 100));
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 700);
        Dialog dialog = open(image, parts[0]);
        toggle(checkbox(dialog, "Advanced"), true);
        choose(dialog, parts[1]);
        boolean outlines = false;
        boolean table = false;
        for (Checkbox box : GuiDriver.all(dialog, Checkbox.class)) {
            if (box.isShowing() && OUTPUTS.contains(box.getLabel().trim())) {
                toggle(box, true);
                outlines |= box.getLabel().trim().equals("ROI Manager");
                table |= box.getLabel().trim().equals("Results table");
            }
        }
        await("OK", () -> button(dialog, "OK").isEnabled());
        press(button(dialog, "OK"));
        awaitEnd("the end", () -> !dialog.isShowing());
        int left = 0;
        for (Window window : Window.getWindows()) {
            // ImageJ's own complaint about a recorded key would be one.
            left += window instanceof Dialog && window.isShowing() ? 1 : 0;
        }
        say("dialogs left", left);
        say("recorded", recorder.getText().trim().replace('\n', ' '));
        int[] ids = WindowManager.getIDList();
        say("images", ids.length);
        for (int i = 2; i <= ids.length; i++) {
            ImagePlus made = WindowManager.getImage(ids[i - 1]);
            IJ.saveAsTiff(made.duplicate(), folder + "window " + i + ".tif");
        }
        if (table) {
            ResultsTable.getResultsTable().save(folder + "window.csv");
        }
        if (outlines) {
            RoiManager.getInstance().runCommand("Save", folder + "window.zip");
        }
    }
}
