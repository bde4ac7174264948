package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.PointRoi;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.Segments;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Converts segments to ImageJ's selections: lines, or areas where a segment is closed. */
final class SegmentRois {
    /** The property of every selection made here, by which a later run can replace them in an overlay. */
    static final String PROPERTY = "isoline";

    static final String EDGE_DRAWING = "edge drawing";

    private static final int LEAST_DIGITS = 4;

    /**
     * The offset from a pixel's index to its centre, for areas: their coordinates are those of the pixels' corners. For
     * lines and points ImageJ itself counts from the centres.
     */
    private static final float CENTRE = 0.5f;

    /** The number of selections made between two checks of the Escape key. */
    private static final int CANCEL_INTERVAL = 1024;

    private final ImagePlus image;
    private final EdgeDrawingSettings settings;
    private final boolean hyperstack;

    SegmentRois(ImagePlus image, EdgeDrawingSettings settings) {
        this.image = image;
        this.settings = settings;
        // ImageJ's canvas decides by the same test which kind of position it reads.
        hyperstack = ResultImage.isHyperStack(image);
    }

    /**
     * Returns the longest segments as selections, in their own order, named by their number among all.
     *
     * @param most the largest number; of the shortest that are still taken, the first
     */
    List<Roi> longest(SegmentList list, int most) throws IsolineException {
        int least = list.leastPoints(most);
        int[] longer = {0};
        list.forEach((number, segments, at, index) -> longer[0] += segments.pointCount(at) > least ? 1 : 0);
        int[] room = {most - longer[0]};
        List<Roi> rois = new ArrayList<>(Math.min(most, list.count()));
        list.forEach((number, segments, at, index) -> {
            int points = segments.pointCount(at);
            if (points > least || points == least && room[0]-- > 0) {
                rois.add(roi(list, number, segments, at, index));
            }
            glance(number, list.count());
        });
        return rois;
    }

    /**
     * Converts every segment to a selection, one after the other: all at once would need much memory.
     *
     * @throws IOException the taker's own
     */
    void all(SegmentList list, RoiOutput.Taker taker) throws IsolineException, IOException {
        IOException[] thrown = {null};
        list.forEach((number, segments, at, index) -> {
            if (thrown[0] == null) {
                try {
                    taker.take(roi(list, number, segments, at, index));
                } catch (IOException e) {
                    thrown[0] = e;
                }
            }
            glance(number, list.count());
        });
        if (thrown[0] != null) {
            throw thrown[0];
        }
    }

    private Roi roi(SegmentList list, int number, Segments segments, int at, int index) {
        int digits = Math.max(LEAST_DIGITS, Integer.toString(list.count()).length());
        Roi roi = shape(segments, at);
        roi.setName(name(number, digits, index));
        roi.setStrokeColor(SegmentColours.of(number));
        roi.setProperty(PROPERTY, EDGE_DRAWING);
        place(roi, index);
        return roi;
    }

    private static void glance(int number, int all) throws IsolineException {
        if (number % CANCEL_INTERVAL == 0) {
            IJ.showProgress(number, all);
            if (IJ.escapePressed()) {
                throw IsolineException.cancelled();
            }
        }
    }

    private Roi shape(Segments segments, int at) {
        int all = segments.pointCount(at);
        if (all == 1) {
            return new PointRoi(segments.x(at, 0), segments.y(at, 0));
        }
        boolean polyline = settings.isPolyline();
        int[] kept = polyline ? Simplifier.keep(segments, at, settings.number(EdgeDrawingSettings.TOLERANCE)) : null;
        int count = polyline ? kept.length : all;
        // Two points enclose no area.
        boolean closed = segments.isClosed(at) && count > 2;
        float[] x = new float[count];
        float[] y = new float[count];
        int[] wholeX = new int[count];
        int[] wholeY = new int[count];
        for (int i = 0; i < count; i++) {
            int point = polyline ? kept[i] : i;
            wholeX[i] = segments.x(at, point);
            wholeY[i] = segments.y(at, point);
            x[i] = wholeX[i] + CENTRE;
            y[i] = wholeY[i] + CENTRE;
        }
        if (closed) {
            return new PolygonRoi(x, y, count, polyline ? Roi.POLYGON : Roi.FREEROI);
        }
        return new PolygonRoi(wholeX, wholeY, count, polyline ? Roi.POLYLINE : Roi.FREELINE);
    }

    private void place(Roi roi, int index) {
        if (hyperstack) {
            int[] position = image.convertIndexToPosition(index);
            roi.setPosition(position[0], position[1], position[2]);
        } else if (image.getStackSize() > 1) {
            roi.setPosition(index);
        }
    }

    /** Returns "seg-0012", or "seg-0012 s3" in a stack: short, since the ROI Manager's list is narrow. */
    private String name(int number, int digits, int index) {
        return "seg-" + IJ.pad(number + 1, digits) + where(image, index);
    }

    /** Returns the end of a name that gives a selection's position: " s3", " c1z2t1"; "" in an image. */
    static String where(ImagePlus image, int index) {
        if (ResultImage.isHyperStack(image)) {
            int[] position = image.convertIndexToPosition(index);
            return " c" + position[0] + "z" + position[1] + "t" + position[2];
        }
        return image.getStackSize() > 1 ? " s" + index : "";
    }
}
