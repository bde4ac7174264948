package io.github.isoline.ij;

/**
 * How long the front of a slice is, and how large that of a volume: of the surface φ = 0, with φ
 * taken as linear between the centres of pixels.
 *
 * <p>Each square (cube) between neighbouring centres is cut into two triangles (six tetrahedra),
 * all along the same diagonal so that they meet without gaps; in each of them the front is a
 * straight line (a plane). Where the image ends the front ends, too: its border is no front.
 */
final class FrontMeasure {
    private static final int CORNERS = 8;

    /** Corner numbers: 1 for x, 2 for y, 4 for z. From corner 0 to corner 7, each axis in turn. */
    private static final int[][] TETRAHEDRA = {
        {0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7},
    };

    private static final int[][] TRIANGLES = {{0, 1, 3}, {0, 2, 3}};

    private final int width;
    private final double[][] corner = new double[CORNERS][];
    private final double[] phi = new double[CORNERS];

    // Points on edges, reused.
    private final double[][] point = new double[4][3];

    /**
     * @param width of a row, in pixels
     */
    FrontMeasure(int width, double sizeX, double sizeY, double sizeZ) {
        this.width = width;
        for (int c = 0; c < CORNERS; c++) {
            corner[c] = new double[] {(c & 1) * sizeX, (c >> 1 & 1) * sizeY, (c >> 2 & 1) * sizeZ};
        }
    }

    /** The length of the front in one slice. */
    double length(float[] slice) {
        double length = 0;
        for (int row = 0; row + width < slice.length; row += width) {
            for (int at = row; at < row + width - 1; at++) {
                int inside =
                        bit(slice[at])
                                + bit(slice[at + 1])
                                + bit(slice[at + width])
                                + bit(slice[at + width + 1]);
                if (inside == 0 || inside == 4) {
                    continue;
                }
                load(slice, at, 0);
                for (int[] triangle : TRIANGLES) {
                    if (cut(triangle) == 2) {
                        length += distance(point[0], point[1]);
                    }
                }
            }
        }
        return length;
    }

    /** The area of the front between one slice and the next. */
    double area(float[] slice, float[] next) {
        double area = 0;
        for (int row = 0; row + width < slice.length; row += width) {
            for (int at = row; at < row + width - 1; at++) {
                int inside =
                        bit(slice[at])
                                + bit(slice[at + 1])
                                + bit(slice[at + width])
                                + bit(slice[at + width + 1])
                                + bit(next[at])
                                + bit(next[at + 1])
                                + bit(next[at + width])
                                + bit(next[at + width + 1]);
                if (inside == 0 || inside == CORNERS) {
                    continue;
                }
                load(slice, at, 0);
                load(next, at, 4);
                for (int[] tetrahedron : TETRAHEDRA) {
                    int points = cut(tetrahedron);
                    if (points == 3) {
                        area += triangle(point[0], point[1], point[2]);
                    } else if (points == 4) {
                        // In the order of cut(): 0 and 3 lie opposite of each other.
                        area += triangle(point[0], point[1], point[2]);
                        area += triangle(point[3], point[1], point[2]);
                    }
                }
            }
        }
        return area;
    }

    private static int bit(float phi) {
        return phi < 0 ? 1 : 0;
    }

    private void load(float[] slice, int at, int first) {
        phi[first] = slice[at];
        phi[first + 1] = slice[at + 1];
        phi[first + 2] = slice[at + width];
        phi[first + 3] = slice[at + width + 1];
    }

    /**
     * Finds where the front cuts the edges between corners inside and corners outside; how many.
     */
    private int cut(int[] corners) {
        int count = 0;
        for (int a : corners) {
            for (int b : corners) {
                if (phi[a] < 0 && !(phi[b] < 0)) {
                    double share = phi[a] / (phi[a] - phi[b]);
                    for (int axis = 0; axis < 3; axis++) {
                        point[count][axis] =
                                corner[a][axis] + share * (corner[b][axis] - corner[a][axis]);
                    }
                    count++;
                }
            }
        }
        return count;
    }

    private static double distance(double[] a, double[] b) {
        return Math.hypot(b[0] - a[0], b[1] - a[1]);
    }

    private static double triangle(double[] a, double[] b, double[] c) {
        double ux = b[0] - a[0];
        double uy = b[1] - a[1];
        double uz = b[2] - a[2];
        double vx = c[0] - a[0];
        double vy = c[1] - a[1];
        double vz = c[2] - a[2];
        double x = uy * vz - uz * vy;
        double y = uz * vx - ux * vz;
        double z = ux * vy - uy * vx;
        return Math.sqrt(x * x + y * y + z * z) / 2;
    }
}
