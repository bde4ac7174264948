package io.github.isoline;

import com.sun.jna.ptr.PointerByReference;

/**
 * Edge drawing: thin, connected edges as ordered chains of pixels, not only an edge map (Özsen,
 * Topal and Akınlar).
 *
 * <p>Every slice of a stack by itself. The fields start at the library's defaults; thresholds are
 * in the pixels' own units, lengths and intervals in pixels, whatever the calibration.
 */
public final class EdgeDrawing {
    /** The parallel algorithm of the paper, made independent of the order of the work. */
    public static final int PROFILE_PAPER = 0;

    /** The authors' later algorithm, with the segments of OpenCV's ximgproc.EdgeDrawing. */
    public static final int PROFILE_REFERENCE = 1;

    /** Gradient weights 1 2 1. */
    public static final int OPERATOR_SOBEL = 0;

    /** Gradient weights 1 1 1. */
    public static final int OPERATOR_PREWITT = 1;

    /** Gradient weights 3 10 3. */
    public static final int OPERATOR_SCHARR = 2;

    /** A {@link #gradientThreshold} that the library chooses itself. */
    public static final double AUTOMATIC = -1;

    /** The library's automatic gradient threshold of 8-bit images. */
    private static final double AUTOMATIC_OF_8_BITS = 20;

    private static final double RANGE_OF_8_BITS = 255;

    /** {@link #PROFILE_PAPER} or {@link #PROFILE_REFERENCE}. */
    public int profile = PROFILE_PAPER;

    /** One of the OPERATOR_ constants. */
    public int operator = OPERATOR_SOBEL;

    /** Anchors are looked for on every such row and column, 1 or more. */
    public long scanInterval = 1;

    /** Segments of fewer points are dropped. */
    public long minLength = 10;

    /** Paper profile: walk on where an edge turns from horizontal to vertical. */
    public boolean followTurns;

    /** Pixels of a smaller gradient are never edges; below 0: {@link #automaticThreshold}. */
    public double gradientThreshold = AUTOMATIC;

    /** How far an anchor's gradient stands above that of its two neighbours across the edge. */
    public double anchorThreshold;

    /** Float pixels only: the value of step 0 of 65535; with {@link #rangeMax} 0 too: automatic. */
    public double rangeMin;

    /** Float pixels only: the value of step 65535. */
    public double rangeMax;

    /** What a run gave. */
    public static final class Result {
        private final Report report;
        private final Segments segments;

        Result(Report report, Segments segments) {
            this.report = report;
            this.segments = segments;
        }

        /** What was done, where, how fast. */
        public Report report() {
            return report;
        }

        /** The segments; null if they were not asked for. */
        public Segments segments() {
            return segments;
        }
    }

    /**
     * The gradient threshold that {@link #AUTOMATIC} stands for.
     *
     * @param type of the pixels
     * @param min smallest finite pixel of the whole input; of no matter for U8
     * @param max largest finite pixel of the whole input; of no matter for U8
     */
    public static double automaticThreshold(PixelBuffer.Type type, double min, double max) {
        return type == PixelBuffer.Type.U8
                ? AUTOMATIC_OF_8_BITS
                : AUTOMATIC_OF_8_BITS / RANGE_OF_8_BITS * Math.max(0, max - min);
    }

    /**
     * Runs the operation; at least one of edges and segments must be wanted.
     *
     * @param context the device to run on
     * @param input pixels of any type
     * @param edges receives the edge map: pixels of type U8 and the same size, 255 on edges; may be
     *     null
     * @param wantSegments whether the result has segments
     * @param depth how many slices, from the first on
     * @param progress hears of the progress and may cancel; may be null
     * @throws IsolineException with the library's own words
     */
    public Result run(
            Context context,
            PixelBuffer input,
            PixelBuffer edges,
            boolean wantSegments,
            int depth,
            Progress progress)
            throws IsolineException {
        ImageStruct in = input.describe(depth);
        ImageStruct out = edges == null ? null : edges.describe(depth);
        EdgeDrawingParamsStruct params = params();
        ReportStruct report = new ReportStruct();
        Status.check(IsolineLibrary.isoline_report_init(report, report.size()));
        ProgressBridge bridge = new ProgressBridge(progress);
        PointerByReference found = wantSegments ? new PointerByReference() : null;
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            int status =
                    IsolineLibrary.isoline_edge_drawing(
                            context.pointer(), in, params, bridge.struct(), out, found, report);
            try {
                bridge.rethrow();
                Status.check(status);
                return new Result(
                        new Report(report),
                        found == null ? null : Segments.copyOf(found.getValue()));
            } finally {
                if (found != null) {
                    IsolineLibrary.isoline_segments_free(found.getValue());
                }
            }
        }
    }

    EdgeDrawingParamsStruct params() throws IsolineException {
        EdgeDrawingParamsStruct params = new EdgeDrawingParamsStruct();
        Status.check(IsolineLibrary.isoline_edge_drawing_params_init(params, params.size()));
        params.profile = profile;
        params.edge_operator = operator;
        params.scan_interval = unsigned("scan interval", scanInterval);
        params.min_length = unsigned("minimum length", minLength);
        params.follow_turns = followTurns ? 1 : 0;
        params.gradient_threshold = gradientThreshold;
        params.anchor_threshold = anchorThreshold;
        params.range_min = rangeMin;
        params.range_max = rangeMax;
        return params;
    }

    /** Java has no unsigned int: a negative number would become a very large one. */
    private static int unsigned(String name, long value) throws IsolineException {
        if (value < 0 || value > Integer.MAX_VALUE) {
            throw new IsolineException(
                    "The " + name + " must be from 0 to " + Integer.MAX_VALUE + ", got " + value);
        }
        return (int) value;
    }
}
