package io.github.isoline.ij;

import ij.Prefs;
import ij.util.Tools;
import io.github.isoline.Parameter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;

/**
 * One field of a dialog, macro key and remembered preference: a parameter of the library, or one of the plugin alone.
 * Values are a String, a Double or a Boolean.
 */
final class Setting {
    /** The type of the values, and of the field that shows them. */
    enum Type {
        /** Any text. */
        TEXT("a text"),
        /** A number. */
        NUMBER("a number"),
        /** The word "auto" or a number, as it was typed. */
        NUMBER_OR_AUTO("auto or a number"),
        /** One of {@link #words}. */
        CHOICE("a word"),
        /** A value that is on or off; in a macro a key without a value. */
        SWITCH("a switch"),
        /** The title of an open image; "" for none. */
        IMAGE("the title of an open image");

        final String values;

        Type(String values) {
            this.values = values;
        }
    }

    /** The beginning of the library's units of values that depend on the kind of pixels. */
    private static final String PIXEL_VALUES = "pixel values";

    final String key;
    final Type type;
    final Object initial;
    final String[] words;

    /** The library's parameter; null for one of the plugin alone. */
    final Parameter parameter;

    String label;
    String unit = "";
    String help = "";
    boolean remembered = true;

    /** Holds true if a value is remembered for one kind of pixels only. */
    boolean perBitDepth;

    /** The value that a dialog shows before anything is remembered. */
    Object first;

    /** Holds true if a dialog has no field for it. */
    boolean macroOnly;

    /** Holds the endings of a file that is written; null for any other value. */
    private String[] endings;

    /** Holds true if a dialog shows the field only where the advanced ones are unfolded. */
    boolean advanced;

    /** Holds true for a switch of one of the command's outputs. */
    boolean output;

    /** Holds true for a number without a default, which a macro must give. */
    private boolean needed;

    /** Holds true if the macro that repeats a run names it only where it is not the default. */
    private boolean recordedIfChanged;

    private Predicate<Settings> recorded = settings -> true;
    private Predicate<Settings> shown = settings -> isUsed(settings) && recorded.test(settings);

    /** Holds a key, and those of its words with which this parameter is used; null for always. */
    private String[] use;

    /** Holds further conditions of the use by what a macro writes to meet them. */
    private final Map<String, Predicate<Settings>> conditions = new LinkedHashMap<>();

    private double least = Double.NEGATIVE_INFINITY;
    private boolean leastExcluded;
    private boolean whole;

    private Setting(String key, Type type, Object initial, Parameter parameter, String... words) {
        this.key = key;
        this.type = type;
        this.initial = initial;
        this.first = initial;
        this.parameter = parameter;
        this.words = words;
        label = key.substring(0, 1).toUpperCase(Locale.ROOT) + key.substring(1).replace('_', ' ');
    }

    /** Returns a parameter of the library: type, default, label, unit and help are the library's. */
    static Setting of(Parameter parameter) {
        return of(parameter.name(), parameter);
    }

    /** Returns a parameter of the library under another key. */
    static Setting of(String key, Parameter parameter) {
        Object initial;
        Type type;
        switch (parameter.type()) {
            case CHOICE:
                type = Type.CHOICE;
                initial = parameter.wordOf(parameter.defaultValue());
                break;
            case FLAG:
                type = Type.SWITCH;
                initial = parameter.defaultValue() != 0;
                break;
            default:
                type = parameter.canBeAutomatic() ? Type.NUMBER_OR_AUTO : Type.NUMBER;
                initial = parameter.canBeAutomatic() ? Settings.AUTO : parameter.defaultValue();
                break;
        }
        return of(key, parameter, type, initial, parameter.words());
    }

    private static Setting of(String key, Parameter parameter, Type type, Object initial, String... words) {
        Setting made = new Setting(key, type, initial, parameter, words);
        made.label = parameter.title();
        made.unit = parameter.unit();
        made.help = parameter.help();
        made.advanced = parameter.isAdvanced();
        made.perBitDepth = made.unit.startsWith(PIXEL_VALUES);
        return made;
    }

    /** Returns the parameter with the plugin's own choices, of which the first is the default. */
    static Setting of(Parameter parameter, String... words) {
        return of(parameter.name(), parameter, Type.CHOICE, words[0], words);
    }

    /** Returns the parameter as a number that a macro must give where it is used. */
    static Setting given(Parameter parameter) {
        Setting made = of(parameter.name(), parameter, Type.NUMBER, 0.0);
        made.needed = true;
        return made;
    }

    /** Returns a number above 0 of the plugin alone, or "auto" (the default). */
    static Setting positiveOrAuto(String key) {
        return new Setting(key, Type.NUMBER_OR_AUTO, Settings.AUTO, null).above(0);
    }

    static Setting text(String key, String initial) {
        return new Setting(key, Type.TEXT, initial, null);
    }

