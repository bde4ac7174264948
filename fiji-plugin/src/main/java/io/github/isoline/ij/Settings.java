package io.github.isoline.ij;

import ij.ImagePlus;
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

/**
 * Everything that a command asks, under the names that macros use; at first the defaults. A command
 * declares each setting once, in the order of the macro that repeats a run.
 */
abstract class Settings implements Cloneable {
    static final String DEVICE = "device";
    static final String STACK = "stack";

    /** Stands for a value that is found from the image. */
    static final String AUTO = "auto";

    final Operation operation;
    private final String prefs;
    private final Map<String, Setting> declared = new LinkedHashMap<>();
    private Map<String, Object> values = new LinkedHashMap<>();

    Settings(String operation) throws IsolineException {
        this.operation = Operation.of(operation);
        prefs = "isoline." + operation + ".";
        declare(Setting.text(DEVICE, DefaultDevice.AUTO).forgotten());
    }

    /** Adds settings; a second one of a key would be a mistake. */
    final void declare(Setting... more) {
        for (Setting setting : more) {
            if (declared.put(setting.key, setting) != null) {
                throw new IllegalStateException("two settings " + setting.key);
            }
            values.put(setting.key, setting.initial);
        }
    }

    /** Adds the settings that all commands on hyperstacks have. */
    final void declareAxes() {
        AxisChoice.KEYS.forEach(key -> declare(Setting.toggle(key)));
    }

    /** Adds parameters of the operation as they are. */
    final void declare(String... names) {
        for (String name : names) {
            declare(Setting.of(parameter(name)));
        }
    }

