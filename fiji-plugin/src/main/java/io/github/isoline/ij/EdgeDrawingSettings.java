package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.util.Tools;
import io.github.isoline.EdgeDrawing;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Everything the edge drawing dialog asks, under the names that macros use. The fields start at the
 * defaults.
 */
final class EdgeDrawingSettings {
    static final String DEVICE = "device";
    static final String PROFILE = "profile";
    static final String OPERATOR = "operator";
    static final String GRADIENT_THRESHOLD = "gradient_threshold";
    static final String ANCHOR_THRESHOLD = "anchor_threshold";
    static final String SCAN_INTERVAL = "scan_interval";
    static final String MIN_LENGTH = "min_length";
    static final String FOLLOW_TURNS = "follow_turns";
    static final String RANGE_MIN = "range_min";
    static final String RANGE_MAX = "range_max";
    static final String STACK = "stack";
    static final String EDGE_MAP = "edge_map";
    static final String ROI_MANAGER = "roi_manager";
    static final String OVERLAY = "overlay";
    static final String RESULTS_TABLE = "results_table";
    static final String ROI_SHAPE = "roi_shape";
    static final String TOLERANCE = "tolerance";
    static final String MOST_ROIS = "most_rois";
    static final String ROI_FILE = "roi_file";

    /** Keys without a value. */
    static final List<String> SWITCHES =
            Collections.unmodifiableList(
                    Arrays.asList(
                            FOLLOW_TURNS,
                            AxisChoice.ALL_CHANNELS,
                            AxisChoice.ALL_FRAMES,
                            EDGE_MAP,
                            ROI_MANAGER,
                            OVERLAY,
                            RESULTS_TABLE));

    static final List<String> KEYS =
            Collections.unmodifiableList(
                    Arrays.asList(
                            DEVICE,
                            PROFILE,
                            OPERATOR,
                            GRADIENT_THRESHOLD,
                            ANCHOR_THRESHOLD,
                            SCAN_INTERVAL,
                            MIN_LENGTH,
                            FOLLOW_TURNS,
                            RANGE_MIN,
                            RANGE_MAX,
                            STACK,
                            AxisChoice.ALL_CHANNELS,
                            AxisChoice.ALL_FRAMES,
                            EDGE_MAP,
                            ROI_MANAGER,
                            OVERLAY,
                            RESULTS_TABLE,
                            ROI_SHAPE,
                            TOLERANCE,
                            MOST_ROIS,
                            ROI_FILE));

    static final String PAPER = "paper";
    static final String REFERENCE = "reference";
    static final String[] PROFILES = {PAPER, REFERENCE};

    static final String SOBEL = "sobel";
    static final String PREWITT = "prewitt";
    static final String SCHARR = "scharr";
    static final String[] OPERATORS = {SOBEL, PREWITT, SCHARR};

    static final String ALL = "all";
    static final String CURRENT = "current";
    static final String[] STACKS = {ALL, CURRENT};

    static final String FREELINE = "freeline";
    static final String POLYLINE = "polyline";
    static final String[] SHAPES = {FREELINE, POLYLINE};

    /** The gradient threshold that fits the image by itself. */
    static final String AUTO = "auto";

    private static final String PREFS = "isoline.edge_drawing.";

    String device = DefaultDevice.AUTO;
    String profile = PAPER;
    String operator = SOBEL;

    /** {@link #AUTO} or a number, as it was typed. */
    String gradientThreshold = AUTO;

    double anchorThreshold;
    double scanInterval = 1;
    double minLength = 10;
    boolean followTurns;

    /** Of 32-bit images; with {@link #rangeMax} 0 too: automatic. */
    double rangeMin;

    double rangeMax;

    /** {@link #ALL} or {@link #CURRENT}. */
    String stack = ALL;

    /** Which channels and frames. */
    AxisChoice axes = new AxisChoice();

    boolean edgeMap;
    boolean roiManager;
    boolean overlay;
    boolean resultsTable;

    /** {@link #FREELINE} or {@link #POLYLINE}. */
    String roiShape = FREELINE;

    /** How far a polyline may lie from the pixels, in pixels. */
    double tolerance = 1;

    /** The ROI Manager and an overlay get no more than that, the longest ones. */
    double mostRois = 10_000;

    /** A ZIP file for the segments as ROIs; "" for none. Macros only. */
    String roiFile = "";

