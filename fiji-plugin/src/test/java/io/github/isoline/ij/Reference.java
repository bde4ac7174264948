package io.github.isoline.ij;

/** Edge strength in float64, directly from the definition, for readability and not for speed. */
final class Reference {
    private Reference() {}

    /**
     * Computes v' = v + Δt (Σ neighbours − (2d + 1/ρ²) v) off the shape, 1 on it; borders repeat.
     *
     * @param shape slices of width × height
     * @param volume true for one volume, false for independent slices
     */
    static double[][] iterate(boolean[][] shape, int width, double rho, double step, int iterations, boolean volume) {
        return iterate(shape, width, rho, step, iterations, volume ? 1.0 : 0.0);
    }

    /** Iterates with a weight of the neighbours along z; 0 for slices. */
    static double[][] iterate(boolean[][] shape, int width, double rho, double step, int iterations, double weight) {
        int depth = shape.length;
        int height = shape[0].length / width;
        double[][] v = new double[depth][width * height];
        for (int z = 0; z < depth; z++) {
            for (int p = 0; p < v[z].length; p++) {
                v[z][p] = shape[z][p] ? 1 : 0;
            }
        }
        double centre = 4 + 2 * weight + 1 / (rho * rho);
        for (int i = 0; i < iterations; i++) {
            double[][] next = new double[depth][width * height];
            for (int z = 0; z < depth; z++) {
                for (int y = 0; y < height; y++) {
                    for (int x = 0; x < width; x++) {
                        int p = y * width + x;
                        double sum = v[z][x > 0 ? p - 1 : p]
                                + v[z][x < width - 1 ? p + 1 : p]
                                + v[z][y > 0 ? p - width : p]
                                + v[z][y < height - 1 ? p + width : p];
                        sum += weight * (v[Math.max(z - 1, 0)][p] + v[Math.min(z + 1, depth - 1)][p]);
                        next[z][p] = shape[z][p] ? 1 : v[z][p] + step * (sum - centre * v[z][p]);
                    }
                }
            }
            v = next;
        }
        return v;
    }
}
