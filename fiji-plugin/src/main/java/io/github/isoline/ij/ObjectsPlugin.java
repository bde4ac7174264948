package io.github.isoline.ij;

/** Plugins > Isoline > Grow Objects... */
public final class ObjectsPlugin extends StackCommand<ObjectsSettings> {
    static final String COMMAND = "Grow Objects";

    /** Creates the command; ImageJ calls this constructor. */
    public ObjectsPlugin() {
        super(COMMAND, ObjectsSettings::new, ObjectsDialog::new, ObjectsJob::new);
    }
}
