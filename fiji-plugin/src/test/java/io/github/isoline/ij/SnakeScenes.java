package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import ij.plugin.frame.RoiManager;
import ij.process.ByteProcessor;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.io.File;
import java.util.LinkedHashSet;
import java.util.Random;
import java.util.Set;

/** Plays a user who outlines cells; see {@link GuiDriver}. */
final class SnakeScenes extends RunScenes {
    private static final String COMMAND = "Region Snake...";
    private static final String SNAKE = "Isoline snake";
    private static final String[] OUTPUTS = {"Label image", "Overlay", "ROI Manager", "Results table"};

    /** Plays a start that follows the selection and a hint that follows the noise; Cancel restores the overlay. */
    private void preview(ImagePlus image) throws Exception {
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        Dialog dialog = open(image, COMMAND);
        choose(dialog, "roi");
        await("a word", () -> hint(dialog).startsWith("Start from \"roi\" needs a selection"));
        await("a refusal", () -> !button(dialog, "OK").isEnabled());
        say("ok without selection", button(dialog, "OK").isEnabled());
        say("elements without selection", names(image));
        EventQueue.invokeAndWait(() -> image.setRoi(new PointRoi(425, 372)));
        await("a disc", () -> status(dialog).contains("1 target starts on this slice (blue), from points"));
        picture("region-snake-point");
        choose(dialog, "thresholded");
        await("a refusal", () -> !button(dialog, "OK").isEnabled());
        say("without threshold", hint(dialog).split("\n")[0]);
        EventQueue.invokeAndWait(() -> IJ.setThreshold(image, 180, 255));
        await("OK", () -> button(dialog, "OK").isEnabled());
        await("parts", () -> status(dialog).contains("from the pixels that the threshold marks"));
        picture("region-snake-thresholded");
        EventQueue.invokeAndWait(() -> IJ.resetThreshold(image));
        choose(dialog, "roi");
        EventQueue.invokeAndWait(() -> image.setRoi(new OvalRoi(370, 320, 100, 100)));
        await("a preview", () -> status(dialog).contains("1 target starts on this slice"));
        picture("region-snake-preview");
        say("elements", names(image));
        Set<String> hints = new LinkedHashSet<>();
        for (String noise : new String[] {"poisson", "gamma", "rayleigh", "bernoulli", "gaussian"}) {
            choose(dialog, noise);
            await("a hint", () -> hint(dialog).contains("\n" + noise + ": "));
            hints.add(noise);
        }
        say("hints", hints.size());
        choose(dialog, "gamma");
        type(dialog, "looks", "0");
        await("a complaint", () -> !button(dialog, "OK").isEnabled());
        say("complaint", hint(dialog).split("\n")[0]);
        type(dialog, "looks", "1");
        await("no complaint", () -> button(dialog, "OK").isEnabled());
        choose(dialog, "rectangle");
        await("all of the image", () -> hint(dialog).replace('\n', ' ').contains("all of the image outside"));
        press(button(dialog, "Cancel"));
        await("the end", () -> !dialog.isShowing() && image.getOverlay() == own);
        IJ.wait(300);
        say("overlay after cancel", (image.getOverlay() == own) + " " + own.size());
        say("images", WindowManager.getImageCount());
        say("changed", image.changes);
    }

