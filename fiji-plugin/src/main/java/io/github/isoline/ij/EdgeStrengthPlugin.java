package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Edge Strength Function... */
public final class EdgeStrengthPlugin extends StackCommand {
    static final String COMMAND = "Edge Strength Function";

    /** Creates the command; ImageJ calls this constructor. */
    public EdgeStrengthPlugin() {
        super(COMMAND);
    }

    @Override
    StackJob fromMacro(ImagePlus image, String options) throws BadInput, IsolineException {
        return new EdgeStrengthJob(image, EdgeStrengthSettings.fromMacro(options));
    }

    @Override
    StackJob fromDialog(ImagePlus image) throws BadInput, IsolineException {
        // The check comes before the dialog, so that no dialog is filled in in vain.
        EdgeStrengthJob.check(image, false);
        EdgeStrengthSettings settings = EdgeStrengthDialog.ask(image);
        return settings == null ? null : new EdgeStrengthJob(image, settings);
    }
}