    /** Returns the title of an open image, by default none. */
    static Setting image(String key) {
        return new Setting(key, Type.IMAGE, "", null).forgotten();
    }

    static Setting number(String key, double initial) {
        return new Setting(key, Type.NUMBER, initial, null);
    }

    /** Returns a choice of which the first word is the default. */
    static Setting choice(String key, String... words) {
        return new Setting(key, Type.CHOICE, words[0], null, words);
    }

    static Setting toggle(String key) {
        return new Setting(key, Type.SWITCH, false, null);
    }

    /** Returns a switch of an output. */
    static Setting output(String key) {
        Setting made = toggle(key);
        made.output = true;
        return key.equals(Settings.ROI_MANAGER) ? made.label("ROI Manager") : made;
    }

    /** Returns a file, for macros only. */
    static Setting file(String key) {
        return text(key, "").forgotten().macroOnly();
    }

    Setting macroOnly() {
        macroOnly = true;
        return this;
    }

    Setting advanced() {
        advanced = true;
        return this;
    }

    Setting label(String text) {
        label = text;
        return this;
    }

    Setting help(String text) {
        help = text;
        return this;
    }

    Setting unit(String text) {
        unit = text;
        return this;
    }

    /** Makes the value the name of a file that is written, with one of these endings, or "" for none. */
    Setting written(String... possible) {
        endings = possible;
        return this;
    }

    /** Returns true for the name of a file that is written. */
    boolean isWritten() {
        return endings != null;
    }

    /** Makes the value belong to one image, so that it is not remembered. */
    Setting forgotten() {
        remembered = false;
        return this;
    }

    Setting first(Object value) {
        first = value;
        return this;
    }

    Setting recordedIfChanged() {
        recordedIfChanged = true;
        return this;
    }

    Setting recordedIf(Predicate<Settings> condition) {
        recorded = condition;
        return this;
    }

    /** Replaces the rule for showing the field in dialogs, which is that its value is used and recorded. */
    Setting shownIf(Predicate<Settings> condition) {
        shown = condition;
        return this;
    }

    /** Limits the use to some words of another key; with others it is neither recorded nor checked. */
    Setting usedWith(String other, String... of) {
        use = new String[of.length + 1];
        use[0] = other;
        System.arraycopy(of, 0, use, 1, of.length);
        return this;
    }

    /**
     * Limits the use further.
     *
     * @param with what a macro writes to meet the condition, for messages
     */
    Setting usedIf(String with, Predicate<Settings> condition) {
        conditions.put(with, condition);
        return this;
    }

    Setting above(double bound) {
        leastExcluded = true;
        return atLeast(bound);
    }

    Setting atLeast(double bound) {
        least = bound;
        return this;
    }

    /** Requires a whole number, from a bound on. */
    Setting whole(double bound) {
        whole = true;
        return atLeast(bound);
    }

    boolean isUsed(Settings settings) {
        return isUsedByWord(settings) && conditions.values().stream().allMatch(condition -> condition.test(settings));
    }

    private boolean isUsedByWord(Settings settings) {
        return use == null || Arrays.asList(use).indexOf(settings.text(use[0])) > 0;
    }

    /** Returns true if the options of a macro, as far as they say, use this parameter. */
    boolean isUsedBy(MacroOptions macro, Settings settings) throws BadInput {
        return use == null
                || Arrays.asList(use).indexOf(settings.setting(use[0]).fromMacro(macro)) > 0;
    }

    /** Returns true if a dialog has use for the field with the other fields as they are. */
    boolean applies(Settings settings) {
        return shown.test(settings);
    }

    boolean isRecorded(Settings settings) {
        Object value = settings.value(key);
        return isUsed(settings)
                && recorded.test(settings)
                && !(recordedIfChanged && value.equals(initial))
                && !"".equals(value);
    }

    /** Returns the value that a macro gives; the default if it gives none. */
    Object fromMacro(MacroOptions macro) throws BadInput {
        switch (type) {
            case SWITCH:
                return macro.has(key);
            case CHOICE:
                return macro.has(key) ? macro.choice(key, words) : initial;
            case NUMBER:
                return macro.number(key, (Double) initial);
            default:
                return normal(macro.text(key, (String) initial));
        }
    }

