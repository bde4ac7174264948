package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.DoubleByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.Arrays;
import java.util.Locale;

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

    /** The kinds of edges that may be found beside their map. */
    public enum Find {
        /** Ordered chains of pixels: {@link Segments}. */
        SEGMENTS,
        /** Straight lines along segments: {@link Lines}. The host finds them, whichever device draws. */
        LINES,
        /** Circles and ellipses along segments: {@link Ellipses}. The host finds them, whichever device draws. */
        ELLIPSES
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
        Status.check(
                context.call(pointer -> IsolineLibrary.isoline_edge_drawing_threshold(pointer, in, struct, threshold)));
        return threshold.getValue();
    }

    /**
     * Runs the operation; at least one of edges and what to find must be requested.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type
     * @param edges receives the edge map: pixels of type U8 and the same size, 255 on edges; may be null
     * @param find what the result has; null for nothing
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the report, and {@link Segments}, {@link Lines} or {@link Ellipses}
     * @throws IsolineException with the library's message
     */
    public static Findings<InSlices> run(
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer edges,
            Find find,
            int depth,
            Progress progress)
            throws IsolineException {
        Structs.Image in = input.describe(depth);
        Structs.Image out = edges == null ? null : edges.describe(depth);
        Pointer struct = params.struct(NAME);
        boolean along = find == Find.LINES || find == Find.ELLIPSES;
        PointerByReference segments = find == null ? null : new PointerByReference();
        try {
            Report drawn = Report.of(
                    context,
                    along ? Progress.part(progress, 0, DRAWING_SHARE) : progress,
                    (at, callback, report) ->
                            IsolineLibrary.isoline_edge_drawing(at, in, struct, callback, out, segments, report));
            if (!along) {
                return new Findings<>(drawn, find == null ? null : Segments.copyOf(segments.getValue()));
            }
            String noun = find.name().toLowerCase(Locale.ROOT);
            return Operation.compute(
                    NAME + "_" + noun,
                    context,
                    Arrays.asList(in, segments.getValue(), struct),
                    Progress.part(progress, DRAWING_SHARE, 1),
                    noun,
                    (search, found) -> {
                        drawn.add(search);
                        return new Findings<>(drawn, find == Find.LINES ? new Lines(found) : new Ellipses(found));
                    });
        } finally {
            if (segments != null) {
                IsolineLibrary.isoline_segments_free(segments.getValue());
            }
        }
    }
}
