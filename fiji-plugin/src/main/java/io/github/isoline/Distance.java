package io.github.isoline;

/**
 * The exact Euclidean distance of every pixel's centre to the boundary of a mask, in 2D and 3D.
 *
 * <p>A pixel is the box of its spacing around its centre, and the boundary is where boxes of inside
 * pixels meet boxes of outside pixels; the image's border is none. Distances are in the unit of the
 * spacing, negative inside. Where there is no inside pixel all are +∞, where there is no outside
 * pixel -∞.
 */
public final class Distance {
    /** The name of the operation. */
    public static final String NAME = "distance";

    private Distance() {}

    /**
     * Runs the operation; the output is written only on success.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param mask pixels of any type; its spacing is the pixel's size
     * @param output pixels of type F32 and the same size
     * @param depth how many slices, from the first on
     * @param progress hears of the progress and may cancel; may be null
     * @return what was done
     * @throws IsolineException with the library's own words
     */
    public static Report run(
            Context context,
            Params params,
            PixelBuffer mask,
            PixelBuffer output,
            int depth,
            Progress progress)
            throws IsolineException {
        ImageStruct in = mask.describe(depth);
        ImageStruct out = output.describe(depth);
        ReportStruct report = new ReportStruct();
        Status.check(IsolineLibrary.isoline_report_init(report, report.size()));
        ProgressBridge bridge = new ProgressBridge(progress);
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            int status =
                    IsolineLibrary.isoline_distance(
                            context.pointer(),
                            in,
                            params.struct(NAME),
                            bridge.struct(),
                            out,
                            report);
            bridge.rethrow();
            Status.check(status);
        }
        return new Report(report);
    }
}
