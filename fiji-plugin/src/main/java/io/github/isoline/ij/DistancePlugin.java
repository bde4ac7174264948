package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Signed Distance... */
public final class DistancePlugin extends StackCommand {
    static final String COMMAND = "Signed Distance";

    /** Creates the command; ImageJ calls this constructor. */
    public DistancePlugin() {
        super(COMMAND);
    }

    @Override
    StackJob fromMacro(ImagePlus image, String options) throws BadInput, IsolineException {
        return new DistanceJob(image, DistanceSettings.fromMacro(options));
    }

    @Override
    StackJob fromDialog(ImagePlus image) throws BadInput, IsolineException {
        // The check comes before the dialog, so that no dialog is filled in in vain.
        DistanceJob.check(image, new DistanceSettings());
        DistanceSettings settings = DistanceDialog.ask(image);
        return settings == null ? null : new DistanceJob(image, settings);
    }
}
