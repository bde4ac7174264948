package io.github.isoline.ij;

/**
 * Estimates the length of the border of a mask in a slice, or the area of its surface in a volume, by the formula of
 * Crofton: lines pass through all pixels in the four (thirteen) directions to their neighbours, and their crossings of
 * the border are counted. Unlike the sum of the pixels' sides, the estimate is independent of the border's orientation
 * to within a few percent.
 *
 * <p>The border of the image does not count.
 */
final class FrontMeasure {
    /** The number of points on the half circle or sphere that are divided among the directions. */
    private static final int SAMPLES = 20_000;

    private static final double GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

    /** The steps to the neighbours in the same slice: x, y, z. */
    private static final int[][] FLAT = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {-1, 1, 0}};

    /** The steps to the neighbours in the same slice and in the next one. */
    private static final int[][] ALL = {
        {1, 0, 0},
        {0, 1, 0},
        {1, 1, 0},
        {-1, 1, 0},
        {0, 0, 1},
        {1, 0, 1},
        {-1, 0, 1},
        {0, 1, 1},
        {0, -1, 1},
        {1, 1, 1},
        {-1, 1, 1},
        {1, -1, 1},
        {-1, -1, 1},
    };

    private final int width;
    private final boolean volume;

    /** Holds for each direction the length or the area that one crossing counts for. */
    private final double[] weights;

    /**
     * @param width of a row, in pixels
     * @param volume true for a surface, false for a border in a slice
     */
    FrontMeasure(int width, boolean volume, double... size) {
        this.width = width;
        this.volume = volume;
        int[][] steps = steps();
        double[][] directions = new double[steps.length][3];
        weights = new double[steps.length];
        for (int k = 0; k < steps.length; k++) {
            double length = 0;
            for (int axis = 0; axis < 3; axis++) {
                directions[k][axis] = steps[k][axis] * size[axis];
                length += directions[k][axis] * directions[k][axis];
            }
            length = Math.sqrt(length);
            for (int axis = 0; axis < 3; axis++) {
                directions[k][axis] /= length;
            }
            // This is the distance between lines in this direction; in a volume, the area per line.
            double apart = size[0] * size[1] * (volume ? size[2] : 1) / length;
            // A line crosses a convex shape's border twice; the border's length is pi times its
            // mean width, the surface's area is four times the mean area of its projection.
            weights[k] = apart * (volume ? 2 : Math.PI / 2);
        }
        share(directions);
    }

    private int[][] steps() {
        return volume ? ALL : FLAT;
    }

    /** Sets the weight of each direction to the share of all directions that are nearest to it. */
    private void share(double[][] directions) {
        int[] nearest = new int[directions.length];
        for (int i = 0; i < SAMPLES; i++) {
            double z = volume ? (i + 0.5) / SAMPLES : 0;
            double angle = volume ? i * GOLDEN_ANGLE : Math.PI * (i + 0.5) / SAMPLES;
            double flat = Math.sqrt(1 - z * z);
            double x = flat * Math.cos(angle);
            double y = flat * Math.sin(angle);
            int best = 0;
            double closest = 0;
            for (int k = 0; k < directions.length; k++) {
                double[] d = directions[k];
                double cosine = Math.abs(x * d[0] + y * d[1] + z * d[2]);
                if (cosine > closest) {
                    closest = cosine;
                    best = k;
                }
            }
            nearest[best]++;
        }
        for (int k = 0; k < weights.length; k++) {
            weights[k] *= (double) nearest[k] / SAMPLES;
        }
    }

    /**
     * Counts for each direction the crossings of the border in a slice, and in a volume also those between the slice
     * before and this one. Several threads may count at once.
     *
     * @param before null for the first slice
     * @param mask 0 outside
     */
    long[] count(byte[] before, byte[] mask) {
        int[][] steps = steps();
        long[] counts = new long[steps.length];
        for (int k = 0; k < steps.length; k++) {
            byte[] from = steps[k][2] == 0 ? mask : before;
            counts[k] = from == null ? 0 : crossings(from, mask, steps[k][0], steps[k][1]);
        }
        return counts;
    }

    /**
     * Counts the same for each of several regions; crossings between two of them count for both.
     *
     * @param before null for the first slice
     * @param labels the number of the region that a pixel belongs to; 0 outside all
     * @param counts receives the sums by number and direction
     */
    void count(int[] before, int[] labels, long[]... counts) {
        int[][] steps = steps();
        for (int k = 0; k < steps.length; k++) {
            int[] from = steps[k][2] == 0 ? labels : before;
            int dx = steps[k][0];
            int dy = steps[k][1];
            int height = labels.length / width;
            for (int y = Math.max(0, -dy); from != null && y < height - Math.max(0, dy); y++) {
                for (int x = Math.max(0, -dx); x < width - Math.max(0, dx); x++) {
                    int a = from[y * width + x];
                    int b = labels[(y + dy) * width + x + dx];
                    if (a != b) {
                        counts[a][k]++;
                        counts[b][k]++;
                    }
                }
            }
        }
    }

    /** Returns counts of nothing for a number of regions and the outside. */
    long[][] nothing(int regions) {
        return new long[regions + 1][steps().length];
    }

    /** Returns the length or the area, in the unit of the size, from the counts of the slices in their order. */
    double of(long[]... counts) {
        double measure = 0;
        for (long[] slice : counts) {
            for (int k = 0; k < slice.length; k++) {
                measure += weights[k] * slice[k];
            }
        }
        return measure;
    }

    /** Returns the number of steps from one slice to another that cross the border. */
    private long crossings(byte[] from, byte[] to, int dx, int dy) {
        int height = from.length / width;
        long count = 0;
        for (int y = Math.max(0, -dy); y < height - Math.max(0, dy); y++) {
            int row = y * width;
            int other = row + dy * width + dx;
            int end = width - Math.max(0, dx);
            for (int x = Math.max(0, -dx); x < end; x++) {
                if (from[row + x] != to[other + x]) {
                    count++;
                }
            }
        }
        return count;
    }
}
