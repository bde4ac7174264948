package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.util.Tools;
import io.github.isoline.LevelSetParams;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Everything the level set dialog asks, under the names that macros use. The fields start at the
 * defaults.
 */
final class LevelSetSettings {
    static final String DEVICE = "device";
    static final String STACK = "stack";
    static final String START = "start";
    static final String ROI_SLICES = "roi_slices";
    static final String RADIUS = "radius";
    static final String MASK_IMAGE = "mask_image";
    static final String BOX_X = "box_x";
    static final String BOX_Y = "box_y";
    static final String BOX_Z = "box_z";
    static final String SPHERE_FILE = "sphere_file";
    static final String RANGE = "range";
    static final String TARGET = "target";
    static final String EPSILON = "epsilon";
    static final String DEVIATIONS = "deviations";
    static final String ALPHA = "alpha";
    static final String MODE = "mode";
    static final String ITERATIONS = "iterations";
    static final String REINITIALISE = "reinitialise";
    static final String TIME_STEP = "time_step";
    static final String CHANGE_TOLERANCE = "change_tolerance";
    static final String RMS_TOLERANCE = "rms_tolerance";
    static final String SHOW_EVERY = "show_every";
    static final String MASK_STACK = "mask_stack";
    static final String PHI = "phi";
    static final String OVERLAY = "overlay";
    static final String ROI_MANAGER = "roi_manager";
    static final String RESULTS_TABLE = "results_table";
    static final String ROI_FILE = "roi_file";

    /** Keys without a value. */
    static final List<String> SWITCHES =
            Collections.unmodifiableList(
                    Arrays.asList(
                            AxisChoice.ALL_CHANNELS,
                            AxisChoice.ALL_FRAMES,
                            MASK_STACK,
                            PHI,
                            OVERLAY,
                            ROI_MANAGER,
                            RESULTS_TABLE));

    static final List<String> KEYS =
            Collections.unmodifiableList(
                    Arrays.asList(
                            DEVICE,
                            STACK,
                            AxisChoice.ALL_CHANNELS,
                            AxisChoice.ALL_FRAMES,
                            START,
                            ROI_SLICES,
                            RADIUS,
                            MASK_IMAGE,
                            BOX_X,
                            BOX_Y,
                            BOX_Z,
                            SPHERE_FILE,
                            RANGE,
                            TARGET,
                            EPSILON,
                            DEVIATIONS,
                            ALPHA,
                            MODE,
                            ITERATIONS,
                            REINITIALISE,
                            TIME_STEP,
                            CHANGE_TOLERANCE,
                            RMS_TOLERANCE,
                            SHOW_EVERY,
                            MASK_STACK,
                            PHI,
                            OVERLAY,
                            ROI_MANAGER,
                            RESULTS_TABLE,
                            ROI_FILE));

    /**
     * What a key was called in earlier macros. ImageJ's recorder takes "k=" for a duplicate where
     * "stack=" stands.
     */
    private static final Map<String, String> OLD_KEYS = Collections.singletonMap("k", DEVIATIONS);

    static final String SLICES = "slices";
    static final String VOLUME = "volume";
    static final String CURRENT = "current";
    static final String[] STACKS = {SLICES, VOLUME, CURRENT};

    static final String ROI = "roi";
    static final String SPHERES = "spheres";
    static final String MASK = "mask";
    static final String BOX = "box";
    static final String[] STARTS = {ROI, SPHERES, MASK, BOX};

    static final String OWN = "own";
    static final String ALL = "all";
    static final String[] ROI_SLICE_CHOICES = {OWN, ALL};

    static final String VALUES = "values";

    /** What finds itself: the range, alpha, or a side of the box. */
    static final String AUTO = "auto";

    static final String[] RANGES = {AUTO, VALUES, ROI};

    static final String CONVERGED = "converged";
    static final String ITERATE = "iterations";
    static final String[] MODES = {CONVERGED, ITERATE};

    private static final String PREFS = "isoline.level_set.";

    String device = DefaultDevice.AUTO;

    /** {@link #SLICES}, {@link #VOLUME} or {@link #CURRENT}. */
    String stack = SLICES;

    /** Which channels and frames. */
    AxisChoice axes = new AxisChoice();

    /** One of {@link #STARTS}. */
    String start = ROI;

    /** Of a volume that starts from the selection: {@link #OWN} or {@link #ALL}. */
    String roiSlices = OWN;

    /** Of spheres, in the image's unit. */
    double radius;

    /** Title of an open image. */
    String maskImage = "";

    /** {@link #AUTO} or "first-last", in pixels from 0 on. */
    String boxX = AUTO;

    String boxY = AUTO;

    /** {@link #AUTO} or "first-last", in slices from 1 on. */
    String boxZ = AUTO;

