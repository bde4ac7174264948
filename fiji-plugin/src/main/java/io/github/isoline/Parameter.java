package io.github.isoline;

import com.sun.jna.Pointer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One parameter of an {@link Operation}, as the library describes it. */
public final class Parameter {
    /** The type of the values. */
    public enum Type {
        /** A finite number. */
        FLOAT,
        /** A whole number of at least 0. */
        INTEGER,
        /** 0 or 1. */
        FLAG,
        /** One of {@link Parameter#choices()}. */
        CHOICE
    }

    /** One value of a parameter that is a choice. */
    public static final class Choice {
        private final int value;
        private final String name;
        private final String help;

        Choice(Structs.Choice struct) {
            value = struct.value;
            name = struct.name.getString(0, UTF8);
            help = struct.help.getString(0, UTF8);
        }

        /** Returns the word in macros. */
        public String name() {
            return name;
        }

        /** Returns one line that says when to choose it. */
        public String help() {
            return help;
        }
    }

    private static final String UTF8 = "UTF-8";

    // These are values of "storage"; the third one is a double.
    private static final int U32 = 0;
    private static final int U64 = 1;

    // This is a value of "level"; the other one is that of basic parameters.
    private static final int ADVANCED = 1;

    private final long operation;
    private final long index;
    private final Structs.Parameter struct = Structs.init("parameter", new Structs.Parameter());
    private final String name;
    private final List<Choice> choices;

    Parameter(long operation, long index) throws IsolineException {
        this.operation = operation;
        this.index = index;
        Status.check(IsolineLibrary.isoline_parameter_info(operation, index, struct));
        name = struct.name.getString(0, UTF8);
        List<Choice> all = new ArrayList<>();
        for (int i = 0; i < struct.choice_count; i++) {
            Structs.Choice choice = Structs.init("choice", new Structs.Choice());
            Status.check(IsolineLibrary.isoline_choice_info(operation, index, i, choice));
            all.add(new Choice(choice));
        }
        choices = Collections.unmodifiableList(all);
    }

    /** Returns the macro key. */
    public String name() {
        return name;
    }

    /** Returns the label in a dialog. */
    public String title() {
        return struct.title.getString(0, UTF8);
    }

    /** Returns one line: the meaning, and the effect of a larger value. */
    public String help() {
        return struct.help.getString(0, UTF8);
    }

    /** Returns the unit, as a label beside a field; "" where there is none. */
    public String unit() {
        return struct.unit.getString(0, UTF8);
    }

    /** Returns the type of the values. */
    public Type type() {
        return Type.values()[struct.type];
    }

    /** Returns true if it seldom needs another value than the default. */
    public boolean isAdvanced() {
        return struct.level == ADVANCED;
    }

    /** Returns true if the operation can choose the value itself. */
    public boolean canBeAutomatic() {
        return struct.automatic != null;
    }

    /** Returns the value that stands for "automatic". */
    public double automaticValue() {
        return struct.automatic_value;
    }

    /** Returns the default; it may be {@link #automaticValue()}. */
    public double defaultValue() {
        return struct.default_value;
    }

    /** Returns the values of a choice; empty for other types. */
    public List<Choice> choices() {
        return choices;
    }

    /** Returns the words of the choices, in their order. */
    public String[] words() {
        return choices.stream().map(Choice::name).toArray(String[]::new);
    }

    /** Returns the value that a word stands for. */
    public double valueOf(String word) throws IsolineException {
        for (Choice choice : choices) {
            if (choice.name.equals(word)) {
                return choice.value;
            }
        }
        throw new IsolineException(name + " must be one of " + String.join(", ", words()) + ", got \"" + word + "\".");
    }

    /** Returns the word of a value. */
    public String wordOf(double value) {
        return choices.stream()
                .filter(choice -> choice.value == value)
                .map(Choice::name)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(name + " " + value));
    }

    /** Refuses a value out of the range, with the library's message. */
    public void check(double value) throws IsolineException {
        Status.check(IsolineLibrary.isoline_parameter_check(operation, index, value));
    }

    /** Returns the library's message about a value out of the range; null for one that is in it. */
    public String complaint(double value) {
        try {
            check(value);
            return null;
        } catch (IsolineException e) {
            return e.getMessage();
        }
    }

    /** Writes a value to a params struct. */
    void write(Pointer params, double value) {
        switch (struct.storage) {
            case U32:
                params.setInt(struct.offset, (int) (long) value);
                break;
            case U64:
                params.setLong(struct.offset, (long) value);
                break;
            default:
                params.setDouble(struct.offset, value);
                break;
        }
    }

    /** Reads the value from a params struct. */
    double read(Pointer params) {
        switch (struct.storage) {
            case U32:
                return Integer.toUnsignedLong(params.getInt(struct.offset));
            case U64:
                return params.getLong(struct.offset);
            default:
                return params.getDouble(struct.offset);
        }
    }
}
