package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.EdgeStrength;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;

/** The parameters of the edge strength command. */
final class EdgeStrengthSettings extends Settings {
    static final String RHO = "rho";
    static final String TOLERANCE = "tolerance";
    static final String FOREGROUND = "foreground";

    static final String ABOVE = "above";
    static final String BELOW = "below";
    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;
    static final String MASK = "mask";
    static final String CONVERGED = "converged";

    EdgeStrengthSettings() throws IsolineException {
        super(EdgeStrength.NAME, "edge strength", "Edge strength");
        declare(
                Setting.of(parameter(RHO))
                        .help(
                                "The distance over which the field falls to 37 %. A larger one reaches further and smooths more."
                                        + " In a volume it is in widths of a pixel."),
                Setting.of(parameter(MODE), CONVERGED, ITERATIONS),
                Setting.of(parameter(ITERATIONS)).whole(1).usedWith(MODE, ITERATIONS),
                Setting.of(parameter(TOLERANCE)).usedWith(MODE, CONVERGED),
                Setting.of(parameter(FOREGROUND), ABOVE, BELOW, THRESHOLDED).label("Foreground is"),
                // The text is kept as typed; it is a signed value for a signed 16-bit image.
                Setting.text(THRESHOLD, AUTO).usedWith(FOREGROUND, ABOVE, BELOW).forgotten(),
                Setting.of(parameter(START)).usedWith(MODE, ITERATIONS),
                Setting.choice(STACK, "slices", "volume"));
        declareAxes();
        declare(Setting.of(parameter(TIME_STEP)).usedWith(MODE, ITERATIONS));
        declareOthers("dimensions", "variant", "start_min", "start_max");
    }

    boolean startsFromImage() {
        return !is(START, MASK);
    }

    @Override
    void check(ImagePlus image) throws BadInput {
        super.check(image);
        if (isVolume()) {
            new VoxelSize(image, true);
        }
    }

    @Override
    String otherProblem() {
        return shapeProblem();
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

    /**
     * Returns the test for pixels of the shape.
     *
     * @param values of the planes, where the threshold is automatic
     */
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
        Params params = toParams().set("dimensions", isVolume() ? "volume" : "slices");
        params.set(THRESHOLD, usesThreshold() ? rawThreshold : 0);
        return usesThreshold() ? params : params.set(START, MASK);
    }
}
