package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.gui.ScrollbarWithLabel;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import ij.process.ImageProcessor;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.util.Set;
import java.util.TreeSet;

/** Plays a user with a hyperstack, in one dialog after the other; see {@link GuiDriver}. */
final class HyperStackScenes extends GuiDriver {
    private static final int SIDE = 200;

    /** The commands, with the macro key of the threshold. */
    static final String[][] COMMANDS = {
        {"Edge Strength Function", "threshold"},
        {"Edge Drawing", "gradient_threshold"},
        {"Signed Distance", "threshold"},
        {"Level Set", ""},
        {"Region Snake", ""},
        {"Isolines", ""},
        {"Isosurface", ""},
        {"Grow Objects", "threshold"},
    };

    private HyperStackScenes() {}

    static void play(ImagePlus cell) throws Exception {
        ImageStack planes = new ImageStack(SIDE, SIDE);
        ImageProcessor whole = cell.getProcessor();
        for (int i = 0; i < 24; i++) {
            whole.setRoi(300 - 5 * i, 250 + 5 * i, SIDE, SIDE);
            planes.addSlice(whole.crop());
        }
        ImagePlus image = new ImagePlus("planes", planes);
        image.setDimensions(2, 3, 4);
        image.setOpenAsHyperStack(true);
        image.show();
        image.getWindow().setLocation(640, 20);
        image.setRoi(new OvalRoi(60, 60, 80, 80));
        Recorder recorder = new Recorder();
        recorder.setLocation(640, 600);
        for (String[] command : COMMANDS) {
            EventQueue.invokeAndWait(() -> image.setPosition(2, 2, 3));
            command(image, command[0] + "...");
            Dialog dialog = dialog();
            dialog.setLocation(20, 20);
            if (!command[1].isEmpty()) {
                type(dialog, command[1], "110");
            } else if (command[0].equals("Region Snake")) {
                toggle(checkbox(dialog, "Label image"), true);
            }
            String name = command[0];
            await("the planes", () -> line(dialog).contains("channel 2 of 2, frame 3 of 4"));
            toggle(checkbox(dialog, "All frames (4)"), true);
            await("the frames", () -> line(dialog).contains("channel 2 of 2, all 4 frames"));
            picture("hyperstack-" + name.replace(' ', '-').toLowerCase());
            int before = WindowManager.getImageCount();
            press(button(dialog, "OK"));
            if (name.equals("Isolines")) {
                await(
                        "curves",
                        () -> image.getOverlay() != null && recorder.getText().contains("run(\"" + name));
                say("curves", positions(image.getOverlay()));
            } else if (name.equals("Isosurface")) {
                awaitEnd("rows", () -> surfaces() != null && recorder.getText().contains("run(\"" + name));
                say("surfaces", frames(surfaces()));
            } else {
                awaitEnd("a result", () -> WindowManager.getImageCount() > before);
                ImagePlus made = opened("");
                made.getWindow().setLocation(640, 300);
                await("the sliders", () -> sliders(made).equals("2 3"));
                say(name + " made", made.getNChannels() + " " + made.getNSlices() + " " + made.getNFrames());
                say(name + " shows", made.getC() + " " + made.getZ() + " " + made.getT());
                EventQueue.invokeAndWait(made::close);
            }
            sayRecorded(name + " recorded", recorder, name);
        }
    }

    /**
     * Returns the isosurfaces' own table, since that of all commands has rows of region snakes; null before it is
     * there.
     */
    private static ResultsTable surfaces() {
        return ResultsTable.getResultsTable("Isosurface results");
    }

    /** Returns the channels and frames that the rows of a table are of. */
    private static String frames(ResultsTable table) {
        StringBuilder frames = new StringBuilder("channel");
        for (int row = 0; row < table.size(); row++) {
            frames.append(' ').append((int) table.getValue("Ch", row));
            frames.append(" frame ").append((int) table.getValue("Frame", row));
        }
        return frames.toString();
    }

    /** Returns how many planes have elements of an overlay, and the channels of these. */
    private static String positions(Overlay overlay) {
        Set<String> planes = new TreeSet<>();
        Set<Integer> channels = new TreeSet<>();
        for (Roi roi : overlay.toArray()) {
            planes.add(roi.getCPosition() + " " + roi.getZPosition() + " " + roi.getTPosition());
            channels.add(roi.getCPosition());
        }
        return planes.size() + " planes of channels " + channels;
    }

    /** Plays new stacks that are not hyperstacks, two of them of one command. */
    static void stack(ImagePlus cell) throws Exception {
        ImageStack slices = new ImageStack(SIDE, SIDE);
        for (int i = 0; i < 5; i++) {
            cell.getProcessor().setRoi(300 - 5 * i, 250 + 5 * i, SIDE, SIDE);
            slices.addSlice(cell.getProcessor().crop());
        }
        ImagePlus image = new ImagePlus("slices", slices);
        image.show();
        image.setSlice(4);
        IJ.run(image, "Edge Strength Function...", "threshold=110 mode=iterations iterations=3");
        String options = "start=box mode=iterations iterations=3 mask_stack phi";
        IJ.run(image, "Level Set...", options);
        for (String title : new String[] {"ESF of", "Level set of", "Phi of"}) {
            say(title + " shows", opened(title).getCurrentSlice());
            say(title + " sliders", sliders(opened(title)));
        }
    }

    /** Returns the positions of the sliders of an image's window. */
    private static String sliders(ImagePlus image) throws Exception {
        StringBuilder places = new StringBuilder();
        EventQueue.invokeAndWait(() -> {
            for (ScrollbarWithLabel s : all(image.getWindow(), ScrollbarWithLabel.class)) {
                places.append(' ').append(s.getValue());
            }
        });
        return places.toString().trim();
    }

    private static String line(Dialog dialog) {
        return hint(dialog).replace('\n', ' ').replace("  ", " ");
    }
}
