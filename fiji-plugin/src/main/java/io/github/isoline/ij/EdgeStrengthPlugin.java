package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Edge Strength Function... */
public final class EdgeStrengthPlugin extends StackCommand {
    static final String COMMAND = "Edge Strength Function";

    /** Called by ImageJ. */
    public EdgeStrengthPlugin() {
        super(COMMAND);
    }

    @Override
    StackJob fromMacro(ImagePlus image, String options) throws BadInput, IsolineException {
        return new EdgeStrengthJob(image, EdgeStrengthSettings.fromMacro(options));
    }

    @Override
    StackJob fromDialog(ImagePlus image) throws BadInput, IsolineException {
        // Said before the dialog, so that nobody fills it in for nothing.
        EdgeStrengthJob.check(image, false);
        EdgeStrengthSettings settings = EdgeStrengthDialog.ask(image);
        return settings == null ? null : new EdgeStrengthJob(image, settings);
    }
}
