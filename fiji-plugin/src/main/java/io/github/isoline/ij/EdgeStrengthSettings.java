package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.EdgeStrength;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;

/** The parameters of the edge strength command. */
final class EdgeStrengthSettings extends Settings {
    static final String RHO = "rho";
    static final String TOLERANCE = "tolerance";
    static final String MAX_CYCLES = "max_cycles";
    static final String FOREGROUND = "foreground";

    static final String ABOVE = "above";
    static final String BELOW = "below";
    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;
    static final String MASK = "mask";
    static final String CONVERGED = "converged";
    static final String FIND = "find";

    // The words of FIND.
    private static final String NOTHING = "nothing";
    private static final String AXES = "axes";
    private static final String POINTS = "critical_points";

    private static final String SHORTEST_AXIS = "axis_min_length";

    EdgeStrengthSettings() throws IsolineException {
        super(EdgeStrength.NAME, "edge strength");
        declare(
                Setting.of(parameter(RHO))
                        .help(
                                "The distance over which the field falls to 37 %. A larger one reaches further and smooths more."
                                        + " In a volume it is in widths of a pixel."),
                Setting.of(parameter(MODE), CONVERGED, ITERATIONS),
                Setting.of(parameter(ITERATIONS)).whole(1).usedWith(MODE, ITERATIONS),
                Setting.of(parameter(TOLERANCE)).usedWith(MODE, CONVERGED),
                Setting.of(parameter(FOREGROUND), ABOVE, BELOW, THRESHOLDED).label("Foreground is"),
                // The text is kept as typed; it is a value as ImageJ shows it, see ShownValues.
                Setting.text(THRESHOLD, AUTO).usedWith(FOREGROUND, ABOVE, BELOW).forgotten(),
                Setting.of(parameter(START)).usedWith(MODE, ITERATIONS),
                Setting.choice(STACK, "slices", "volume", "current"));
        declareAxes();
        declare(Setting.of(parameter(TIME_STEP)).usedWith(MODE, ITERATIONS));
        declare(
                Setting.choice(FIND, NOTHING, AXES, POINTS)
                        .recordedIfChanged()
                        .help(
                                "What the outputs below hold: the axes of the skeleton and its critical points, which are centres of"
                                        + " parts and necks between them; or these points alone. In the converged mode axes"
                                        + " are whole."),
                found(Setting.of("least_strength", parameter("axis_min_strength"))),
                Setting.of("shortest_axis", parameter(SHORTEST_AXIS)).usedWith(FIND, AXES),
                found(Setting.output(ROI_MANAGER)),
                found(Setting.output(OVERLAY)).first(true),
                found(Setting.output(RESULTS_TABLE)),
                // Critical points come before the longest axes.
                found(mostRois()),
                // All are saved to this ZIP file as ROIs.
                found(roiFile()));
        declareOthers("variant", "start_min", "start_max", "axis_min_strength", SHORTEST_AXIS);
    }

    /** Makes a parameter one of what is found. */
    private static Setting found(Setting setting) {
        return setting.usedWith(FIND, AXES, POINTS);
    }

    /** Returns true if axes or critical points are found. */
    boolean finds() {
        return !is(FIND, NOTHING);
    }

    boolean startsFromImage() {
        return !is(START, MASK);
    }

    @Override
    void check(ImagePlus image) throws BadInput {
        super.check(image);
        if (isVolume() || finds()) {
            new VoxelSize(image, isVolume());
        }
    }

    @Override
    String otherProblem() {
        String problem = shapeProblem();
        return problem != null || !finds() ? problem : outputProblem();
    }

    /** Returns the problem with the parameters that a preview shows; null if there is none. */
    String shapeProblem() {
        if (usesThreshold()) {
            return ShapeThreshold.problem(text(THRESHOLD));
        }
        return startsFromImage() && !isConverged()
                ? "start=image is used with foreground=above and foreground=below, but foreground is"
                        + " thresholded. Choose start=mask, or another foreground."
                : null;
    }

    /** Returns true if pixel values are compared with the threshold of the dialog. */
    boolean usesThreshold() {
        return !is(FOREGROUND, THRESHOLDED);
    }

    /** Returns true if the threshold is computed from the image's values. */
    boolean needsValues() {
        return usesThreshold() && isAutomatic(THRESHOLD);
    }

    /** Returns the test for pixels of the shape, by the values of the planes where the threshold is automatic. */
    InsideTest insideTest(ImagePlus image, TwoValues values) throws BadInput {
        return usesThreshold()
                ? InsideTest.byStoredValue(is(FOREGROUND, ABOVE), ShapeThreshold.raw(image, text(THRESHOLD), values))
                : InsideTest.byShownThreshold(image);
    }

    /**
     * Returns the library's parameters.
     *
     * @param rawThreshold in raw pixel values; ignored where the shape does not depend on it: then the input is a mask,
     *     above 0 on the shape
     */
    Params toParams(double rawThreshold) throws IsolineException {
        Params params = toParams();
        params.set(THRESHOLD, usesThreshold() ? rawThreshold : 0);
        if (is(FIND, POINTS)) {
            // No axis is so long.
            params.set(SHORTEST_AXIS, Double.MAX_VALUE);
        }
        return usesThreshold() ? params : params.set(START, MASK);
    }
}
