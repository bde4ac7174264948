package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.Distance;
import io.github.isoline.IsolineException;

/** The parameters of the signed distance command. */
final class DistanceSettings extends Settings {
    static final String INSIDE = "inside";
    static final String REGION = "region";

    /** The word for pixels that are displayed brighter than the threshold. */
    static final String BRIGHT = "bright";

    /** The word for the other pixels. */
    static final String DARK = "dark";

    /** The word for pixels that ImageJ's own threshold selects in the image. */
    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;

    /** The word for pixels in the image's selection. */
    static final String SELECTION = "selection";

    static final String SIGNED = "signed";
    static final String OUTSIDE_ONLY = "outside";
    static final String INSIDE_ONLY = "inside";

    DistanceSettings() throws IsolineException {
        super(Distance.NAME, "distance");
        declare(
                Setting.choice(INSIDE, BRIGHT, DARK, THRESHOLDED, SELECTION).label("Inside is"),
                // The text is kept as typed; it is a value as ImageJ shows it, see ShownValues.
                Setting.text(THRESHOLD, AUTO).usedWith(INSIDE, BRIGHT, DARK).forgotten());
        declare(REGION);
        declare(Setting.choice(STACK, "slices", "volume", "current"));
        declareAxes();
        // The library gets masks: 0 outside, above 0 inside.
        declareOthers("foreground");
    }

    /** Returns true if pixel values decide which pixels are inside, so that the threshold is used. */
    boolean usesThreshold() {
        return is(INSIDE, BRIGHT) || is(INSIDE, DARK);
    }

    /** Returns true if the threshold is computed from the image's values. */
    boolean needsValues() {
        return usesThreshold() && isAutomatic(THRESHOLD);
    }

    /** Returns the test for inside pixels, by the values of the planes where the threshold is automatic. */
    InsideTest insideTest(ImagePlus image, TwoValues values) throws BadInput {
        if (is(INSIDE, SELECTION)) {
            return InsideTest.bySelection(image);
        }
        return usesThreshold()
                ? InsideTest.byValue(image, is(INSIDE, BRIGHT), ShapeThreshold.raw(image, text(THRESHOLD), values))
                : InsideTest.byShownThreshold(image);
    }

    @Override
    String otherProblem() {
        return usesThreshold() ? ShapeThreshold.problem(text(THRESHOLD)) : null;
    }

    @Override
    void check(ImagePlus image) throws BadInput {
        super.check(image);
        new VoxelSize(image, isVolume());
    }

    /** Returns the name of the result for a title. */
    String quantity() {
        return is(REGION, SIGNED)
                ? "Signed distance"
                : is(REGION, OUTSIDE_ONLY) ? "Outside distance" : "Inside distance";
    }
}
