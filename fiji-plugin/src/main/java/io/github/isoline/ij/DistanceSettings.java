package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import io.github.isoline.Distance;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Everything the signed distance dialog asks, under the names that macros use. The fields start at
 * the defaults.
 */
final class DistanceSettings {
    static final String DEVICE = "device";
    static final String INSIDE = "inside";
    static final String THRESHOLD = "threshold";
    static final String REGION = "region";
    static final String STACK = "stack";

    static final List<String> KEYS = keys();

    /** Pixels that are seen brighter than the threshold. */
    static final String BRIGHT = "bright";

    /** Pixels that are not. */
    static final String DARK = "dark";

    /** Pixels that ImageJ's own threshold marks in the image. */
    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;

    /** Pixels in the image's selection. */
    static final String SELECTION = "selection";

    static final String[] INSIDES = {BRIGHT, DARK, THRESHOLDED, SELECTION};

    static final String SIGNED = "signed";
    static final String OUTSIDE_ONLY = "outside";
    static final String INSIDE_ONLY = "inside";
    static final String[] REGIONS = {SIGNED, OUTSIDE_ONLY, INSIDE_ONLY};

    static final String SLICES = "slices";
    static final String VOLUME = "volume";
    static final String CURRENT = "current";
    static final String[] STACKS = {SLICES, VOLUME, CURRENT};

    private static final String PREFS = "isoline.distance.";

    /** "auto", "cpu", "cuda" or "cuda:N". */
    String device = DefaultDevice.AUTO;

    /** {@link #BRIGHT}, {@link #DARK}, {@link #THRESHOLDED} or {@link #SELECTION}. */
    String inside = BRIGHT;

    /** As it was typed, see {@link ShapeThreshold}; in signed values for a signed 16-bit image. */
    String threshold = ShapeThreshold.AUTO;

    /** {@link #SIGNED}, {@link #OUTSIDE_ONLY} or {@link #INSIDE_ONLY}. */
    String region = SIGNED;

    /** {@link #SLICES}, {@link #VOLUME} or {@link #CURRENT}. */
    String stack = SLICES;

    /** Which channels and frames. */
    AxisChoice axes = new AxisChoice();

    private static List<String> keys() {
        List<String> keys =
                new ArrayList<>(Arrays.asList(DEVICE, INSIDE, THRESHOLD, REGION, STACK));
        keys.addAll(AxisChoice.KEYS);
        return Collections.unmodifiableList(keys);
    }

    /** What a macro asks for; what it leaves out has the defaults, never remembered values. */
    static DistanceSettings fromMacro(String options) throws BadInput {
        MacroOptions macro = new MacroOptions(options, KEYS, AxisChoice.KEYS);
        DistanceSettings s = new DistanceSettings();
        s.device = macro.text(DEVICE, s.device);
        s.inside = macro.choice(INSIDE, INSIDES);
        s.threshold = macro.text(THRESHOLD, s.threshold);
        s.region = macro.choice(REGION, REGIONS);
        s.stack = macro.choice(STACK, STACKS);
        s.axes = AxisChoice.fromMacro(macro);
        if (!s.usesThreshold() && macro.has(THRESHOLD)) {
            throw new BadInput(
                    "threshold is used with inside=bright and inside=dark, but inside is "
                            + s.inside
                            + ". Leave it out, or write inside=bright.");
        }
        String complaint = s.complaint();
        if (complaint != null) {
            throw new BadInput(complaint);
        }
        return s;
    }

    /** What the user chose last, for the dialog. */
    static DistanceSettings fromPrefs() {
        DistanceSettings s = new DistanceSettings();
        s.device = DefaultDevice.get();
        s.inside = Prefs.get(PREFS + INSIDE, s.inside);
        s.region = Prefs.get(PREFS + REGION, s.region);
        s.stack = Prefs.get(PREFS + STACK, s.stack);
        s.axes = AxisChoice.fromPrefs(PREFS);
        return s;
    }

    /**
     * Remembers everything but the device, whose default is set in the Devices command, and the
     * threshold, which belongs to one image.
     */
    void savePrefs() {
        Prefs.set(PREFS + INSIDE, inside);
        Prefs.set(PREFS + REGION, region);
        Prefs.set(PREFS + STACK, stack);
        axes.savePrefs(PREFS);
    }

    boolean isVolume() {
        return VOLUME.equals(stack);
    }

    boolean isAutomatic() {
        return ShapeThreshold.isAutomatic(threshold);
    }

    /** True if the values of pixels say which are inside, and so the threshold has a meaning. */
    boolean usesThreshold() {
        return BRIGHT.equals(inside) || DARK.equals(inside);
    }

    /** Null if the values make sense, else what is wrong. */
    String complaint() {
        return usesThreshold() ? ShapeThreshold.complaint(threshold) : null;
    }

    /** The operation with these settings, on masks: 0 outside, above 0 inside. */
    Distance toOperation() {
        Distance operation = new Distance();
        operation.dimensions = isVolume() ? 3 : 2;
        operation.region =
                SIGNED.equals(region)
                        ? Distance.REGION_SIGNED
                        : OUTSIDE_ONLY.equals(region)
                                ? Distance.REGION_OUTSIDE
                                : Distance.REGION_INSIDE;
        return operation;
    }

    /** What is computed, in the words of a title. */
    String quantity() {
        return SIGNED.equals(region)
                ? "Signed distance"
                : OUTSIDE_ONLY.equals(region) ? "Outside distance" : "Inside distance";
    }

    /** The planes of an image that are taken, now. */
    HyperStackSelection planes(ImagePlus image) {
        return CURRENT.equals(stack) ? axes.ofCurrentSlice(image) : axes.of(image);
    }

    /** The macro options that repeat this run. */
    OptionText options() {
        OptionText options = new OptionText().with(DEVICE, device).with(INSIDE, inside);
        if (usesThreshold()) {
            options.with(THRESHOLD, threshold.trim().toLowerCase(Locale.ROOT));
        }
        return options.with(REGION, region)
                .with(STACK, stack)
                .with(AxisChoice.ALL_CHANNELS, axes.allChannels)
                .with(AxisChoice.ALL_FRAMES, axes.allFrames);
    }

    @Override
    public String toString() {
        return options().toString();
    }
}
