package io.github.isoline.ij;

import io.github.isoline.Segments;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Deque;

/**
 * Removes points of a segment that lie close to the line between others (Ramer; Douglas and Peucker). ImageJ itself
 * only has interpolation at equal intervals, which moves points.
 */
final class Simplifier {
    private final Segments segments;
    private final int segment;
    private final double squaredTolerance;
    private final BitSet kept = new BitSet();

    private Simplifier(Segments segments, int segment, double tolerance) {
        this.segments = segments;
        this.segment = segment;
        squaredTolerance = tolerance * tolerance;
    }

    /**
     * Returns the points to keep, in order: every other point lies within the tolerance of the line between its kept
     * neighbours. An open segment keeps its ends, a closed one its first point and the one farthest from it.
     *
     * @param tolerance in pixels, 0 or more
     */
    static int[] keep(Segments segments, int segment, double tolerance) {
        Simplifier simplifier = new Simplifier(segments, segment, tolerance);
        int last = segments.pointCount(segment) - 1;
        simplifier.kept.set(0);
        if (segments.isClosed(segment)) {
            int far = simplifier.farthestFromFirst(last);
            simplifier.kept.set(far);
            simplifier.split(0, far);
            // The second half of the loop ends at the first point again.
            simplifier.split(far, last + 1);
        } else {
            simplifier.kept.set(last);
            simplifier.split(0, last);
        }
        int[] points = simplifier.kept.stream().toArray();
        // The end of a loop is its first point, which has the number after the last one here.
        return points[points.length - 1] > last ? Arrays.copyOf(points, points.length - 1) : points;
    }

    private int farthestFromFirst(int last) {
        int far = 0;
        long most = -1;
        for (int i = 0; i <= last; i++) {
            long dx = x(i) - x(0);
            long dy = y(i) - y(0);
            if (dx * dx + dy * dy > most) {
                most = dx * dx + dy * dy;
                far = i;
            }
        }
        return far;
    }

    /** Keeps the points that are needed between two kept ones; it uses a stack, since chains are long. */
    private void split(int from, int to) {
        Deque<int[]> open = new ArrayDeque<>();
        open.push(new int[] {from, to});
        while (!open.isEmpty()) {
            int[] piece = open.pop();
            int far = -1;
            double most = squaredTolerance;
            for (int i = piece[0] + 1; i < piece[1]; i++) {
                double distance = squaredDistance(i, piece[0], piece[1]);
                if (distance > most) {
                    most = distance;
                    far = i;
                }
            }
            if (far >= 0) {
                kept.set(far);
                open.push(new int[] {piece[0], far});
                open.push(new int[] {far, piece[1]});
            }
        }
    }

    /** Returns the squared distance from a point to the line segment between two others. */
    private double squaredDistance(int point, int from, int to) {
        double dx = x(to) - x(from);
        double dy = y(to) - y(from);
        double px = x(point) - x(from);
        double py = y(point) - y(from);
        double length = dx * dx + dy * dy;
        double along = length == 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / length));
        double awayX = px - along * dx;
        double awayY = py - along * dy;
        return awayX * awayX + awayY * awayY;
    }

    private int x(int point) {
        return segments.x(segment, point % segments.pointCount(segment));
    }

    private int y(int point) {
        return segments.y(segment, point % segments.pointCount(segment));
    }
}
