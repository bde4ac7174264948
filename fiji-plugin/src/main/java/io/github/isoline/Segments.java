package io.github.isoline;

import com.sun.jna.Pointer;

/**
 * Ordered chains of pixels, as edge drawing finds them: a copy in Java's own memory, which never changes.
 *
 * <p>Segments come slice by slice, in an order that does not depend on the device. Points are pixels: (0, 0) is the top
 * left one, whole numbers are the pixels' centres.
 */
public final class Segments implements InSlices {
    private static final int CLOSED = 1;
    private static final int COORDINATES = 2;
    private static final double HALF_TURN = 180;

    /** The share of the points' extent below which a difference between directions is rounding. */
    private static final double ROUNDING = 1e-9;

    /** Holds x and y alternately. */
    private final int[] points;

    private final int[] offsets;
    private final int[] flags;
    private final int[] slices;
    private final float[] meanGradients;

    private Segments(int[] points, int[] offsets, int[] flags, int[] slices, float[] meanGradients) {
        this.points = points;
        this.offsets = offsets;
        this.flags = flags;
        this.slices = slices;
        this.meanGradients = meanGradients;
    }

    /**
     * Copies the library's segments, all points in one array; the caller frees the library's.
     *
     * @throws IsolineException if there are more than a Java array holds
     */
    static Segments copyOf(Pointer segments) throws IsolineException {
        Structs.SegmentArrays arrays = Structs.init("segment_arrays", new Structs.SegmentArrays());
        Status.check(IsolineLibrary.isoline_segments_all(segments, arrays));
        Status.checkRoom(
                arrays.point_count,
                Integer.MAX_VALUE / COORDINATES,
                "There are " + arrays.point_count + " points on edges",
                "Raise the gradient threshold or the minimum length, or take fewer slices.");
        int count = (int) arrays.count;
        if (count == 0) {
            return none();
        }
        int[] offsets = Status.narrow(arrays.offsets.getLongArray(0, count + 1));
        return new Segments(
                arrays.points.getIntArray(0, (int) arrays.point_count * COORDINATES),
                offsets,
                arrays.flags.getIntArray(0, count),
                arrays.slices.getIntArray(0, count),
                arrays.mean_gradients.getFloatArray(0, count));
    }

    /** Returns no segments. */
    public static Segments none() {
        return new Segments(new int[0], new int[1], new int[0], new int[0], new float[0]);
    }

    @Override
    public int count() {
        return flags.length;
    }

    /** Returns the number of points of all segments. */
    public int pointCount() {
        return points.length / COORDINATES;
    }

    /** Returns the number of points of a segment. */
    public int pointCount(int segment) {
        return offsets[segment + 1] - offsets[segment];
    }

    /** Returns column of a segment's point. */
    public int x(int segment, int point) {
        return points[COORDINATES * at(segment, point)];
    }

    /** Returns row of a segment's point. */
    public int y(int segment, int point) {
        return points[COORDINATES * at(segment, point) + 1];
    }

    /** Returns true for a closed segment: the first point follows the last. */
    public boolean isClosed(int segment) {
        return (flags[segment] & CLOSED) != 0;
    }

    @Override
    public int slice(int segment) {
        return slices[segment];
    }

    /** Returns the mean gradient magnitude over a segment's points, in the image's own units. */
    public float meanGradient(int segment) {
        return meanGradients[segment];
    }

    /**
     * Returns the length of the chain through its pixels' centres; for a closed segment including the step back to its
     * start.
     *
     * @param width of a pixel
     * @param height of a pixel
     */
    public double length(int segment, double width, double height) {
        int from = offsets[segment];
        int to = offsets[segment + 1];
        double length = isClosed(segment) ? step(to - 1, from, width, height) : 0;
        for (int i = from + 1; i < to; i++) {
            length += step(i - 1, i, width, height);
        }
        return length;
    }

    /** Returns the mean of a segment's points: column and row, where whole numbers are the pixels' centres. */
    public double[] centroid(int segment) {
        double[] mean = new double[COORDINATES];
        int count = pointCount(segment);
        for (int point = 0; point < count; point++) {
            mean[0] += (double) x(segment, point) / count;
            mean[1] += (double) y(segment, point) / count;
        }
        return mean;
    }

    /**
     * Returns the direction in which a segment's points extend the most: degrees from 0 to below 180, anticlockwise
     * from the horizontal on the screen. NaN where no direction stands out.
     *
     * @param width of a pixel
     * @param height of a pixel
     */
    public double orientation(int segment, double width, double height) {
        double[] mean = centroid(segment);
        double xx = 0;
        double yy = 0;
        double xy = 0;
        for (int point = 0; point < pointCount(segment); point++) {
            double dx = (x(segment, point) - mean[0]) * width;
            // Rows are numbered downwards.
            double dy = (mean[1] - y(segment, point)) * height;
            xx += dx * dx;
            yy += dy * dy;
            xy += dx * dy;
        }
        double angle = Math.toDegrees(Math.atan2(2 * xy, xx - yy) / 2);
        boolean round = Math.hypot(2 * xy, xx - yy) <= ROUNDING * (xx + yy);
        return round ? Double.NaN : angle < 0 ? angle + HALF_TURN : angle;
    }

    private double step(int a, int b, double width, double height) {
        double dx = (points[COORDINATES * b] - points[COORDINATES * a]) * width;
        double dy = (points[COORDINATES * b + 1] - points[COORDINATES * a + 1]) * height;
        return Math.sqrt(dx * dx + dy * dy);
    }

    private int at(int segment, int point) {
        if (point < 0 || point >= pointCount(segment)) {
            throw new IndexOutOfBoundsException(
                    "point " + point + " of " + pointCount(segment) + " in segment " + segment);
        }
        return offsets[segment] + point;
    }
}
