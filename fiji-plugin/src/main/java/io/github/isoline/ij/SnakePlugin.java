package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Region Snake... */
public final class SnakePlugin extends StackCommand {
    static final String COMMAND = "Region Snake";

    /** Creates the command; ImageJ calls this constructor. */
    public SnakePlugin() {
        super(COMMAND);
    }

    @Override
    StackJob fromMacro(ImagePlus image, String options) throws BadInput, IsolineException {
        return new SnakeJob(image, SnakeSettings.fromMacro(options));
    }

    @Override
    StackJob fromDialog(ImagePlus image) throws BadInput, IsolineException {
        // The check comes before the dialog, so that no dialog is filled in in vain.
        SnakeJob.check(image, new SnakeSettings());
        SnakeSettings settings = SnakeDialog.ask(image);
        return settings == null ? null : new SnakeJob(image, settings);
    }
}
