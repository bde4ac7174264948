package io.github.isoline;

import java.util.Arrays;
import java.util.List;

/**
 * Edge strength function: the solution of the screened Poisson equation, 1 on a shape and falling to 0 around it.
 *
 * <p>Solves ∂v/∂t = ∇²v − v/ρ² with v = 1 on the shape and mirrored image borders (Keleş 2016). ρ is in pixels; in a
 * volume it is in the unit of the input's spacing.
 */
public final class EdgeStrength {
    /** The name of the operation. */
    public static final String NAME = "edge_strength";

    /** The share of a run that computes the edge strength, where axes are found, too. */
    private static final double STRENGTH_SHARE = 0.7;

    private EdgeStrength() {}

    /**
     * Runs the operation; after a cancel any part of the output may have been written.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input pixels of any type; in a volume its spacing is the voxel's size
     * @param output pixels of type F32 and the same size
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the report of the run
     * @throws IsolineException with the library's message
     */
    public static Report run(
            Context context, Params params, PixelBuffer input, PixelBuffer output, int depth, Progress progress)
            throws IsolineException {
        return Operation.run(NAME, context, params, input, output, depth, progress);
    }

    /**
     * Runs the operation and finds the axes and the critical points of its output. The host finds them, whichever
     * device computes.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param input as in {@link #run}
     * @param output as in {@link #run}; its spacing is the unit of the lengths of axes
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the report of both, and axes and critical points as polylines
     * @throws IsolineException with the library's message
     */
    public static Findings<Polylines> axes(
            Context context, Params params, PixelBuffer input, PixelBuffer output, int depth, Progress progress)
            throws IsolineException {
        Report report = run(context, params, input, output, depth, Progress.part(progress, 0, STRENGTH_SHARE));
        List<Object> arguments = Arrays.asList(output.describe(depth), params.struct(NAME));
        return Operation.compute(
                NAME + "_axes",
                context,
                arguments,
                Progress.part(progress, STRENGTH_SHARE, 1),
                "polylines",
                Structs.init("polyline_arrays", new Structs.PolylineArrays()),
                (search, arrays) -> {
                    report.add(search);
                    return new Findings<>(report, new Polylines(arrays));
                });
    }
}
