package io.github.isoline;

import com.sun.jna.Function;
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

    /** The share of the progress that drawing takes where lines or ellipses are found in its segments. */
    private static final double DRAWING_SHARE = 0.7;

    /** The result of a run. */
    public static final class Result {
        private final Report report;
        private final Segments segments;
        private final Lines lines;
        private final Ellipses ellipses;

        Result(Report report, Segments segments, Lines lines, Ellipses ellipses) {
            this.report = report;
            this.segments = segments;
            this.lines = lines;
            this.ellipses = ellipses;
        }

        /** Returns the report of the run. */
        public Report report() {
            return report;
        }

        /** Returns the segments; null if they were not requested. */
        public Segments segments() {
            return segments;
        }

        /** Returns the lines; null if they were not requested. */
        public Lines lines() {
            return lines;
        }

        /** Returns the circles and ellipses; null if they were not requested. */
        public Ellipses ellipses() {
            return ellipses;
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
        PointerByReference found = wantSegments ? new PointerByReference() : null;
        try {
            Report done = draw(context, params, input, edges, found, depth, progress);
            return new Result(done, found == null ? null : Segments.copyOf(found.getValue()), null, null);
        } finally {
            if (found != null) {
                IsolineLibrary.isoline_segments_free(found.getValue());
            }
        }
    }

    /**
     * Runs the operation and finds straight lines along its segments. The host finds them, whichever device draws.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type
     * @param edges receives the edge map as in {@link #run}; may be null
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the lines, without segments
     * @throws IsolineException with the library's message
     */
    public static Result lines(
            Context context, Params params, PixelBuffer input, PixelBuffer edges, int depth, Progress progress)
            throws IsolineException {
        return along(
                "lines",
                (done, found) -> new Result(done, null, new Lines(found), null),
                context,
                params,
                input,
                edges,
                depth,
                progress);
    }

    /**
     * Runs the operation and finds circles and ellipses along its segments. The host finds them, whichever device
     * draws.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type
     * @param edges receives the edge map as in {@link #run}; may be null
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the ellipses, without segments
     * @throws IsolineException with the library's message
     */
    public static Result ellipses(
            Context context, Params params, PixelBuffer input, PixelBuffer edges, int depth, Progress progress)
            throws IsolineException {
        return along(
                "ellipses",
                (done, found) -> new Result(done, null, null, new Ellipses(found)),
                context,
                params,
                input,
                edges,
                depth,
                progress);
    }

    /**
     * Draws segments and finds something along them.
     *
     * @param noun the name of what is found in the library's functions, such as "lines" in isoline_lines_free
     */
    private static Result along(
            String noun,
            Operation.Copy<Pointer, Result> copy,
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer edges,
            int depth,
            Progress progress)
            throws IsolineException {
        PointerByReference segments = new PointerByReference();
        PointerByReference found = new PointerByReference();
        try {
            Report done =
                    draw(context, params, input, edges, segments, depth, Progress.part(progress, 0, DRAWING_SHARE));
            Structs.Image in = input.describe(depth);
            Pointer struct = params.struct(NAME);
            Function search = NativeLoader.function("isoline_edge_drawing_" + noun);
            done.add(Report.of(
                    context,
                    Progress.part(progress, DRAWING_SHARE, 1),
                    (at, callback, report) -> search.invokeInt(
                            new Object[] {at, in, segments.getValue(), struct, callback, found, report})));
            return copy.of(done, found.getValue());
        } finally {
            IsolineLibrary.isoline_segments_free(segments.getValue());
            NativeLoader.function("isoline_" + noun + "_free").invokeVoid(new Object[] {found.getValue()});
        }
    }

    private static Report draw(
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer edges,
            PointerByReference segments,
            int depth,
            Progress progress)
            throws IsolineException {
        Structs.Image in = input.describe(depth);
        Structs.Image out = edges == null ? null : edges.describe(depth);
        Pointer struct = params.struct(NAME);
        return Report.of(
                context,
                progress,
                (at, callback, report) ->
                        IsolineLibrary.isoline_edge_drawing(at, in, struct, callback, out, segments, report));
    }
}
