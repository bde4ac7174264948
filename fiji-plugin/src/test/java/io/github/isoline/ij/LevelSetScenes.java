package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Prefs;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.plugin.Duplicator;
import ij.plugin.frame.Recorder;
import ij.plugin.frame.RoiManager;
import java.awt.Choice;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.awt.Scrollbar;
import java.awt.TextField;
import java.awt.event.AdjustmentEvent;
import java.awt.event.AdjustmentListener;
import java.awt.event.ItemEvent;
import java.awt.event.ItemListener;
import java.io.File;

/** Plays a user who runs level sets; see {@link GuiDriver}. */
final class LevelSetScenes extends RunScenes {
    private static final String COMMAND = "Level Set...";
    private static final String FRONT = "Isoline front";
    private static final String[] OUTPUTS = {
        "Mask stack", "Level set function", "Overlay", "ROI Manager", "Results table"
    };

    @Override
    void play(String scene, ImagePlus image) throws Exception {
        // The image is the cell alone, large enough to be seen.
        image.setRoi(340, 285, 180, 180);
        IJ.run(image, "Crop", "");
        image.changes = false;
        enlarge(image);
        image.getWindow().setLocation(710, 260);
        super.play(scene, image);
    }

    /** Plays sliders that the shading follows, and a Cancel that restores the user's overlay. */
    private void preview(ImagePlus image) throws Exception {
        image.setRoi(new OvalRoi(60, 60, 60, 60));
        dialogPicture(image, COMMAND, "level-set-dialog");
        EventQueue.invokeAndWait(image::deleteRoi);
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        Dialog dialog = open(image, COMMAND);
        // No field has been touched.
        await("a refusal", () -> !button(dialog, "OK").isEnabled());
        picture("level-set-without-selection");
        String refusal = hint(dialog).split("Preview: ")[0].replace('\n', ' ');
        await("a word", () -> refusal.startsWith("Start from \"roi\" needs a selection"));
        say("without selection", refusal);
        say("ok without selection", button(dialog, "OK").isEnabled());
        // The selection is drawn while the dialog is open.
        EventQueue.invokeAndWait(() -> image.setRoi(new OvalRoi(60, 60, 60, 60)));
        await("a preview", () -> status(dialog).contains("in range"));
        await("OK", () -> button(dialog, "OK").isEnabled());
        EventQueue.invokeAndWait(image::deleteRoi);
        await("a refusal", () -> !button(dialog, "OK").isEnabled());
        await("no preview", () -> image.getOverlay() == own);
        say("elements when it is gone", names(image).trim());
        EventQueue.invokeAndWait(() -> image.setRoi(new OvalRoi(60, 60, 60, 60)));
        await("a preview", () -> status(dialog).contains("in range"));
        say("elements", names(image));
        say("target auto", field(dialog, "target").getText());
        double auto = share(dialog);
        say("auto share", auto);

        write(field(dialog, "target"), "70");
        write(field(dialog, "epsilon"), "20");
        await("other pixels in range", () -> share(dialog) != auto && share(dialog) > 0);
        double other = share(dialog);
        say("other share", other);
        say("side of the values", choice(dialog, "within").getSelectedItem());
        say("range", choice(dialog, "values").getSelectedItem());
        picture("level-set-shading");
        choose(choice(dialog, "values"), "roi");
        await("the share of the selection's range", () -> share(dialog) > 0 && share(dialog) < Math.min(auto, other));
        say("side", choice(dialog, "within").getSelectedItem());
        say("target of the selection", field(dialog, "target").getText());
        say("mean of the selection", image.getStatistics().mean);

        write(field(dialog, "alpha"), "7");
        await("a complaint", () -> !button(dialog, "OK").isEnabled());
        say("complaint", hint(dialog).split("\n")[0]);
        choose(choice(dialog, "spheres"), "spheres");
        write(field(dialog, "radius"), "0");
        await("no preview", () -> status(dialog).equals("Preview: none"));
        await("the overlay", () -> image.getOverlay() == own);
        say("preview with alpha 7 and radius 0", status(dialog).split(": ")[1]);
        press(button(dialog, "Cancel"));
        await("the end", () -> !dialog.isShowing() && image.getOverlay() == own);
        IJ.wait(300);
        say("overlay after cancel", (image.getOverlay() == own) + " " + own.size());
        say("images", WindowManager.getImageCount());
        say("changed", image.changes);
    }

