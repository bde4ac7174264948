package io.github.isoline.ij;

import io.github.isoline.Segments;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.function.IntToDoubleFunction;

/**
 * Removes points of a chain that lie close to the line between others (Ramer; Douglas and Peucker). ImageJ itself only
 * has interpolation at equal intervals, which moves points.
 */
final class Simplifier {
    private Simplifier() {}

    /** The distances of points from the line between two others. */
    @FunctionalInterface
    interface Distances {
        /**
         * Returns the distance of a point by its number, or what grows with it.
         *
         * @param from the number of the first end
         * @param to the number of the other end; the number of points for the first one again
         */
        IntToDoubleFunction between(int from, int to);
    }

    /**
     * Returns the points to keep, in order: no other point is farther than the tolerance from the line between its kept
     * neighbours.
     *
     * @param count the number of points
     * @param second the point that is kept with the first: of an open chain the last one
     * @param tolerance in the unit of the distances
     */
    static int[] keep(int count, int second, double tolerance, Distances distances) {
        BitSet kept = new BitSet(count);
        kept.set(0);
        kept.set(second);
        // The pieces still to be split are on a stack, since chains are long.
        Deque<int[]> open = new ArrayDeque<>();
        open.push(new int[] {0, second});
        open.push(new int[] {second, count});
        while (!open.isEmpty()) {
            int[] piece = open.pop();
            IntToDoubleFunction distance = distances.between(piece[0], piece[1]);
            int far = -1;
            double most = tolerance;
            for (int i = piece[0] + 1; i < piece[1]; i++) {
                double away = distance.applyAsDouble(i);
                if (away > most) {
                    most = away;
                    far = i;
                }
            }
            if (far >= 0) {
                kept.set(far);
                open.push(new int[] {piece[0], far});
                open.push(new int[] {far, piece[1]});
            }
        }
        return kept.stream().toArray();
    }

    /**
     * Returns the points of a segment to keep. An open segment keeps its ends, a closed one its first point and the one
     * farthest from it.
     *
     * @param tolerance in pixels, 0 or more
     */
    static int[] keep(Segments segments, int segment, double tolerance) {
        int count = segments.pointCount(segment);
        int second = segments.isClosed(segment) ? farthestFromFirst(segments, segment) : count - 1;
        return keep(
                count,
                second,
                tolerance * tolerance,
                (from, to) -> squaredDistance(segments, segment, from, to % count));
    }

    private static int farthestFromFirst(Segments segments, int segment) {
        int far = 0;
        long most = -1;
        for (int i = 0; i < segments.pointCount(segment); i++) {
            long dx = segments.x(segment, i) - segments.x(segment, 0);
            long dy = segments.y(segment, i) - segments.y(segment, 0);
            if (dx * dx + dy * dy > most) {
                most = dx * dx + dy * dy;
                far = i;
            }
        }
        return far;
    }

    /** Returns the squared distances from the line segment between two points, both ends of which belong to it. */
    private static IntToDoubleFunction squaredDistance(Segments segments, int segment, int from, int to) {
        int x = segments.x(segment, from);
        int y = segments.y(segment, from);
        double dx = segments.x(segment, to) - x;
        double dy = segments.y(segment, to) - y;
        double length = dx * dx + dy * dy;
        return point -> {
            double px = segments.x(segment, point) - x;
            double py = segments.y(segment, point) - y;
            double along = length == 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / length));
            double awayX = px - along * dx;
            double awayY = py - along * dy;
            return awayX * awayX + awayY * awayY;
        };
    }
}
