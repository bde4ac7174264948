package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Fronts whose length and area are known. */
class FrontMeasureTest {
    private static final int SIDE = 48;

    @ParameterizedTest
    @CsvSource({
        // radius, voxel size x, y, z, largest relative error
        "20, 1, 1, 1, 0.002",
        "8, 1, 1, 1, 0.005",
        "4, 1, 1, 1, 0.02",
        "20, 1, 1, 3, 0.005",
        "5, 0.25, 0.25, 1, 0.006",
        "3, 0.5, 0.7, 0.3, 0.02",
    })
    void sphere(double radius, double x, double y, double z, double error) {
        double[] size = {x, y, z};
        double[] centre = {SIDE * x * 0.49, SIDE * y * 0.503, SIDE * z * 0.511};
        double area = area(size, p -> distance(p, centre) - radius);
        assertEquals(1, area / (4 * Math.PI * radius * radius), error);
        // Whatever φ is away from the front: its sign and its zeros count.
        double squared = area(size, p -> Math.pow(distance(p, centre), 2) - radius * radius);
        assertEquals(1, squared / (4 * Math.PI * radius * radius), 2 * error);
    }

    @Test
    void planesAreExact() {
        double[] size = {0.5, 1, 2};
        double width = (SIDE - 1) * size[0];
        double height = (SIDE - 1) * size[1];
        double depth = (SIDE - 1) * size[2];
        assertEquals(width * height, area(size, p -> p[2] - 33.3), 1e-4 * width * height);
        assertEquals(depth * height, area(size, p -> 7.1 - p[0]), 1e-4 * depth * height);
        // Along the diagonal of x and y: as wide as what it cuts off the square.
        double across = Math.hypot(20, 20);
        assertEquals(across * depth, area(size, p -> p[0] + p[1] - 20), 1e-4 * across * depth);
    }

    @Test
    void nothingAndEverythingHaveNoFront() {
        double[] size = {1, 1, 1};
        assertEquals(0, area(size, p -> 1));
        assertEquals(0, area(size, p -> -1));
    }

    @ParameterizedTest
    @CsvSource({"20, 1, 1, 0.002", "6, 1, 1, 0.005", "5, 0.25, 1, 0.01", "2, 0.2, 0.2, 0.005"})
    void circle(double radius, double x, double y, double error) {
        double[] centre = {SIDE * x * 0.49, SIDE * y * 0.503, 0};
        float[] slice = slice(new double[] {x, y, 1}, 0, p -> distance(p, centre) - radius);
        double length = new FrontMeasure(SIDE, x, y, 1).length(slice);
        assertEquals(1, length / (2 * Math.PI * radius), error);
    }

    @Test
    void frontEndsWhereTheImageEnds() {
        float[] slice = slice(new double[] {1, 1, 1}, 0, p -> distance(p, new double[3]) - 20);
        double quarter = new FrontMeasure(SIDE, 1, 1, 1).length(slice);
        assertEquals(Math.PI * 20 / 2, quarter, 0.1);
    }

    /** φ at a place. */
    private interface Phi {
        double at(double[] place);
    }

    private static double area(double[] size, Phi phi) {
        FrontMeasure measure = new FrontMeasure(SIDE, size[0], size[1], size[2]);
        double area = 0;
        float[] before = slice(size, 0, phi);
        for (int z = 1; z < SIDE; z++) {
            float[] next = slice(size, z, phi);
            area += measure.area(before, next);
            before = next;
        }
        return area;
    }

    private static float[] slice(double[] size, int z, Phi phi) {
        float[] slice = new float[SIDE * SIDE];
        for (int i = 0; i < slice.length; i++) {
            double[] place = {i % SIDE * size[0], i / SIDE * size[1], z * size[2]};
            slice[i] = (float) phi.at(place);
        }
        return slice;
    }

    private static double distance(double[] a, double[] b) {
        return Math.sqrt(
                Math.pow(a[0] - b[0], 2) + Math.pow(a[1] - b[1], 2) + Math.pow(a[2] - b[2], 2));
    }
}