    /** Plays all outputs at once, as the recorder records them, and the front during the run. */
    private void outputs(ImagePlus image) throws Exception {
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 740);
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        image.setRoi(new OvalRoi(70, 70, 36, 36));
        Prefs.set("isoline.level_set.stack", "volume");
        RoiManager manager = new RoiManager();
        manager.setLocation(1000, 0);
        manager.addRoi(new Roi(1, 1, 4, 4));
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains("in range"));
        write(field(dialog, "target"), "200");
        write(field(dialog, "epsilon"), "90");
        write(field(dialog, "alpha"), "0.02");
        // A small time step: the run lasts long enough for many pictures, of which there are at most 25 a second.
        write(field(dialog, "time_step"), "0.0002");
        write(field(dialog, "iterations"), "300000");
        write(field(dialog, "show_every"), "5");
        for (String output : OUTPUTS) {
            toggle(checkbox(dialog, output), true);
        }
        await("a preview", () -> status(dialog).contains("in range"));
        picture("level-set-dialog");
        press(button(dialog, "OK"));
        int fronts = watch(image, FRONT, 5, "level-set-running");
        awaitEnd("a result", () -> opened("Level set of") != null);
        awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
        IJ.wait(500);
        say("different fronts", fronts);
        ImagePlus mask = opened("Level set of");
        mask.getWindow().setLocation(20, 110);
        ImagePlus phi = WindowManager.getImage("Phi of cell.png");
        phi.getWindow().setLocation(330, 150);
        WindowManager.getWindow("Results").setLocation(560, 680);
        manager.toFront();
        WindowManager.getWindow("Results").toFront();
        recorder.toFront();
        picture("level-set-outputs");
        ResultsTable table = ResultsTable.getResultsTable();
        say("title", mask.getTitle());
        say("remembered", Prefs.get("isoline.level_set.stack", ""));
        say("unit", phi.getCalibration().getUnit());
        say("table", table.getColumnHeadings().replace('\t', ','));
        say("area", table.getValue(table.getColumnHeading(1 + table.getColumnIndex("Slice")), 0));
        say("pixels", mask.getProcessor().getHistogram()[255]);
        say("iterations", table.getValue("Iterations", 0));
        say("converged", table.getValue("Converged", 0));
        say("overlay", names(image) + (image.getOverlay().get(0) == own.get(0)));
        say("managed", manager.getCount() + " " + manager.getRoi(1).getName());
        say("recorded", recorder.getText().trim().replace('\n', ' '));
        // This run draws no pictures: they must not change the result.
        String silent = IJ.runMacro("selectImage(1);"
                + recorder.getText().trim().replace("show_every=5", "show_every=0")
                + "return \"\" + getResult(\"Iterations\", 1);");
        say("iterations without pictures", silent);
        say("same mask", same(mask, opened("Level set of")));
    }

    /** Plays spheres in the ROI Manager, each on its slice; the front is drawn on the slice shown. */
    private void volume(ImagePlus cell) throws Exception {
        ImagePlus brain = brain(cell);
        RoiManager manager = new RoiManager();
        manager.setLocation(1000, 0);
        for (int[] at : new int[][] {{25, 45, 4}, {90, 45, 7}}) {
            brain.setSlice(at[2]);
            manager.add(brain, new PointRoi(at[0], at[1]), -1);
        }
        brain.setSlice(5);
        PointRoi both = new PointRoi();
        both.addPoint(brain, 55, 20);
        both.addPoint(brain, 57, 110);
        manager.add(brain, both, -1);
        brain.deleteRoi();
        Dialog dialog = open(brain, COMMAND);
        choose(choice(dialog, "volume"), "volume");
        choose(choice(dialog, "spheres"), "spheres");
        write(field(dialog, "radius"), "6");
        await("spheres", () -> status(dialog).contains("4 spheres"));
        write(field(dialog, "target"), "200");
        write(field(dialog, "epsilon"), "25");
        write(field(dialog, "alpha"), "0.05");
        write(field(dialog, "time_step"), "0.02");
        write(field(dialog, "iterations"), "2000");
        write(field(dialog, "show_every"), "2");
        for (String output : OUTPUTS) {
            toggle(checkbox(dialog, output), true);
        }
        await("the shading", () -> status(dialog).contains("in range"));
        say("hint", hint(dialog).replace('\n', '/'));
        picture("level-set-volume-dialog");
        press(button(dialog, "OK"));
        int fronts = watch(brain, FRONT, 5, "level-set-volume-running");
        awaitEnd("a result", () -> opened("Level set of") != null);
        awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
        IJ.wait(700);
        say("different fronts", fronts);
        ImagePlus mask = opened("Level set of");
        mask.getWindow().setLocation(20, 150);
        ImagePlus phi = WindowManager.getImage("Phi of brain.tif");
        phi.getWindow().setLocation(330, 150);
        WindowManager.getWindow("Results").setLocation(300, 560);
        manager.toFront();
        int wrong = 0;
        for (int i = 3; i < manager.getCount(); i++) {
            manager.select(brain, i);
            wrong += brain.getCurrentSlice() == manager.getRoi(i).getPosition() ? 0 : 1;
        }
        brain.setSlice(5);
        mask.setSlice(5);
        phi.setSlice(5);
        WindowManager.getWindow("Results").toFront();
        picture("level-set-volume-outputs");
        say("managed", manager.getCount() >= 3 + 8);
        say("wrong positions", wrong);
        say("first is a point", manager.getRoi(0) instanceof PointRoi);
        say("table", ResultsTable.getResultsTable().getColumnHeadings().replace('\t', ','));
        say("depth", mask.getCalibration().pixelDepth + " " + mask.getStackSize());
        objects(brain);
        say("log", IJ.getLog());
    }

    /** Plays a macro that numbers the objects of the mask; their rows come into a table of their own. */
    private void objects(ImagePlus brain) throws Exception {
        IJ.runMacro("selectImage(" + brain.getID() + "); run(\"Level Set...\", \"stack=volume start=mask"
                + " mask_image=[Level set of brain.tif] range=values target=200 epsilon=25 iterations=20"
                + " mode=iterations label_image overlay results_table\");");
        String title = "Level Set results";
        awaitEnd("rows of objects", () -> ResultsTable.getResultsTable(title) != null);
        IJ.wait(500);
        ResultsTable table = ResultsTable.getResultsTable(title);
        ImagePlus labels = WindowManager.getImage("Labels of brain.tif");
        labels.getWindow().setLocation(640, 150);
        WindowManager.getWindow(title).setLocation(20, 500);
        WindowManager.getWindow(title).toFront();
        picture("level-set-objects");
        int most = 0;
        for (int z = 1; z <= labels.getStackSize(); z++) {
            most = Math.max(most, (int) labels.getStack().getProcessor(z).getStats().max);
        }
        say("objects", table.size() + " " + (most == table.size() && table.getValue("Object", most - 1) == most));
        say("slice of the labels", labels.getZ() + " " + brain.getZ());
    }

    /** Plays Escape during an endless run: the state that was reached becomes the result. */
    private void escape(ImagePlus image) throws Exception {
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        image.setRoi(new OvalRoi(70, 70, 36, 36));
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains("in range"));
        write(field(dialog, "target"), "200");
        write(field(dialog, "epsilon"), "60");
        choose(choice(dialog, "converged"), "iterations");
        write(field(dialog, "iterations"), "90000000");
        write(field(dialog, "time_step"), "1e-7");
        toggle(checkbox(dialog, "Results table"), true);
        toggle(checkbox(dialog, "ROI Manager"), true);
        await("OK", () -> button(dialog, "OK").isEnabled());
        press(button(dialog, "OK"));
        await("the run to begin", image::isLocked);
        await("a front", () -> names(image).contains(FRONT));
        EventQueue.invokeAndWait(() -> RoiManager.getInstance2().close());
        IJ.wait(500);
        pressEscape(image, "level-set-endless");
        awaitEnd("a result", () -> opened("Level set of") != null);
        IJ.wait(300);
        picture("level-set-stopped");
        say("overlay", (image.getOverlay() == own) + " " + own.size());
        say("inside", opened("Level set of").getProcessor().getHistogram()[255] > 500);
        say("managed", RoiManager.getInstance2().getCount());
        ResultsTable table = ResultsTable.getResultsTable();
        say("iterations", table.getValue("Iterations", 0) > 10);
        say("log", IJ.getLog().trim().replace('\n', '/'));
    }

    /** Plays pixels far below 1: the sliders have steps that fit them. */
    private void floats(ImagePlus image) throws Exception {
        IJ.run(image, "32-bit", "");
        IJ.run(image, "Multiply...", "value=0.0123456");
        IJ.run(image, "Add...", "value=0.1234567");
        Dialog untouched = open(image, COMMAND);
        toggle(checkbox(untouched, "Overlay"), true);
        say("untouched range", choice(untouched, "values").getSelectedItem());
        press(button(untouched, "Cancel"));
        await("no dialog", () -> !untouched.isShowing());
        // A command would end here, as after each dialog that is cancelled.
        image.getProcessor().subtract(0.1234567);
        image.getProcessor().multiply(0.00081);
        IJ.resetMinAndMax(image);
        image.setRoi(new OvalRoi(60, 60, 60, 60));
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains("in range"));
        say("target", field(dialog, "target").getText());
        say("epsilon", field(dialog, "epsilon").getText());
        Scrollbar slider = all(dialog, Scrollbar.class).get(0);
        say("steps", slider.getMaximum() - slider.getMinimum());
        say("slider", slider.getValue());
        // This moves the slider like a user.
        EventQueue.invokeAndWait(() -> {
            slider.setValue(slider.getValue() + 40);
            for (AdjustmentListener listener : slider.getAdjustmentListeners()) {
                listener.adjustmentValueChanged(new AdjustmentEvent(
                        slider, AdjustmentEvent.ADJUSTMENT_VALUE_CHANGED, AdjustmentEvent.TRACK, slider.getValue()));
            }
        });
        await("values", () -> choice(dialog, "values").getSelectedItem().equals("values"));
        await("a preview", () -> share(dialog) > 0);
        say("moved", field(dialog, "target").getText());
        picture("level-set-floats");
        press(button(dialog, "OK"));
        awaitEnd("a result", () -> opened("Level set of") != null);
        say("inside", opened("Level set of").getProcessor().getHistogram()[255] > 700);
    }

    /** Plays a mask among the open images, and a dialog for an image that is then closed. */
    private void masks(ImagePlus image) throws Exception {
        IJ.runMacro("newImage(\"other size\", \"8-bit black\", 20, 20, 1);"
                + "newImage(\"my start\", \"8-bit black\", 180, 180, 1);"
                + "makeOval(70, 75, 30, 30); run(\"Set...\", \"value=255\");"
                + "run(\"Select None\"); selectWindow(\"cell.png\");");
        Dialog dialog = open(image, COMMAND);
        choose(choice(dialog, "mask"), "mask");
        await("a preview", () -> status(dialog).contains("pixels above 0 of \"my start\""));
        Choice masks = choice(dialog, "my start");
        say("masks", masks.getItemCount() + " " + masks.getItem(0));
        press(button(dialog, "OK"));
        awaitEnd("a result", () -> opened("Level set of") != null);
        say("inside", opened("Level set of").getProcessor().getHistogram()[255] > 700);
        Dialog again = open(image, COMMAND);
        await("a preview", () -> status(again).length() > 15);
        EventQueue.invokeAndWait(() -> {
            image.changes = false;
            image.close();
        });
        await("no dialog", () -> !again.isShowing());
        IJ.wait(300);
        say("images", WindowManager.getImageCount());
    }

    private static ImagePlus brain(ImagePlus cell) {
        String folder = cell.getOriginalFileInfo().directory;
        cell.close();
        ImagePlus brain = IJ.openImage(new File(folder, "brain.tif").getPath());
        brain.setRoi(40, 50, 115, 130);
        brain.setStack(new Duplicator().run(brain, 6, 15).getStack());
        brain.deleteRoi();
        brain.show();
        enlarge(brain);
        brain.getWindow().setLocation(710, 260);
        return brain;
    }

    /** Zooms to 300 %. */
    private static void enlarge(ImagePlus image) {
        image.getWindow().setLocation(10, 10);
        for (int i = 0; i < 3; i++) {
            image.getCanvas().zoomIn(0, 0);
        }
    }

    private static boolean same(ImagePlus a, ImagePlus b) {
        return java.util.Arrays.equals(
                (byte[]) a.getProcessor().getPixels(), (byte[]) b.getProcessor().getPixels());
    }

    private static void write(TextField field, String text) throws Exception {
        EventQueue.invokeAndWait(() -> field.setText(text));
    }

    /** Returns the first list that has a word. */
    private static Choice choice(Dialog dialog, String word) {
        for (Choice choice : all(dialog, Choice.class)) {
            for (int i = 0; i < choice.getItemCount(); i++) {
                if (choice.getItem(i).equals(word)) {
                    return choice;
                }
            }
        }
        throw new AssertionError("no list with " + word);
    }

    private static void choose(Choice choice, String word) throws Exception {
        EventQueue.invokeAndWait(() -> {
            choice.select(word);
            for (ItemListener listener : choice.getItemListeners()) {
                listener.itemStateChanged(new ItemEvent(choice, ItemEvent.ITEM_STATE_CHANGED, word, 1));
            }
        });
    }

    /** Returns the share of the slice, in percent; -1 if the dialog does not state it. */
    private static double share(Dialog dialog) {
        String[] words = status(dialog).split(" ");
        return words.length > 2 && words[2].equals("%") ? Double.parseDouble(words[1]) : -1;
    }
}
