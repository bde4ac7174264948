package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.plugin.frame.Recorder;
import io.github.isoline.IsolineException;
import io.github.isoline.Operation;
import io.github.isoline.Parameter;
import io.github.isoline.Params;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The parameters of a command, by the names that macros use; initially the defaults. A command declares each parameter
 * once, in the order of the macro that repeats a run.
 */
abstract class Settings implements Cloneable {
    static final String DEVICE = "device";
    static final String LUMINANCE = "luminance";
    static final String STACK = "stack";
    static final String ALL_CHANNELS = "all_channels";
    static final String ALL_FRAMES = "all_frames";
    static final String START = "start";
    static final String START_IMAGE = "start_image";
    static final String START_FILE = "start_file";
    static final String RADIUS = "radius";
    static final String THRESHOLD = "threshold";
    static final String RANGE_MIN = "range_min";
    static final String RANGE_MAX = "range_max";
    static final String MODE = "mode";
    static final String ITERATIONS = "iterations";
    static final String TIME_STEP = "time_step";
    static final String SHOW_EVERY = "show_every";
    static final String LABEL_IMAGE = "label_image";
    static final String OVERLAY = "overlay";
    static final String ROI_MANAGER = "roi_manager";
    static final String RESULTS_TABLE = "results_table";
    static final String ROI_FILE = "roi_file";
    static final String MOST_ROIS = "most_rois";

    private static final String DIMENSIONS = "dimensions";

    /** The beginning of the message that lists all outputs. */
    static final String NO_OUTPUT = "No output is chosen.";

    /** The word for a start from the image's selection. */
    static final String ROI = "roi";

    /** The word for a start from the ROI Manager. */
    static final String MANAGER = "manager";

    /** The word for a start from an image of labels. */
    static final String LABELS = "labels";

    /** The word for a start from objects that are found. */
    static final String DETECT = "detect";

    /** The word for a value that is computed from the image. */
    static final String AUTO = "auto";

    final Operation operation;

    /** The name of the operation in an image's information, and the property of its selections in overlays. */
    final String kind;

    /** The surroundings of the run. */
    Workspace workspace = Workspace.ofImageJ();

    private final String prefs;
    private final Map<String, Setting> declared = new LinkedHashMap<>();
    private Map<String, Object> values = new LinkedHashMap<>();

    Settings(String operation, String kind) throws IsolineException {
        this.operation = Operation.of(operation);
        this.kind = kind;
        prefs = "isoline." + operation + ".";
        declare(
                Setting.text(DEVICE, DefaultDevice.AUTO)
                        .forgotten()
                        .advanced()
                        .help(
                                "auto: the GPU if one works, the image fits it and it is expected to be faster, else the CPU; cpu; cuda:N: that GPU or an error; cuda:all: all GPUs."),
                Setting.toggle(LUMINANCE)
                        .label("RGB as luminance")
                        .help("An RGB image is taken as 0.299 red + 0.587 green + 0.114 blue."));
    }

    /** Adds parameters; no key may be declared twice. */
    final void declare(Setting... more) {
        for (Setting setting : more) {
            if (declared.put(setting.key, setting) != null) {
                throw new IllegalStateException("two settings " + setting.key);
            }
            values.put(setting.key, setting.initial);
        }
    }

    /** Adds the parameters of all commands on hyperstacks. */
    final void declareAxes() {
        declare(
                Setting.toggle(ALL_CHANNELS).help("On: every channel, each by itself. Off: the one that is shown."),
                Setting.toggle(ALL_FRAMES).help("On: every frame, each by itself. Off: the one that is shown."));
    }

    /** Returns the setting of how many selections the ROI Manager and an overlay get at most. */
    static Setting mostRois() {
        return Setting.number(MOST_ROIS, 10_000)
                .whole(1)
                .label("Most ROIs")
                .advanced()
                .usedIf("overlay or roi_manager", s -> s.is(OVERLAY) || s.is(ROI_MANAGER));
    }

    /** Returns the setting of the file for selections. */
    static Setting roiFile() {
        return Setting.file(ROI_FILE).written(".zip");
    }

    /** Adds parameters of the operation unchanged. */
    final void declare(String... names) {
        for (String name : names) {
            declare(Setting.of(parameter(name)));
        }
    }

