package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Level Set... */
public final class LevelSetPlugin extends StackCommand {
    static final String COMMAND = "Level Set";

    private LevelSetJob job;

    /** Called by ImageJ. */
    public LevelSetPlugin() {
        super(COMMAND);
    }

    /** φ of the last run, null if it was not asked for; for callers from Java. */
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
        // Said before the dialog, so that nobody fills it in for nothing.
        LevelSetJob.check(image, new LevelSetSettings());
        LevelSetSettings settings = LevelSetDialog.ask(image);
        job = settings == null ? null : new LevelSetJob(image, settings);
        return job;
    }
}
