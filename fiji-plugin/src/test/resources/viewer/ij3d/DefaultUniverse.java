package ij3d;

/** A stand-in for the class of this name. */
public abstract class DefaultUniverse {
    protected ImageWindow3D win;

    public ImageWindow3D getWindow() {
        return win;
    }
}