    /**
     * Adds the parameters that were not declared yet, at the end; macros name them only where they are not the default.
     * The dimensions are those of {@link #STACK}.
     *
     * @param but those that the plugin sets itself
     */
    final void declareOthers(String... but) {
        for (Parameter parameter : operation.parameters()) {
            String name = parameter.name();
            if (!declared.containsKey(name)
                    && !DIMENSIONS.equals(name)
                    && !Arrays.asList(but).contains(name)) {
                declare(Setting.of(parameter).recordedIfChanged());
            }
        }
    }

    final Parameter parameter(String name) {
        return operation.parameter(name);
    }

    final Setting setting(String key) {
        Setting setting = declared.get(key);
        if (setting == null) {
            throw new IllegalArgumentException("no setting " + key);
        }
        return setting;
    }

    final boolean has(String key) {
        return declared.containsKey(key);
    }

    /** Returns every macro key. */
    final List<String> keys() {
        return new ArrayList<>(declared.keySet());
    }

    /** Returns the keys without a value. */
    final List<String> switches() {
        List<String> keys = keys();
        keys.removeIf(key -> setting(key).type != Setting.Type.SWITCH);
        return keys;
    }

    final Object value(String key) {
        setting(key);
        return values.get(key);
    }

    /** Returns a choice or a text. */
    final String text(String key) {
        return (String) value(key);
    }

    /** Returns a number; the library's number for "auto". */
    final double number(String key) {
        Object value = value(key);
        if (value instanceof Double) {
            return (Double) value;
        }
        return isAutomatic(key) ? parameter(key).automaticValue() : Setting.number((String) value);
    }

    /** Returns true if a switch is on. */
    final boolean is(String key) {
        return (Boolean) value(key);
    }

    /** Returns true if a switch is on that is used: a dialog hides and remembers those that are not. */
    final boolean wants(String key) {
        return is(key) && setting(key).isUsed(this);
    }

    /** Returns true if a choice has this word. */
    final boolean is(String key, String word) {
        return word.equals(text(key));
    }

    final boolean isAutomatic(String key) {
        Object value = value(key);
        return value instanceof String && isAuto((String) value);
    }

    static boolean isAuto(String text) {
        return AUTO.equalsIgnoreCase(text.trim());
    }

    /** Changes a value, which has the type of the parameter. */
    final Settings set(String key, Object value) {
        Setting setting = setting(key);
        Object kept = value instanceof Integer ? (Object) ((Integer) value).doubleValue() : value;
        if (setting.type == Setting.Type.NUMBER_OR_AUTO) {
            kept = setting.normal((String) value);
        }
        if (!setting.initial.getClass().isInstance(kept)) {
            throw new IllegalArgumentException(key + " " + value);
        }
        values.put(key, kept);
        return this;
    }

    /** Resets a value to the default. */
    final void reset(String key) {
        values.put(key, setting(key).initial);
    }

    /** Returns the word of {@link #START} for a start from several selections; null for an operation without one. */
    String startOfRois() {
        return null;
    }

    /** Returns earlier names of keys, which macros may still have. */
    Map<String, String> oldKeys() {
        return Collections.emptyMap();
    }

    /** Reads the options of a macro; keys that are left out have the defaults, never remembered values. */
    final void readMacro(String options) throws BadInput {
        read(new MacroOptions(options, keys(), switches(), oldKeys()));
    }

    /** Takes the values of options that were read. */
    final void read(MacroOptions macro) throws BadInput {
        for (Setting setting : declared.values()) {
            values.put(setting.key, setting.fromMacro(macro));
        }
        for (Setting setting : declared.values()) {
            setting.checkUse(macro, this);
        }
        OperationDialog.refuse(problem());
    }

    /** Reads the options of a macro into the defaults, and returns these. */
    static <S extends Settings> S fromMacro(S defaults, String options) throws BadInput {
        defaults.readMacro(options);
        return defaults;
    }

    /** Reads the values chosen last, for the dialog; some are remembered for pixels of one bit depth. */
    final void readPrefs(int bitDepth) {
        for (Setting setting : declared.values()) {
            values.put(setting.key, setting.remembered ? setting.fromPrefs(prefs, bitDepth) : setting.first);
        }
        values.put(DEVICE, DefaultDevice.get());
    }

    /** Remembers the values that do not belong to one image; the device is set in the Devices command. */
    final void savePrefs(int bitDepth) {
        savePrefs(bitDepth, setting -> true);
    }

    /** @param chosen returns false for parameters whose remembered values stay */
    final void savePrefs(int bitDepth, Predicate<Setting> chosen) {
        for (Setting setting : declared.values()) {
            if (setting.remembered && chosen.test(setting)) {
                setting.savePrefs(prefs, bitDepth, values.get(setting.key));
            }
        }
    }

