package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * Straight lines along segments, as edge drawing finds them: a copy in Java's own memory, which never changes.
 *
 * <p>Lines come in the order of their segments. Ends are in pixels: whole numbers are the pixels' centres, (0, 0) is
 * that of the top left one. The brighter side is to the right of the way from the first end to the second.
 */
public final class Lines implements InSlices {
    // The layout of isoline_line.
    private static final int BYTES = 64;
    private static final int NUMBERS = 6;
    private static final int RMS = 4;
    private static final int LOG_FALSE_ALARMS = 5;
    private static final int POINTS_AT = 56;
    private static final int SLICE_AT = 60;

    /** Holds for each line x and y of both ends, the distance of its points, and the logarithm of its false alarms. */
    private final double[] numbers;

    private final int[] points;
    private final int[] slices;

    private Lines(int count) {
        numbers = new double[count * NUMBERS];
        points = new int[count];
        slices = new int[count];
    }

    /**
     * Copies the library's lines; the caller frees the library's.
     *
     * @throws IsolineException if there are more than a Java array holds
     */
    static Lines copyOf(Pointer lines) throws IsolineException {
        PointerByReference all = new PointerByReference();
        LongByReference count = new LongByReference();
        Status.check(IsolineLibrary.isoline_lines_all(lines, all, count));
        Status.checkRoom(
                count.getValue(),
                Integer.MAX_VALUE / NUMBERS,
                "There are " + count.getValue() + " lines",
                "Raise the gradient threshold or the shortest line, or take fewer slices.");
        Lines made = new Lines((int) count.getValue());
        for (int i = 0; i < made.count(); i++) {
            long at = (long) i * BYTES;
            all.getValue().read(at, made.numbers, i * NUMBERS, NUMBERS);
            made.points[i] = all.getValue().getInt(at + POINTS_AT);
            made.slices[i] = all.getValue().getInt(at + SLICE_AT);
        }
        return made;
    }

    @Override
    public int count() {
        return slices.length;
    }

    @Override
    public int slice(int line) {
        return slices[line];
    }

    /** Returns the column of an end of a line: 0 for the first, 1 for the second. */
    public double x(int line, int end) {
        return numbers[line * NUMBERS + 2 * end];
    }

    /** Returns the row of an end of a line: 0 for the first, 1 for the second. */
    public double y(int line, int end) {
        return numbers[line * NUMBERS + 2 * end + 1];
    }

    /** Returns the number of points that a line was fitted to. */
    public int pointCount(int line) {
        return points[line];
    }

    /** Returns the root mean square distance of its points from a line, in pixels. */
    public double rms(int line) {
        return numbers[line * NUMBERS + RMS];
    }

    /**
     * Returns the decimal logarithm of the number of false alarms of a line: how often chance is expected to make such
     * a line in an image of this size.
     */
    public double logFalseAlarms(int line) {
        return numbers[line * NUMBERS + LOG_FALSE_ALARMS];
    }
}
