package io.github.isoline.ij;

/** Plugins > Isoline > Signed Distance... */
public final class DistancePlugin extends StackCommand<DistanceSettings> {
    static final String COMMAND = "Signed Distance";

    /** Creates the command; ImageJ calls this constructor. */
    public DistancePlugin() {
        super(COMMAND, DistanceSettings::new, DistanceDialog::new, DistanceJob::new);
    }
}