    final String device() {
        return text(DEVICE);
    }

    /** Returns the planes of an image that these parameters take now. */
    HyperStackSelection planes(ImagePlus image) {
        return planes(image, is(ALL_FRAMES));
    }

    final HyperStackSelection planes(ImagePlus image, boolean allFrames) {
        return new HyperStackSelection(image, is(ALL_CHANNELS), allFrames, is(STACK, "current"));
    }

    /** Refuses an image that cannot be processed with these parameters, and says what to do. */
    void check(ImagePlus image) throws BadInput {
        if (Pixels.isRgb(image) && !is(LUMINANCE)) {
            throw new BadInput(
                    "\"%s\" is an RGB image, but the command works on one channel: choose \"%s\" (option %s), or split it"
                            + " with Image > Color > Split Channels and take one channel.",
                    image.getTitle(), setting(LUMINANCE).label, LUMINANCE);
        }
        if (isVolume() && image.getNSlices() == 1) {
            String why = image.getStackSize() > 1
                    ? String.format(
                            "has no z slices, but %s channel(s) and %s frame(s), which are never mixed into a volume. If its"
                                    + " slices are z, say so in Image > Properties; else choose",
                            image.getNChannels(), image.getNFrames())
                    : "is a single image. Choose";
            throw new BadInput("\"" + image.getTitle() + "\" " + why + " \"slices\" instead of \"volume\".");
        }
        if (has(RANGE_MIN) && hasRange() && image.getBitDepth() != Float.SIZE) {
            throw new BadInput(
                    "%s and %s are for 32-bit images; \"%s\" has %s bits and is used as it is. Leave them out.",
                    RANGE_MIN, RANGE_MAX, image.getTitle(), image.getBitDepth());
        }
        checkFiles();
    }

    /** Refuses files that cannot be written. */
    private void checkFiles() throws BadInput {
        for (Setting setting : declared.values()) {
            String name = setting.isWritten() ? text(setting.key).trim() : "";
            OperationDialog.refuse(name.isEmpty() ? null : OutputFile.problem(setting.key, name));
        }
    }

    /** Returns true if the result is the steady state, false for a number of iterations. */
    final boolean isConverged() {
        return is(MODE, "converged");
    }

    /** Returns true if an output has selections. */
    final boolean wantsRois() {
        return is(OVERLAY) || is(ROI_MANAGER) || !text(ROI_FILE).isEmpty();
    }

    /** Returns true if the stack is one volume. */
    final boolean isVolume() {
        return is(STACK, "volume");
    }

    /** Returns true if a range was given for a 32-bit image. */
    final boolean hasRange() {
        return !isAutomatic(RANGE_MIN) || !isAutomatic(RANGE_MAX);
    }

    /** Returns the problem with the values, for the dialog and for macros; null if they are valid. */
    final String problem() {
        for (String key : keys()) {
            String problem = problemOf(key);
            if (problem != null) {
                return problem;
            }
        }
        return otherProblem();
    }

    /** Returns the first problem with some of the parameters; null if they are valid. */
    final String problemOf(String... keys) {
        for (String key : keys) {
            Setting setting = setting(key);
            String problem = setting.isUsed(this) ? setting.problem(values.get(key)) : null;
            if (problem != null) {
                return problem;
            }
        }
        return null;
    }

    /** Returns a problem that concerns more than single values; null if there is none. */
    abstract String otherProblem();

    /** Returns a remark about a radius that is given for points, of which there are none; null if there are some. */
    final String idleRadius(boolean points) {
        return points || isAutomatic(RADIUS) || !setting(RADIUS).isUsed(this)
                ? null
                : "radius has no effect, because no start is a point";
    }

    /** Returns the problem with the range of 32-bit images; null if there is none. */
    final String rangeProblem() {
        if (isAutomatic(RANGE_MIN) && isAutomatic(RANGE_MAX)) {
            return null;
        }
        if (isAutomatic(RANGE_MIN) || isAutomatic(RANGE_MAX)) {
            return "range_min and range_max must both be given, or both be \"auto\".";
        }
        return number(RANGE_MIN) < number(RANGE_MAX)
                ? null
                : "range_min must be less than range_max (or both \"auto\"), got "
                        + text(RANGE_MIN)
                        + " and "
                        + text(RANGE_MAX)
                        + ".";
    }

