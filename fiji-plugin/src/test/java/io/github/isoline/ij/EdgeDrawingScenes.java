package io.github.isoline.ij;

import ij.CompositeImage;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.gui.TextRoi;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import ij.plugin.frame.RoiManager;
import ij.process.ImageProcessor;
import java.awt.Checkbox;
import java.awt.Color;
import java.awt.Component;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.awt.Window;

/** Plays a user who draws edges; see {@link GuiDriver}. */
final class EdgeDrawingScenes extends GuiDriver.Scenes {
    private static final String COMMAND = "Edge Drawing...";
    private static final String PREVIEW = "Isoline preview";
    private static final String THRESHOLD = "gradient_threshold";

    /** Plays a preview that appears, follows the parameters, and after Cancel restores the user's overlay. */
    private void preview(ImagePlus image) throws Exception {
        TextRoi note = new TextRoi(30, 30, "mine");
        note.setStrokeColor(Color.yellow);
        Overlay own = new Overlay(note);
        image.setOverlay(own);
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains(" segments, "));
        int first = segments(dialog);
        picture("edge-drawing-preview");
        Overlay shown = image.getOverlay();
        say("overlay during preview", shown.size() + " " + shown.get(1).getName());
        say("hint", hint(dialog).replace('\n', '/'));

        type(dialog, THRESHOLD, "-3");
        await("a complaint", () -> !button(dialog, "OK").isEnabled());
        say("complaint", hint(dialog).split("\n")[0]);
        type(dialog, THRESHOLD, "60");
        await("another preview", () -> status(dialog).contains(" segments, ") && segments(dialog) < first);
        picture("edge-drawing-threshold");
        say("fewer segments", segments(dialog) < first);

        // Elements that the user adds in the meantime are kept.
        EventQueue.invokeAndWait(() -> image.getOverlay().add(new Roi(5, 5, 9, 9)));
        Checkbox check = checkbox(dialog, "Preview");
        toggle(check, false);
        await("no preview", () -> image.getOverlay() == own);
        toggle(check, true);
        await("the preview again", () -> image.getOverlay() != own);
        press(button(dialog, "Cancel"));
        await("the end", () -> !dialog.isShowing() && image.getOverlay() == own);
        IJ.wait(300);
        say("overlay after cancel", (image.getOverlay() == own) + " " + own.size());
        say("first is mine", own.get(0) == note);
        say("hidden", image.getHideOverlay());
        say("changed", image.changes);
        say("images", WindowManager.getImageCount());

