package io.github.isoline.ij;

import ij.plugin.frame.Recorder;
import java.util.LinkedHashMap;
import java.util.Map;

/** Macro options that repeat a run: for the recorder, and for an image's information. */
final class OptionText {
    /** null for a switch. */
    private final Map<String, String> values = new LinkedHashMap<>();

    OptionText with(String key, String value) {
        values.put(key, value);
        return this;
    }

    OptionText with(String key, double value) {
        return with(key, text(value));
    }

    /** A switch, if it is on. */
    OptionText with(String key, boolean on) {
        if (on) {
            values.put(key, null);
        }
        return this;
    }

    /**
     * Records anew what a dialog has recorded already: other commands may have run while it was
     * open, and the recorder knows only the last.
     *
     * @param command without the dots of the menu
     */
    void record(String command) {
        if (!Recorder.record) {
            return;
        }
        Recorder.setCommand(command + "...");
        values.forEach(
                (key, value) -> {
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
        values.forEach(
                (key, value) -> {
                    text.append(text.length() == 0 ? "" : " ").append(key);
                    if (value != null) {
                        boolean wrap = value.isEmpty() || value.indexOf(' ') >= 0;
                        text.append(wrap ? "=[" + value + "]" : "=" + value);
                    }
                });
        return text.toString();
    }

    /** As short as it can be without losing anything: 10 and not 10.0. */
    static String text(double value) {
        boolean whole = value == Math.rint(value) && Math.abs(value) < Integer.MAX_VALUE;
        return whole ? Long.toString((long) value) : Double.toString(value);
    }

    /** The end of a complaint about a number. */
    static String got(double value) {
        return ", got " + text(value) + ".";
    }

    /** True for a whole number that C can take, and not below another. */
    static boolean isWhole(double value, int least) {
        return value == Math.rint(value) && value >= least && value <= Integer.MAX_VALUE;
    }
}
