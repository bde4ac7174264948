package io.github.isoline.ij;

import java.awt.Polygon;
import java.awt.Rectangle;
import java.util.Arrays;

/**
 * Polygons of pixel corners, as the library takes them: none may touch itself. Nodes are x and y alternately; the last
 * is joined to the first.
 */
final class SimplePolygon {
    private SimplePolygon() {}

    /** Returns true if the polygon has three nodes and an area, and no edge touches another. */
    static boolean isSimple(int[] nodes) {
        int count = nodes.length / 2;
        if (count < 3 || twiceArea(nodes) == 0) {
            return false;
        }
        for (int edge = 0; edge < count; edge++) {
            if (folds(nodes, edge, (edge + 1) % count, (edge + 2) % count)) {
                return false;
            }
            for (int other = edge + 2; other < count; other++) {
                int end = (other + 1) % count;
                if (end != edge && meet(nodes, edge, edge + 1, other, end)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Returns true if two successive edges, a to b and b to c, overlap or have no length. */
    private static boolean folds(int[] nodes, int a, int b, int c) {
        long ux = nodes[2 * b] - nodes[2 * a];
        long uy = nodes[2 * b + 1] - nodes[2 * a + 1];
        long vx = nodes[2 * c] - nodes[2 * b];
        long vy = nodes[2 * c + 1] - nodes[2 * b + 1];
        return ux == 0 && uy == 0 || vx == 0 && vy == 0 || ux * vy == uy * vx && ux * vx + uy * vy < 0;
    }

    /** Returns true if the edges ab and cd have a point in common, ends included. */
    private static boolean meet(int[] nodes, int a, int b, int c, int d) {
        for (int axis = 0; axis < 2; axis++) {
            int from = Math.min(nodes[2 * a + axis], nodes[2 * b + axis]);
            int to = Math.max(nodes[2 * a + axis], nodes[2 * b + axis]);
            if (to < Math.min(nodes[2 * c + axis], nodes[2 * d + axis])
                    || from > Math.max(nodes[2 * c + axis], nodes[2 * d + axis])) {
                return false;
            }
        }
        // The boxes overlap: the edges intersect unless one lies wholly on one side of the other.
        return side(nodes, a, b, c) * side(nodes, a, b, d) <= 0 && side(nodes, c, d, a) * side(nodes, c, d, b) <= 0;
    }

    /** Returns the side of the edge from a to b on which the node c lies: 1, 0 or -1. */
    private static int side(int[] nodes, int a, int b, int c) {
        long abx = nodes[2 * b] - nodes[2 * a];
        long aby = nodes[2 * b + 1] - nodes[2 * a + 1];
        long acx = nodes[2 * c] - nodes[2 * a];
        long acy = nodes[2 * c + 1] - nodes[2 * a + 1];
        return Long.signum(abx * acy - aby * acx);
    }

    /**
     * Returns the number of pixels whose centres lie in a simple polygon that runs clockwise; of centres on an edge
     * those on a left one do, as in the library.
     */
    static long pixels(int... nodes) {
        long pixels = 0;
        for (int i = 0; i < nodes.length; i += 2) {
            int next = (i + 2) % nodes.length;
            boolean down = nodes[i + 1] < nodes[next + 1];
            int upper = down ? i : next;
            int lower = down ? next : i;
            long dx = (long) nodes[lower] - nodes[upper];
            long dy = (long) nodes[lower + 1] - nodes[upper + 1];
            for (long row = 0; row < dy; row++) {
                long left = nodes[upper] - Math.floorDiv(dy - (2 * row + 1) * dx, 2 * dy);
                pixels += down ? left : -left;
            }
        }
        return Math.abs(pixels);
    }

    /** Returns twice the area: above 0 if the polygon runs clockwise on the screen. */
    static long twiceArea(int[] nodes) {
        long sum = 0;
        int count = nodes.length / 2;
        for (int i = 0; i < count; i++) {
            int next = (i + 1) % count;
            sum += (long) nodes[2 * i] * nodes[2 * next + 1] - (long) nodes[2 * next] * nodes[2 * i + 1];
        }
        return sum;
    }

    /** Returns the perimeter, in the unit of the width and the height of a pixel. */
    static double perimeter(int[] nodes, double width, double height) {
        return perimeter(Arrays.stream(nodes).asDoubleStream().toArray(), width, height);
    }

    /** Returns the perimeter of a curve through points between pixels' corners, too. */
    static double perimeter(double[] nodes, double width, double height) {
        double sum = 0;
        for (int i = 0; i < nodes.length; i += 2) {
            int next = (i + 2) % nodes.length;
            sum += Math.hypot((nodes[next] - nodes[i]) * width, (nodes[next + 1] - nodes[i + 1]) * height);
        }
        return sum;
    }

    /** Returns the corners of one of Java's polygons. */
    static int[] nodes(Polygon polygon) {
        int[] nodes = new int[2 * polygon.npoints];
        for (int i = 0; i < polygon.npoints; i++) {
            nodes[2 * i] = polygon.xpoints[i];
            nodes[2 * i + 1] = polygon.ypoints[i];
        }
        return nodes;
    }

    /** Returns the bounding box. */
    static Rectangle bounds(int[] nodes) {
        Rectangle bounds = new Rectangle(nodes[0], nodes[1], 0, 0);
        for (int i = 2; i < nodes.length; i += 2) {
            bounds.add(nodes[i], nodes[i + 1]);
        }
        return bounds;
    }

    /** Returns the distance between two nodes, in pixels. */
    static double distance(int[] nodes, int a, int b) {
        return Math.hypot(nodes[2 * b] - nodes[2 * a], nodes[2 * b + 1] - nodes[2 * a + 1]);
    }
}
