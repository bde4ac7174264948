package io.github.isoline;

/**
 * Closed and open curves, as isolines finds them, or axes and critical points of an edge strength: a copy in Java's own
 * memory, which never changes.
 *
 * <p>Curves come slice by slice and level by level, in an order that does not depend on the device. Points are in
 * pixels: whole numbers are the pixels' centres, (0, 0) is that of the top left one.
 */
public final class Polylines implements InSlices {
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
    private final int[] parents;
    private final double[] levels;
    private final double[] lengths;
    private final double[] areas;
    private final int[] slices;
    private final int[] flags;

    private Polylines(double[] points, int count) {
        this.points = points;
        offsets = new int[count + 1];
        parents = new int[count];
        levels = new double[count];
        lengths = new double[count];
        areas = new double[count];
        slices = new int[count];
        flags = new int[count];
    }

    /**
     * Copies the library's polylines, all points in one array; the caller frees the library's.
     *
     * @throws IsolineException if there are more than a Java array holds
     */
    static Polylines copyOf(Structs.PolylineArrays arrays) throws IsolineException {
        Status.checkRoom(
                arrays.point_count,
                Integer.MAX_VALUE / COORDINATES,
                "There are " + arrays.point_count + " points on isolines",
                "Give fewer levels, or take fewer slices.");
        int count = (int) arrays.count;
        if (count == 0) {
            return new Polylines(new double[0], 0);
        }
        Polylines made = new Polylines(arrays.points.getDoubleArray(0, (int) arrays.point_count * COORDINATES), count);
        for (int i = 0; i < count; i++) {
            long at = (long) i * BYTES;
            made.offsets[i + 1] = made.offsets[i] + (int) arrays.polylines.getLong(at + COUNT_AT);
            made.parents[i] = (int) arrays.polylines.getLong(at + PARENT_AT);
            made.levels[i] = arrays.polylines.getDouble(at + LEVEL_AT);
            made.lengths[i] = arrays.polylines.getDouble(at + LENGTH_AT);
            made.areas[i] = arrays.polylines.getDouble(at + AREA_AT);
            made.slices[i] = arrays.polylines.getInt(at + SLICE_AT);
            made.flags[i] = arrays.polylines.getInt(at + FLAGS_AT);
        }
        return made;
    }

    @Override
    public int count() {
        return flags.length;
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
        return (flags[curve] & CLOSED) != 0;
    }

    /** Returns {@link #S_PLUS}, {@link #S_MINUS}, {@link #ELLIPTIC} or {@link #HYPERBOLIC}; 0 for an isoline. */
    public int kind(int curve) {
        return flags[curve] & ~CLOSED;
    }

    @Override
    public int slice(int curve) {
        return slices[curve];
    }

    /** Returns the level, in the image's own units; of axes and critical points the smallest edge strength on them. */
    public double level(int curve) {
        return levels[curve];
    }

    /** Returns the closed curve that directly encloses a closed curve; -1 for none. */
    public int parent(int curve) {
        return parents[curve];
    }

    /** Returns the length, in the unit of the input's spacing. */
    public double length(int curve) {
        return lengths[curve];
    }

    /** Returns the area that a closed curve encloses: positive around higher values, negative around lower ones. */
    public double area(int curve) {
        return areas[curve];
    }
}
