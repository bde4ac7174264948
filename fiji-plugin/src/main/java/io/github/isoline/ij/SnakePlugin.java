package io.github.isoline.ij;

/** Plugins > Isoline > Region Snake... */
public final class SnakePlugin extends StackCommand<SnakeSettings> {
    static final String COMMAND = "Region Snake";

    /** Creates the command; ImageJ calls this constructor. */
    public SnakePlugin() {
        super(COMMAND, SnakeSettings::new, SnakeDialog::new, SnakeJob::new);
    }
}
