package io.github.isoline;

/**
 * Edge strength function: a smoothed distance field that is 1 on a shape and decays away from it.
 *
 * <p>Solves ∂v/∂t = ∇²v − v/ρ² with v = 1 on the shape and mirrored image borders (Keleş 2016). ρ
 * is in pixels in every direction, whatever the calibration.
 */
public final class EdgeStrength {
    /** The name of the operation. */
    public static final String NAME = "edge_strength";

    private EdgeStrength() {}

    /**
     * Runs the operation; the output is written only on success.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type
     * @param output pixels of type F32 and the same size
     * @param depth how many slices, from the first on
     * @param progress hears of the progress and may cancel; may be null
     * @return what was done
     * @throws IsolineException with the library's own words
     */
    public static Report run(
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer output,
            int depth,
            Progress progress)
            throws IsolineException {
        ImageStruct in = input.describe(depth);
        ImageStruct out = output.describe(depth);
        ReportStruct report = new ReportStruct();
        Status.check(IsolineLibrary.isoline_report_init(report, report.size()));
        ProgressBridge bridge = new ProgressBridge(progress);
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            int status =
                    IsolineLibrary.isoline_edge_strength(
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