    /** Returns the problem that none of these outputs is on and no file is given; null if one is. */
    final String outputProblem() {
        List<String> outputs = outputs();
        if (outputs.stream().anyMatch(key -> setting(key).isUsed(this) && is(key))
                || !text(ROI_FILE).isEmpty()) {
            return null;
        }
        return String.format(
                NO_OUTPUT + " Choose at least one of %s (in a macro also %s=FILE.zip).",
                String.join(", ", outputs),
                ROI_FILE);
    }

    /** Returns the library's parameters, as far as they are declared. */
    Params toParams() throws IsolineException {
        Params params = new Params(operation.name());
        if (operation.has(DIMENSIONS)) {
            params.set(DIMENSIONS, isVolume() ? "volume" : "slices");
        }
        for (Setting setting : declared.values()) {
            if (setting.parameter == null || !setting.isUsed(this)) {
                continue;
            }
            String key = setting.key;
            String name = setting.parameter.name();
            if (setting.type == Setting.Type.CHOICE) {
                // A word of the plugin alone stands for the library's default.
                if (Arrays.asList(setting.parameter.words()).contains(text(key))) {
                    params.set(name, text(key));
                }
            } else if (setting.type == Setting.Type.SWITCH) {
                params.set(name, is(key) ? 1 : 0);
            } else if (!isAutomatic(key)) {
                params.set(name, number(key));
            }
        }
        return params;
    }

    /** Returns the library's parameters, with a pixel value, where it is given, as the image stores it. */
    final Params toParams(ImagePlus image, String key) throws IsolineException {
        Params params = toParams();
        return isAutomatic(key) ? params : params.set(key, ShownValues.of(image).stored(number(key)));
    }

    /** Returns the switches of the outputs. */
    final List<String> outputs() {
        List<String> keys = keys();
        keys.removeIf(key -> !setting(key).output);
        return keys;
    }

    /** Returns the macro options of these keys, as far as they are recorded; null for a switch. */
    private Map<String, String> options(List<String> keys) {
        Map<String, String> options = new LinkedHashMap<>();
        for (String key : keys) {
            Object value = values.get(key);
            if (setting(key).isRecorded(this) && !Boolean.FALSE.equals(value)) {
                boolean number = value instanceof Double;
                String text = number ? Setting.shortest((Double) value) : value.toString();
                options.put(key, value instanceof Boolean ? null : text);
            }
        }
        return options;
    }

    /**
     * Records a dialog again: other commands may have run while it was open, and the recorder keeps only the last one.
     *
     * @param command without the dots of the menu
     */
    final void record(String command) {
        if (!Recorder.record) {
            return;
        }
        Recorder.setCommand(command + "...");
        options(keys()).forEach((key, value) -> {
            if (value == null) {
                Recorder.recordOption(key);
            } else {
                // The recorded options are a string of the macro language, as whose end or escape these would count.
                String escaped = value.replace("\\", "\\\\").replace("\"", "\\\"");
                // ImageJ itself adds brackets where there is a space.
                Recorder.recordOption(key, escaped.indexOf(' ') < 0 ? MacroOptions.written(escaped) : escaped);
            }
        });
    }

    /** Returns the macro options of these keys. */
    final String toString(List<String> keys) {
        StringBuilder text = new StringBuilder();
        options(keys).forEach((key, value) -> {
            text.append(text.length() == 0 ? "" : " ").append(key);
            if (value != null) {
                text.append('=').append(MacroOptions.written(value));
            }
        });
        return text.toString();
    }

    /** Returns the macro options that repeat this run. */
    @Override
    public final String toString() {
        return toString(keys());
    }

    /** Returns an independent copy. */
    @Override
    public final Settings clone() {
        try {
            Settings copy = (Settings) super.clone();
            copy.values = new LinkedHashMap<>(values);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Chooses the selection as the start if it has areas or points, and no longer if it has none. A start from the ROI
     * Manager that was chosen last stays as long as there are any.
     */
    final void startFrom(Roi selection) {
        if (is(START, MANAGER) && !workspace.rois().isEmpty()) {
            // The key "t" adds a selection to the manager and leaves it on the image.
            return;
        }
        if (selection != null && (selection.isArea() || selection instanceof PointRoi)) {
            // A user who has drawn an area or points wants to start from them.
            set(START, ROI);
        } else if (is(START, ROI)) {
            // There is nothing to start from yet, but objects may be found.
            set(START, DETECT);
        }
    }
}
