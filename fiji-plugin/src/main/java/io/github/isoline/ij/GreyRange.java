package io.github.isoline.ij;

import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import java.lang.reflect.Array;

/** The smallest and the largest finite value of some pixels. */
final class GreyRange {
    double min = Double.POSITIVE_INFINITY;
    double max = Double.NEGATIVE_INFINITY;

    /**
     * Returns the range of one slice, byte[] and short[] as unsigned or float[], by several threads for a large one.
     */
    static GreyRange of(Object pixels) {
        GreyRange range = new GreyRange();
        int all = Array.getLength(pixels);
        Parallel.pixels(all, (from, count) -> {
            GreyRange some = new GreyRange();
            if (pixels instanceof byte[]) {
                some.take((byte[]) pixels, from, from + count);
            } else if (pixels instanceof short[]) {
                some.take((short[]) pixels, from, from + count);
            } else {
                some.take((float[]) pixels, from, from + count);
            }
            range.add(some);
        });
        return range;
    }

    private void take(byte[] pixels, int from, int to) {
        for (int i = from; i < to; i++) {
            min = Math.min(min, pixels[i] & 0xff);
            max = Math.max(max, pixels[i] & 0xff);
        }
    }

    private void take(short[] pixels, int from, int to) {
        int low = Integer.MAX_VALUE;
        int high = Integer.MIN_VALUE;
        for (int i = from; i < to; i++) {
            low = Math.min(low, pixels[i] & 0xffff);
            high = Math.max(high, pixels[i] & 0xffff);
        }
        if (low <= high) {
            min = low;
            max = high;
        }
    }

    /** Takes floats; no comparison is true for NaN. */
    private void take(float[] pixels, int from, int to) {
        float low = Float.POSITIVE_INFINITY;
        float high = Float.NEGATIVE_INFINITY;
        for (int i = from; i < to; i++) {
            float pixel = pixels[i];
            if (pixel < low && pixel > Float.NEGATIVE_INFINITY) {
                low = pixel;
            }
            if (pixel > high && pixel < Float.POSITIVE_INFINITY) {
                high = pixel;
            }
        }
        min = low;
        max = high;
    }

    /** Takes the values that two pixels are both at or below, and at or above, if both are finite. */
    void takePair(double a, double b) {
        if (Double.isFinite(a) && Double.isFinite(b)) {
            min = Math.min(min, Math.max(a, b));
            max = Math.max(max, Math.min(a, b));
        }
    }

    /** Adds another range, and returns true: the next may be added. Several threads may add theirs. */
    synchronized boolean add(GreyRange other) {
        min = Math.min(min, other.min);
        max = Math.max(max, other.max);
        return true;
    }

    /** Returns false for pixels of one value only, and where none is finite. */
    boolean hasExtent() {
        return min < max;
    }

    /** Sets the range that the library would take from the pixels of each call: it holds for the whole stack. */
    void setIn(Params params) throws IsolineException {
        if (hasExtent()) {
            params.set(Settings.RANGE_MIN, min);
            params.set(Settings.RANGE_MAX, max);
        }
    }

    /** Returns max - min; 0 where there is no extent. */
    double extent() {
        return hasExtent() ? max - min : 0;
    }
}
