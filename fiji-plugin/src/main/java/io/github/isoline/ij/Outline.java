package io.github.isoline.ij;

import ij.gui.Roi;
import ij.gui.ShapeRoi;
import ij.plugin.filter.ThresholdToSelection;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;
import io.github.isoline.Polygons;
import java.awt.Rectangle;
import java.awt.geom.Path2D;

/** Converts masks and polygons to selections. */
final class Outline {
    private static final int WHITE = 255;

    private Outline() {}

    /**
     * Returns the border of the pixels that are 255, with its steps: a selection of exactly these; null if there is
     * none.
     */
    static Roi of(byte[] mask, int width, int height) {
        ByteProcessor pixels = new ByteProcessor(width, height, mask);
        pixels.setThreshold(WHITE, WHITE, ImageProcessor.NO_LUT_UPDATE);
        return new ThresholdToSelection().convert(pixels);
    }

    /** Returns the border of the pixels of a label that a plane has: they all lie in a box within the plane. */
    static Roi of(int[] labels, int width, int label, Rectangle box) {
        byte[] mask = new byte[box.width * box.height];
        for (int i = 0; i < mask.length; i++) {
            int at = (box.y + i / box.width) * width + box.x + i % box.width;
            mask[i] = (byte) (labels[at] == label ? WHITE : 0);
        }
        Roi outline = of(mask, box.width, box.height);
        outline.setLocation(box.x + outline.getBounds().x, box.y + outline.getBounds().y);
        return outline;
    }

    /** Returns any number of polygons as one element. */
    static Roi of(Polygons polygons) {
        Path2D.Double path = new Path2D.Double(Path2D.WIND_EVEN_ODD);
        for (int p = 0; p < polygons.count(); p++) {
            int[] nodes = polygons.get(p);
            for (int i = 0; i < nodes.length; i += 2) {
                if (i == 0) {
                    path.moveTo(nodes[i], nodes[i + 1]);
                } else {
                    path.lineTo(nodes[i], nodes[i + 1]);
                }
            }
            path.closePath();
        }
        return new ShapeRoi(path);
    }
}
