package io.github.isoline.ij;

import ij.ImagePlus;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The choice between the current channel and frame of a hyperstack and all of them. */
final class AxisChoice {
    static final String ALL_CHANNELS = "all_channels";
    static final String ALL_FRAMES = "all_frames";

    /** The macro keys, all of them switches. */
    static final List<String> KEYS = Collections.unmodifiableList(Arrays.asList(ALL_CHANNELS, ALL_FRAMES));

    /** Holds true for every channel, false for the current one. */
    boolean allChannels;

    /** Holds true for every frame, false for the current one. */
    boolean allFrames;

    /** Returns the choice in the parameters of a command. */
    static AxisChoice of(Settings settings) {
        AxisChoice choice = new AxisChoice();
        choice.allChannels = settings.is(ALL_CHANNELS);
        choice.allFrames = settings.is(ALL_FRAMES);
        return choice;
    }

    /** Returns the planes of an image that the choice selects now. */
    HyperStackSelection of(ImagePlus image) {
        return new HyperStackSelection(image, this, false);
    }

    /** Returns the same planes, but only those of the current z slice. */
    HyperStackSelection ofCurrentSlice(ImagePlus image) {
        return new HyperStackSelection(image, this, true);
    }

    /** Returns the macro options to append to others: each with a space before it, "" for none. */
    @Override
    public String toString() {
        return (allChannels ? " " + ALL_CHANNELS : "") + (allFrames ? " " + ALL_FRAMES : "");
    }
}