    /** Plays all outputs at once, with advanced parameters, as the recorder records them. */
    private void outputs(ImagePlus image) throws Exception {
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 740);
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        image.setRoi(new OvalRoi(375, 320, 100, 100));
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains("1 target starts"));
        for (String output : OUTPUTS) {
            toggle(checkbox(dialog, output), true);
        }
        picture("region-snake-dialog");
        toggle(checkbox(dialog, "Advanced"), true);
        type(dialog, "largest_step", "12");
        await("no OK", () -> !button(dialog, "OK").isEnabled());
        // A field that must be corrected stays where the others are folded.
        toggle(checkbox(dialog, "Advanced"), false);
        say(
                "fields in the fold",
                field(dialog, "largest_step").isShowing() + " "
                        + field(dialog, "node_cost").isShowing());
        type(dialog, "largest_step", "8");
        type(dialog, "node_spacing", "10");
        await("OK", () -> button(dialog, "OK").isEnabled());
        say("folded", hint(dialog).replace('\n', '/'));
        toggle(checkbox(dialog, "Advanced"), true);
        picture("region-snake-advanced");
        press(button(dialog, "OK"));
        awaitEnd("a result", () -> opened("Labels of") != null);
        awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
        IJ.wait(500);
        RoiManager manager = RoiManager.getInstance();
        manager.setLocation(1000, 0);
        ImagePlus labels = opened("Labels of");
        labels.getWindow().setLocation(20, 110);
        WindowManager.getWindow("Results").setLocation(300, 600);
        WindowManager.getWindow("Results").toFront();
        recorder.toFront();
        picture("region-snake-outputs");
        ResultsTable table = ResultsTable.getResultsTable();
        say("title", labels.getTitle());
        say("unit", labels.getCalibration().getUnit());
        say("bits", labels.getBitDepth());
        say("table", table.getColumnHeadings().trim().replace('\t', ','));
        say("pixels", labels.getProcessor().getPixelCount() - zeros(labels));
        say("status", table.getStringValue("Status", 0));
        say("overlay", names(image) + (image.getOverlay().get(0) == own.get(0)));
        say("managed", manager.getCount() + " " + manager.getRoi(0).getName());
        say("recorded", recorder.getText().trim().replace('\n', ' '));
    }

    private static int zeros(ImagePlus labels) {
        int zeros = 0;
        for (int i = 0; i < labels.getProcessor().getPixelCount(); i++) {
            zeros += labels.getProcessor().get(i) == 0 ? 1 : 0;
        }
        return zeros;
    }

    /** Plays nuclei from rough circles in the ROI Manager; a second run takes the same starts. */
    private void manager(ImagePlus cell) throws Exception {
        String folder = cell.getOriginalFileInfo().directory;
        cell.close();
        ImagePlus nuclei = IJ.openImage(new File(folder, "nuclei.png").getPath());
        nuclei.setDisplayRange(0, 140);
        nuclei.show();
        nuclei.getWindow().setLocation(640, 150);
        RoiManager manager = new RoiManager();
        manager.setLocation(640, 690);
        IJ.runMacro("run(\"Duplicate...\", \"title=mask\"); run(\"Gaussian Blur...\", \"sigma=2\");"
                + " setThreshold(36, 255); setOption(\"BlackBackground\", true);"
                + " run(\"Convert to Mask\"); run(\"Watershed\");"
                + " run(\"Analyze Particles...\", \"size=60-1000 circularity=0.75-1.00 exclude add\"); close();");
        IJ.run("Clear Results");
        await("nuclei", () -> manager.getCount() > 40);
        int starts = manager.getCount();
        Dialog dialog = open(nuclei, COMMAND);
        choose(dialog, "detect");
        await("starts", () -> status(dialog).contains("from detected objects"));
        picture("region-snake-detect");
        choose(dialog, "manager");
        await("starts", () -> status(dialog).contains(starts + " targets start"));
        for (String output : OUTPUTS) {
            toggle(checkbox(dialog, output), !output.startsWith("Label"));
        }
        picture("region-snake-starts");
        say("starts", starts > 40);
        press(button(dialog, "OK"));
        int different = watch(nuclei, SNAKE, 2, "region-snake-running");
        awaitEnd("rows", () -> ResultsTable.getResultsTable().size() == starts);
        IJ.wait(500);
        say("different pictures", different);
        nuclei.deleteRoi();
        manager.runCommand("Show None");
        WindowManager.getFrame("Log").setLocation(20, 700);
        WindowManager.getWindow("Results").setLocation(20, 560);
        nuclei.getWindow().toFront();
        picture("region-snake-nuclei");
        int ours = manager.getCount() - starts;
        say("outlines", ours > 0.9 * starts && ours == nuclei.getOverlay().size());
        say(
                "name kept",
                manager.getRoi(starts).getName().equals(manager.getRoi(0).getName()));
        IJ.runMacro("selectImage(" + nuclei.getID() + "); run(\"Region Snake...\", \"start=manager results_table\");");
        awaitEnd("more rows", () -> ResultsTable.getResultsTable().size() > starts);
        say("same starts", ResultsTable.getResultsTable().size() == 2 * starts);
        say("log", IJ.getLog().trim().replace('\n', '/'));
    }

    /** Plays Escape during a very long run: the state that was reached becomes the result. */
    private void escape(ImagePlus cell) throws Exception {
        cell.close();
        byte[] pixels = new byte[1600 * 1600];
        new Random(1).nextBytes(pixels);
        ImagePlus image = new ImagePlus("noise", new ByteProcessor(1600, 1600, pixels));
        image.show();
        image.getWindow().setLocation(640, 150);
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        Dialog dialog = open(image, COMMAND);
        choose(dialog, "rectangle");
        for (String output : OUTPUTS) {
            boolean wanted = output.startsWith("Label") || output.startsWith("Results");
            toggle(checkbox(dialog, output), wanted);
        }
        type(dialog, "node_spacing", "2");
        type(dialog, "max_nodes", "65536");
        type(dialog, "max_iterations", "10000000");
        choose(dialog, "sequential");
        press(button(dialog, "OK"));
        await("the run to begin", image::isLocked);
        await("a snake", () -> names(image).contains(SNAKE));
        IJ.wait(500);
        pressEscape(image, "region-snake-endless");
        awaitEnd("a result", () -> opened("Labels of") != null);
        IJ.wait(300);
        picture("region-snake-stopped");
        say("overlay", (image.getOverlay() == own) + " " + own.size());
        say("inside", zeros(opened("Labels of")) < 1600 * 1600 - 1000);
        say("status", ResultsTable.getResultsTable().getStringValue("Status", 0));
        say("log", IJ.getLog().trim().replace('\n', '/'));
    }
}