    /**
     * Refuses a key that has no effect: silently ignoring it would give another result than requested. Also refuses the
     * lack of one that has no default.
     */
    void checkUse(MacroOptions macro, Settings settings) throws BadInput {
        if (isUsed(settings) && needed && !macro.has(key)) {
            throw new BadInput(
                    "%s=%s needs %s, which is not given. Write %s=VALUE (%s).",
                    use[0], settings.text(use[0]), key, key, parameter.unit());
        }
        if (macro.has(key)
                && type == Type.TEXT
                && "".equals(initial)
                && macro.text(key, "").trim().isEmpty()) {
            // A macro whose variable is empty by mistake would run without its file.
            throw new BadInput("%s has no value. Give one, or leave %s out.", key, key);
        }
        if (!macro.has(key) || isUsed(settings)) {
            return;
        }
        for (Map.Entry<String, Predicate<Settings>> condition : conditions.entrySet()) {
            if (isUsedByWord(settings) && !condition.getValue().test(settings)) {
                throw new BadInput(
                        "%s has no effect without %s. Write that, too, or leave %s out.", key, condition.getKey(), key);
            }
        }
        String[] of = Arrays.copyOfRange(use, 1, use.length);
        for (int i = 0; i < of.length; i++) {
            of[i] = use[0] + "=" + of[i];
        }
        throw new BadInput(
                "%s is used with %s only, but %s is %s. Write %s, or leave %s out.",
                key, String.join(" and ", of), use[0], settings.text(use[0]), of[0], key);
    }

    /** Returns a line with key, values, default, unit and meaning. */
    String describe() {
        String values = type == Type.CHOICE ? String.join(", ", words) : type.values;
        boolean number = initial instanceof Double;
        String usual = type == Type.SWITCH
                ? ""
                : ", by default " + (number ? shortest((Double) initial) : "".equals(initial) ? "none" : initial);
        return key + ": " + values + usual + (unit.isEmpty() ? "" : ", " + unit) + (help.isEmpty() ? "" : ". " + help);
    }

    private String prefsKey(String prefix, int bitDepth) {
        return prefix + key + (perBitDepth ? "." + bitDepth : "");
    }

    Object fromPrefs(String prefix, int bitDepth) {
        String at = prefsKey(prefix, bitDepth);
        switch (type) {
            case SWITCH:
                return Prefs.get(at, (Boolean) first);
            case NUMBER:
                return Prefs.get(at, (Double) first);
            default:
                String text = normal(Prefs.get(at, (String) first));
                boolean known = type != Type.CHOICE || Arrays.asList(words).contains(text);
                return known ? text : first;
        }
    }

    void savePrefs(String prefix, int bitDepth, Object value) {
        String at = prefsKey(prefix, bitDepth);
        switch (type) {
            case SWITCH:
                Prefs.set(at, (Boolean) value);
                break;
            case NUMBER:
                Prefs.set(at, (Double) value);
                break;
            default:
                Prefs.set(at, (String) value);
                break;
        }
    }

    /**
     * Returns a text in its normal form: "auto" is written in one way, for which earlier macros wrote 0 where that is
     * not a valid value.
     */
    String normal(String text) {
        if (type != Type.NUMBER_OR_AUTO) {
            return text;
        }
        boolean zero = parameter != null && parameter.canBeAutomatic() && number(text) == 0;
        boolean auto = Settings.isAuto(text) || zero && parameter.complaint(0) != null;
        return auto ? Settings.AUTO : text.trim();
    }

    /** Returns the shortest text that keeps the value: 10 and not 10.0. */
    static String shortest(double value) {
        boolean whole = value == Math.rint(value) && Math.abs(value) < Integer.MAX_VALUE;
        return whole ? Long.toString((long) value) : Double.toString(value);
    }

    /** Returns the number that was typed; NaN if it is none. */
    static double number(String text) {
        return Tools.parseDouble(text.trim(), Double.NaN);
    }

    /** Returns the end of a message about a text that is no number: advice about a decimal comma, "" for none. */
    static String decimalPoint(String text) {
        return text.indexOf(',') < 0 ? "" : " Write a decimal point instead of the comma.";
    }

    /** Returns the problem with a single value; null if it is valid. */
    String problem(Object value) {
        if (endings != null) {
            String name = ((String) value).trim();
            return name.isEmpty() ? null : OutputFile.endingProblem(key, name, endings);
        }
        if (type == Type.NUMBER_OR_AUTO) {
            String text = (String) value;
            if (Settings.isAuto(text)) {
                return null;
            }
            double number = number(text);
            return Double.isNaN(number)
                    ? key + " must be \"auto\" or a number, got \"" + text + "\"." + decimalPoint(text)
                    : problem(number);
        }
        return type == Type.NUMBER ? problem((double) (Double) value) : null;
    }

    private String problem(double value) {
        String library = parameter == null ? null : parameter.complaint(value);
        if (library != null) {
            return library.replace(parameter.name(), key) + (library.endsWith(".") ? "" : ".");
        }
        boolean low = leastExcluded ? !(value > least) : !(value >= least);
        if (!low
                && value != Double.POSITIVE_INFINITY
                && (!whole || value == Math.rint(value) && value <= Integer.MAX_VALUE)) {
            return null;
        }
        return String.format(
                "%s must be a %s%s%s%s%s%s",
                key,
                whole ? "whole number of " : "number ",
                leastExcluded ? "above " : whole ? "" : "of ",
                shortest(least),
                leastExcluded ? "" : " or more",
                unit.isEmpty() || unit.startsWith("(") ? "" : " (" + unit + ")",
                ", got " + shortest(value) + ".");
    }
}
