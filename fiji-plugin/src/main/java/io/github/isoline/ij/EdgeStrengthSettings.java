package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import io.github.isoline.EdgeStrength;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Everything the dialog asks, under the names that macros use. The fields start at the defaults.
 */
final class EdgeStrengthSettings {
    static final String DEVICE = "device";
    static final String RHO = "rho";
    static final String MODE = "mode";
    static final String ITERATIONS = "iterations";
    static final String TOLERANCE = "tolerance";
    static final String FOREGROUND = "foreground";
    static final String THRESHOLD = "threshold";
    static final String START = "start";
    static final String STACK = "stack";
    static final String TIME_STEP = "time_step";

    static final List<String> KEYS =
            Collections.unmodifiableList(
                    Arrays.asList(
                            DEVICE,
                            RHO,
                            MODE,
                            ITERATIONS,
                            TOLERANCE,
                            FOREGROUND,
                            THRESHOLD,
                            START,
                            STACK,
                            AxisChoice.ALL_CHANNELS,
                            AxisChoice.ALL_FRAMES,
                            TIME_STEP));

    static final String ITERATE = "iterations";
    static final String CONVERGED = "converged";
    static final String ABOVE = "above";
    static final String BELOW = "below";
    static final String THRESHOLDED = ShapeThreshold.THRESHOLDED;
    static final String[] FOREGROUNDS = {ABOVE, BELOW, THRESHOLDED};
    static final String MASK = "mask";
    static final String IMAGE = "image";
    static final String SLICES = "slices";
    static final String VOLUME = "volume";

    static final double DEFAULT_TOLERANCE = 1e-5;

    /** The smallest ρ that the library takes, in pixels. */
    private static final double LEAST_RHO = 1e-18;

    private static final String PREFS = "isoline.edge_strength.";

    /** "auto", "cpu", "cuda" or "cuda:N". */
    String device = DefaultDevice.AUTO;

    /** ρ in pixels. */
    double rho = 64;

    /** {@link #ITERATE} or {@link #CONVERGED}. */
    String mode = ITERATE;

    /** Used by {@link #ITERATE} only. */
    long iterations = 50;

    /** Used by {@link #CONVERGED} only. */
    double tolerance = DEFAULT_TOLERANCE;

    /** One of {@link #FOREGROUNDS}. */
    String foreground = ABOVE;

    /** As it was typed, see {@link ShapeThreshold}; in signed values for a signed 16-bit image. */
    String threshold = ShapeThreshold.AUTO;

    /** {@link #MASK} or {@link #IMAGE}. */
    String start = MASK;

    /** {@link #SLICES} or {@link #VOLUME}. */
    String stack = SLICES;

    /** Which channels and frames. */
    AxisChoice axes = new AxisChoice();

    /** Δt, 0 for automatic. */
    double timeStep;

    /** What a macro asks for; what it leaves out has the defaults, never remembered values. */
    static EdgeStrengthSettings fromMacro(String options) throws BadInput {
        MacroOptions macro = new MacroOptions(options, KEYS, AxisChoice.KEYS);
        EdgeStrengthSettings s = new EdgeStrengthSettings();
        s.device = macro.text(DEVICE, s.device);
        s.rho = macro.number(RHO, s.rho);
        s.mode = macro.choice(MODE, ITERATE, CONVERGED);
        s.iterations = macro.count(ITERATIONS, s.iterations);
        s.tolerance = macro.number(TOLERANCE, s.tolerance);
        s.foreground = macro.choice(FOREGROUND, FOREGROUNDS);
        s.threshold = macro.text(THRESHOLD, s.threshold);
        s.start = macro.choice(START, MASK, IMAGE);
        s.stack = macro.choice(STACK, SLICES, VOLUME);
        s.axes = AxisChoice.fromMacro(macro);
        s.timeStep = macro.number(TIME_STEP, s.timeStep);
        if (!s.usesThreshold() && macro.has(THRESHOLD)) {
            throw new BadInput(
                    "threshold is used with foreground=above and foreground=below, but foreground"
                            + " is thresholded. Leave it out, or write foreground=above.");
        }
        String complaint = s.shapeComplaint();
        if (complaint != null) {
            throw new BadInput(complaint);
        }
        return s;
    }

    /** What the user chose last, for the dialog. */
    static EdgeStrengthSettings fromPrefs() {
        EdgeStrengthSettings s = new EdgeStrengthSettings();
        s.device = DefaultDevice.get();
        s.rho = Prefs.get(PREFS + RHO, s.rho);
        s.mode = Prefs.get(PREFS + MODE, s.mode);
        s.iterations = (long) Prefs.get(PREFS + ITERATIONS, s.iterations);
        s.tolerance = Prefs.get(PREFS + TOLERANCE, s.tolerance);
        s.foreground = Prefs.get(PREFS + FOREGROUND, s.foreground);
        s.start = Prefs.get(PREFS + START, s.start);
        s.stack = Prefs.get(PREFS + STACK, s.stack);
        s.axes = AxisChoice.fromPrefs(PREFS);
        s.timeStep = Prefs.get(PREFS + TIME_STEP, s.timeStep);
        return s;
    }

