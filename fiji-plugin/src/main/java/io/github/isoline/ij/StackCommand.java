package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Macro;
import ij.WindowManager;
import ij.gui.StackWindow;
import ij.plugin.PlugIn;
import io.github.isoline.IsolineException;
import java.awt.EventQueue;
import java.awt.GraphicsEnvironment;

/**
 * A command that works on the current image: shows the dialog, locks the image, runs the job with progress and Escape,
 * and shows the result.
 */
abstract class StackCommand<S extends Settings> implements PlugIn {
    private final String command;
    private final SettingsConstructor<S> newSettings;
    private final DialogConstructor<S> newDialog;
    private final JobConstructor<S> newJob;
    private StackJob<S> job;
    private ImagePlus result;

    /** The parameters' constructor. */
    @FunctionalInterface
    interface SettingsConstructor<S> {
        S create() throws IsolineException;
    }

    /** The dialog's constructor. */
    @FunctionalInterface
    interface DialogConstructor<S extends Settings> {
        OperationDialog<S> create(ImagePlus image, S settings) throws BadInput, IsolineException;
    }

    /** The job's constructor. */
    @FunctionalInterface
    interface JobConstructor<S extends Settings> {
        StackJob<S> create(ImagePlus image, S settings) throws BadInput, IsolineException;
    }

    /**
     * Creates the command.
     *
     * @param command its name, without the dots of the menu
     */
    StackCommand(
            String command,
            SettingsConstructor<S> newSettings,
            DialogConstructor<S> newDialog,
            JobConstructor<S> newJob) {
        this.command = command;
        this.newSettings = newSettings;
        this.newDialog = newDialog;
        this.newJob = newJob;
    }

    @Override
    public final void run(String arg) {
        Host.guard(Host.name(command, WindowManager.getCurrentImage()), this::execute);
    }

    /** Returns the image of the last run, null if it failed, was cancelled or makes none; for callers from Java. */
    public final ImagePlus getResult() {
        return result;
    }

    /** Returns the last job; null before the first one, and if the dialog was cancelled. */
    final StackJob<S> job() {
        return job;
    }

    /** Returns the parameters of a macro or of the dialog; null if it was cancelled. */
    private S settings(ImagePlus image) throws BadInput, IsolineException {
        String options = Macro.getOptions();
        S settings = newSettings.create();
        if (options != null || GraphicsEnvironment.isHeadless()) {
            return Settings.fromMacro(settings, options);
        }
        // The check comes before the dialog, so that no dialog is filled in in vain; the dialog offers the luminance.
        settings.set(Settings.LUMINANCE, true).check(image);
        return OperationDialog.alone(
                image, () -> newDialog.create(image, settings).ask());
    }

    private void execute() throws BadInput, IsolineException {
        result = null;
        ImagePlus image = WindowManager.getCurrentImage();
        if (image == null) {
            throw new BadInput("No image is open. Open one and run the command again.");
        }
        S settings = settings(image);
        job = settings == null ? null : newJob.create(image, settings);
        if (job == null) {
            return;
        }
        ImagePlus made = job.runLocked();
        job.deliver();
        result = made;
        job.otherImages().forEach(other -> show(other, ""));
        IJ.showProgress(1.0);
        show(result, log());
        if (job.stopped) {
            // A macro that the user stopped must not continue with the next image.
            Host.stopped(Host.name(command, image));
        }
    }

    /** Logs the run and its warnings in lines, and returns a short line, since the status bar has no room for more. */
    private String log() throws IsolineException {
        String done = job.summary();
        RunLog.done(command, job.image, done + " (" + job.context().device().reason() + ")");
        job.warnings().forEach(warning -> RunLog.warn(command, job.image, warning));
        return command + ": " + job.status();
    }

    /**
     * Shows a new image, where there is a window for it.
     *
     * @param made may be null
     */
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