    /** What a macro asks for; what it leaves out has the defaults, never remembered values. */
    static EdgeDrawingSettings fromMacro(String options) throws BadInput {
        MacroOptions macro = new MacroOptions(options, KEYS, SWITCHES);
        EdgeDrawingSettings s = new EdgeDrawingSettings();
        s.device = macro.text(DEVICE, s.device);
        s.profile = macro.choice(PROFILE, PROFILES);
        s.operator = macro.choice(OPERATOR, OPERATORS);
        s.gradientThreshold = macro.text(GRADIENT_THRESHOLD, s.gradientThreshold);
        s.anchorThreshold = macro.number(ANCHOR_THRESHOLD, s.anchorThreshold);
        s.scanInterval = macro.number(SCAN_INTERVAL, s.scanInterval);
        s.minLength = macro.number(MIN_LENGTH, s.minLength);
        s.followTurns = macro.has(FOLLOW_TURNS);
        s.rangeMin = macro.number(RANGE_MIN, s.rangeMin);
        s.rangeMax = macro.number(RANGE_MAX, s.rangeMax);
        s.stack = macro.choice(STACK, STACKS);
        s.axes = AxisChoice.fromMacro(macro);
        s.edgeMap = macro.has(EDGE_MAP);
        s.roiManager = macro.has(ROI_MANAGER);
        s.overlay = macro.has(OVERLAY);
        s.resultsTable = macro.has(RESULTS_TABLE);
        s.roiShape = macro.choice(ROI_SHAPE, SHAPES);
        s.tolerance = macro.number(TOLERANCE, s.tolerance);
        s.mostRois = macro.number(MOST_ROIS, s.mostRois);
        s.roiFile = macro.text(ROI_FILE, s.roiFile);
        String complaint = s.complaint();
        if (complaint != null) {
            throw new BadInput(complaint);
        }
        return s;
    }

    /**
     * What the user chose last, for the dialog.
     *
     * @param bitDepth of the image: thresholds are those chosen for pixels of this kind
     */
    static EdgeDrawingSettings fromPrefs(int bitDepth) {
        EdgeDrawingSettings s = new EdgeDrawingSettings();
        s.device = DefaultDevice.get();
        s.profile = Prefs.get(PREFS + PROFILE, s.profile);
        s.operator = Prefs.get(PREFS + OPERATOR, s.operator);
        String depth = "." + bitDepth;
        s.gradientThreshold = Prefs.get(PREFS + GRADIENT_THRESHOLD + depth, s.gradientThreshold);
        s.anchorThreshold = Prefs.get(PREFS + ANCHOR_THRESHOLD + depth, s.anchorThreshold);
        s.scanInterval = Prefs.get(PREFS + SCAN_INTERVAL, s.scanInterval);
        s.minLength = Prefs.get(PREFS + MIN_LENGTH, s.minLength);
        s.followTurns = Prefs.get(PREFS + FOLLOW_TURNS, s.followTurns);
        s.stack = Prefs.get(PREFS + STACK, s.stack);
        s.axes = AxisChoice.fromPrefs(PREFS);
        // The first time somebody sees the dialog, OK gives a picture.
        s.edgeMap = Prefs.get(PREFS + EDGE_MAP, true);
        s.roiManager = Prefs.get(PREFS + ROI_MANAGER, s.roiManager);
        s.overlay = Prefs.get(PREFS + OVERLAY, s.overlay);
        s.resultsTable = Prefs.get(PREFS + RESULTS_TABLE, s.resultsTable);
        s.roiShape = Prefs.get(PREFS + ROI_SHAPE, s.roiShape);
        s.tolerance = Prefs.get(PREFS + TOLERANCE, s.tolerance);
        s.mostRois = Prefs.get(PREFS + MOST_ROIS, s.mostRois);
        return s;
    }

    /**
     * Remembers everything but the device, whose default is set in the Devices command, and the
     * range, which belongs to one image.
     *
     * @param bitDepth of the image: a threshold for 8 bits means nothing for 16
     */
    void savePrefs(int bitDepth) {
        Prefs.set(PREFS + PROFILE, profile);
        Prefs.set(PREFS + OPERATOR, operator);
        String depth = "." + bitDepth;
        Prefs.set(PREFS + GRADIENT_THRESHOLD + depth, gradientThreshold);
        Prefs.set(PREFS + ANCHOR_THRESHOLD + depth, anchorThreshold);
        Prefs.set(PREFS + SCAN_INTERVAL, scanInterval);
        Prefs.set(PREFS + MIN_LENGTH, minLength);
        Prefs.set(PREFS + FOLLOW_TURNS, followTurns);
        Prefs.set(PREFS + STACK, stack);
        axes.savePrefs(PREFS);
        Prefs.set(PREFS + EDGE_MAP, edgeMap);
        Prefs.set(PREFS + ROI_MANAGER, roiManager);
        Prefs.set(PREFS + OVERLAY, overlay);
        Prefs.set(PREFS + RESULTS_TABLE, resultsTable);
        Prefs.set(PREFS + ROI_SHAPE, roiShape);
        Prefs.set(PREFS + TOLERANCE, tolerance);
        Prefs.set(PREFS + MOST_ROIS, mostRois);
    }

    boolean isPaper() {
        return PAPER.equals(profile);
    }

    boolean isCurrentOnly() {
        return CURRENT.equals(stack);
    }

    /** What is looked at, now. */
    HyperStackSelection planes(ImagePlus image) {
        return isCurrentOnly() ? axes.ofCurrentSlice(image) : axes.of(image);
    }

    boolean isPolyline() {
        return POLYLINE.equals(roiShape);
    }

    boolean isAutomatic() {
        return AUTO.equalsIgnoreCase(gradientThreshold.trim());
    }

    boolean hasRange() {
        return rangeMin != 0 || rangeMax != 0;
    }

    boolean wantsRois() {
        return roiManager || overlay || !roiFile.isEmpty();
    }

