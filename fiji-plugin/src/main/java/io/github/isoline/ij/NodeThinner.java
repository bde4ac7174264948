package io.github.isoline.ij;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * Makes a start of an outline: it has few nodes, since the search adds nodes where they help, and nodes that lie close
 * together hinder each other.
 */
final class NodeThinner {
    /** The largest move of an outline, as a share of the longest edge and of the root of the area. */
    private static final double TOLERANCE_OF_SPACING = 1.0 / 8;

    private static final double TOLERANCE_OF_SIZE = 1.0 / 20;
    private static final double LEAST_TOLERANCE = 0.5;

    /** The approximate smallest number of nodes of a start. */
    private static final int NODES = 8;

    /** The largest relative change of the area. */
    private static final double MOST_CHANGE = 0.15;

    private NodeThinner() {}

    /**
     * Returns a simple polygon of fewer nodes; the outline itself where fewer nodes would cross.
     *
     * @param outline simple
     * @param spacing the length from which on the search itself adds nodes, in pixels
     */
    static int[] thin(int[] outline, double spacing) {
        double area = Math.abs(SimplePolygon.twiceArea(outline)) / 2.0;
        double tolerance = Math.max(
                LEAST_TOLERANCE, Math.min(spacing * TOLERANCE_OF_SPACING, Math.sqrt(area) * TOLERANCE_OF_SIZE));
        double apart = Math.min(spacing / 2, SimplePolygon.perimeter(outline, 1, 1) / NODES);
        for (int attempt = 0; attempt < 4; attempt++) {
            int[] fewer = spread(straighten(outline, tolerance), apart);
            double change = Math.abs(Math.abs(SimplePolygon.twiceArea(fewer)) / 2.0 - area);
            if (change <= MOST_CHANGE * area && SimplePolygon.isSimple(fewer)) {
                return fewer;
            }
            tolerance /= 2;
            apart /= 2;
        }
        return outline;
    }

    /** Returns the polygon without nodes that are closer than a distance, where it stays simple. */
    static int[] spread(int[] nodes, double apart) {
        int count = nodes.length / 2;
        int[] kept = new int[nodes.length];
        int used = 0;
        for (int i = 0; i < count; i++) {
            boolean close = used > 0
                    && Math.hypot(nodes[2 * i] - kept[2 * used - 2], nodes[2 * i + 1] - kept[2 * used - 1]) < apart;
            // The last node is also a neighbour of the first.
            close |= i == count - 1 && used > 1 && SimplePolygon.distance(nodes, i, 0) < apart;
            if (!close) {
                kept[2 * used] = nodes[2 * i];
                kept[2 * used + 1] = nodes[2 * i + 1];
                used++;
            }
        }
        return Arrays.copyOf(kept, 2 * used);
    }

    /** Simplifies by Ramer, Douglas and Peucker: no node of the outline is farther from the new one. */
    private static int[] straighten(int[] nodes, double tolerance) {
        int count = nodes.length / 2;
        int opposite = 0;
        for (int i = 1; i < count; i++) {
            if (SimplePolygon.distance(nodes, 0, i) > SimplePolygon.distance(nodes, 0, opposite)) {
                opposite = i;
            }
        }
        int[] kept = Simplifier.keep(count, opposite, tolerance, (from, to) -> distance(nodes, from, to % count));
        int[] fewer = new int[2 * kept.length];
        for (int i = 0; i < kept.length; i++) {
            fewer[2 * i] = nodes[2 * kept[i]];
            fewer[2 * i + 1] = nodes[2 * kept[i] + 1];
        }
        return fewer;
    }

    /** Returns the distances of nodes from the line through two others. */
    private static IntToDoubleFunction distance(int[] nodes, int from, int to) {
        double ax = nodes[2 * from];
        double ay = nodes[2 * from + 1];
        double dx = nodes[2 * to] - ax;
        double dy = nodes[2 * to + 1] - ay;
        double length = Math.hypot(dx, dy);
        return i -> {
            double x = nodes[2 * i] - ax;
            double y = nodes[2 * i + 1] - ay;
            return length == 0 ? Math.hypot(x, y) : Math.abs(x * dy - y * dx) / length;
        };
    }
}
