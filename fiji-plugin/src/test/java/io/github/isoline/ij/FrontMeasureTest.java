package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests masks of shapes whose border and surface are known. */
class FrontMeasureTest {
    private static final int SIDE = 48;

    @ParameterizedTest
    @CsvSource({
        // The columns are radius and voxel size along x, y, z.
        "20, 1, 1, 1",
        "12, 1, 1, 1",
        "8, 1, 1, 1",
        "5, 1, 1, 1",
        "20, 1, 1, 3",
        "5, 0.25, 0.25, 1",
        "6, 0.5, 0.7, 0.3",
    })
    void sphere(double radius, double x, double y, double z) {
        double[] size = {x, y, z};
        double[] centre = {SIDE * x * 0.49, SIDE * y * 0.503, SIDE * z * 0.511};
        double area = measure(true, size, SIDE, p -> distance(p, centre) < radius);
        assertEquals(1, area / (4 * Math.PI * radius * radius), 0.02);
    }

    @ParameterizedTest
    @CsvSource({"20, 1, 1", "10, 1, 1", "6, 1, 1", "5, 0.25, 0.6", "3, 0.2, 0.2"})
    void circle(double radius, double x, double y) {
        double[] centre = {SIDE * x * 0.49, SIDE * y * 0.503, 0};
        double[] size = {x, y, 77};
        double length = measure(false, size, 1, p -> distance(p, centre) < radius);
        assertEquals(1, length / (2 * Math.PI * radius), 0.02);
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 0", "0, 1, 0", "0, 0, 1", "1, 1, 0", "1, 1, 1", "1, 2, 0", "1, 2, 3"})
    void planesInAnyDirection(double a, double b, double c) {
        // This is the side of a slab that is clipped by a ball.
        double length = Math.sqrt(a * a + b * b + c * c);
        double[] size = {1, 1, 1};
        double[] centre = {SIDE * 0.5, SIDE * 0.5, SIDE * 0.5};
        double radius = 22;
        Inside ball = p -> distance(p, centre) < radius;
        Inside half = p -> distance(p, centre) < radius
                && (p[0] - centre[0]) * a + (p[1] - centre[1]) * b + (p[2] - centre[2]) * c < 0.3 * length;
        double whole = measure(true, size, SIDE, ball);
        double cut = measure(true, size, SIDE, half) - whole * (radius + 0.3) / (2 * radius);
        double disc = Math.PI * (radius * radius - 0.09);
        assertEquals(1, cut / disc, 0.1);
    }

    @Test
    void nothingAndEverythingHaveNoFront() {
        double[] size = {1, 1, 1};
        assertEquals(0, measure(true, size, SIDE, p -> false));
        assertEquals(0, measure(true, size, SIDE, p -> true));
    }

    /** A shape, which contains a point or not. */
    private interface Inside {
        boolean at(double[] place);
    }

    private static double measure(boolean volume, double[] size, int slices, Inside inside) {
        FrontMeasure measure = new FrontMeasure(SIDE, volume, size);
        long[][] counts = new long[slices][];
        byte[] before = null;
        for (int z = 0; z < slices; z++) {
            byte[] slice = new byte[SIDE * SIDE];
            for (int i = 0; i < slice.length; i++) {
                double[] place = {i % SIDE * size[0], i / SIDE * size[1], z * size[2]};
                slice[i] = (byte) (inside.at(place) ? 255 : 0);
            }
            counts[z] = measure.count(before, slice);
            before = slice;
        }
        return measure.of(counts);
    }

    private static double distance(double[] a, double[] b) {
        return Math.sqrt(Math.pow(a[0] - b[0], 2) + Math.pow(a[1] - b[1], 2) + Math.pow(a[2] - b[2], 2));
    }
}
