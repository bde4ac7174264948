package io.github.isoline.ij;

import java.lang.reflect.Array;
import java.util.Arrays;

/** The values of an image, of which at most two are counted. NaN does not count. */
final class TwoValues {
    private static final int MOST = 2;
    private static final int BYTE_VALUES = 256;

    /** The number of bytes that are looked at before they are counted. */
    private static final int BLOCK = 1 << 14;

    private final double[] values = new double[MOST];

    /** The number of values; {@link #MOST} + 1 stands for any higher number. */
    private int count;

    /**
     * Returns the values of one slice, byte[] and short[] as unsigned or float[], by several threads for a large one.
     */
    static TwoValues of(Object pixels) {
        TwoValues found = new TwoValues();
        Parallel.pixels(Array.getLength(pixels), (from, count) -> {
            if (!found.isMore()) {
                TwoValues some = new TwoValues();
                some.take(pixels, from, from + count);
                found.add(some);
            }
        });
        return found;
    }

    private void take(Object pixels, int first, int end) {
        if (pixels instanceof byte[]) {
            for (int from = first; from < end && count <= MOST; from += BLOCK) {
                take((byte[]) pixels, from, Math.min(from + BLOCK, end));
            }
        } else if (pixels instanceof short[]) {
            short[] all = (short[]) pixels;
            for (int i = first; i < end && count <= MOST; i++) {
                if (i == first || all[i] != all[i - 1]) {
                    take(all[i] & 0xffff);
                }
            }
        } else {
            float[] all = (float[]) pixels;
            for (int i = first; i < end && count <= MOST; i++) {
                if (i == first || all[i] != all[i - 1]) {
                    take(all[i]);
                }
            }
        }
    }

    private void take(byte[] pixels, int from, int to) {
        boolean[] seen = new boolean[BYTE_VALUES];
        for (int i = from; i < to; i++) {
            seen[pixels[i] & 0xff] = true;
        }
        for (int value = 0; value < seen.length; value++) {
            if (seen[value]) {
                take(value);
            }
        }
    }

    /**
     * Adds the values of another slice; returns false if there are more than two, and no other slice matters. Several
     * threads may add theirs.
     */
    synchronized boolean add(TwoValues other) {
        for (int i = 0; i < Math.min(other.count, MOST); i++) {
            take(other.values[i]);
        }
        if (other.count > MOST) {
            count = MOST + 1;
        }
        return count <= MOST;
    }

    private void take(double value) {
        if (Double.isNaN(value)) {
            return;
        }
        for (int i = 0; i < Math.min(count, MOST); i++) {
            if (values[i] == value) {
                return;
            }
        }
        if (count < MOST) {
            values[count] = value;
        }
        count = Math.min(count + 1, MOST + 1);
    }

    /** Returns true for three or more values. */
    synchronized boolean isMore() {
        return count > MOST;
    }

    /**
     * Returns a threshold between the two values; for fewer the stored value of 0: an image of zeros is all below, of
     * ones or 255 all above.
     */
    double between(double zero) {
        if (count < MOST) {
            return zero;
        }
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        double middle = sorted[0] / 2 + sorted[1] / 2;
        // For neighbouring or infinite values the computed middle may not lie below the larger one.
        return middle >= sorted[0] && middle < sorted[1] ? middle : sorted[0];
    }
}
