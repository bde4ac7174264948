package io.github.isoline.ij;

import ij.ImagePlus;

/** Plugins > Isoline > Level Set... */
public final class LevelSetPlugin extends StackCommand<LevelSetSettings> {
    static final String COMMAND = "Level Set";

    /** Creates the command; ImageJ calls this constructor. */
    public LevelSetPlugin() {
        super(COMMAND, LevelSetSettings::new, LevelSetDialog::new, LevelSetJob::new);
    }

    /** Returns φ of the last run, null if it was not requested; for callers from Java. */
    public ImagePlus getPhi() {
        return job() == null ? null : ((LevelSetJob) job()).phiImage();
    }
}
