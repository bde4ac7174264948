package io.github.isoline.ij;

/** The smallest and the largest finite value of some pixels. */
final class GreyRange {
    double min = Double.POSITIVE_INFINITY;
    double max = Double.NEGATIVE_INFINITY;

    /** Returns the range of one slice: short[] as unsigned, or float[]. */
    static GreyRange of(Object pixels) {
        GreyRange range = new GreyRange();
        if (pixels instanceof short[]) {
            for (short pixel : (short[]) pixels) {
                range.take(pixel & 0xffff);
            }
        } else {
            for (float pixel : (float[]) pixels) {
                range.take(pixel);
            }
        }
        return range;
    }

    private void take(double value) {
        if (!Double.isNaN(value) && !Double.isInfinite(value)) {
            min = Math.min(min, value);
            max = Math.max(max, value);
        }
    }

    /** Adds another range, and returns true: the next may be added. */
    boolean add(GreyRange other) {
        min = Math.min(min, other.min);
        max = Math.max(max, other.max);
        return true;
    }

    /** Returns false for pixels of one value only, and where none is finite. */
    boolean hasExtent() {
        return min < max;
    }

    /** Returns max - min; 0 where there is no extent. */
    double extent() {
        return hasExtent() ? max - min : 0;
    }
}
