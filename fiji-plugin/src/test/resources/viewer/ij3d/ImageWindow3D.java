package ij3d;

import javax.swing.JFrame;

/** A stand-in for the class of this name. */
public class ImageWindow3D extends JFrame {
    ImageWindow3D() {
        super("ImageJ 3D Viewer");
    }
}
