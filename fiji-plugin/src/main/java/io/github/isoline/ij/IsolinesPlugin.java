package io.github.isoline.ij;

/** Plugins > Isoline > Isolines... */
public final class IsolinesPlugin extends StackCommand<IsolinesSettings> {
    static final String COMMAND = "Isolines";

    /** Creates the command; ImageJ calls this constructor. */
    public IsolinesPlugin() {
        super(COMMAND, IsolinesSettings::new, IsolinesDialog::new, IsolinesJob::new);
    }
}
