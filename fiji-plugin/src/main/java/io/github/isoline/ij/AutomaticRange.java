package io.github.isoline.ij;

import java.lang.reflect.Array;

/**
 * The range of values that the library uses where it is automatic: from the smallest to the largest finite value, but
 * not as far as single hot or dead pixels: no farther beyond the range of neighbours than its own extent. That is from
 * the smallest value that two pixels side by side are both at or below to the largest that two are both at or above. If
 * that is empty, all pixels count. It is measured here if a channel is computed in several calls, each of which would
 * have a range of its own.
 */
final class AutomaticRange {
    private final GreyRange all = new GreyRange();
    private final GreyRange neighbours = new GreyRange();

    /**
     * Returns the range of one slice, byte[] and short[] as unsigned or float[], by several threads for a large one.
     */
    static AutomaticRange of(Object pixels, int width) {
        AutomaticRange range = new AutomaticRange();
        range.all.add(GreyRange.of(pixels));
        int count = Array.getLength(pixels);
        Parallel.pixels(count, (from, some) -> {
            GreyRange pairs = new GreyRange();
            for (int i = from; i < from + some; i++) {
                double value = IntensitySample.value(pixels, i);
                if (i % width + 1 < width) {
                    pairs.takePair(value, IntensitySample.value(pixels, i + 1));
                }
                if (i < count - width) {
                    pairs.takePair(value, IntensitySample.value(pixels, i + width));
                }
            }
            range.neighbours.add(pairs);
        });
        return range;
    }

    /** Adds another range, and returns true: the next may be added. Several threads may add theirs. */
    boolean add(AutomaticRange other) {
        return all.add(other.all) && neighbours.add(other.neighbours);
    }

    GreyRange range() {
        if (!neighbours.hasExtent()) {
            return all;
        }
        GreyRange range = new GreyRange();
        range.min = Math.max(all.min, neighbours.min - neighbours.extent());
        range.max = Math.min(all.max, neighbours.max + neighbours.extent());
        return range;
    }
}