    /** Points as the ROI Manager saves them, instead of the ROI Manager; macros only. */
    String sphereFile = "";

    /** One of {@link #RANGES}. */
    String range = AUTO;

    /** T in pixel values, used by {@link #VALUES}. */
    double target;

    /** ε in pixel values, used by {@link #VALUES}. */
    double epsilon;

    /** How many standard deviations around the mean {@link #ROI} takes. */
    double deviations = 2;

    /** {@link #AUTO} or a number, as it was typed. */
    String alpha = AUTO;

    /** {@link #CONVERGED} or {@link #ITERATE}. */
    String mode = CONVERGED;

    double iterations = 10000;
    double reinitialise = new LevelSetParams().reinitialiseEvery;

    /** Δt, 0 for automatic. */
    double timeStep;

    /** The library's stop rule; macros only. */
    double changeTolerance = new LevelSetParams().changeTolerance;

    double rmsTolerance = new LevelSetParams().rmsTolerance;

    /** Iterations between two pictures of the front; 0 for none. */
    double showEvery = 10;

    boolean maskStack;
    boolean phi;
    boolean overlay;
    boolean roiManager;
    boolean resultsTable;

    /** A ZIP file for the outlines; "" for none. Macros only. */
    String roiFile = "";

    /** What a macro asks for; what it leaves out has the defaults, never remembered values. */
    static LevelSetSettings fromMacro(String options) throws BadInput {
        MacroOptions macro = new MacroOptions(options, KEYS, SWITCHES, OLD_KEYS);
        LevelSetSettings s = new LevelSetSettings();
        s.device = macro.text(DEVICE, s.device);
        s.stack = macro.choice(STACK, STACKS);
        s.axes = AxisChoice.fromMacro(macro);
        s.start = macro.choice(START, STARTS);
        s.roiSlices = macro.choice(ROI_SLICES, ROI_SLICE_CHOICES);
        s.radius = macro.number(RADIUS, s.radius);
        s.maskImage = macro.text(MASK_IMAGE, s.maskImage);
        s.boxX = macro.text(BOX_X, s.boxX);
        s.boxY = macro.text(BOX_Y, s.boxY);
        s.boxZ = macro.text(BOX_Z, s.boxZ);
        s.sphereFile = macro.text(SPHERE_FILE, s.sphereFile);
        s.range = macro.choice(RANGE, RANGES);
        s.target = macro.number(TARGET, s.target);
        s.epsilon = macro.number(EPSILON, s.epsilon);
        s.deviations = macro.number(DEVIATIONS, s.deviations);
        s.alpha = macro.text(ALPHA, s.alpha);
        s.mode = macro.choice(MODE, MODES);
        s.iterations = macro.number(ITERATIONS, s.iterations);
        s.reinitialise = macro.number(REINITIALISE, s.reinitialise);
        s.timeStep = macro.number(TIME_STEP, s.timeStep);
        s.changeTolerance = macro.number(CHANGE_TOLERANCE, s.changeTolerance);
        s.rmsTolerance = macro.number(RMS_TOLERANCE, s.rmsTolerance);
        s.showEvery = macro.number(SHOW_EVERY, s.showEvery);
        s.maskStack = macro.has(MASK_STACK);
        s.phi = macro.has(PHI);
        s.overlay = macro.has(OVERLAY);
        s.roiManager = macro.has(ROI_MANAGER);
        s.resultsTable = macro.has(RESULTS_TABLE);
        s.roiFile = macro.text(ROI_FILE, s.roiFile);
        if (!VALUES.equals(s.range) && (macro.has(TARGET) || macro.has(EPSILON))) {
            // Silently another range than the one that was written would be the worst of all.
            throw new BadInput(
                    "target and epsilon are used with range=values only, but range is "
                            + s.range
                            + ". Write range=values, or leave them out.");
        }
        String complaint = s.complaint();
        if (complaint != null) {
            throw new BadInput(complaint);
        }
        return s;
    }

    /** What the user chose last, for the dialog. */
    static LevelSetSettings fromPrefs() {
        LevelSetSettings s = new LevelSetSettings();
        s.device = DefaultDevice.get();
        s.stack = Prefs.get(PREFS + STACK, s.stack);
        s.axes = AxisChoice.fromPrefs(PREFS);
        s.start = Prefs.get(PREFS + START, s.start);
        s.roiSlices = Prefs.get(PREFS + ROI_SLICES, s.roiSlices);
        s.radius = Prefs.get(PREFS + RADIUS, s.radius);
        s.deviations = Prefs.get(PREFS + DEVIATIONS, s.deviations);
        s.alpha = Prefs.get(PREFS + ALPHA, s.alpha);
        s.mode = Prefs.get(PREFS + MODE, s.mode);
        s.iterations = Prefs.get(PREFS + ITERATIONS, s.iterations);
        s.reinitialise = Prefs.get(PREFS + REINITIALISE, s.reinitialise);
        s.showEvery = Prefs.get(PREFS + SHOW_EVERY, s.showEvery);
        // The first time somebody sees the dialog, OK gives a picture.
        s.maskStack = Prefs.get(PREFS + MASK_STACK, true);
        s.phi = Prefs.get(PREFS + PHI, s.phi);
        s.overlay = Prefs.get(PREFS + OVERLAY, s.overlay);
        s.roiManager = Prefs.get(PREFS + ROI_MANAGER, s.roiManager);
        s.resultsTable = Prefs.get(PREFS + RESULTS_TABLE, s.resultsTable);
        return s;
    }

