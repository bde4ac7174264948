package io.github.isoline.ij;

/** Plugins > Isoline > Isosurface... */
public final class IsosurfacePlugin extends StackCommand<IsosurfaceSettings> {
    static final String COMMAND = "Isosurface";

    /** Creates the command; ImageJ calls this constructor. */
    public IsosurfacePlugin() {
        super(COMMAND, IsosurfaceSettings::new, IsosurfaceDialog::new, IsosurfaceJob::new);
    }
}
