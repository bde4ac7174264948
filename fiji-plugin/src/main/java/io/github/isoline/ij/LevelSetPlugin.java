package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Level Set... */
public final class LevelSetPlugin extends StackCommand {
    static final String COMMAND = "Level Set";

    private LevelSetJob job;

    /** Creates the command; ImageJ calls this constructor. */
    public LevelSetPlugin() {
        super(COMMAND);
    }

    /** Returns φ of the last run, null if it was not requested; for callers from Java. */
    public ImagePlus getPhi() {
        return job == null ? null : job.phiImage();
    }

    @Override
    StackJob fromMacro(ImagePlus image, String options) throws BadInput, IsolineException {
        job = new LevelSetJob(image, LevelSetSettings.fromMacro(options));
        return job;
    }

    @Override
    StackJob fromDialog(ImagePlus image) throws BadInput, IsolineException {
        // The check comes before the dialog, so that no dialog is filled in in vain.
        LevelSetJob.check(image, new LevelSetSettings());
        LevelSetSettings settings = LevelSetDialog.ask(image);
        job = settings == null ? null : new LevelSetJob(image, settings);
        return job;
    }
}
