package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.process.ImageProcessor;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** Converts selections and parts of masks to simple polygons of few nodes, to start from. */
final class StartOutlines {
    /** The largest number of nodes of a polygon drawn by hand: others are thinned. */
    private static final int MOST_CLICKED_NODES = 200;

    private final ImagePlus image;
    private final double spacing;
    private final Set<String> notes;

    /**
     * @param spacing the length of an edge from which on the search adds a node, in pixels
     * @param notes receives remarks about what was not used
     */
    StartOutlines(ImagePlus image, double spacing, Set<String> notes) {
        this.image = image;
        this.spacing = spacing;
        this.notes = notes;
    }

    /** Returns a rectangle as a polygon. */
    static int[] rectangle(int left, int top, int right, int bottom) {
        return new int[] {left, top, right, top, right, bottom, left, bottom};
    }

    /**
     * Returns a selection as simple polygons: one, or for a composite selection one for each part. Empty if no pixel of
     * it lies in the image.
     */
    List<int[]> of(Roi roi, String what) {
        Rectangle all = new Rectangle(image.getWidth(), image.getHeight());
        Rectangle bounds = roi.getBounds();
        Rectangle within = bounds.intersection(all);
        List<int[]> outlines = new ArrayList<>();
        if (within.isEmpty()) {
            return outlines;
        }
        if (roi.getType() == Roi.RECTANGLE && roi.getCornerDiameter() == 0) {
            int right = within.x + within.width;
            int below = within.y + within.height;
            return Collections.singletonList(rectangle(within.x, within.y, right, below));
        }
        int[] clicked = within.equals(bounds) ? clicked(roi) : null;
        if (clicked != null) {
            return Collections.singletonList(clicked);
        }
        ImageProcessor mask = roi.getMask();
        int[] values = new int[within.width * within.height];
        for (int i = 0; i < values.length; i++) {
            int x = within.x - bounds.x + i % within.width;
            int y = within.y - bounds.y + i / within.width;
            values[i] = mask == null || mask.get(x, y) != 0 ? 1 : 0;
        }
        List<MaskOutlines.Part> parts = MaskOutlines.of(values, within.width);
        if (roi.getType() != Roi.COMPOSITE && parts.size() > 1) {
            // The outline crosses itself; the other loops are no targets of their own.
            parts = Collections.singletonList(Collections.max(parts, Comparator.comparingInt(part -> part.pixels)));
            notes.add("only the largest loop of an outline that crosses itself (" + what + ") was used");
        }
        for (MaskOutlines.Part part : parts) {
            outlines.add(moved(thin(part), within.x, within.y));
        }
        return outlines;
    }

    /** Returns the outline of a part of a mask with few nodes. */
    int[] thin(MaskOutlines.Part part) {
        if (part.hasHoles()) {
            notes.add("holes in starts were filled, since a target is one polygon");
        }
        return NodeThinner.thin(part.outline, spacing);
    }

    private static int[] moved(int[] nodes, int x, int y) {
        for (int i = 0; i < nodes.length; i += 2) {
            nodes[i] += x;
            nodes[i + 1] += y;
        }
        return nodes;
    }

    /** Returns the corners of a polygon of few straight edges; null for anything else. */
    private static int[] clicked(Roi roi) {
        boolean polygon = roi.getType() == Roi.POLYGON
                && !((PolygonRoi) roi).isSplineFit()
                && ((PolygonRoi) roi).getNCoordinates() <= MOST_CLICKED_NODES;
        if (!polygon) {
            return null;
        }
        // Two clicks at one position count as one.
        int[] nodes = NodeThinner.spread(SimplePolygon.nodes(roi.getPolygon()), 1);
        return SimplePolygon.isSimple(nodes) ? nodes : null;
    }
}
