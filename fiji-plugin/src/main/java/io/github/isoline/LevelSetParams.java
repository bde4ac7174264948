package io.github.isoline;

/**
 * What {@link LevelSet} asks. The fields start at the library's defaults. The size of a voxel is
 * the input's ({@link PixelBuffer#setSpacing}): curvature, distances and speeds are in its unit.
 */
public final class LevelSetParams {
    /** Less than 0, where a number is given: the library chooses it itself. */
    public static final double AUTOMATIC = -1;

    /** 3: one volume. 2: every slice by itself; all advance together. */
    public int dimensions = 3;

    /** T, the middle of the intensities that the surface grows into; used with {@link #epsilon}. */
    public double target;

    /**
     * ε: the surface grows within T ± ε. {@link #AUTOMATIC}: T and ε are the mean and twice the
     * standard deviation of the pixels inside the initial mask.
     */
    public double epsilon = AUTOMATIC;

    /** α, 0 to 1: the weight of the image against that of curvature; or {@link #AUTOMATIC}. */
    public double alpha = AUTOMATIC;

    /** Δt; 0 for automatic. */
    public double timeStep;

    /** φ is made a distance again every so many iterations; 0 for never. */
    public long reinitialiseEvery = 10;

    /**
     * Stop rule: how far the front moves from one check interval to the next, on average, in
     * voxels. Within an interval the count of voxels inside may vary by 50 times as much.
     */
    public double changeTolerance = 2e-3;

    /**
     * Stop rule: the change of φ near the front in an iteration in voxels; with the other one 0:
     * never stop.
     */
    public double rmsTolerance = 8;

    LevelSetParamsStruct struct() throws IsolineException {
        LevelSetParamsStruct params = new LevelSetParamsStruct();
        Status.check(IsolineLibrary.isoline_level_set_params_init(params, params.size()));
        if (reinitialiseEvery < 0 || reinitialiseEvery > Integer.MAX_VALUE) {
            // Java has no unsigned int: a negative number would become a very large one.
            throw new IsolineException(
                    "The iterations between two reinitialisations must be from 0 to "
                            + Integer.MAX_VALUE
                            + ", got "
                            + reinitialiseEvery);
        }
        params.dimensions = dimensions;
        params.reinitialise_every = (int) reinitialiseEvery;
        params.target = target;
        params.epsilon = epsilon;
        params.alpha = alpha;
        params.time_step = timeStep;
        params.change_tolerance = changeTolerance;
        params.rms_tolerance = rmsTolerance;
        return params;
    }
}
