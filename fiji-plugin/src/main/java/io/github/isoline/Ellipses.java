package io.github.isoline;

import com.sun.jna.Pointer;

/**
 * Circles and ellipses along segments, as edge drawing finds them: a copy in Java's own memory, which never changes.
 *
 * <p>They come in the order of the segments of their longest arcs. Centres are in pixels: whole numbers are the pixels'
 * centres, (0, 0) is that of the top left one.
 */
public final class Ellipses extends Records implements InSlices {
    // The layout of isoline_ellipse: x and y of the centre are first.
    private static final int BYTES = 88;
    private static final int SEMI_MAJOR_AT = 16;
    private static final int SEMI_MINOR_AT = 24;
    private static final int ANGLE_AT = 32;
    private static final int RMS_AT = 40;
    private static final int COVERAGE_AT = 48;
    private static final int LOG_FALSE_ALARMS_AT = 56;
    private static final int POINTS_AT = 72;
    private static final int ARCS_AT = 76;
    private static final int FLAGS_AT = 80;
    private static final int SLICE_AT = 84;
    private static final int CIRCLE = 1;
    private static final int BRIGHT = 2;

    Ellipses(Pointer ellipses) throws IsolineException {
        super(
                ellipses,
                "ellipses",
                BYTES,
                "Raise the gradient threshold or the smallest radius, or take fewer slices.");
    }

    @Override
    public int slice(int ellipse) {
        return whole(ellipse, SLICE_AT);
    }

    /** Returns the column of the centre. */
    public double x(int ellipse) {
        return number(ellipse, 0);
    }

    /** Returns the row of the centre. */
    public double y(int ellipse) {
        return number(ellipse, Double.BYTES);
    }

    /** Returns the longer semi-axis, in pixels; of a circle the radius. */
    public double semiMajor(int ellipse) {
        return number(ellipse, SEMI_MAJOR_AT);
    }

    /** Returns the shorter semi-axis, in pixels; of a circle the radius. */
    public double semiMinor(int ellipse) {
        return number(ellipse, SEMI_MINOR_AT);
    }

    /** Returns the direction of the longer axis, in radians from 0 to less than &pi;, clockwise on the screen. */
    public double angle(int ellipse) {
        return number(ellipse, ANGLE_AT);
    }

    /** Returns the root mean square distance of its points, in pixels. */
    public double rms(int ellipse) {
        return number(ellipse, RMS_AT);
    }

    /** Returns the share of the outline that its points are along, 0 to 1. */
    public double coverage(int ellipse) {
        return number(ellipse, COVERAGE_AT);
    }

    /**
     * Returns the decimal logarithm of the number of false alarms: how often chance is expected to make such a one in
     * an image of this size.
     */
    public double logFalseAlarms(int ellipse) {
        return number(ellipse, LOG_FALSE_ALARMS_AT);
    }

    /** Returns the number of points that it was fitted to. */
    public int pointCount(int ellipse) {
        return whole(ellipse, POINTS_AT);
    }

    /** Returns the number of arcs that were joined; 1 for a closed segment. */
    public int arcCount(int ellipse) {
        return whole(ellipse, ARCS_AT);
    }

    /** Returns true for a circle, whose semi-axes are equal. */
    public boolean isCircle(int ellipse) {
        return (whole(ellipse, FLAGS_AT) & CIRCLE) != 0;
    }

    /** Returns true if it is brighter inside than outside. */
    public boolean isBright(int ellipse) {
        return (whole(ellipse, FLAGS_AT) & BRIGHT) != 0;
    }
}
