package io.github.isoline;

/** What is known of one target of a {@link Snake}. Grey values are those of the pixels. */
public final class TargetStatistics {
    /** How far a target's search is, in the order of the C API's numbers. */
    public enum State {
        /** It has not ended. */
        RUNNING,
        /** No node moves by one pixel and none can be added. */
        CONVERGED,
        /** No pixel is left in it. */
        VANISHED,
        /** Its start lies outside the image. */
        LEFT_IMAGE,
        /** The most steps were done. */
        ITERATION_LIMIT;

        /** The same in a word or two. */
        @Override
        public String toString() {
            return name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ');
        }
    }

    private final TargetStatisticsStruct struct;

    TargetStatistics(TargetStatisticsStruct struct) {
        this.struct = struct;
    }

    /** How far its search is. */
    public State state() {
        return State.values()[struct.status];
    }

    /** True if there are pixels in it. */
    public boolean isThere() {
        return struct.pixels > 0 && state() != State.LEFT_IMAGE;
    }

    /** Steps done. */
    public long iterations() {
        return struct.iterations;
    }

    /** Nodes of its polygon. */
    public long nodes() {
        return struct.nodes;
    }

    /** Pixels in it. */
    public long pixels() {
        return struct.pixels;
    }

    /** Pixels of its background. */
    public long backgroundPixels() {
        return struct.background_pixels;
    }

    /** Mean inside; NaN without pixels, as the others. */
    public double mean() {
        return struct.mean;
    }

    /** Standard deviation inside. */
    public double deviation() {
        return struct.deviation;
    }

    /** Mean of the background. */
    public double backgroundMean() {
        return struct.background_mean;
    }

    /** Standard deviation of the background. */
    public double backgroundDeviation() {
        return struct.background_deviation;
    }

    /** The criterion without the cost of nodes; smaller is better on the same pixels. */
    public double criterion() {
        return struct.criterion;
    }
}
