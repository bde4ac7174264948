package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import java.awt.GraphicsEnvironment;
import java.util.HashSet;
import java.util.Set;

/** The lines that commands write to ImageJ's log, and their number for the summary of a run without a display. */
final class RunLog {
    /** The system property by which only warnings and failures are logged. */
    static final String QUIET = "isoline.quiet";

    private static final Set<Integer> IMAGES = new HashSet<>();
    private static int commands;
    private static int warnings;

    private RunLog() {}

    /** Logs what a command did, where no person sees the status bar. */
    static synchronized void done(String command, ImagePlus image, String text) {
        commands++;
        IMAGES.add(image.getID());
        boolean unseen = GraphicsEnvironment.isHeadless() || IJ.debugMode;
        if (unseen && !Boolean.getBoolean(QUIET)) {
            IJ.log(Host.name(command, image) + ": " + text);
        }
    }

    static synchronized void warn(String command, ImagePlus image, String text) {
        warnings++;
        IJ.log(Host.name(command, image) + ": warning: " + text);
    }

    /** Returns the numbers of commands, images and warnings; null before the first command. */
    static synchronized String counts() {
        return commands == 0
                ? null
                : count(commands, "command") + " on " + count(IMAGES.size(), "image") + ", "
                        + count(warnings, "warning");
    }

    static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }
}
