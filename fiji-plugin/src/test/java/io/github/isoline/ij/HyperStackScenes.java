package io.github.isoline.ij;

import static io.github.isoline.ij.GuiDriver.await;
import static io.github.isoline.ij.GuiDriver.button;
import static io.github.isoline.ij.GuiDriver.checkbox;
import static io.github.isoline.ij.GuiDriver.command;
import static io.github.isoline.ij.GuiDriver.dialog;
import static io.github.isoline.ij.GuiDriver.hint;
import static io.github.isoline.ij.GuiDriver.opened;
import static io.github.isoline.ij.GuiDriver.press;
import static io.github.isoline.ij.GuiDriver.say;
import static io.github.isoline.ij.GuiDriver.toggle;
import static io.github.isoline.ij.GuiDriver.type;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.plugin.frame.Recorder;
import ij.process.ImageProcessor;
import java.awt.Dialog;
import java.awt.EventQueue;

/** A person with a hyperstack, before one dialog after the other; see {@link GuiDriver}. */
final class HyperStackScenes {
    private static final int SIDE = 200;

    /** The threshold's place among the text fields of each dialog. */
    private static final String[][] COMMANDS = {
        {"Edge Strength Function", "3"}, {"Edge Drawing", "0"}, {"Signed Distance", "0"},
    };

    private HyperStackScenes() {}

    static void play(GuiDriver driver, ImagePlus cell) throws Exception {
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
        Recorder recorder = new Recorder();
        recorder.setLocation(640, 600);
        for (String[] command : COMMANDS) {
            EventQueue.invokeAndWait(() -> image.setPosition(2, 2, 3));
            command(image, command[0] + "...");
            Dialog dialog = dialog();
            dialog.setLocation(20, 20);
            type(dialog, Integer.parseInt(command[1]), "110");
            String name = command[0];
            await("the planes", () -> line(dialog).contains("channel 2 of 2, frame 3 of 4"));
            toggle(checkbox(dialog, "All frames (4)"), true);
            await("the frames", () -> line(dialog).contains("channel 2 of 2, all 4 frames"));
            driver.picture("hyperstack-" + name.replace(' ', '-').toLowerCase());
            int before = WindowManager.getImageCount();
            press(button(dialog, "OK"));
            await("a result", () -> WindowManager.getImageCount() > before);
            IJ.wait(200);
            ImagePlus made = opened("");
            made.getWindow().setLocation(640, 300);
            say(
                    name + " made",
                    made.getNChannels() + " " + made.getNSlices() + " " + made.getNFrames());
            say(name + " shows", made.getC() + " " + made.getZ() + " " + made.getT());
            String[] lines = recorder.getText().trim().split("\n");
            for (String recorded : lines) {
                if (recorded.startsWith("run(\"" + name)) {
                    say(name + " recorded", recorded);
                }
            }
            EventQueue.invokeAndWait(made::close);
        }
    }

    private static String line(Dialog dialog) {
        return hint(dialog).replace('\n', ' ').replace("  ", " ");
    }
}
