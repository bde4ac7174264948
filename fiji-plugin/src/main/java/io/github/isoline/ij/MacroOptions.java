package io.github.isoline.ij;

import ij.macro.Interpreter;
import ij.util.Tools;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The "key=value key=[a value] switch" string of a macro's run().
 *
 * <p>It is parsed here and not by GenericDialog, which a plain ImageJ cannot create without a display. Parsing is
 * strict: a misspelt key is an error and not a silent default.
 */
final class MacroOptions {
    private final Map<String, String> values = new LinkedHashMap<>();

    /**
     * Parses the string.
     *
     * @param options as Macro.getOptions() returns them; null for none
     * @param known every key that the command has, switches included
     * @param switches keys without a value: present for yes, left out for no
     * @param renamed from old keys, which macros may still have, to the new ones
     * @throws BadInput if a key is unknown, has no value or a bracket is not closed
     */
    MacroOptions(String options, List<String> known, List<String> switches, Map<String, String> renamed)
            throws BadInput {
        String rest = options == null ? "" : options.trim();
        String before = null;
        while (!rest.isEmpty()) {
            int equals = rest.indexOf('=');
            int space = rest.indexOf(' ');
            String key = equals < 0 || space >= 0 && space < equals ? null : rest.substring(0, equals);
            if (key == null) {
                String word = space < 0 ? rest : rest.substring(0, space);
                if (switches.contains(word.toLowerCase(Locale.ROOT))) {
                    values.put(word.toLowerCase(Locale.ROOT), "");
                    rest = rest.substring(word.length()).trim();
                    before = null;
                    continue;
                }
                throw new BadInput(
                        "The option \"%s\" is not of the form key=value. %s",
                        word,
                        known.contains(word)
                                ? "Write " + word + "=VALUE without blanks."
                                : (before == null ? "" : inBrackets(before, word)) + keys(known));
            }
            key = known(key, known, renamed);
            if (switches.contains(key)) {
                throw new BadInput(
                        "%s is a switch: write %s alone for yes, leave it out for no. Got \"%s\".",
                        key, key, space < 0 ? rest : rest.substring(0, space));
            }
            rest = rest.substring(equals + 1);
            int end = valueEnd(key, rest);
            String value = rest.substring(0, end);
            boolean wrapped = value.startsWith("[") || value.startsWith("'");
            put(key, wrapped ? value.substring(1, value.length() - 1) : value);
            rest = rest.substring(end).trim();
            before = wrapped ? null : key;
        }
    }

    /** Takes options that a script gives by key: texts, numbers, and true or false for switches. */
    MacroOptions(Map<String, Object> given, List<String> known, List<String> switches, Map<String, String> renamed)
            throws BadInput {
        for (Map.Entry<String, Object> option : given.entrySet()) {
            String key = known(option.getKey(), known, renamed);
            Object value = option.getValue();
            String text = value instanceof Number ? Setting.shortest(((Number) value).doubleValue()) : value.toString();
            if (!switches.contains(key)) {
                put(key, text);
            } else if (text.equalsIgnoreCase("true")) {
                values.put(key, "");
            } else if (!text.equalsIgnoreCase("false")) {
                throw new BadInput(key + " is a switch: give true or false, got \"" + text + "\".");
            }
        }
    }

    /** Adds an option with a value, of which there may be one. */
    private void put(String key, String value) throws BadInput {
        String first = values.put(key, value);
        if (first != null) {
            throw new BadInput("%s is given twice, as \"%s\" and \"%s\". Give it once.", key, first, value);
        }
    }

    /** Returns the advice for a value with blanks, of which a word follows the key. */
    private String inBrackets(String key, String word) {
        return String.format(
                "If it belongs to %s, put the value in brackets: %s=[%s %s]. ", key, key, values.get(key), word);
    }

    /** Adds an option unless it was given. */
    void putIfAbsent(String key, String value) {
        values.putIfAbsent(key, value);
    }

    private static String known(String key, List<String> known, Map<String, String> renamed) throws BadInput {
        String lower = key.toLowerCase(Locale.ROOT);
        String now = renamed.getOrDefault(lower, lower);
        if (!known.contains(now)) {
            throw new BadInput("There is no option \"" + now + "\". " + keys(known));
        }
        return now;
    }

    /** Returns the word given for a key, one of the choices; the first choice if the key is absent. */
    String choice(String key, String... choices) throws BadInput {
        String value = text(key, choices[0]).toLowerCase(Locale.ROOT);
        if (!Arrays.asList(choices).contains(value)) {
            throw new BadInput(key + " must be one of " + String.join(", ", choices) + ", got \"" + value + "\".");
        }
        return value;
    }

    /** Returns the number given for a key. */
    double number(String key, double defaultValue) throws BadInput {
        String value = values.get(key);
        if (value == null) {
            return defaultValue;
        }
        String resolved = resolve(value);
        double number = Tools.parseDouble(resolved, Double.NaN);
        if (Double.isNaN(number)) {
            throw new BadInput(key + " must be a number, got \"" + value + "\"." + Setting.decimalPoint(value));
        }
        return number;
    }

    /** Returns the text given for a key. */
    String text(String key, String defaultValue) {
        String value = values.get(key);
        return value == null ? defaultValue : resolve(value);
    }

    /** Returns true if the macro named the key. */
    boolean has(String key) {
        return values.containsKey(key);
    }

    /** Resolves "&name", a variable of the running macro, as ImageJ's own dialogs do. */
    private static String resolve(String value) {
        Interpreter interpreter = Interpreter.getInstance();
        if (!value.startsWith("&") || interpreter == null) {
            return value;
        }
        String variable = interpreter.getVariableAsString(value.substring(1));
        return variable == null ? value : variable;
    }

    private static int valueEnd(String key, String rest) throws BadInput {
        char open = rest.isEmpty() ? ' ' : rest.charAt(0);
        if (open != '[' && open != '\'') {
            int space = rest.indexOf(' ');
            return space < 0 ? rest.length() : space;
        }
        int close = open == '[' ? closingBracket(rest) : rest.indexOf('\'', 1);
        if (close < 0) {
            throw new BadInput("The value of the option " + key + " has no closing " + open + ".");
        }
        return close + 1;
    }

    /** Returns the place of the bracket that closes the first one, as ImageJ's own dialogs find it; -1 if none does. */
    private static int closingBracket(String text) {
        int open = 0;
        for (int i = 0; i < text.length(); i++) {
            open += text.charAt(i) == '[' ? 1 : text.charAt(i) == ']' ? -1 : 0;
            if (open == 0) {
                return i;
            }
        }
        return -1;
    }

    /** Returns a value as options have it: in brackets where its end would not be found without. */
    static String written(String value) {
        return value.matches("|[\\['].*|.* .*") ? "[" + value + "]" : value;
    }

    private static String keys(List<String> known) {
        return "The options are " + String.join(", ", known) + ".";
    }
}
