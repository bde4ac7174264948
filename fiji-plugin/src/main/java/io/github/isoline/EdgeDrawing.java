package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.DoubleByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * Edge drawing: thin, connected edges as ordered chains of pixels, not only an edge map (Özsen, Topal and Akınlar).
 *
 * <p>Every slice of a stack is processed on its own. Thresholds are in the pixels' own units, lengths and intervals in
 * pixels, whatever the calibration.
 */
public final class EdgeDrawing {
    /** The name of the operation. */
    public static final String NAME = "edge_drawing";

    private EdgeDrawing() {}

    /** The result of a run. */
    public static final class Result {
        private final Report report;
        private final Segments segments;

        Result(Report report, Segments segments) {
            this.report = report;
            this.segments = segments;
        }

        /** Returns the report of the run. */
        public Report report() {
            return report;
        }

        /** Returns the segments; null if they were not requested. */
        public Segments segments() {
            return segments;
        }
    }

    /**
     * Returns the automatic gradient threshold of an image, which follows its noise.
     *
     * @param params those of {@link #NAME}
     * @param depth the number of slices, from the first on
     * @throws IsolineException with the library's message
     */
    public static double automaticThreshold(Context context, Params params, PixelBuffer input, int depth)
            throws IsolineException {
        DoubleByReference threshold = new DoubleByReference();
        Structs.Image in = input.describe(depth);
        Pointer struct = params.struct(NAME);
        Status.check(IsolineLibrary.isoline_edge_drawing_threshold(context.pointer(), in, struct, threshold));
        return threshold.getValue();
    }

    /**
     * Runs the operation; at least one of edges and segments must be requested.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type
     * @param edges receives the edge map: pixels of type U8 and the same size, 255 on edges; may be null
     * @param wantSegments true if the result has segments
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @throws IsolineException with the library's message
     */
    public static Result run(
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer edges,
            boolean wantSegments,
            int depth,
            Progress progress)
            throws IsolineException {
        Structs.Image in = input.describe(depth);
        Structs.Image out = edges == null ? null : edges.describe(depth);
        Pointer struct = params.struct(NAME);
        PointerByReference found = wantSegments ? new PointerByReference() : null;
        try {
            Report done = Report.of(
                    context,
                    progress,
                    (at, callback, report) ->
                            IsolineLibrary.isoline_edge_drawing(at, in, struct, callback, out, found, report));
            return new Result(done, found == null ? null : Segments.copyOf(found.getValue()));
        } finally {
            if (found != null) {
                IsolineLibrary.isoline_segments_free(found.getValue());
            }
        }
    }
}
