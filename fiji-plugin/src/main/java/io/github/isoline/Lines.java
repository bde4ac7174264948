package io.github.isoline;

import com.sun.jna.Pointer;

/**
 * Straight lines along segments, as edge drawing finds them: a copy in Java's own memory, which never changes.
 *
 * <p>Lines come in the order of their segments. Ends are in pixels: whole numbers are the pixels' centres, (0, 0) is
 * that of the top left one. The brighter side is to the right of the way from the first end to the second.
 */
public final class Lines extends Records implements InSlices {
    // The layout of isoline_line: x and y of both ends are first.
    private static final int BYTES = 64;
    private static final int RMS_AT = 32;
    private static final int LOG_FALSE_ALARMS_AT = 40;
    private static final int POINTS_AT = 56;
    private static final int SLICE_AT = 60;

    Lines(Pointer lines) throws IsolineException {
        super(lines, "lines", BYTES, "Raise the gradient threshold or the shortest line, or take fewer slices.");
    }

    @Override
    public int slice(int line) {
        return whole(line, SLICE_AT);
    }

    /** Returns the column of an end of a line: 0 for the first, 1 for the second. */
    public double x(int line, int end) {
        return number(line, 2 * end * Double.BYTES);
    }

    /** Returns the row of an end of a line: 0 for the first, 1 for the second. */
    public double y(int line, int end) {
        return number(line, (2 * end + 1) * Double.BYTES);
    }

    /** Returns the number of points that a line was fitted to. */
    public int pointCount(int line) {
        return whole(line, POINTS_AT);
    }

    /** Returns the root mean square distance of its points from a line, in pixels. */
    public double rms(int line) {
        return number(line, RMS_AT);
    }

    /**
     * Returns the decimal logarithm of the number of false alarms of a line: how often chance is expected to make such
     * a line in an image of this size.
     */
    public double logFalseAlarms(int line) {
        return number(line, LOG_FALSE_ALARMS_AT);
    }
}
