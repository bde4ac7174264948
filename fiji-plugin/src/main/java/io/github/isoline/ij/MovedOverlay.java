package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.process.FloatPolygon;
import java.util.Arrays;

/** The overlay of an image, moved to a new image of some of its planes. */
final class MovedOverlay {
    /** The bit shift by which PointRoi packs the position of a point beside its counter. */
    private static final int POSITION_SHIFT = 8;

    private static final int COUNTER = 0xff;

    private MovedOverlay() {}

    /** Returns the elements that lie in the planes, each at its position in the new image. */
    static Overlay of(HyperStackSelection planes, ImagePlus result) {
        Overlay overlay = planes.image.getOverlay();
        Overlay moved = overlay.duplicate();
        moved.clear();
        for (Roi roi : overlay.toArray()) {
            if (!GuestOverlay.isGuest(roi)) {
                Roi copy = moved(planes, result, roi);
                if (copy != null) {
                    moved.add(copy);
                }
            }
        }
        return moved;
    }

    private static Roi moved(HyperStackSelection planes, ImagePlus result, Roi roi) {
        if (roi.getPosition() == PointRoi.POINTWISE_POSITION && roi instanceof PointRoi) {
            return movedPoints(planes, (PointRoi) roi);
        }
        int[] position = planes.moved(position(planes, roi));
        if (position == null) {
            return null;
        }
        Roi copy = (Roi) roi.clone();
        ResultImage.setPosition(copy, result, position);
        return copy;
    }

    /** Returns the points whose slices are taken, of points that each have a slice; null for none. */
    private static Roi movedPoints(HyperStackSelection planes, PointRoi roi) {
        FloatPolygon points = roi.getFloatPolygon();
        int[] counters = roi.getCounters();
        if (counters == null) {
            return null;
        }
        int count = 0;
        for (int i = 0; i < points.npoints; i++) {
            int index = roi.getPointPosition(i);
            int place = index > 0 ? planes.place(index) : -1;
            if (index == 0 || place >= 0) {
                points.xpoints[count] = points.xpoints[i];
                points.ypoints[count] = points.ypoints[i];
                counters[count] = counters[i] & COUNTER | place + 1 << POSITION_SHIFT;
                count++;
            }
        }
        if (count == 0) {
            return null;
        }
        PointRoi moved = new PointRoi(points.xpoints, points.ypoints, count);
        moved.setCounters(Arrays.copyOf(counters, count));
        moved.copyAttributes(roi);
        moved.setPointType(roi.getPointType());
        moved.setSize(roi.getSize());
        return moved;
    }

    /** Returns the channel, slice and frame of a selection, 0 for all, as ImageJ's canvas reads them. */
    static int[] position(HyperStackSelection planes, Roi roi) {
        int index = roi.getPosition();
        boolean known = index > 0 && index <= planes.image.getStackSize();
        if (!ResultImage.isHyperStack(planes.image)) {
            return known ? planes.position(index) : new int[3];
        }
        int[] position = {roi.getCPosition(), roi.getZPosition(), roi.getTPosition()};
        if (!roi.hasHyperStackPosition() && known) {
            int axis = planes.image.getNSlices() > 1 ? 1 : 2;
            position[axis] = index;
        }
        return position;
    }
}