    boolean wantsSegments() {
        return wantsRois() || resultsTable;
    }

    /** The gradient threshold that was typed; NaN if it is no number. */
    private double threshold() {
        return Tools.parseDouble(gradientThreshold.trim(), Double.NaN);
    }

    /**
     * Null if the values make sense, else what is wrong: said while the user types, and to macros.
     */
    String complaint() {
        String complaint = computationComplaint();
        return complaint == null ? outputComplaint() : complaint;
    }

    /** The complaint about what is computed. */
    String computationComplaint() {
        if (!isAutomatic() && !(threshold() >= 0 && threshold() < Double.POSITIVE_INFINITY)) {
            return GRADIENT_THRESHOLD
                    + " must be \"auto\" or a number of 0 or more, got \""
                    + gradientThreshold
                    + "\".";
        }
        if (!(anchorThreshold >= 0 && anchorThreshold < Double.POSITIVE_INFINITY)) {
            return ANCHOR_THRESHOLD
                    + " must be a number of 0 or more"
                    + OptionText.got(anchorThreshold);
        }
        if (!OptionText.isWhole(scanInterval, 1)) {
            return SCAN_INTERVAL
                    + " must be a whole number of 1 or more (pixels)"
                    + OptionText.got(scanInterval);
        }
        if (!OptionText.isWhole(minLength, 0)) {
            return MIN_LENGTH
                    + " must be a whole number of 0 or more (pixels)"
                    + OptionText.got(minLength);
        }
        if (hasRange() && !(rangeMin < rangeMax)) {
            return RANGE_MIN
                    + " must be less than "
                    + RANGE_MAX
                    + " (both 0: the image's own), got "
                    + OptionText.text(rangeMin)
                    + " and "
                    + OptionText.text(rangeMax)
                    + ".";
        }
        return null;
    }

    private String outputComplaint() {
        if (!(edgeMap || wantsSegments())) {
            return "No output is chosen. Choose at least one of "
                    + String.join(", ", EDGE_MAP, ROI_MANAGER, OVERLAY, RESULTS_TABLE)
                    + " (in a macro also "
                    + ROI_FILE
                    + "=FILE.zip).";
        }
        if (!(tolerance >= 0 && tolerance < Double.POSITIVE_INFINITY)) {
            return TOLERANCE
                    + " must be a number of 0 or more (pixels)"
                    + OptionText.got(tolerance);
        }
        if (!OptionText.isWhole(mostRois, 1)) {
            return MOST_ROIS + " must be a whole number of 1 or more" + OptionText.got(mostRois);
        }
        return null;
    }

    /** The operation with these settings; range and automatic threshold are still the library's. */
    EdgeDrawing toOperation() {
        EdgeDrawing operation = new EdgeDrawing();
        operation.profile = isPaper() ? EdgeDrawing.PROFILE_PAPER : EdgeDrawing.PROFILE_REFERENCE;
        operation.operator =
                SCHARR.equals(operator)
                        ? EdgeDrawing.OPERATOR_SCHARR
                        : PREWITT.equals(operator)
                                ? EdgeDrawing.OPERATOR_PREWITT
                                : EdgeDrawing.OPERATOR_SOBEL;
        operation.gradientThreshold = isAutomatic() ? EdgeDrawing.AUTOMATIC : threshold();
        operation.anchorThreshold = anchorThreshold;
        operation.scanInterval = (long) scanInterval;
        operation.minLength = (long) minLength;
        operation.followTurns = followTurns;
        operation.rangeMin = rangeMin;
        operation.rangeMax = rangeMax;
        return operation;
    }

    /** The macro options that repeat this run. */
    OptionText options() {
        OptionText options =
                new OptionText()
                        .with(DEVICE, device)
                        .with(PROFILE, profile)
                        .with(OPERATOR, operator)
                        .with(GRADIENT_THRESHOLD, gradientThreshold.trim().toLowerCase(Locale.ROOT))
                        .with(ANCHOR_THRESHOLD, anchorThreshold)
                        .with(SCAN_INTERVAL, scanInterval)
                        .with(MIN_LENGTH, minLength)
                        .with(FOLLOW_TURNS, followTurns);
        if (hasRange()) {
            options.with(RANGE_MIN, rangeMin).with(RANGE_MAX, rangeMax);
        }
        options.with(STACK, stack)
                .with(AxisChoice.ALL_CHANNELS, axes.allChannels)
                .with(AxisChoice.ALL_FRAMES, axes.allFrames)
                .with(EDGE_MAP, edgeMap)
                .with(ROI_MANAGER, roiManager)
                .with(OVERLAY, overlay)
                .with(RESULTS_TABLE, resultsTable);
        if (wantsRois()) {
            options.with(ROI_SHAPE, roiShape);
            if (isPolyline()) {
                options.with(TOLERANCE, tolerance);
            }
            options.with(MOST_ROIS, mostRois);
        }
        if (!roiFile.isEmpty()) {
            options.with(ROI_FILE, roiFile);
        }
        return options;
    }

    @Override
    public String toString() {
        return options().toString();
    }
}
