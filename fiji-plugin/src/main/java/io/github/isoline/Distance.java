package io.github.isoline;

/**
 * The exact Euclidean distance of every pixel's centre to the boundary of a mask, in 2D and 3D.
 *
 * <p>A pixel is the box of its spacing around its centre, and the boundary is where boxes of inside
 * pixels meet boxes of outside pixels; the image's border is none. Distances are in the unit of the
 * spacing, negative inside. Where there is no inside pixel all are +∞, where there is no outside
 * pixel -∞. The fields start at the library's defaults.
 */
public final class Distance {
    /** Everywhere: negative inside, positive outside. */
    public static final int REGION_SIGNED = 0;

    /** Outside only: positive there, 0 inside. */
    public static final int REGION_OUTSIDE = 1;

    /** Inside only: positive there, 0 outside. */
    public static final int REGION_INSIDE = 2;

    /** Inside is every pixel above the threshold. */
    public static final int FOREGROUND_ABOVE = 0;

    /** Inside is every pixel at or below the threshold. */
    public static final int FOREGROUND_BELOW = 1;

    /** 2: every slice by itself; 3: the slices are one volume. */
    public int dimensions = 3;

    /** {@link #FOREGROUND_ABOVE} or {@link #FOREGROUND_BELOW}. */
    public int foreground = FOREGROUND_ABOVE;

    /** {@link #REGION_SIGNED}, {@link #REGION_OUTSIDE} or {@link #REGION_INSIDE}. */
    public int region = REGION_SIGNED;

    /** In the pixels' own units. */
    public double threshold;

    /**
     * Runs the operation; the output is written only on success.
     *
     * @param context the device to run on
     * @param mask pixels of any type; its spacing is the pixel's size
     * @param output pixels of type F32 and the same size
     * @param depth how many slices, from the first on
     * @param progress hears of the progress and may cancel; may be null
     * @return what was done
     * @throws IsolineException with the library's own words
     */
    public Report run(
            Context context, PixelBuffer mask, PixelBuffer output, int depth, Progress progress)
            throws IsolineException {
        ImageStruct in = mask.describe(depth);
        ImageStruct out = output.describe(depth);
        DistanceParamsStruct params = params();
        ReportStruct report = new ReportStruct();
        Status.check(IsolineLibrary.isoline_report_init(report, report.size()));
        ProgressBridge bridge = new ProgressBridge(progress);
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            int status =
                    IsolineLibrary.isoline_distance(
                            context.pointer(), in, params, bridge.struct(), out, report);
            bridge.rethrow();
            Status.check(status);
        }
        return new Report(report);
    }

    DistanceParamsStruct params() throws IsolineException {
        DistanceParamsStruct params = new DistanceParamsStruct();
        Status.check(IsolineLibrary.isoline_distance_params_init(params, params.size()));
        params.dimensions = dimensions;
        params.foreground = foreground;
        params.region = region;
        params.threshold = threshold;
        return params;
    }
}
