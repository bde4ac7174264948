package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.GUI;
import ij.gui.ProgressBar;
import ij.plugin.frame.Recorder;
import java.awt.Button;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.awt.Rectangle;
import java.awt.Robot;
import java.awt.Window;
import java.awt.event.ActionListener;
import java.awt.image.BufferedImage;
import javax.swing.JLabel;

/** Plays the ways in which any command meets ImageJ: dialog, status bar, Escape, recorder, macro and help. */
final class GuiScenes extends GuiDriver.Scenes {
    /** Plays the dialog with an invalid value, then OK, the result and the recorded options. */
    void run(ImagePlus image) throws Exception {
        // A mouse that leaves an image clears the status line.
        new Robot().mouseMove(0, 0);
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 700);
        IJ.doCommand("Edge Strength Function...");
        Dialog dialog = dialog();
        dialog.setLocation(40, 150);
        type(dialog, "rho", "-5");
        await("a complaint", () -> !button(dialog, "OK").isEnabled());
        say("ok with rho -5", button(dialog, "OK").isEnabled());
        picture("complaint");
        type(dialog, "rho", "32");
        type(dialog, "threshold", "110");
        await("no complaint", () -> button(dialog, "OK").isEnabled());
        picture("dialog");
        press(button(dialog, "OK"));
        awaitEnd("a result", () -> opened("ESF of") != null);
        picture("result");
        ImagePlus result = opened("ESF of");
        say("title", result.getTitle());
        say("unit", result.getCalibration().getUnit());
        say("recorded", recorder.getText().trim().replace('\n', ' '));
        await("the status", () -> !statusLine().startsWith("Isoline on "));
        say("status at the end", statusLine());
        say("bar at the end", barIsDrawn());
    }

    /** Plays Escape during a long run, while the event thread still responds. */
    void cancel(ImagePlus image) throws Exception {
        IJ.doCommand("Edge Strength Function...");
        Dialog dialog = dialog();
        choose(dialog, "iterations");
        type(dialog, "iterations", "9000000");
        press(button(dialog, "OK"));
        await("the run to begin", image::isLocked);
        await("the bar", GuiScenes::barIsDrawn);
        say("status during the run", statusLine());
        say("bar during the run", barIsDrawn());
        RunScenes.pressEscape(image, "running");
        await("the bar to go", () -> !barIsDrawn());
        picture("cancelled");
        say("status after it", statusLine());
        say("bar after it", barIsDrawn());
        say("images", WindowManager.getImageCount());
        say("current", title());
    }

    /** Plays a command that waits for another one; Escape ends the one that computes. */
    void waiting(ImagePlus image) throws Exception {
        new Robot().mouseMove(0, 0);
        ImagePlus copy = image.duplicate();
        copy.show();
        Thread first = run(image, "iterations=9000000");
        await("the first run", () -> statusLine().startsWith("Isoline on "));
        say("first", statusLine());
        Thread second = run(copy, "iterations=5");
        await("the second run", () -> statusLine().contains("waits"));
        say("both", statusLine());
        say("second waits", copy.isLocked());
        RunScenes.pressEscape(image, "waiting");
        first.join();
        second.join();
        say("locked", copy.isLocked());
        say("made", String.join(", ", WindowManager.getImageTitles()));
    }

    /** Starts a command on an image in a thread of its own. */
    private static Thread run(ImagePlus image, String options) {
        Thread thread = new Thread(
                () -> {
                    WindowManager.setTempCurrentImage(image);
                    try {
                        IJ.run("Edge Strength Function...", "mode=iterations threshold=110 device=cpu " + options);
                    } catch (RuntimeException e) {
                        // ImageJ ends the thread of a macro whose command was cancelled.
                        say("ended", e.getMessage());
                    }
                },
                "Run$_" + options);
        thread.start();
        return thread;
    }

    void devices(ImagePlus image) throws Exception {
        // The manual shows the dialog alone.
        EventQueue.invokeAndWait(() -> image.getWindow().setVisible(false));
        Recorder recorder = new Recorder();
        recorder.setLocation(20, 700);
        IJ.doCommand("Devices...");
        Dialog dialog = dialog();
        dialog.setLocation(40, 150);
        picture("devices");
        say("dialog", dialog.getTitle());
        choose(dialog, "cpu");
        press(button(dialog, "OK"));
        awaitEnd("the end", () -> !dialog.isShowing());
        say("recorded", recorder.getText().trim());
    }

    /** Plays a dialog that refuses an RGB image, which the user converts while it is open. */
    void rgb(ImagePlus image) throws Exception {
        IJ.run(image, "RGB Color", "");
        Dialog dialog = open(image, "Edge Drawing...");
        await("a refusal", () -> !button(dialog, "OK").isEnabled());
        IJ.run(image, "8-bit", "");
        await("OK", () -> button(dialog, "OK").isEnabled());
        await("a preview", () -> status(dialog).contains(" segments"));
        await("a hint without RGB", () -> !hint(dialog).contains("RGB"));
        say("hint", hint(dialog).replace('\n', ' '));
        press(button(dialog, "Cancel"));
        await("the end", () -> !dialog.isShowing() && image.getOverlay() == null);
    }

    /** Plays a macro in the window: a valid call, then an invalid one, which must end it without a dialog. */
    void macro(ImagePlus image) throws Exception {
        String returned = IJ.runMacro("run(\"Edge Strength Function...\", \"rho=16 threshold=110\");\n"
                + "rename(\"first\");\n"
                + "run(\"Edge Strength Function...\", \"rho=-1 threshold=110\");\n"
                + "rename(\"went on\");");
        picture("macro");
        say("returned", returned);
        say("current", title());
        say("log", IJ.getLog().trim());
        int dialogs = 0;
        for (Window window : Window.getWindows()) {
            if (window instanceof Dialog && window.isShowing()) {
                dialogs++;
            }
        }
        say("dialogs", dialogs);
    }

    /** Plays a call on the event thread, like that of a script's button: the windows must not freeze. */
    void eventThread(ImagePlus image) throws Exception {
        long began = System.nanoTime();
        EventQueue.invokeAndWait(
                () -> IJ.run("Edge Strength Function...", "mode=iterations iterations=5000 threshold=110 device=cpu"));
        say("the call held the event thread for ms", (System.nanoTime() - began) / 1_000_000);
        awaitEnd("a result", () -> opened("ESF of") != null);
        say("info", opened("ESF of").getInfoProperty().replace('\n', ' '));
    }

    void help(ImagePlus image) throws Exception {
        IJ.doCommand("Edge Strength Function...");
        Dialog dialog = dialog();
        GUI.centerOnImageJScreen(dialog);
        Button button = button(dialog, "Help");
        // Plays a window manager that opens the help behind the dialog: between ImageJ's listener, which opens it, and
        // the plugin's.
        ActionListener[] listeners = button.getActionListeners();
        EventQueue.invokeAndWait(() -> {
            for (int i = 1; i < listeners.length; i++) {
                button.removeActionListener(listeners[i]);
            }
            button.addActionListener(opened -> dialog.toFront());
            for (int i = 1; i < listeners.length; i++) {
                button.addActionListener(listeners[i]);
            }
        });
        IJ.wait(300);
        BufferedImage alone = screen(dialog.getBounds());
        press(button);
        await("the help", () -> dialog() != dialog);
        EventQueue.invokeAndWait(() -> {});
        Dialog help = dialog();
        say("help", help.getTitle());
        picture("help");
        Rectangle common = help.getBounds().intersection(dialog.getBounds());
        BufferedImage before =
                alone.getSubimage(common.x - dialog.getX(), common.y - dialog.getY(), common.width, common.height);
        // All listeners of the button have run; a busy computer paints the windows later.
        await("the help in front", () -> differs(before, screen(common)));
        EventQueue.invokeAndWait(dialog::toFront);
        await("the dialog in front", () -> !differs(before, screen(common)));
        say("order", "help, then dialog");
    }

    /** Plays a broken installation: one message, and ImageJ keeps working. */
    void error(ImagePlus image) throws Exception {
        IJ.doCommand("Edge Strength Function...");
        Dialog dialog = dialog();
        IJ.wait(300);
        picture("error");
        say("dialog", dialog.getTitle());
        press(button(dialog, "OK"));
        IJ.wait(500);
        int open = 0;
        for (Window window : Window.getWindows()) {
            if (window.isShowing() && window instanceof Dialog) {
                open++;
            }
        }
        say("dialogs left", open);
        IJ.run("Invert");
        say("current", title());
    }

    void edgeDrawingDialog(ImagePlus image) throws Exception {
        dialogPicture(image, "Edge Drawing...", "edge-drawing-dialog");
    }

    /** Returns whether at least a tenth of the pixels differ. */
    private static boolean differs(BufferedImage one, BufferedImage other) {
        int different = 0;
        for (int y = 0; y < one.getHeight(); y++) {
            for (int x = 0; x < one.getWidth(); x++) {
                different += one.getRGB(x, y) == other.getRGB(x, y) ? 0 : 1;
            }
        }
        return different > one.getWidth() * one.getHeight() / 10;
    }

    /** Returns the text of ImageJ's status line. */
    private static String statusLine() {
        return all(IJ.getInstance(), JLabel.class).get(0).getText();
    }

    /** Returns whether the screen shows a progress bar in ImageJ's window: more than its background. */
    private static boolean barIsDrawn() throws Exception {
        ProgressBar bar = IJ.getInstance().getProgressBar();
        BufferedImage shown = screen(new Rectangle(bar.getLocationOnScreen(), bar.getSize()));
        for (int y = 0; y < shown.getHeight(); y++) {
            for (int x = 0; x < shown.getWidth(); x++) {
                if (shown.getRGB(x, y) != shown.getRGB(0, 0)) {
                    return true;
                }
            }
        }
        return false;
    }
}
