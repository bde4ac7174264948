package io.github.isoline.ij;

import io.github.isoline.IsolineException;
import io.github.isoline.Segments;
import java.util.ArrayList;
import java.util.List;

/** The segments of a whole image, which may come from several calls to the library. */
final class SegmentList {
    /** A visitor of single segments. */
    @FunctionalInterface
    interface Visitor {
        /**
         * Visits a segment.
         *
         * @param number the index of the segment among all, from 0 on
         * @param segments the list that holds it
         * @param at the index in that list
         * @param index its slice in the input stack, from 1 on
         */
        void visit(int number, Segments segments, int at, int index) throws IsolineException;
    }

    private final List<Segments> calls = new ArrayList<>();
    private final List<int[]> slices = new ArrayList<>();
    private int count;

    /**
     * Adds the segments of one call.
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

    /** Visits every segment in order. */
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
     * Returns the number of points that a segment needs to be among the longest.
     *
     * @param most the requested number of segments
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