    /**
     * Remembers everything but the device, whose default is set in the Devices command, and the
     * threshold, which belongs to one image.
     */
    void savePrefs() {
        Prefs.set(PREFS + RHO, rho);
        Prefs.set(PREFS + MODE, mode);
        Prefs.set(PREFS + ITERATIONS, (double) iterations);
        Prefs.set(PREFS + TOLERANCE, tolerance);
        Prefs.set(PREFS + FOREGROUND, foreground);
        Prefs.set(PREFS + START, start);
        Prefs.set(PREFS + STACK, stack);
        axes.savePrefs(PREFS);
        Prefs.set(PREFS + TIME_STEP, timeStep);
    }

    boolean isVolume() {
        return VOLUME.equals(stack);
    }

    boolean isConverged() {
        return CONVERGED.equals(mode);
    }

    boolean startsFromImage() {
        return IMAGE.equals(start);
    }

    /**
     * Null if the numbers make sense by themselves, else what is wrong. The library checks them
     * again, and those that depend on each other; this is for the dialog, while the user types.
     */
    String complaint() {
        if (!(rho >= LEAST_RHO) || Double.isInfinite(rho)) {
            return "Rho must be at least 1e-18 pixels, and finite.";
        }
        if (!isConverged() && iterations < 1) {
            return "Iterations must be 1 or more.";
        }
        if (isConverged() && !(tolerance > 0 && tolerance < 1)) {
            return "Tolerance must be between 0 and 1.";
        }
        if (!(timeStep >= 0)) {
            return "Time step must be 0 (automatic) or more.";
        }
        return shapeComplaint();
    }

    /** The complaint about what a preview shows. */
    String shapeComplaint() {
        if (usesThreshold()) {
            return ShapeThreshold.complaint(threshold);
        }
        return startsFromImage() && !isConverged()
                ? "start=image is used with foreground=above and foreground=below, but foreground is"
                        + " thresholded. Choose start=mask, or another foreground."
                : null;
    }

    /** True if the values of pixels are compared with a threshold of our own. */
    boolean usesThreshold() {
        return !THRESHOLDED.equals(foreground);
    }

    /** True if the threshold is found in the image's values. */
    boolean needsValues() {
        return usesThreshold() && ShapeThreshold.isAutomatic(threshold);
    }

    /**
     * The test of which pixels are the shape.
     *
     * @param values of the planes, where the threshold is automatic
     */
    InsideTest insideTest(ImagePlus image, TwoValues values) throws BadInput {
        return usesThreshold()
                ? InsideTest.byStoredValue(
                        ABOVE.equals(foreground), ShapeThreshold.raw(image, threshold, values))
                : InsideTest.byShownThreshold(image);
    }

    /**
     * The operation with these settings.
     *
     * @param rawThreshold in raw pixel values; of no effect without a threshold of our own: then
     *     the input is a mask, above 0 on the shape
     */
    EdgeStrength toOperation(double rawThreshold) {
        EdgeStrength operation = new EdgeStrength();
        operation.dimensions = isVolume() ? 3 : 2;
        operation.mode = isConverged() ? EdgeStrength.MODE_CONVERGED : EdgeStrength.MODE_ITERATE;
        operation.foreground =
                BELOW.equals(foreground)
                        ? EdgeStrength.FOREGROUND_BELOW
                        : EdgeStrength.FOREGROUND_ABOVE;
        operation.start =
                usesThreshold() && startsFromImage()
                        ? EdgeStrength.START_INPUT
                        : EdgeStrength.START_MASK;
        operation.iterations = iterations;
        operation.rho = rho;
        operation.timeStep = timeStep;
        operation.threshold = usesThreshold() ? rawThreshold : 0;
        operation.tolerance = tolerance;
        return operation;
    }

    /** The macro options that repeat this run. */
    OptionText options() {
        OptionText options = new OptionText().with(DEVICE, device).with(RHO, rho);
        options.with(MODE, mode).with(ITERATIONS, iterations).with(TOLERANCE, tolerance);
        options.with(FOREGROUND, foreground);
        if (usesThreshold()) {
            options.with(THRESHOLD, threshold.trim().toLowerCase(Locale.ROOT));
        }
        return options.with(START, start)
                .with(STACK, stack)
                .with(AxisChoice.ALL_CHANNELS, axes.allChannels)
                .with(AxisChoice.ALL_FRAMES, axes.allFrames)
                .with(TIME_STEP, timeStep);
    }

    @Override
    public String toString() {
        return options().toString();
    }
}
