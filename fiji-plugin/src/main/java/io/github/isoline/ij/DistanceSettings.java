package io.github.isoline.ij;

import io.github.isoline.Distance;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;

/** The settings of the signed distance command. */
final class DistanceSettings extends Settings {
    static final String INSIDE = "inside";
    static final String THRESHOLD = "threshold";
    static final String REGION = "region";

    /** Pixels that are seen brighter than the threshold. */
    static final String BRIGHT = "bright";

    /** Pixels that are not. */
    static final String DARK = "dark";

    /** Pixels that ImageJ's own threshold marks in the image. */
    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;

    /** Pixels in the image's selection. */
    static final String SELECTION = "selection";

    static final String SIGNED = "signed";
    static final String OUTSIDE_ONLY = "outside";
    static final String INSIDE_ONLY = "inside";

    DistanceSettings() throws IsolineException {
        super(Distance.NAME);
        declare(
                Setting.choice(INSIDE, BRIGHT, DARK, THRESHOLDED, SELECTION).label("Inside is"),
                // As it was typed; in signed values for a signed 16-bit image.
                Setting.text(THRESHOLD, AUTO)
                        .label("Threshold (bright, dark)")
                        .usedWith(INSIDE, BRIGHT, DARK)
                        .forgotten());
        declare(REGION);
        declare(Setting.choice(STACK, "slices", "volume", "current").label("Stack as"));
        declareAxes();
        // Masks go to the library: 0 outside, above 0 inside.
        declareOthers("dimensions", "foreground");
    }

    /** Reads the options of a macro. */
    static DistanceSettings fromMacro(String options) throws BadInput, IsolineException {
        DistanceSettings settings = new DistanceSettings();
        settings.readMacro(options);
        return settings;
    }

    boolean isAutomatic() {
        return ShapeThreshold.isAutomatic(text(THRESHOLD));
    }

    /** True if the values of pixels say which are inside, and so the threshold has a meaning. */
    boolean usesThreshold() {
        return is(INSIDE, BRIGHT) || is(INSIDE, DARK);
    }

    @Override
    String otherComplaint() {
        return usesThreshold() ? ShapeThreshold.complaint(text(THRESHOLD)) : null;
    }

    @Override
    Params toParams() throws IsolineException {
        return super.toParams().set("dimensions", isVolume() ? "volume" : "slices");
    }

    /** The result, in the words of a title. */
    String quantity() {
        return is(REGION, SIGNED)
                ? "Signed distance"
                : is(REGION, OUTSIDE_ONLY) ? "Outside distance" : "Inside distance";
    }
}