    /**
     * Remembers everything but the device, whose default is set in the Devices command, and what
     * belongs to one image: the range, the mask, the box and the time step.
     */
    void savePrefs() {
        Prefs.set(PREFS + STACK, stack);
        axes.savePrefs(PREFS);
        Prefs.set(PREFS + START, start);
        Prefs.set(PREFS + ROI_SLICES, roiSlices);
        Prefs.set(PREFS + RADIUS, radius);
        Prefs.set(PREFS + DEVIATIONS, deviations);
        Prefs.set(PREFS + ALPHA, alpha);
        Prefs.set(PREFS + MODE, mode);
        Prefs.set(PREFS + ITERATIONS, iterations);
        Prefs.set(PREFS + REINITIALISE, reinitialise);
        Prefs.set(PREFS + SHOW_EVERY, showEvery);
        Prefs.set(PREFS + MASK_STACK, maskStack);
        Prefs.set(PREFS + PHI, phi);
        Prefs.set(PREFS + OVERLAY, overlay);
        Prefs.set(PREFS + ROI_MANAGER, roiManager);
        Prefs.set(PREFS + RESULTS_TABLE, resultsTable);
    }

    boolean isVolume() {
        return VOLUME.equals(stack);
    }

    boolean isConverged() {
        return CONVERGED.equals(mode);
    }

    boolean isAutomaticAlpha() {
        return AUTO.equalsIgnoreCase(alpha.trim());
    }

    boolean wantsRois() {
        return overlay || roiManager || !roiFile.isEmpty();
    }

    /** What is looked at, now. */
    HyperStackSelection planes(ImagePlus image) {
        return CURRENT.equals(stack) ? axes.ofCurrentSlice(image) : axes.of(image);
    }

    /**
     * Null if the values make sense, else what is wrong: said while the user types, and to macros.
     */
    String complaint() {
        String complaint = previewComplaint();
        complaint = complaint == null ? evolutionComplaint() : complaint;
        return complaint == null ? outputComplaint() : complaint;
    }

    private String startComplaint() {
        if (SPHERES.equals(start) && !(radius > 0 && radius < Double.POSITIVE_INFINITY)) {
            return RADIUS
                    + " must be a number above 0, in the image's unit of length"
                    + OptionText.got(radius);
        }
        if (MASK.equals(start) && maskImage.isEmpty()) {
            return MASK_IMAGE
                    + " must be the title of an open image: it is where start=mask starts.";
        }
        for (String side : new String[] {boxX, boxY, boxZ}) {
            if (BOX.equals(start) && !isAuto(side) && span(side) == null) {
                return "A side of the box (box_x, box_y, box_z) must be \"auto\" or first-last, such"
                        + " as 10-50, got \""
                        + side
                        + "\".";
            }
        }
        return null;
    }

    /** The complaint about what a preview shows. */
    String previewComplaint() {
        String complaint = startComplaint();
        return complaint == null ? rangeComplaint() : complaint;
    }

    /** The complaint about T and ε. */
    private String rangeComplaint() {
        if (VALUES.equals(range)) {
            if (!isFinite(target)) {
                return TARGET + " must be a number" + OptionText.got(target);
            }
            if (!(isFinite(epsilon) && epsilon > 0)) {
                return EPSILON
                        + " must be a number above 0 (pixel values)"
                        + OptionText.got(epsilon);
            }
        }
        if (ROI.equals(range) && !(isFinite(deviations) && deviations > 0)) {
            return DEVIATIONS
                    + " must be a number above 0 (standard deviations)"
                    + OptionText.got(deviations);
        }
        return null;
    }

