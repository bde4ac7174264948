package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.plugin.frame.Recorder;
import ij.process.ImageProcessor;
import java.awt.Dialog;
import java.awt.EventQueue;

/** Plays a user who computes edge strength with the proposed parameters; see {@link GuiDriver}. */
final class EdgeStrengthScenes extends GuiDriver.Scenes {
    private static final String THRESHOLD = "threshold";

    /** Plays a grey image, a threshold that the image shows, and a mask. */
    @Override
    void play(String scene, ImagePlus cell) throws Exception {
        ImagePlus image = IJ.openImage(cell.getOriginalFileInfo().directory + "coins.png");
        cell.close();
        image.show();
        image.getWindow().setLocation(640, 150);
        Recorder recorder = new Recorder();
        recorder.setLocation(640, 720);
        Dialog dialog = open(image, "Edge Strength Function...");
        await("a share", () -> line(dialog).contains("% of the image is shape (red)"));
        say("elements", image.getOverlay().get(0).getName());
        picture("edge-strength-coins");
        type(dialog, THRESHOLD, "0");
        await("a warning", () -> line(dialog).contains("every pixel of the image is shape"));
        say("overlay when all is shape", image.getOverlay() != null);
        type(dialog, THRESHOLD, "auto");
        await("a refusal", () -> line(dialog).contains("has more than two values"));
        say("ok with auto", button(dialog, "OK").isEnabled());
        type(dialog, THRESHOLD, "high");
        await("a complaint", () -> line(dialog).startsWith("Threshold must be"));
        press(button(dialog, "Cancel"));
        await("the end", () -> !dialog.isShowing() && image.getOverlay() == null);

        // The proposed parameters are used.
        Dialog second = open(image, "Edge Strength Function...");
        await("a share", () -> line(second).contains("% of the image is shape (red)"));
        press(button(second, "OK"));
        awaitEnd("a result", () -> opened("ESF of") != null);
        ImagePlus made = opened("ESF of");
        made.getWindow().setLocation(20, 150);
        picture("edge-strength-coins-result");
        int runs = 0;
        for (String line : recorder.getText().split("\n")) {
            if (line.startsWith("run(\"Edge Strength")) {
                say("recorded", line);
                runs++;
            }
        }
        say("recorded runs", runs);
        say("coins' share", share(made.getProcessor()));
        EventQueue.invokeAndWait(made::close);

        // The shape is ImageJ's own threshold, which is set first.
        Dialog third = open(image, "Edge Strength Function...");
        choose(third, "thresholded");
        await("a complaint", () -> line(third).contains("shows no threshold"));
        say("ok without a threshold", button(third, "OK").isEnabled());
        EventQueue.invokeAndWait(() -> IJ.setThreshold(image, 150, 255));
        await("a share", () -> line(third).contains("% of the image is shape (red)"));
        await("OK", () -> button(third, "OK").isEnabled());
        press(button(third, "Cancel"));
        await("the end", () -> !third.isShowing());
        Dialog fourth = open(image, "Edge Strength Function...");
        say("offered", line(fourth));
        press(button(fourth, "Cancel"));
        await("the end", () -> !fourth.isShowing());
    }

    /** Returns the share of the pixels that are shape. */
    private static double share(ImageProcessor esf) {
        int ones = 0;
        for (int p = 0; p < esf.getPixelCount(); p++) {
            ones += esf.getf(p) == 1 ? 1 : 0;
        }
        return (double) ones / esf.getPixelCount();
    }

    private static String line(Dialog dialog) {
        return hint(dialog).replace('\n', ' ').replace("  ", " ");
    }
}