    /**
     * Adds the parameters that nothing was said of, for macros only.
     *
     * @param but those that the plugin finds itself
     */
    final void declareOthers(String... but) {
        for (Parameter parameter : operation.parameters()) {
            if (!declared.containsKey(parameter.name())
                    && !Arrays.asList(but).contains(parameter.name())) {
                declare(Setting.of(parameter).forgotten().recordedIfChanged());
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

    /** Every macro key. */
    final List<String> keys() {
        return new ArrayList<>(declared.keySet());
    }

    /** The keys without a value. */
    final List<String> switches() {
        List<String> keys = keys();
        keys.removeIf(key -> setting(key).type != Setting.Type.SWITCH);
        return keys;
    }

    final Object value(String key) {
        setting(key);
        return values.get(key);
    }

    /** A choice or a text. */
    final String text(String key) {
        return (String) value(key);
    }

    /** A number; that of the library for "auto". */
    final double number(String key) {
        Object value = value(key);
        if (value instanceof Double) {
            return (Double) value;
        }
        return isAutomatic(key) ? parameter(key).automaticValue() : Setting.number((String) value);
    }

    /** True if a switch is on. */
    final boolean is(String key) {
        return (Boolean) value(key);
    }

    /** True if a choice is this word. */
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

    /** Changes a value, of the type that the setting has. */
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

    /** Goes back to the default. */
    final void reset(String key) {
        values.put(key, setting(key).initial);
    }

    /** Earlier names of keys, which macros may still have. */
    Map<String, String> oldKeys() {
        return Collections.emptyMap();
    }

    /**
     * Takes what a macro asks for; what it leaves out has the defaults, never remembered values.
     */
    final void readMacro(String options) throws BadInput {
        MacroOptions macro = new MacroOptions(options, keys(), switches(), oldKeys());
        for (Setting setting : declared.values()) {
            values.put(setting.key, setting.fromMacro(macro));
        }
        for (Setting setting : declared.values()) {
            if (!ignoredWhereUnused(setting.key)) {
                setting.checkUse(macro, this);
            }
        }
        OperationDialog.refuse(complaint());
    }

    /** True if a macro may give a setting where it is not used. */
    boolean ignoredWhereUnused(String key) {
        return false;
    }

    /**
     * Takes what the user chose last, for the dialog.
     *
     * @param bitDepth of the image: some values are those chosen for pixels of this kind
     */
    final void readPrefs(int bitDepth) {
        for (Setting setting : declared.values()) {
            values.put(
                    setting.key,
                    setting.remembered ? setting.fromPrefs(prefs, bitDepth) : setting.first);
        }
        values.put(DEVICE, DefaultDevice.get());
    }

    /** Remembers what does not belong to one image; the device is set in the Devices command. */
    final void savePrefs(int bitDepth) {
        for (Setting setting : declared.values()) {
            if (setting.remembered) {
                setting.savePrefs(prefs, bitDepth, values.get(setting.key));
            }
        }
    }

    final String device() {
        return text(DEVICE);
    }

    /** The channels and frames that are taken. */
    final AxisChoice axes() {
        return AxisChoice.of(this);
    }

    /** The planes of an image that these settings take, now. */
    HyperStackSelection planes(ImagePlus image) {
        boolean current = has(STACK) && is(STACK, "current");
        return current ? axes().ofCurrentSlice(image) : axes().of(image);
    }

    /** True if the stack is one volume. */
    final boolean isVolume() {
        return is(STACK, "volume");
    }

    /** True if a 32-bit image's range was given. */
    final boolean hasRange() {
        return !isAutomatic("range_min") || !isAutomatic("range_max");
    }

    /**
     * Null if the values make sense, else what is wrong: said while the user types, and to macros.
     */
    final String complaint() {
        for (String key : keys()) {
            String complaint = complaintOf(key);
            if (complaint != null) {
                return complaint;
            }
        }
        return otherComplaint();
    }

    /** The first complaint about some of the settings; null if they are in order. */
    final String complaintOf(String... keys) {
        for (String key : keys) {
            Setting setting = setting(key);
            String complaint = setting.isUsed(this) ? setting.complaint(values.get(key)) : null;
            if (complaint != null) {
                return complaint;
            }
        }
        return null;
    }

    /** The complaint that is about more than single values; null if there is none. */
    abstract String otherComplaint();

    /** The complaint about the range of 32-bit images; null if there is none. */
    final String rangeComplaint() {
        if (isAutomatic("range_min") && isAutomatic("range_max")) {
            return null;
        }
        if (isAutomatic("range_min") || isAutomatic("range_max")) {
            return "range_min and range_max must both be given, or both be \"auto\".";
        }
        return number("range_min") < number("range_max")
                ? null
                : "range_min must be less than range_max (or both \"auto\"), got "
                        + text("range_min")
                        + " and "
                        + text("range_max")
                        + ".";
    }

    /** The complaint that none of these switches is on, and no file given; null if one is. */
    final String outputComplaint(String file, String... outputs) {
        for (String output : outputs) {
            if (is(output)) {
                return null;
            }
        }
        return text(file).isEmpty()
                ? "No output is chosen. Choose at least one of "
                        + String.join(", ", outputs)
                        + " (in a macro also "
                        + file
                        + "=FILE.zip)."
                : null;
    }

    /** The library's parameters, as far as settings have their names. */
    Params toParams() throws IsolineException {
        Params params = new Params(operation.name());
        for (Setting setting : declared.values()) {
            if (setting.parameter == null || !setting.isUsed(this)) {
                continue;
            }
            String key = setting.key;
            if (setting.type == Setting.Type.CHOICE) {
                // A word of the plugin's own stands for the library's default.
                if (Arrays.asList(setting.parameter.words()).contains(text(key))) {
                    params.set(key, text(key));
                }
            } else if (setting.type == Setting.Type.SWITCH) {
                params.set(key, is(key) ? 1 : 0);
            } else if (!isAutomatic(key)) {
                params.set(key, number(key));
            }
        }
        return params;
    }

    /** The macro options that repeat this run. */
    final OptionText options() {
        return options(keys());
    }

    /** The part of the macro options that these keys are. */
    final OptionText options(List<String> keys) {
        OptionText text = new OptionText();
        for (String key : keys) {
            Object value = values.get(key);
            if (!setting(key).isRecorded(this)) {
                continue;
            }
            if (value instanceof Boolean) {
                text.with(key, (boolean) (Boolean) value);
            } else if (value instanceof Double) {
                text.with(key, (double) (Double) value);
            } else {
                text.with(key, (String) value);
            }
        }
        return text;
    }

    @Override
    public final String toString() {
        return options().toString();
    }

    /** A copy, to be changed by itself. */
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
}
