package io.github.isoline.ij;

/** Plugins > Isoline > Edge Strength Function... */
public final class EdgeStrengthPlugin extends StackCommand<EdgeStrengthSettings> {
    static final String COMMAND = "Edge Strength Function";

    /** Creates the command; ImageJ calls this constructor. */
    public EdgeStrengthPlugin() {
        super(COMMAND, EdgeStrengthSettings::new, EdgeStrengthDialog::new, EdgeStrengthJob::new);
    }
}
