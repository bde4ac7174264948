package io.github.isoline.ij;

import ij.Prefs;
import io.github.isoline.EdgeStrength;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

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
    static final String MASK = "mask";
    static final String IMAGE = "image";
    static final String SLICES = "slices";
    static final String VOLUME = "volume";

    static final double DEFAULT_TOLERANCE = 1e-5;

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

    /** {@link #ABOVE} or {@link #BELOW}. */
    String foreground = ABOVE;

    /** In pixel values; in signed values for a signed 16-bit image. */
    double threshold;

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
        s.foreground = macro.choice(FOREGROUND, ABOVE, BELOW);
        s.threshold = macro.number(THRESHOLD, s.threshold);
        s.start = macro.choice(START, MASK, IMAGE);
        s.stack = macro.choice(STACK, SLICES, VOLUME);
        s.axes = AxisChoice.fromMacro(macro);
        s.timeStep = macro.number(TIME_STEP, s.timeStep);
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
        s.threshold = Prefs.get(PREFS + THRESHOLD, s.threshold);
        s.start = Prefs.get(PREFS + START, s.start);
        s.stack = Prefs.get(PREFS + STACK, s.stack);
        s.axes = AxisChoice.fromPrefs(PREFS);
        s.timeStep = Prefs.get(PREFS + TIME_STEP, s.timeStep);
        return s;
    }

    /** Remembers everything but the device, whose default is set in the Devices command. */
    void savePrefs() {
        Prefs.set(PREFS + RHO, rho);
        Prefs.set(PREFS + MODE, mode);
        Prefs.set(PREFS + ITERATIONS, (double) iterations);
        Prefs.set(PREFS + TOLERANCE, tolerance);
        Prefs.set(PREFS + FOREGROUND, foreground);
        Prefs.set(PREFS + THRESHOLD, threshold);
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
        if (!(rho > 0) || Double.isInfinite(rho)) {
            return "Rho must be above 0 pixels.";
        }
        if (!isConverged() && iterations < 1) {
            return "Iterations must be 1 or more.";
        }
        if (isConverged() && !(tolerance > 0 && tolerance < 1)) {
            return "Tolerance must be between 0 and 1.";
        }
        if (Double.isNaN(threshold)) {
            return "Threshold must be a number.";
        }
        if (!(timeStep >= 0)) {
            return "Time step must be 0 (automatic) or more.";
        }
        return null;
    }

    /** The operation with these settings; the threshold is in raw pixel values. */
    EdgeStrength toOperation(double rawThreshold) {
        EdgeStrength operation = new EdgeStrength();
        operation.dimensions = isVolume() ? 3 : 2;
        operation.mode = isConverged() ? EdgeStrength.MODE_CONVERGED : EdgeStrength.MODE_ITERATE;
        operation.foreground =
                BELOW.equals(foreground)
                        ? EdgeStrength.FOREGROUND_BELOW
                        : EdgeStrength.FOREGROUND_ABOVE;
        operation.start = startsFromImage() ? EdgeStrength.START_INPUT : EdgeStrength.START_MASK;
        operation.iterations = iterations;
        operation.rho = rho;
        operation.timeStep = timeStep;
        operation.threshold = rawThreshold;
        operation.tolerance = tolerance;
        return operation;
    }

    /** The macro options that repeat this run. */
    @Override
    public String toString() {
        return String.format(
                (java.util.Locale) null,
                "device=%s rho=%s mode=%s iterations=%d tolerance=%s foreground=%s threshold=%s start=%s"
                        + " stack=%s%s time_step=%s",
                device,
                rho,
                mode,
                iterations,
                tolerance,
                foreground,
                threshold,
                start,
                stack,
                axes,
                timeStep);
    }
}
