package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/** Plugins > Isoline > Edge Drawing... */
public final class EdgeDrawingPlugin extends StackCommand {
    static final String COMMAND = "Edge Drawing";

    /** Creates the command; ImageJ calls this constructor. */
    public EdgeDrawingPlugin() {
        super(COMMAND);
    }

    @Override
    StackJob fromMacro(ImagePlus image, String options) throws BadInput, IsolineException {
        return new EdgeDrawingJob(image, EdgeDrawingSettings.fromMacro(options));
    }

    @Override
    StackJob fromDialog(ImagePlus image) throws BadInput, IsolineException {
        // The check comes before the dialog, so that no dialog is filled in in vain.
        EdgeDrawingJob.check(image, new EdgeDrawingSettings());
        EdgeDrawingSettings settings = EdgeDrawingDialog.ask(image);
        return settings == null ? null : new EdgeDrawingJob(image, settings);
    }
}
