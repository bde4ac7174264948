package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Whether a command takes the current channel and frame of a hyperstack, or all of them. */
final class AxisChoice {
    static final String ALL_CHANNELS = "all_channels";
    static final String ALL_FRAMES = "all_frames";

    /** Macro keys, all of them switches. */
    static final List<String> KEYS =
            Collections.unmodifiableList(Arrays.asList(ALL_CHANNELS, ALL_FRAMES));

    /** True for every channel, false for the current one. */
    boolean allChannels;

    /** True for every frame, false for the current one. */
    boolean allFrames;

    /** What a macro asks for. */
    static AxisChoice fromMacro(MacroOptions macro) {
        AxisChoice choice = new AxisChoice();
        choice.allChannels = macro.has(ALL_CHANNELS);
        choice.allFrames = macro.has(ALL_FRAMES);
        return choice;
    }

    /** What the user chose last, for the dialog of the command with these preferences. */
    static AxisChoice fromPrefs(String prefix) {
        AxisChoice choice = new AxisChoice();
        choice.allChannels = Prefs.get(prefix + ALL_CHANNELS, false);
        choice.allFrames = Prefs.get(prefix + ALL_FRAMES, false);
        return choice;
    }

    void savePrefs(String prefix) {
        Prefs.set(prefix + ALL_CHANNELS, allChannels);
        Prefs.set(prefix + ALL_FRAMES, allFrames);
    }

    /** The planes of an image that this means now. */
    HyperStackSelection of(ImagePlus image) {
        return new HyperStackSelection(image, this, false);
    }

    /** The same, and of the z slices only the one that is shown. */
    HyperStackSelection ofCurrentSlice(ImagePlus image) {
        return new HyperStackSelection(image, this, true);
    }

    /** The macro options behind others: each with a space before it, "" for none. */
    @Override
    public String toString() {
        return (allChannels ? " " + ALL_CHANNELS : "") + (allFrames ? " " + ALL_FRAMES : "");
    }
}
