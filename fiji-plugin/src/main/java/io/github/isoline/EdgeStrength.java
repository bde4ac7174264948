package io.github.isoline;

/**
 * Edge strength function: the solution of the screened Poisson equation, 1 on a shape and falling to 0 around it.
 *
 * <p>Solves ∂v/∂t = ∇²v − v/ρ² with v = 1 on the shape and mirrored image borders (Keleş 2016). ρ is in pixels; in a
 * volume it is in the unit of the input's spacing.
 */
public final class EdgeStrength {
    /** The name of the operation. */
    public static final String NAME = "edge_strength";

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
}
