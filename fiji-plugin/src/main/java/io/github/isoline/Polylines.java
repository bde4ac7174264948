package io.github.isoline;

/**
 * Closed and open curves, as isolines finds them, or axes and critical points of an edge strength: a copy in Java's own
 * memory, which never changes.
 *
 * <p>Curves come slice by slice and level by level, in an order that does not depend on the device. Points are in
 * pixels: whole numbers are the pixels' centres, (0, 0) is that of the top left one.
 */
public final class Polylines extends Records implements InSlices {
    /** The flag of an axis on which the gradient magnitude is smallest along level curves. */
    public static final int S_PLUS = 2;

    /** The flag of an axis on which the gradient magnitude is largest along level curves. */
    public static final int S_MINUS = 4;

    /** The flag of a critical point, a curve of one point, at which the edge strength is smallest. */
    public static final int ELLIPTIC = 8;

    /** The flag of a critical point that is a saddle of the edge strength. */
    public static final int HYPERBOLIC = 16;

    private static final int CLOSED = 1;
    private static final int COORDINATES = 2;
    private static final String ADVICE = "Take fewer levels or slices.";

    // The layout of isoline_polyline.
    private static final int BYTES = 56;
    private static final int COUNT_AT = 8;
    private static final int PARENT_AT = 16;
    private static final int LEVEL_AT = 24;
    private static final int LENGTH_AT = 32;
    private static final int AREA_AT = 40;
    private static final int SLICE_AT = 48;
    private static final int FLAGS_AT = 52;

    /** Holds x and y alternately. */
    private final double[] points;

    private final int[] offsets;

    /**
     * Copies the library's polylines, all points in one array; the caller frees the library's.
     *
     * @throws IsolineException if there are more than a Java array holds
     */
    Polylines(Structs.PolylineArrays arrays) throws IsolineException {
        super(arrays.polylines, arrays.count, "curves", BYTES, ADVICE);
        Status.checkRoom(
                arrays.point_count,
                Integer.MAX_VALUE / COORDINATES,
                "There are " + arrays.point_count + " points on curves",
                ADVICE);
        points = count() == 0 ? new double[0] : arrays.points.getDoubleArray(0, (int) arrays.point_count * COORDINATES);
        offsets = new int[count() + 1];
        for (int i = 0; i < count(); i++) {
            offsets[i + 1] = offsets[i] + (int) large(i, COUNT_AT);
        }
    }

    /** Returns the number of points of a curve. */
    public int pointCount(int curve) {
        return offsets[curve + 1] - offsets[curve];
    }

    /** Returns the column of a curve's point. */
    public double x(int curve, int point) {
        return points[COORDINATES * (offsets[curve] + point)];
    }

    /** Returns the row of a curve's point. */
    public double y(int curve, int point) {
        return points[COORDINATES * (offsets[curve] + point) + 1];
    }

    /** Returns true for a closed curve: the first point follows the last. */
    public boolean isClosed(int curve) {
        return (whole(curve, FLAGS_AT) & CLOSED) != 0;
    }

    /** Returns {@link #S_PLUS}, {@link #S_MINUS}, {@link #ELLIPTIC} or {@link #HYPERBOLIC}; 0 for an isoline. */
    public int kind(int curve) {
        return whole(curve, FLAGS_AT) & ~CLOSED;
    }

    @Override
    public int slice(int curve) {
        return whole(curve, SLICE_AT);
    }

    /** Returns the level, in the image's own units; of axes and critical points the smallest edge strength on them. */
    public double level(int curve) {
        return number(curve, LEVEL_AT);
    }

    /** Returns the closed curve that directly encloses a closed curve; -1 for none. */
    public int parent(int curve) {
        return (int) large(curve, PARENT_AT);
    }

    /** Returns the length, in the unit of the input's spacing. */
    public double length(int curve) {
        return number(curve, LENGTH_AT);
    }

    /** Returns the area that a closed curve encloses: positive around higher values, negative around lower ones. */
    public double area(int curve) {
        return number(curve, AREA_AT);
    }
}
