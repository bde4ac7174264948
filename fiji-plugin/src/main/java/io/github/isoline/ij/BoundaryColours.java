package io.github.isoline.ij;

import ij.process.LUT;

/** Blue inside, white on the boundary, red outside. */
final class BoundaryColours {
    private static final int SIZE = 256;

    /** The red, green and blue values from far inside over the boundary to far outside. */
    private static final int[][] STOPS = {
        {5, 30, 100},
        {50, 110, 200},
        {150, 195, 235},
        {250, 250, 250},
        {250, 185, 145},
        {215, 85, 65},
        {105, 0, 30},
    };

    /** The largest factor by which one side may reach farther than the other and still be shown. */
    private static final double MOST_UNEVEN = 3;

    private BoundaryColours() {}

    /**
     * Returns the colours for distances of a region.
     *
     * @param low the smallest finite distance
     * @param high the largest one
     * @return with the values that are shown in its first and last colour
     */
    static LUT of(String region, double low, double high) {
        boolean signed = DistanceSettings.SIGNED.equals(region);
        double reach = signed ? reach(Math.max(0, -low), Math.max(0, high)) : Math.max(0, high);
        byte[][] colours = new byte[3][SIZE];
        for (int i = 0; i < SIZE; i++) {
            double at = i / (SIZE - 1.0);
            int[] colour = signed
                    ? colour(at)
                    : DistanceSettings.OUTSIDE_ONLY.equals(region) ? colour(0.5 + at / 2) : colour(0.5 - at / 2);
            for (int c = 0; c < colour.length; c++) {
                colours[c][i] = (byte) colour[c];
            }
        }
        LUT lut = new LUT(colours[0], colours[1], colours[2]);
        double max = reach > 0 ? reach : 1;
        lut.min = signed ? -max : 0;
        lut.max = max;
        return lut;
    }

    /**
     * Returns the distance from the boundary that the colours cover. It is the same on both sides, so that white is the
     * boundary; for a small object in a large image it is limited, so that not all of the object is white.
     */
    private static double reach(double inside, double outside) {
        double near = Math.min(inside, outside);
        double far = Math.max(inside, outside);
        return near > 0 ? Math.min(far, MOST_UNEVEN * near) : far;
    }

    /** Returns the colour of a position from 0, far inside, to 1, far outside; 0.5 is the boundary. */
    private static int[] colour(double at) {
        double place = at * (STOPS.length - 1);
        int stop = (int) Math.min(place, STOPS.length - 2.0);
        double share = place - stop;
        int[] colour = new int[3];
        for (int c = 0; c < colour.length; c++) {
            double mixed = (1 - share) * STOPS[stop][c] + share * STOPS[stop + 1][c];
            colour[c] = (int) Math.round(mixed);
        }
        return colour;
    }
}