        // Without an overlay before there is none after; a hidden one stays hidden.
        image.setOverlay((Overlay) null);
        Dialog again = open(image, COMMAND);
        await("a preview", () -> image.getOverlay() != null);
        press(button(again, "Cancel"));
        await("no overlay", () -> image.getOverlay() == null);
        image.setOverlay(own);
        image.setHideOverlay(true);
        Dialog third = open(image, COMMAND);
        await("a preview", () -> image.getOverlay() != own);
        say("overlay that was hidden", image.getOverlay().size() + " " + image.getHideOverlay());
        press(button(third, "Cancel"));
        await("own overlay", () -> image.getOverlay() == own);
        IJ.wait(200);
        say("still hidden", image.getHideOverlay());
    }

    /** Plays all outputs at once, as the recorder records them; another command runs in between. */
    private void outputs(ImagePlus image) throws Exception {
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 700);
        Overlay own = new Overlay(new Roi(5, 5, 9, 9));
        image.setOverlay(own);
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains(" segments, "));
        // The image can be worked with while the dialog is open.
        IJ.doCommand("Set... ");
        await("a second dialog", () -> dialog() != dialog);
        press(button(dialog(), "OK"));
        await("one dialog", () -> dialog() == dialog);
        type(dialog, THRESHOLD, "30");
        for (String output : new String[] {"Edge map", "ROI Manager", "Overlay", "Results table"}) {
            toggle(checkbox(dialog, output), true);
        }
        await("a preview", () -> status(dialog).contains(" segments, "));
        picture("edge-drawing-dialog");
        press(button(dialog, "OK"));
        await("an edge map", () -> opened("Edges of") != null);
        awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
        IJ.wait(500);
        RoiManager manager = RoiManager.getInstance();
        ImagePlus edges = opened("Edges of");
        edges.getWindow().setLocation(20, 110);
        manager.setLocation(1000, 0);
        WindowManager.getWindow("Results").setLocation(640, 600);
        manager.select(image, 3);
        manager.toFront();
        WindowManager.getWindow("Results").toFront();
        recorder.toFront();
        picture("edge-drawing-outputs");
        say("title", edges.getTitle());
        say("unit", edges.getCalibration().getUnit());
        int rows = ResultsTable.getResultsTable().size();
        say("same everywhere", rows > 10 && rows == manager.getCount());
        say(
                "overlay",
                image.getOverlay().size() - rows + " " + (image.getOverlay().get(0) == own.get(0)));
        say("edge map's overlay", edges.getOverlay().size());
        say("name", manager.getRoi(3).getName());
        say("table", ResultsTable.getResultsTable().getColumnHeadings().trim().replace('\t', ','));
        say("selected length", image.getRoi() != null && image.getRoi().isLine());
        String[] lines = recorder.getText().trim().split("\n");
        for (String line : lines) {
            if (line.contains("Edge Drawing")) {
                say("recorded", line);
            }
        }
        image.getWindow().toFront();
        manager.runCommand(image, "Show All without labels");
        picture("edge-drawing-show-all");
    }

    /** Plays straight lines: fields of their own, a preview, and ROIs that a click in the manager selects. */
    private void lines(ImagePlus image) throws Exception {
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 700);
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains(" segments, "));
        toggle(checkbox(dialog, "Advanced"), true);
        say("fields of segments", shownFields(dialog));
        choose(dialog, "lines");
        await("lines", () -> status(dialog).contains(" lines, "));
        say("fields of lines", shownFields(dialog));
        int first = Integer.parseInt(status(dialog).split(" ")[1]);
        say("overlay during preview", image.getOverlay().size());
        toggle(checkbox(dialog, "Advanced"), false);
        picture("edge-drawing-lines");
        type(dialog, "shortest_line", "1");
        await("a complaint", () -> !button(dialog, "OK").isEnabled());
        say("complaint", hint(dialog).split("\n")[0]);
        type(dialog, "shortest_line", "18");
        await(
                "fewer",
                () -> status(dialog).matches("Preview: \\d+ lines, .*")
                        && Integer.parseInt(status(dialog).split(" ")[1]) < first);
        int shown = Integer.parseInt(status(dialog).split(" ")[1]);
        for (String output : new String[] {"Edge map", "ROI Manager", "Overlay", "Results table"}) {
            toggle(checkbox(dialog, output), !output.equals("Edge map"));
        }
        press(button(dialog, "OK"));
        awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
        IJ.wait(500);
        RoiManager manager = RoiManager.getInstance();
        int rows = ResultsTable.getResultsTable().size();
        say(
                "same everywhere",
                rows > 3
                        && rows == shown
                        && rows == manager.getCount()
                        && rows == image.getOverlay().size());
        manager.select(image, 2);
        say(
                "selected",
                image.getRoi().getType() == Roi.LINE && image.getRoi().getName().equals("line-0003"));
        say("table", ResultsTable.getResultsTable().getColumnHeadings().trim().replace('\t', ','));
        // ImageJ measures the selection as the row says.
        ij.gui.Line line = (ij.gui.Line) image.getRoi();
        ResultsTable table = ResultsTable.getResultsTable();
        say(
                "measured",
                Math.abs(line.getLength() - table.getValue("Length", 2)) < 1e-6
                        && Math.abs(line.getAngle() - table.getValue("Angle", 2)) < 1e-6);
        for (String recorded : recorder.getText().trim().split("\n")) {
            if (recorded.contains("Edge Drawing")) {
                say("recorded", recorded);
            }
        }
        manager.setLocation(1000, 0);
        WindowManager.getWindow("Results").setLocation(20, 500);
        picture("edge-drawing-lines-outputs");
    }

    /** Returns the keys of the fields for segments or lines that the dialog shows. */
    private static String shownFields(Dialog dialog) {
        StringBuilder keys = new StringBuilder();
        for (Component field : GuiDriver.all(dialog, Component.class)) {
            String key = String.valueOf(field.getName());
            if (key.matches("roi_shape|shortest_line|line_deviation|line_gap|all_lines") && field.isShowing()) {
                keys.append(' ').append(key);
            }
        }
        return keys.toString().trim();
    }

    /** Plays two runs after a measurement of ImageJ's own. */
    private void tables(ImagePlus image) throws Exception {
        IJ.run("Set Measurements...", "area redirect=None decimal=3");
        IJ.runMacro("makeOval(10, 10, 30, 30); run(\"Measure\"); run(\"Select None\");");
        String run = "run(\"Edge Drawing...\", \"gradient_threshold=30 min_length=40 results_table\");";
        IJ.runMacro(run);
        String title = "Edge Drawing results";
        awaitEnd("rows", () -> ResultsTable.getResultsTable(title) != null);
        ResultsTable measured = ResultsTable.getResultsTable();
        say("measured", measured.size() + " " + measured.getColumnHeadings().trim());
        int rows = ResultsTable.getResultsTable(title).size();
        say("own rows", rows > 0 && ResultsTable.getResultsTable(title).getValue("Segment", rows - 1) == rows);
        WindowManager.getWindow(title).setLocation(20, 500);
        picture("edge-drawing-tables");
        IJ.runMacro(run);
        say("twice as many", ResultsTable.getResultsTable(title).size() == 2 * rows);
        say("log", IJ.getLog().trim().replace('\n', '/'));
    }

    /** Plays a stack: the preview follows the slice. */
    private void stack(ImagePlus cell) throws Exception {
        ImageStack slices = new ImageStack(cell.getWidth(), cell.getHeight());
        slices.addSlice(cell.getProcessor().duplicate());
        slices.addSlice(cell.getProcessor().createProcessor(cell.getWidth(), cell.getHeight()));
        slices.addSlice(cell.getProcessor().duplicate());
        ImagePlus stack = new ImagePlus("stack", slices);
        stack.show();
        stack.getWindow().setLocation(620, 200);
        Dialog dialog = open(stack, COMMAND);
        // The automatic threshold would be another one for the current slice only.
        type(dialog, THRESHOLD, "30");
        await("the threshold", () -> hint(dialog).contains("Gradient threshold: in pixel values"));
        await("a preview", () -> status(dialog).contains(" segments in this slice"));
        int first = segments(dialog);
        say("scope", hint(dialog).split("\n")[0]);
        EventQueue.invokeAndWait(() -> stack.setSlice(2));
        await("an empty slice", () -> segments(dialog) == 0);
        EventQueue.invokeAndWait(() -> stack.setSlice(3));
        await("the third", () -> segments(dialog) == first);
        picture("edge-drawing-stack");
        choose(dialog, "current");
        await("the scope", () -> hint(dialog).contains("current slice only (3 of 3)"));
        for (String output : new String[] {"Edge map", "Overlay"}) {
            toggle(checkbox(dialog, output), output.equals("Overlay"));
        }
        press(button(dialog, "OK"));
        // The preview's overlay, with its one element, is removed first.
        await("segments", () -> stack.getOverlay() != null && stack.getOverlay().size() > 10);
        say("segments", (stack.getOverlay().size() == first) + " " + (first > 10));
        say("position", stack.getOverlay().get(0).getPosition());
        say("images", WindowManager.getImageCount());
    }

    /** Plays a composite hyperstack: choosing a segment in the manager shows its plane. */
    private void hyperstack(ImagePlus cell) throws Exception {
        ImageStack planes = new ImageStack(250, 250);
        ImageProcessor whole = cell.getProcessor();
        for (int i = 0; i < 12; i++) {
            whole.setRoi(300 - 10 * i, 200 + 10 * i, 250, 250);
            planes.addSlice(whole.crop());
        }
        ImagePlus image = new ImagePlus("planes", planes);
        image.setDimensions(2, 3, 2);
        image = new CompositeImage(image, CompositeImage.COLOR);
        image.setOpenAsHyperStack(true);
        image.show();
        image.getWindow().setLocation(640, 200);
        IJ.runMacro(
                "run(\"Edge Drawing...\", \"gradient_threshold=60 all_channels all_frames edge_map roi_manager overlay\");");
        RoiManager manager = RoiManager.getInstance();
        manager.setLocation(950, 200);
        ImagePlus edges = opened("Edges of");
        edges.getWindow().setLocation(20, 200);
        say("edges", edges.getNChannels() + " " + edges.getNSlices() + " " + edges.getNFrames());
        say("edges open as hyperstack", edges.isHyperStack());
        int wrong = 0;
        boolean[] seen = new boolean[13];
        for (int i = 0; i < manager.getCount(); i++) {
            Roi roi = manager.getRoi(i);
            manager.select(image, i);
            int[] at = {roi.getCPosition(), roi.getZPosition(), roi.getTPosition()};
            wrong += image.getC() == at[0] && image.getZ() == at[1] && image.getT() == at[2] ? 0 : 1;
            seen[image.getStackIndex(at[0], at[1], at[2])] = true;
        }
        int planesSeen = 0;
        for (boolean plane : seen) {
            planesSeen += plane ? 1 : 0;
        }
        say("wrong positions", wrong);
        say("planes", planesSeen);
        picture("edge-drawing-hyperstack");
    }

    /** Plays a second dialog for the same image, which is refused; another command may take the overlay. */
    private void twice(ImagePlus image) throws Exception {
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains(" segments, "));
        IJ.doCommand(COMMAND);
        await("a message", () -> dialog() != dialog);
        say("second", dialog().getTitle());
        picture("edge-drawing-twice");
        press(button(dialog(), "OK"));
        await("one dialog", () -> dialog() == dialog);
        IJ.runMacro("run(\"Edge Drawing...\", \"min_length=15 overlay\");");
        int segments = image.getOverlay().size();
        press(button(dialog, "Cancel"));
        await("no dialog", () -> !dialog.isShowing());
        IJ.wait(500);
        say("segments", segments > 5 && image.getOverlay().size() == segments);
        int previews = 0;
        for (Roi roi : image.getOverlay()) {
            previews += PREVIEW.equals(roi.getName()) ? 1 : 0;
        }
        say("previews left", previews);
    }

    /** Plays the closing of the image, which closes the dialog. */
    private void closedImage(ImagePlus image) throws Exception {
        Dialog dialog = open(image, COMMAND);
        await("a preview", () -> status(dialog).contains(" segments, "));
        EventQueue.invokeAndWait(() -> {
            image.changes = false;
            image.close();
        });
        await("no dialog", () -> !dialog.isShowing());
        IJ.wait(500);
        say("images", WindowManager.getImageCount());
        int dialogs = 0;
        for (Window window : Window.getWindows()) {
            dialogs += window instanceof Dialog && window.isShowing() ? 1 : 0;
        }
        say("dialogs", dialogs);
    }

    /** Plays a macro in batch mode with a hidden ROI Manager, and one outside of it with the window. */
    private void batch(ImagePlus cell) {
        String code = "run(\"Edge Drawing...\", \"min_length=40 roi_manager edge_map\");\n"
                + "n = roiManager(\"count\");\n"
                + "return \"\" + n + \"|\" + getTitle + \"|\" + nImages;";
        String hidden = IJ.runMacro("setBatchMode(true);\n" + code);
        say("batch", hidden);
        say("window after batch", RoiManager.getRawInstance() != null);
        String open = IJ.runMacro("selectImage(1);\n" + code);
        say("macro", open);
        say("window after macro", RoiManager.getRawInstance() != null);
        say("same", hidden.split("\\|")[0].equals(open.split("\\|")[0]));
    }

    /** Plays noise in a large image: very many segments, and windows that respond all the time. */
    private void many(ImagePlus cell) throws Exception {
        int side = 2500;
        ij.process.ByteProcessor noise = new ij.process.ByteProcessor(side, side);
        java.util.Random random = new java.util.Random(1);
        random.nextBytes((byte[]) noise.getPixels());
        ImagePlus image = new ImagePlus("noise", noise);
        image.show();
        image.getWindow().setLocation(400, 20);
        Dialog dialog = open(image, COMMAND);
        Pulse pulse = new Pulse();
        type(dialog, "min_length", "2");
        choose(dialog, "paper");
        type(dialog, THRESHOLD, "20");
        await("a preview", () -> status(dialog).contains(" segments, "));
        IJ.wait(1000);
        say("status", status(dialog));
        say("worst wait of the event thread in preview", pulse.worst());
        for (String output : new String[] {"Edge map", "ROI Manager", "Overlay", "Results table"}) {
            toggle(checkbox(dialog, output), true);
        }
        long began = System.nanoTime();
        press(button(dialog, "OK"));
        awaitEnd("rows", () -> opened("Edges of") != null);
        IJ.wait(1000);
        pulse.close();
        say("seconds", (System.nanoTime() - began) / 1e9);
        say("worst wait of the event thread in run", pulse.worst());
        say("rows", ResultsTable.getResultsTable().size());
        say("rois", RoiManager.getInstance().getCount());
        say("log", IJ.getLog().trim());
        picture("edge-drawing-many");
    }

    private static int segments(Dialog dialog) {
        String[] words = status(dialog).split(" ");
        return words.length > 2 && words[2].startsWith("segments") ? Integer.parseInt(words[1]) : -1;
    }
}
