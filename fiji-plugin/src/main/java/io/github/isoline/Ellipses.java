package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * Circles and ellipses along segments, as edge drawing finds them: a copy in Java's own memory, which never changes.
 *
 * <p>They come in the order of the segments of their longest arcs. Centres are in pixels: whole numbers are the pixels'
 * centres, (0, 0) is that of the top left one.
 */
public final class Ellipses implements InSlices {
    // The layout of isoline_ellipse.
    private static final int BYTES = 88;
    private static final int NUMBERS = 8;
    private static final int SEMI_MAJOR = 2;
    private static final int SEMI_MINOR = 3;
    private static final int ANGLE = 4;
    private static final int RMS = 5;
    private static final int COVERAGE = 6;
    private static final int LOG_FALSE_ALARMS = 7;
    private static final int COUNTS_AT = 72;
    private static final int COUNTS = 4;
    private static final int ARCS = 1;
    private static final int FLAGS = 2;
    private static final int SLICE = 3;
    private static final int CIRCLE = 1;
    private static final int BRIGHT = 2;

    /** Holds for each its centre, semi-axes, angle, distance of points, coverage, and logarithm of its false alarms. */
    private final double[] numbers;

    /** Holds for each the numbers of its points and of its arcs, its flags, and its slice. */
    private final int[] counts;

    private Ellipses(int count) {
        numbers = new double[count * NUMBERS];
        counts = new int[count * COUNTS];
    }

    /**
     * Copies the library's ellipses; the caller frees the library's.
     *
     * @throws IsolineException if there are more than a Java array holds
     */
    static Ellipses copyOf(Pointer ellipses) throws IsolineException {
        PointerByReference all = new PointerByReference();
        LongByReference count = new LongByReference();
        Status.check(IsolineLibrary.isoline_ellipses_all(ellipses, all, count));
        Status.checkRoom(
                count.getValue(),
                Integer.MAX_VALUE / NUMBERS,
                "There are " + count.getValue() + " ellipses",
                "Raise the gradient threshold or the smallest radius, or take fewer slices.");
        Ellipses made = new Ellipses((int) count.getValue());
        for (int i = 0; i < made.count(); i++) {
            long at = (long) i * BYTES;
            all.getValue().read(at, made.numbers, i * NUMBERS, NUMBERS);
            all.getValue().read(at + COUNTS_AT, made.counts, i * COUNTS, COUNTS);
        }
        return made;
    }

    @Override
    public int count() {
        return counts.length / COUNTS;
    }

    @Override
    public int slice(int ellipse) {
        return counts[ellipse * COUNTS + SLICE];
    }

    /** Returns the column of the centre. */
    public double x(int ellipse) {
        return numbers[ellipse * NUMBERS];
    }

    /** Returns the row of the centre. */
    public double y(int ellipse) {
        return numbers[ellipse * NUMBERS + 1];
    }

    /** Returns the longer semi-axis, in pixels; of a circle the radius. */
    public double semiMajor(int ellipse) {
        return numbers[ellipse * NUMBERS + SEMI_MAJOR];
    }

    /** Returns the shorter semi-axis, in pixels; of a circle the radius. */
    public double semiMinor(int ellipse) {
        return numbers[ellipse * NUMBERS + SEMI_MINOR];
    }

    /** Returns the direction of the longer axis, in radians from 0 to less than &pi;, clockwise on the screen. */
    public double angle(int ellipse) {
        return numbers[ellipse * NUMBERS + ANGLE];
    }

    /** Returns the root mean square distance of its points, in pixels. */
    public double rms(int ellipse) {
        return numbers[ellipse * NUMBERS + RMS];
    }

    /** Returns the share of the outline that its points are along, 0 to 1. */
    public double coverage(int ellipse) {
        return numbers[ellipse * NUMBERS + COVERAGE];
    }

    /**
     * Returns the decimal logarithm of the number of false alarms: how often chance is expected to make such a one in
     * an image of this size.
     */
    public double logFalseAlarms(int ellipse) {
        return numbers[ellipse * NUMBERS + LOG_FALSE_ALARMS];
    }

    /** Returns the number of points that it was fitted to. */
    public int pointCount(int ellipse) {
        return counts[ellipse * COUNTS];
    }

    /** Returns the number of arcs that were joined; 1 for a closed segment. */
    public int arcCount(int ellipse) {
        return counts[ellipse * COUNTS + ARCS];
    }

    /** Returns true for a circle, whose semi-axes are equal. */
    public boolean isCircle(int ellipse) {
        return (counts[ellipse * COUNTS + FLAGS] & CIRCLE) != 0;
    }

    /** Returns true if it is brighter inside than outside. */
    public boolean isBright(int ellipse) {
        return (counts[ellipse * COUNTS + FLAGS] & BRIGHT) != 0;
    }
}
