package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Macro;
import ij.WindowManager;
import ij.plugin.PlugIn;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.Progress;
import java.awt.GraphicsEnvironment;
import java.util.Locale;

/** Plugins > Isoline > Edge Strength Function... */
public final class EdgeStrengthPlugin implements PlugIn {
    static final String COMMAND = "Edge Strength Function";

    /** The progress bar need not move more often than the eye sees. */
    private static final long REPAINT_NANOS = 40_000_000;

    private ImagePlus result;

    @Override
    public void run(String arg) {
        Host.guard(COMMAND, this::execute);
    }

    /** The image of the last run, null if it failed or was cancelled; for callers from Java. */
    public ImagePlus getResult() {
        return result;
    }

    private void execute() throws BadInput, IsolineException {
        ImagePlus image = WindowManager.getCurrentImage();
        if (image == null) {
            throw new BadInput("No image is open. Open one and run the command again.");
        }
        EdgeStrengthSettings settings = ask(image);
        if (settings == null) {
            return;
        }
        if (!image.lockSilently()) {
            throw new BadInput(
                    "\"" + image.getTitle() + "\" is in use by another command; wait for its end.");
        }
        EdgeStrengthJob job = new EdgeStrengthJob(image, settings);
        try {
            IJ.resetEscape();
            result = job.run(new StatusBar(Contexts.of(settings.device).device()));
        } finally {
            image.unlock();
        }
        IJ.showProgress(1.0);
        show(result, tell(job, settings));
    }

    /** The settings from the macro or the dialog; null if the user closed the dialog. */
    private static EdgeStrengthSettings ask(ImagePlus image) throws BadInput, IsolineException {
        String options = Macro.getOptions();
        if (options != null || GraphicsEnvironment.isHeadless()) {
            return EdgeStrengthSettings.fromMacro(options);
        }
        // Said before the dialog, so that nobody fills it in for nothing.
        EdgeStrengthJob.check(image, false);
        return EdgeStrengthDialog.ask(image);
    }

    /** Says in the log what must be known, and returns a line for the status bar. */
    private static String tell(EdgeStrengthJob job, EdgeStrengthSettings settings)
            throws IsolineException {
        String where = job.report().device();
        String done = String.format(Locale.ROOT, "%s: %s, %.3f s", COMMAND, where, job.seconds());
        if (GraphicsEnvironment.isHeadless() || IJ.debugMode) {
            IJ.log(done + " (" + Contexts.of(settings.device).device().reason() + ")");
        }
        if (!job.converged()) {
            IJ.log(
                    COMMAND
                            + ": the tolerance "
                            + settings.tolerance
                            + " was not reached after "
                            + job.report().iterations()
                            + " cycles (residual "
                            + job.report().residual()
                            + "); the result is less exact than asked. Raise the tolerance.");
        }
        return done;
    }

    private static void show(ImagePlus image, String status) {
        if (GraphicsEnvironment.isHeadless() && !IJ.isMacro()) {
            // There is no window to show it in: it becomes the current image.
            WindowManager.setTempCurrentImage(image);
        } else {
            image.show(status);
        }
    }

    /** Progress in ImageJ's window; Escape cancels. */
    private static final class StatusBar implements Progress {
        private final DeviceInfo device;
        private long last = System.nanoTime() - REPAINT_NANOS;

        StatusBar(DeviceInfo device) {
            this.device = device;
        }

        @Override
        public boolean step(double fraction, String stage) {
            long now = System.nanoTime();
            if (now - last >= REPAINT_NANOS) {
                last = now;
                IJ.showProgress(Math.min(fraction, 0.999));
                IJ.showStatus("Isoline on " + device + ": " + stage + " (Esc cancels)");
            }
            return !IJ.escapePressed();
        }
    }
}
