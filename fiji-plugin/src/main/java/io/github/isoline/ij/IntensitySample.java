package io.github.isoline.ij;

/** The mean and standard deviation of the pixels in a region that may have many planes. */
final class IntensitySample {
    private long count;

    /** Holds the sum of the values, each less the first: that keeps the sum of squares exact enough. */
    private double sum;

    private double squares;
    private double first = Double.NaN;

    /**
     * Returns the sample of some pixels, as {@link #value} takes them.
     *
     * @param inside true for those where the region is not 0, false for the others
     */
    static IntensitySample of(Object pixels, byte[] region, boolean inside) {
        IntensitySample made = new IntensitySample();
        for (int i = 0; i < region.length; i++) {
            if (region[i] != 0 == inside) {
                made.add(value(pixels, i));
            }
        }
        return made;
    }

    /** Adds the values of another one. */
    void add(IntensitySample other) {
        if (other.count > 0) {
            first = Double.isNaN(first) ? other.first : first;
            double apart = other.first - first;
            sum += other.sum + other.count * apart;
            squares += other.squares + apart * (2 * other.sum + other.count * apart);
            count += other.count;
        }
    }

    /** Adds a value; NaN and infinity are left out. */
    void add(double value) {
        if (!Double.isNaN(value) && !Double.isInfinite(value)) {
            first = Double.isNaN(first) ? value : first;
            double apart = value - first;
            sum += apart;
            squares += apart * apart;
            count++;
        }
    }

    /** Returns a value of byte[] and short[] as unsigned, or of float[]. */
    static double value(Object pixels, int i) {
        if (pixels instanceof byte[]) {
            return ((byte[]) pixels)[i] & 0xff;
        }
        return pixels instanceof short[] ? ((short[]) pixels)[i] & 0xffff : ((float[]) pixels)[i];
    }

    long count() {
        return count;
    }

    double mean() {
        return first + sum / count;
    }

    /** Returns the standard deviation of all pixels: the sum is divided by their number. */
    double deviation() {
        double mean = sum / count;
        return Math.sqrt(Math.max(0, squares / count - mean * mean));
    }
}
