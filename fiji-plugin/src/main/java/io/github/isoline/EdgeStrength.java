package io.github.isoline;

/**
 * Edge strength function: a smoothed distance field that is 1 on a shape and decays away from it.
 *
 * <p>Solves ∂v/∂t = ∇²v − v/ρ² with v = 1 on the shape and mirrored image borders (Keleş 2016). The
 * fields start at the library's defaults; ρ is in pixels in every direction, whatever the
 * calibration.
 */
public final class EdgeStrength {
    /** Iterate a given number of times, the paper's way. */
    public static final int MODE_ITERATE = 0;

    /** Solve for the steady state, to {@link #tolerance}. */
    public static final int MODE_CONVERGED = 1;

    /** The shape is every pixel above the threshold. */
    public static final int FOREGROUND_ABOVE = 0;

    /** The shape is every pixel at or below the threshold: dark lines on white. */
    public static final int FOREGROUND_BELOW = 1;

    /** Start from the shape: 1 on it, 0 elsewhere. */
    public static final int START_MASK = 0;

    /** Start from the image, scaled to 0..1. */
    public static final int START_INPUT = 1;

    /** 2: every slice by itself; 3: the slices are one volume. */
    public int dimensions = 2;

    /** {@link #MODE_ITERATE} or {@link #MODE_CONVERGED}. */
    public int mode = MODE_ITERATE;

    /** {@link #FOREGROUND_ABOVE} or {@link #FOREGROUND_BELOW}. */
    public int foreground = FOREGROUND_ABOVE;

    /** {@link #START_MASK} or {@link #START_INPUT}; of no effect in converged mode. */
    public int start = START_MASK;

    /** Number of iterations; more let the field reach farther. */
    public long iterations = 50;

    /** Decay length ρ in pixels, at least 1e-18; larger values decay slower. */
    public double rho = 64;

    /** Time step Δt, 0 for automatic; the library names its upper limit when it is exceeded. */
    public double timeStep;

    /** In the pixels' own units. */
    public double threshold;

    /** Pixel value that starts at 0; with {@link #startMax} 0 too: found by the library. */
    public double startMin;

    /** Pixel value that starts at 1. */
    public double startMax;

    /** Residual at which converged mode stops; NaN for the library's default. */
    public double tolerance = Double.NaN;

    /**
     * Runs the operation; the output is written only on success.
     *
     * @param context the device to run on
     * @param input pixels of any type
     * @param output pixels of type F32 and the same size
     * @param depth how many slices, from the first on
     * @param progress hears of the progress and may cancel; may be null
     * @return what was done
     * @throws IsolineException with the library's own words
     */
    public Report run(
            Context context, PixelBuffer input, PixelBuffer output, int depth, Progress progress)
            throws IsolineException {
        ImageStruct in = input.describe(depth);
        ImageStruct out = output.describe(depth);
        EdgeStrengthParamsStruct params = params();
        ReportStruct report = new ReportStruct();
        Status.check(IsolineLibrary.isoline_report_init(report, report.size()));
        ProgressBridge bridge = new ProgressBridge(progress);
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            int status =
                    IsolineLibrary.isoline_edge_strength(
                            context.pointer(), in, params, bridge.struct(), out, report);
            bridge.rethrow();
            Status.check(status);
        }
        return new Report(report);
    }

    EdgeStrengthParamsStruct params() throws IsolineException {
        EdgeStrengthParamsStruct params = new EdgeStrengthParamsStruct();
        Status.check(IsolineLibrary.isoline_edge_strength_params_init(params, params.size()));
        params.dimensions = dimensions;
        params.mode = mode;
        params.foreground = foreground;
        params.start = start;
        params.iterations = iterations;
        params.rho = rho;
        params.time_step = timeStep;
        params.threshold = threshold;
        params.start_min = startMin;
        params.start_max = startMax;
        if (!Double.isNaN(tolerance)) {
            params.tolerance = tolerance;
        }
        return params;
    }
}
