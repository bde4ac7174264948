package io.github.isoline.ij;

import ij.gui.Roi;
import ij.process.ImageProcessor;
import java.awt.Rectangle;

/** The pixels of an area. */
final class AreaPixels {
    private final Rectangle box;

    /** Holds 0 outside; null for a rectangle. */
    private final ImageProcessor mask;

    /** Receives the position of a pixel. */
    @FunctionalInterface
    interface Visitor {
        void visit(int x, int y);
    }

    AreaPixels(Roi area) {
        box = area.getBounds();
        mask = area.getMask();
    }

    boolean contains(int x, int y) {
        return box.contains(x, y) && (mask == null || mask.get(x - box.x, y - box.y) != 0);
    }

    /** Passes on each pixel. */
    void forEach(Visitor visitor) {
        for (int y = box.y; y < box.y + box.height; y++) {
            for (int x = box.x; x < box.x + box.width; x++) {
                if (contains(x, y)) {
                    visitor.visit(x, y);
                }
            }
        }
    }
}
