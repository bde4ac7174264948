package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Macro;
import ij.WindowManager;
import ij.gui.StackWindow;
import ij.plugin.PlugIn;
import io.github.isoline.IsolineException;
import io.github.isoline.LibraryLog;
import java.awt.EventQueue;
import java.awt.GraphicsEnvironment;

/**
 * The commands of Plugins > Isoline that work on the current image: each shows its dialog, locks the image, runs the
 * job with progress and Escape, and shows the result.
 */
public final class StackCommand implements PlugIn {
    private StackJob<?> job;
    private ImagePlus result;

    /**
     * Runs the command of an operation.
     *
     * @param operation its name as {@link Isoline#options} takes it; plugins.config has it
     */
    @Override
    public void run(String operation) {
        Isoline.Call<?> call = Isoline.OPERATIONS.get(operation);
        if (call == null) {
            throw new IllegalArgumentException("There is no operation '" + operation + "'; the names are "
                    + String.join(", ", Isoline.OPERATIONS.keySet()) + ".");
        }
        Host.guard(Host.name(call.command, WindowManager.getCurrentImage()), () -> execute(call));
    }

    /**
     * Returns the image of the last run, null if it was not computed, was cancelled or is none; for callers from Java.
     */
    public ImagePlus getResult() {
        return result;
    }

    /** Returns φ of the last run, null if it was not requested or is no level set; for callers from Java. */
    public ImagePlus getPhi() {
        return job instanceof LevelSetJob ? ((LevelSetJob) job).phiImage() : null;
    }

    /** Returns the parameters of a macro or of the dialog; null if it was cancelled. */
    private static <S extends Settings> S settings(Isoline.Call<S> call, ImagePlus image) throws IsolineException {
        String options = Macro.getOptions();
        S settings = call.newSettings.create();
        if (options != null || GraphicsEnvironment.isHeadless()) {
            return Settings.fromMacro(settings, options);
        }
        // The check comes before the dialog, so that no dialog is filled in in vain; the dialog offers the luminance.
        settings.set(Settings.LUMINANCE, true).check(image);
        return call.newDialog.create(image, settings).ask();
    }

    private <S extends Settings> void execute(Isoline.Call<S> call) throws IsolineException {
        result = null;
        ImagePlus image = WindowManager.getCurrentImage();
        if (image == null) {
            throw new BadInput("No image is open. Open one and run the command again.");
        }
        S settings = settings(call, image);
        job = settings == null ? null : call.newJob.create(image, settings);
        if (job == null) {
            // Those that came while a preview computed are not for the next command.
            LibraryLog.take();
            return;
        }
        job.libraryWarnings.log(call.command, image);
        ImagePlus made = job.runLocked();
        job.saveFiles();
        result = made;
        String done = "";
        try {
            job.deliver();
            // A log that opens now lies behind the result.
            done = log(call.command);
        } finally {
            // The images are not lost if there is no memory left for a table.
            job.otherImages().forEach(other -> show(other, ""));
            IJ.showProgress(1.0);
            show(result, done);
        }
        job.checkFiles();
        if (job.stopped) {
            // A macro that the user stopped must not continue with the next image.
            Host.stopped(Host.name(call.command, image));
        }
    }

    /** Logs the run and its warnings in lines, and returns a short line, since the status bar has no room for more. */
    private String log(String command) throws IsolineException {
        String done = job.summary();
        RunLog.done(command, job.image, done + " (" + job.context().device().reason() + ")");
        job.allWarnings().forEach(warning -> RunLog.warn(command, job.image, warning));
        return command + ": " + job.status();
    }

    /** Shows a new image, which may be null, where there is a window for it. */
    static void show(ImagePlus made, String status) {
        if (made == null) {
            IJ.showStatus(status);
        } else if (GraphicsEnvironment.isHeadless() && !IJ.isMacro()) {
            // Without a window the image becomes the current one.
            WindowManager.setTempCurrentImage(made);
        } else {
            int[] position = {made.getC(), made.getZ(), made.getT()};
            made.show(status);
            showPosition(made, position);
            // The window's own events, which are still to come on a busy computer, must not have the last word.
            EventQueue.invokeLater(() -> showPosition(made, made.getC(), made.getZ(), made.getT()));
        }
    }

    /** Moves the sliders of a new window, which begin at 1 whatever plane the image shows. */
    private static void showPosition(ImagePlus made, int... position) {
        if (made.getWindow() instanceof StackWindow) {
            made.setPosition(position[0], position[1], position[2]);
            ((StackWindow) made.getWindow()).updateSliceSelector();
        }
    }
}
