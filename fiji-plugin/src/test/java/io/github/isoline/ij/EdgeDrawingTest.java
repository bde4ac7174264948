package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;

/** The common part of the tests of edge drawing without a display. */
abstract class EdgeDrawingTest extends HeadlessTest {
    static final String EDGES = "Edge Drawing...";

    /** Returns a line of a macro. */
    static String call(String options) {
        return "run(\"" + EDGES + "\", \"" + options.replace("\\", "/") + "\");";
    }

    /** Returns the edge map that the command makes. */
    static ImagePlus edges(ImagePlus image, String options) {
        return run(EDGES, image, options + " edge_map");
    }

    /** Returns the selections that the command leaves in the image's overlay. */
    static Roi[] overlay(ImagePlus image, String options) {
        macro(image, call(options + " overlay"));
        return image.getOverlay() == null ? new Roi[0] : image.getOverlay().toArray();
    }
}
