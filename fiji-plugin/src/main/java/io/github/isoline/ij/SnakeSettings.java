package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.util.Tools;
import io.github.isoline.SnakeParams;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Everything the region snake dialog asks, under the names that macros use. The fields start at the
 * defaults.
 */
final class SnakeSettings {
    static final String DEVICE = "device";
    static final String STACK = "stack";
    static final String START = "start";
    static final String START_IMAGE = "start_image";
    static final String START_FILE = "start_file";
    static final String NOISE = "noise";
    static final String LOOKS = "looks";
    static final String BACKGROUND = "background";
    static final String MARGIN = "margin";
    static final String LARGEST_STEP = "largest_step";
    static final String NODE_SPACING = "node_spacing";
    static final String NODE_COST = "node_cost";
    static final String MAX_NODES = "max_nodes";
    static final String MAX_ITERATIONS = "max_iterations";
    static final String SCHEDULE = "schedule";
    static final String RANGE_MIN = "range_min";
    static final String RANGE_MAX = "range_max";
    static final String SHOW_EVERY = "show_every";
    static final String LABEL_IMAGE = "label_image";
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
                            LABEL_IMAGE,
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
                            START_IMAGE,
                            START_FILE,
                            NOISE,
                            LOOKS,
                            BACKGROUND,
                            MARGIN,
                            LARGEST_STEP,
                            NODE_SPACING,
                            NODE_COST,
                            MAX_NODES,
                            MAX_ITERATIONS,
                            SCHEDULE,
                            RANGE_MIN,
                            RANGE_MAX,
                            SHOW_EVERY,
                            LABEL_IMAGE,
                            OVERLAY,
                            ROI_MANAGER,
                            RESULTS_TABLE,
                            ROI_FILE));

    static final String SLICES = "slices";
    static final String TRACK = "track";
    static final String CURRENT = "current";
    static final String[] STACKS = {SLICES, TRACK, CURRENT};

    static final String ROI = "roi";
    static final String MANAGER = "manager";
    static final String LABELS = "labels";
    static final String RECTANGLE = "rectangle";
    static final String[] STARTS = {ROI, MANAGER, LABELS, RECTANGLE};

    static final String GAUSSIAN = "gaussian";
    static final String POISSON = "poisson";
    static final String GAMMA = "gamma";
    static final String RAYLEIGH = "rayleigh";
    static final String BERNOULLI = "bernoulli";
    static final String[] NOISES = {GAUSSIAN, POISSON, GAMMA, RAYLEIGH, BERNOULLI};

    /** What finds itself: the background, or the largest step. */
    static final String AUTO = "auto";

    static final String IMAGE = "image";
    static final String WINDOW = "window";
    static final String[] BACKGROUNDS = {AUTO, IMAGE, WINDOW};

    static final String PARALLEL = "parallel";
    static final String SEQUENTIAL = "sequential";
    static final String[] SCHEDULES = {PARALLEL, SEQUENTIAL};

    private static final int LARGEST_LARGEST_STEP = 4096;

    /** Of a start, in largest steps: of its area's root. */
    private static final double STEPS_OF_SIZE = 8;

    private static final int LEAST_NODES = 3;
    private static final int MOST_NODES = 65536;
    private static final double MOST_LOOKS = 1e6;

    private static final String PREFS = "isoline.snake.";

    String device = DefaultDevice.AUTO;

    /** {@link #SLICES}, {@link #TRACK} or {@link #CURRENT}. */
    String stack = SLICES;

    /** Which channels and frames. */
    AxisChoice axes = new AxisChoice();

    /** One of {@link #STARTS}. */
    String start = ROI;

    /** Title of an open image, used by {@link #LABELS}. */
    String startImage = "";

    /** Areas as the ROI Manager saves them, instead of the ROI Manager; macros only. */
    String startFile = "";

    /** One of {@link #NOISES}. */
    String noise = GAUSSIAN;

    /** L of {@link #GAMMA}. */
    double looks = 1;

    /** One of {@link #BACKGROUNDS}. */
    String background = AUTO;

    /** Of a window: its width round the start, in longer sides of the start. */
    double margin = new SnakeParams().margin;

    /** {@link #AUTO} or a number of pixels, as it was typed. */
    String largestStep = AUTO;

    double nodeSpacing = new SnakeParams().nodeSpacing;

    /**
     * The library's own is 0; but people look at these outlines and measure their length, and nodes
     * that cost nothing leave thin spikes.
     */
    double nodeCost = new SnakeParams().nodeCost;

    double maxNodes = new SnakeParams().maxNodes;
    double maxIterations = new SnakeParams().maxIterations;

    /** {@link #PARALLEL} or {@link #SEQUENTIAL}. */
    String schedule = PARALLEL;

    /** Of 32-bit images: the values of the first and the last step; both 0 for automatic. */
    double rangeMin;

    double rangeMax;

    /** Iterations between two pictures of the polygons; 0 for none. */
    double showEvery = 1;

    boolean labelImage;
    boolean overlay;
    boolean roiManager;
    boolean resultsTable;

    /** A ZIP file for the outlines; "" for none. Macros only. */
    String roiFile = "";

    /** What a macro asks for; what it leaves out has the defaults, never remembered values. */
    static SnakeSettings fromMacro(String options) throws BadInput {
        MacroOptions macro = new MacroOptions(options, KEYS, SWITCHES);
        SnakeSettings s = new SnakeSettings();
        s.device = macro.text(DEVICE, s.device);
        s.stack = macro.choice(STACK, STACKS);
        s.axes = AxisChoice.fromMacro(macro);
        s.start = macro.choice(START, STARTS);
        s.startImage = macro.text(START_IMAGE, s.startImage);
        s.startFile = macro.text(START_FILE, s.startFile);
        s.noise = macro.choice(NOISE, NOISES);
        s.looks = macro.number(LOOKS, s.looks);
        s.background = macro.choice(BACKGROUND, BACKGROUNDS);
        s.margin = macro.number(MARGIN, s.margin);
        s.largestStep = macro.text(LARGEST_STEP, s.largestStep);
        s.nodeSpacing = macro.number(NODE_SPACING, s.nodeSpacing);
        s.nodeCost = macro.number(NODE_COST, s.nodeCost);
        s.maxNodes = macro.number(MAX_NODES, s.maxNodes);
        s.maxIterations = macro.number(MAX_ITERATIONS, s.maxIterations);
        s.schedule = macro.choice(SCHEDULE, SCHEDULES);
        s.rangeMin = macro.number(RANGE_MIN, s.rangeMin);
        s.rangeMax = macro.number(RANGE_MAX, s.rangeMax);
        s.showEvery = macro.number(SHOW_EVERY, s.showEvery);
        s.labelImage = macro.has(LABEL_IMAGE);
        s.overlay = macro.has(OVERLAY);
        s.roiManager = macro.has(ROI_MANAGER);
        s.resultsTable = macro.has(RESULTS_TABLE);
        s.roiFile = macro.text(ROI_FILE, s.roiFile);
        // Silently something else than what was written would be the worst of all.
        checkUse(macro, LOOKS, NOISE, GAMMA, s.noise);
        checkUse(macro, START_IMAGE, START, LABELS, s.start);
        checkUse(macro, START_FILE, START, MANAGER, s.start);
        String complaint = s.complaint();
        if (complaint != null) {
            throw new BadInput(complaint);
        }
        return s;
    }

    private static void checkUse(
            MacroOptions macro, String key, String choice, String wanted, String chosen)
            throws BadInput {
        if (macro.has(key) && !wanted.equals(chosen)) {
            throw new BadInput(
                    key
                            + " is used with "
                            + choice
                            + "="
                            + wanted
                            + " only, but "
                            + choice
                            + " is "
                            + chosen
                            + ". Write "
                            + choice
                            + "="
                            + wanted
                            + ", or leave "
                            + key
                            + " out.");
        }
    }

    /** What the user chose last, for the dialog. */
    static SnakeSettings fromPrefs() {
        SnakeSettings s = new SnakeSettings();
        s.device = DefaultDevice.get();
        s.stack = Prefs.get(PREFS + STACK, s.stack);
        s.axes = AxisChoice.fromPrefs(PREFS);
        s.start = Prefs.get(PREFS + START, s.start);
        s.noise = Prefs.get(PREFS + NOISE, s.noise);
        s.looks = Prefs.get(PREFS + LOOKS, s.looks);
        s.background = Prefs.get(PREFS + BACKGROUND, s.background);
        s.margin = Prefs.get(PREFS + MARGIN, s.margin);
        s.largestStep = Prefs.get(PREFS + LARGEST_STEP, s.largestStep);
        s.nodeSpacing = Prefs.get(PREFS + NODE_SPACING, s.nodeSpacing);
        s.nodeCost = Prefs.get(PREFS + NODE_COST, s.nodeCost);
        s.maxNodes = Prefs.get(PREFS + MAX_NODES, s.maxNodes);
        s.maxIterations = Prefs.get(PREFS + MAX_ITERATIONS, s.maxIterations);
        s.schedule = Prefs.get(PREFS + SCHEDULE, s.schedule);
        s.showEvery = Prefs.get(PREFS + SHOW_EVERY, s.showEvery);
        s.labelImage = Prefs.get(PREFS + LABEL_IMAGE, s.labelImage);
        // The first time somebody sees the dialog, OK gives a picture and numbers.
        s.overlay = Prefs.get(PREFS + OVERLAY, true);
        s.roiManager = Prefs.get(PREFS + ROI_MANAGER, s.roiManager);
        s.resultsTable = Prefs.get(PREFS + RESULTS_TABLE, true);
        return s;
    }

    /**
     * Remembers everything but the device, whose default is set in the Devices command, and what
     * belongs to one image: the start image and the range.
     */
    void savePrefs() {
        Prefs.set(PREFS + STACK, stack);
        axes.savePrefs(PREFS);
        Prefs.set(PREFS + START, start);
        Prefs.set(PREFS + NOISE, noise);
        Prefs.set(PREFS + LOOKS, looks);
        Prefs.set(PREFS + BACKGROUND, background);
        Prefs.set(PREFS + MARGIN, margin);
        Prefs.set(PREFS + LARGEST_STEP, largestStep);
        Prefs.set(PREFS + NODE_SPACING, nodeSpacing);
        Prefs.set(PREFS + NODE_COST, nodeCost);
        Prefs.set(PREFS + MAX_NODES, maxNodes);
        Prefs.set(PREFS + MAX_ITERATIONS, maxIterations);
        Prefs.set(PREFS + SCHEDULE, schedule);
        Prefs.set(PREFS + SHOW_EVERY, showEvery);
        Prefs.set(PREFS + LABEL_IMAGE, labelImage);
        Prefs.set(PREFS + OVERLAY, overlay);
        Prefs.set(PREFS + ROI_MANAGER, roiManager);
        Prefs.set(PREFS + RESULTS_TABLE, resultsTable);
    }

    boolean isTrack() {
        return TRACK.equals(stack);
    }

    boolean wantsRois() {
        return overlay || roiManager || !roiFile.isEmpty();
    }

    /** True if targets are held against a window round their start. */
    boolean isWindow() {
        return WINDOW.equals(background) || AUTO.equals(background) && !RECTANGLE.equals(start);
    }

    /** What is looked at, now. */
    HyperStackSelection planes(ImagePlus image) {
        if (isTrack() && image.getNSlices() == 1) {
            // A track through a film goes through its frames.
            AxisChoice film = new AxisChoice();
            film.allChannels = axes.allChannels;
            film.allFrames = true;
            return film.of(image);
        }
        return CURRENT.equals(stack) ? axes.ofCurrentSlice(image) : axes.of(image);
    }

    /** One line: when to use the noise model that is chosen. */
    String noiseHint() {
        switch (noise) {
            case POISSON:
                return "poisson: single photons are counted, in low light; what is brighter is"
                        + " noisier. Subtract the camera's offset first.";
            case GAMMA:
                return "gamma: grainy images of speckle (ultrasound, OCT, radar, laser light),"
                        + " intensities; Looks: how many were averaged.";
            case RAYLEIGH:
                return "rayleigh: speckle as amplitudes (ultrasound B-mode before log compression),"
                        + " and magnitudes of MRI where there is no signal.";
            case BERNOULLI:
                return "bernoulli: binary images and masks; pixels are above 0 or not.";
            default:
                return "gaussian: camera images at good light, and the choice when in doubt."
                        + " Regions may differ in brightness or in texture alone.";
        }
    }

    /**
     * Null if the values make sense, else what is wrong: said while the user types, and to macros.
     */
    String complaint() {
        String complaint = startComplaint();
        complaint = complaint == null ? searchComplaint() : complaint;
        return complaint == null ? outputComplaint() : complaint;
    }

    /** The complaint about what a preview shows. */
    String startComplaint() {
        if (LABELS.equals(start) && startImage.isEmpty()) {
            return START_IMAGE
                    + " must be the title of an open image: it is where start=labels starts.";
        }
        if (GAMMA.equals(noise) && !(looks >= 1 && looks <= MOST_LOOKS)) {
            return LOOKS + " must be a number from 1 to 1000000" + OptionText.got(looks);
        }
        if (!(margin > 0 && isFinite(margin))) {
            return MARGIN
                    + " must be a number above 0, in sides of the start"
                    + OptionText.got(margin);
        }
        return null;
    }

    /** The complaint about what the second dialog asks. */
    String searchComplaint() {
        double step = Tools.parseDouble(largestStep.trim(), Double.NaN);
        boolean whole = OptionText.isWhole(step, 1) && step <= LARGEST_LARGEST_STEP;
        if (!isAutomaticStep() && !(whole && Integer.bitCount((int) step) == 1)) {
            return LARGEST_STEP
                    + " must be \"auto\" or a power of two from 1 to 4096 (pixels), got \""
                    + largestStep
                    + "\".";
        }
        if (!(nodeSpacing >= 2 && isFinite(nodeSpacing))) {
            return NODE_SPACING
                    + " must be a number of 2 or more (pixels)"
                    + OptionText.got(nodeSpacing);
        }
        if (!(nodeCost >= 0 && isFinite(nodeCost))) {
            return NODE_COST + " must be a number of 0 or more" + OptionText.got(nodeCost);
        }
        if (!OptionText.isWhole(maxNodes, LEAST_NODES) || maxNodes > MOST_NODES) {
            return MAX_NODES + " must be a whole number from 3 to 65536" + OptionText.got(maxNodes);
        }
        if (!OptionText.isWhole(maxIterations, 1)) {
            return MAX_ITERATIONS
                    + " must be a whole number of 1 or more"
                    + OptionText.got(maxIterations);
        }
        boolean automatic = rangeMin == 0 && rangeMax == 0;
        if (!automatic && !(isFinite(rangeMin) && isFinite(rangeMax) && rangeMin < rangeMax)) {
            return RANGE_MIN
                    + " must be less than "
                    + RANGE_MAX
                    + " (or both 0), got "
                    + OptionText.text(rangeMin)
                    + " and "
                    + OptionText.text(rangeMax)
                    + ".";
        }
        if (!OptionText.isWhole(showEvery, 0)) {
            return SHOW_EVERY
                    + " must be a whole number of 0 (never) or more iterations"
                    + OptionText.got(showEvery);
        }
        return null;
    }

    private String outputComplaint() {
        if (labelImage || resultsTable || wantsRois()) {
            return null;
        }
        return "No output is chosen. Choose at least one of "
                + String.join(", ", LABEL_IMAGE, OVERLAY, ROI_MANAGER, RESULTS_TABLE)
                + " (in a macro also "
                + ROI_FILE
                + "=FILE.zip).";
    }

    private static boolean isFinite(double value) {
        return !Double.isNaN(value) && !Double.isInfinite(value);
    }

    boolean isAutomaticStep() {
        return AUTO.equalsIgnoreCase(largestStep.trim());
    }

    /**
     * The largest step for these starts. One that is chosen by the starts' size keeps to what lies
     * under them: nodes that jump farther than that land in neighbours.
     */
    int largestStep(List<SnakeTarget> starts) {
        if (!isAutomaticStep()) {
            return (int) Tools.parseDouble(largestStep.trim(), 1);
        }
        double[] sizes = new double[starts.size()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = Math.sqrt(Math.abs(SimplePolygon.twiceArea(starts.get(i).nodes)) / 2.0);
        }
        Arrays.sort(sizes);
        double most = sizes.length == 0 ? 0 : sizes[sizes.length / 2] / STEPS_OF_SIZE;
        int step = Math.max(1, Integer.highestOneBit((int) most));
        return Math.min(step, new SnakeParams().largestStep);
    }

    boolean hasRange() {
        return rangeMin != 0 || rangeMax != 0;
    }

    /** The library's parameters, but for the largest step. */
    SnakeParams toParams() {
        SnakeParams params = new SnakeParams();
        params.noise = SnakeParams.Noise.valueOf(noise.toUpperCase(Locale.ROOT));
        params.schedule = SnakeParams.Schedule.valueOf(schedule.toUpperCase(Locale.ROOT));
        params.background =
                isWindow() ? SnakeParams.Background.WINDOW : SnakeParams.Background.IMAGE;
        params.looks = looks;
        params.margin = margin;
        params.nodeSpacing = nodeSpacing;
        params.nodeCost = nodeCost;
        params.maxNodes = (int) maxNodes;
        params.maxIterations = (long) maxIterations;
        params.rangeMin = rangeMin;
        params.rangeMax = rangeMax;
        return params;
    }

    /** The macro options that repeat this run. */
    OptionText options() {
        OptionText text = new OptionText().with(DEVICE, device).with(STACK, stack);
        text.with(AxisChoice.ALL_CHANNELS, axes.allChannels);
        text.with(AxisChoice.ALL_FRAMES, axes.allFrames);
        text.with(START, start);
        if (LABELS.equals(start)) {
            text.with(START_IMAGE, startImage);
        }
        if (!startFile.isEmpty()) {
            text.with(START_FILE, startFile);
        }
        text.with(NOISE, noise);
        if (GAMMA.equals(noise)) {
            text.with(LOOKS, looks);
        }
        text.with(BACKGROUND, background);
        if (isWindow()) {
            text.with(MARGIN, margin);
        }
        search(text);
        text.with(SHOW_EVERY, showEvery);
        text.with(LABEL_IMAGE, labelImage).with(OVERLAY, overlay);
        text.with(ROI_MANAGER, roiManager).with(RESULTS_TABLE, resultsTable);
        return roiFile.isEmpty() ? text : text.with(ROI_FILE, roiFile);
    }

    private void search(OptionText text) {
        text.with(LARGEST_STEP, largestStep.trim()).with(NODE_SPACING, nodeSpacing);
        text.with(NODE_COST, nodeCost).with(MAX_NODES, maxNodes);
        text.with(MAX_ITERATIONS, maxIterations).with(SCHEDULE, schedule);
        if (hasRange()) {
            text.with(RANGE_MIN, rangeMin).with(RANGE_MAX, rangeMax);
        }
    }

    /** What the second dialog asks and is not as it is by default; "" if all is. */
    String unusual() {
        OptionText usual = new OptionText();
        OptionText now = new OptionText();
        new SnakeSettings().search(usual);
        search(now);
        StringBuilder text = new StringBuilder();
        for (String option : now.toString().split(" ")) {
            if (!Arrays.asList(usual.toString().split(" ")).contains(option)) {
                text.append(text.length() == 0 ? "" : ", ").append(option);
            }
        }
        return text.toString();
    }

    @Override
    public String toString() {
        return options().toString();
    }
}
