package io.github.isoline.ij;

import io.github.isoline.IsolineException;
import io.github.isoline.Segments;
import java.util.ArrayList;
import java.util.List;

/** The segments of a whole image, which may have come from several calls to the library. */
final class SegmentList {
    /** Looks at one segment. */
    @FunctionalInterface
    interface Visitor {
        /**
         * @param number the segment's place among all, from 0 on
         * @param segments where it lies
         * @param at its place there
         * @param index its slice in the input stack, from 1 on
         */
        void visit(int number, Segments segments, int at, int index) throws IsolineException;
    }

    private final List<Segments> calls = new ArrayList<>();
    private final List<int[]> slices = new ArrayList<>();
    private int count;

    /**
     * Adds what one call found.
     *
     * @param part the stack index of each slice of the call
     */
    void add(Segments segments, int[] part) throws IsolineException {
        count = Math.addExact(count, segments.count());
        calls.add(segments);
        slices.add(part);
    }

    int count() {
        return count;
    }

    /** Shows every segment in order. */
    void forEach(Visitor visitor) throws IsolineException {
        int number = 0;
        for (int call = 0; call < calls.size(); call++) {
            Segments segments = calls.get(call);
            int[] part = slices.get(call);
            for (int at = 0; at < segments.count(); at++) {
                visitor.visit(number, segments, at, part[segments.slice(at)]);
                number++;
            }
        }
    }

    /**
     * How many points a segment must have to be among the longest.
     *
     * @param most how many segments are wanted
     */
    int leastPoints(int most) throws IsolineException {
        if (count <= most) {
            return 0;
        }
        int[] points = new int[count];
        forEach((number, segments, at, index) -> points[number] = segments.pointCount(at));
        java.util.Arrays.sort(points);
        return points[count - most];
    }
}
