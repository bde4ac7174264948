package io.github.isoline.ij;

/** Plugins > Isoline > Edge Drawing... */
public final class EdgeDrawingPlugin extends StackCommand<EdgeDrawingSettings> {
    static final String COMMAND = "Edge Drawing";

    /** Creates the command; ImageJ calls this constructor. */
    public EdgeDrawingPlugin() {
        super(COMMAND, EdgeDrawingSettings::new, EdgeDrawingDialog::new, EdgeDrawingJob::new);
    }
}
