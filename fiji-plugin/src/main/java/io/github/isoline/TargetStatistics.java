package io.github.isoline;

/** The statistics of one target of a {@link Snake}. Grey values are those of the pixels. */
public final class TargetStatistics {
    /** The state of a target's search, in the order of the C API's numbers. */
    public enum State {
        /** The search has not ended. */
        RUNNING,
        /** No node moves by one pixel, and none is to be removed (node cost above 0) or added (node cost 0). */
        CONVERGED,
        /** No pixel is left in the target. */
        VANISHED,
        /** The start lies outside the image. */
        LEFT_IMAGE,
        /** The largest number of iterations was done. */
        ITERATION_LIMIT;

        /** Returns the name in lower case with spaces. */
        @Override
        public String toString() {
            return name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ');
        }
    }

    private static final int OVERLAPS = 1;
    private static final int TOUCHES_IMAGE = 2;
    private static final int TOUCHES_WINDOW = 4;
    private static final int FLAT = 8;

    private final Structs.TargetStatistics struct;

    TargetStatistics(Structs.TargetStatistics struct) {
        this.struct = struct;
    }

    /** Returns the state of the search. */
    public State state() {
        return State.values()[struct.status];
    }

    /** Returns true if the target contains pixels. */
    public boolean isThere() {
        return struct.pixels > 0 && state() != State.LEFT_IMAGE;
    }

    private boolean has(int flag) {
        return (struct.flags & flag) != 0;
    }

    /**
     * Returns true if the polygon has a pixel in common with another one or, where targets compete, reaches the border
     * to the territory of another one.
     */
    public boolean overlaps() {
        return has(OVERLAPS);
    }

    /** Returns true if a node lies on the border of the image. */
    public boolean touchesImage() {
        return has(TOUCHES_IMAGE);
    }

    /** Returns true if a node lies on the border of the window, within the image. */
    public boolean touchesWindow() {
        return has(TOUCHES_WINDOW);
    }

    /** Returns true if all pixels of target and background are equal, so that no outline is better than another. */
    public boolean isFlat() {
        return has(FLAT);
    }

    /** Returns the number of iterations. */
    public long iterations() {
        return struct.iterations;
    }

    /** Returns the number of nodes of the polygon. */
    public long nodes() {
        return struct.nodes;
    }

    /** Returns the number of pixels in the target. */
    public long pixels() {
        return struct.pixels;
    }

    /** Returns the number of pixels of the background. */
    public long backgroundPixels() {
        return struct.background_pixels;
    }

    /** Returns the mean inside; NaN without pixels, like the other statistics. */
    public double mean() {
        return struct.mean;
    }

    /** Returns the standard deviation inside. */
    public double deviation() {
        return struct.deviation;
    }

    /** Returns the mean of the background. */
    public double backgroundMean() {
        return struct.background_mean;
    }

    /** Returns the standard deviation of the background. */
    public double backgroundDeviation() {
        return struct.background_deviation;
    }

    /** Returns the criterion without the cost of nodes; smaller is better on the same pixels. */
    public double criterion() {
        return struct.criterion;
    }
}
