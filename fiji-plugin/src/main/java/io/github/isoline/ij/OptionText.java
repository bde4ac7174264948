package io.github.isoline.ij;

import ij.plugin.frame.Recorder;
import java.util.LinkedHashMap;
import java.util.Map;

/** The macro options that repeat a run: for the recorder, and for an image's information. */
final class OptionText {
    /** Holds the values by their keys; null for a switch. */
    private final Map<String, String> values = new LinkedHashMap<>();

    OptionText with(String key, String value) {
        values.put(key, value);
        return this;
    }

    OptionText with(String key, double value) {
        return with(key, text(value));
    }

    /** Adds a switch, if it is on. */
    OptionText with(String key, boolean on) {
        if (on) {
            values.put(key, null);
        }
        return this;
    }

    /**
     * Records a dialog again: other commands may have run while it was open, and the recorder keeps only the last one.
     *
     * @param command without the dots of the menu
     */
    void record(String command) {
        if (!Recorder.record) {
            return;
        }
        Recorder.setCommand(command + "...");
        values.forEach((key, value) -> {
            if (value == null) {
                Recorder.recordOption(key);
            } else {
                Recorder.recordOption(key, value);
            }
        });
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) -> {
            text.append(text.length() == 0 ? "" : " ").append(key);
            if (value != null) {
                boolean wrap = value.isEmpty() || value.indexOf(' ') >= 0;
                text.append(wrap ? "=[" + value + "]" : "=" + value);
            }
        });
        return text.toString();
    }

    /** Returns the shortest text that keeps the value: 10 and not 10.0. */
    static String text(double value) {
        boolean whole = value == Math.rint(value) && Math.abs(value) < Integer.MAX_VALUE;
        return whole ? Long.toString((long) value) : Double.toString(value);
    }

    /** Returns the end of a message about a number. */
    static String got(double value) {
        return ", got " + text(value) + ".";
    }

    /** Returns true for a whole number that C can represent, not below another. */
    static boolean isWhole(double value, int least) {
        return value == Math.rint(value) && value >= least && value <= Integer.MAX_VALUE;
    }
}
