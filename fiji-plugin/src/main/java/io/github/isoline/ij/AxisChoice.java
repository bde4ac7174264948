package io.github.isoline.ij;

import ij.ImagePlus;
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

    /** What the settings of a command say. */
    static AxisChoice of(Settings settings) {
        AxisChoice choice = new AxisChoice();
        choice.allChannels = settings.is(ALL_CHANNELS);
        choice.allFrames = settings.is(ALL_FRAMES);
        return choice;
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
