package io.github.isoline.ij;

/** The signed distance in float64, directly from the definition, for readability and not for speed. */
final class DistanceReference {
    private DistanceReference() {}

    /**
     * Returns the distance of every pixel's centre to the nearest box of a pixel of the other kind.
     *
     * @param inside slices of width x height
     * @param size of a pixel along x, y and z
     * @return negative inside; infinite where there is no other kind
     */
    static double[][] volume(boolean[][] inside, int width, double... size) {
        double[][] distances = new double[inside.length][inside[0].length];
        for (int z = 0; z < inside.length; z++) {
            for (int p = 0; p < inside[z].length; p++) {
                double least = Double.POSITIVE_INFINITY;
                for (int oz = 0; oz < inside.length; oz++) {
                    for (int o = 0; o < inside[oz].length; o++) {
                        if (inside[oz][o] != inside[z][p]) {
                            double dx = size[0] * step(o % width - p % width);
                            double dy = size[1] * step(o / width - p / width);
                            double dz = size[2] * step(oz - z);
                            least = Math.min(least, dx * dx + dy * dy + dz * dz);
                        }
                    }
                }
                distances[z][p] = (inside[z][p] ? -1 : 1) * Math.sqrt(least);
            }
        }
        return distances;
    }

    /** Returns the distance from a centre to the near side of a pixel at this offset. */
    private static double step(int pixels) {
        return pixels == 0 ? 0 : Math.abs(pixels) - 0.5;
    }
}