    private String evolutionComplaint() {
        double weight = alphaNumber();
        if (!isAutomaticAlpha() && !(weight >= 0 && weight <= 1)) {
            return ALPHA + " must be \"auto\" or a number from 0 to 1, got \"" + alpha + "\".";
        }
        if (!OptionText.isWhole(iterations, 1)) {
            return ITERATIONS + " must be a whole number of 1 or more" + OptionText.got(iterations);
        }
        if (!OptionText.isWhole(reinitialise, 0)) {
            return REINITIALISE
                    + " must be a whole number of 0 (never) or more iterations"
                    + OptionText.got(reinitialise);
        }
        if (!(isFinite(timeStep) && timeStep >= 0)) {
            return TIME_STEP + " must be 0 (automatic) or more" + OptionText.got(timeStep);
        }
        if (!(isFinite(changeTolerance) && changeTolerance >= 0)) {
            return CHANGE_TOLERANCE
                    + " must be a number of 0 or more"
                    + OptionText.got(changeTolerance);
        }
        if (!(isFinite(rmsTolerance) && rmsTolerance >= 0)) {
            return RMS_TOLERANCE + " must be a number of 0 or more" + OptionText.got(rmsTolerance);
        }
        if (!OptionText.isWhole(showEvery, 0)) {
            return SHOW_EVERY
                    + " must be a whole number of 0 (never) or more iterations"
                    + OptionText.got(showEvery);
        }
        return null;
    }

    private String outputComplaint() {
        if (maskStack || phi || resultsTable || wantsRois()) {
            return null;
        }
        return "No output is chosen. Choose at least one of "
                + String.join(", ", MASK_STACK, PHI, OVERLAY, ROI_MANAGER, RESULTS_TABLE)
                + " (in a macro also "
                + ROI_FILE
                + "=FILE.zip).";
    }

    static boolean isAuto(String text) {
        return AUTO.equalsIgnoreCase(text.trim());
    }

    /** The two whole numbers of "first-last"; null if there are none, or in the wrong order. */
    static int[] span(String text) {
        String[] ends = text.trim().split("\\s*-\\s*", -1);
        if (ends.length != 2 || !ends[0].matches("\\d{1,9}") || !ends[1].matches("\\d{1,9}")) {
            return null;
        }
        int[] span = {Integer.parseInt(ends[0]), Integer.parseInt(ends[1])};
        return span[0] <= span[1] ? span : null;
    }

    private double alphaNumber() {
        return Tools.parseDouble(alpha.trim(), Double.NaN);
    }

    private static boolean isFinite(double value) {
        return !Double.isNaN(value) && !Double.isInfinite(value);
    }

    /** The library's parameters; T and ε are still automatic. */
    LevelSetParams toParams() {
        LevelSetParams params = new LevelSetParams();
        params.dimensions = isVolume() ? 3 : 2;
        params.alpha = isAutomaticAlpha() ? LevelSetParams.AUTOMATIC : alphaNumber();
        params.timeStep = timeStep;
        params.reinitialiseEvery = (long) reinitialise;
        // Never stops by itself with 0.
        params.changeTolerance = isConverged() ? changeTolerance : 0;
        params.rmsTolerance = isConverged() ? rmsTolerance : 0;
        return params;
    }

    /** The macro options that repeat this run. */
    OptionText options() {
        LevelSetSettings defaults = new LevelSetSettings();
        OptionText text = new OptionText().with(DEVICE, device).with(STACK, stack);
        text.with(AxisChoice.ALL_CHANNELS, axes.allChannels);
        text.with(AxisChoice.ALL_FRAMES, axes.allFrames);
        text.with(START, start);
        switch (start) {
            case ROI:
                if (isVolume()) {
                    text.with(ROI_SLICES, roiSlices);
                }
                break;
            case SPHERES:
                text.with(RADIUS, radius);
                if (!sphereFile.isEmpty()) {
                    text.with(SPHERE_FILE, sphereFile);
                }
                break;
            case MASK:
                text.with(MASK_IMAGE, maskImage);
                break;
            default:
                text.with(BOX_X, boxX.trim()).with(BOX_Y, boxY.trim()).with(BOX_Z, boxZ.trim());
                break;
        }
        text.with(RANGE, range);
        if (VALUES.equals(range)) {
            text.with(TARGET, target).with(EPSILON, epsilon);
        } else if (ROI.equals(range)) {
            text.with(DEVIATIONS, deviations);
        }
        text.with(ALPHA, alpha.trim()).with(MODE, mode).with(ITERATIONS, iterations);
        text.with(REINITIALISE, reinitialise).with(TIME_STEP, timeStep);
        if (changeTolerance != defaults.changeTolerance) {
            text.with(CHANGE_TOLERANCE, changeTolerance);
        }
        if (rmsTolerance != defaults.rmsTolerance) {
            text.with(RMS_TOLERANCE, rmsTolerance);
        }
        text.with(SHOW_EVERY, showEvery);
        text.with(MASK_STACK, maskStack).with(PHI, phi).with(OVERLAY, overlay);
        text.with(ROI_MANAGER, roiManager).with(RESULTS_TABLE, resultsTable);
        return roiFile.isEmpty() ? text : text.with(ROI_FILE, roiFile);
    }

    @Override
    public String toString() {
        return options().toString();
    }
}
