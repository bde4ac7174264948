package io.github.isoline.ij;

import ij.ImagePlus;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The planes of an image that a command processes: the current channel or all, the current frame or all, and the
 * current z slice or all. The selection is fixed when it is made, so that the user may scroll through the slices while
 * a job runs.
 *
 * <p>Channels, slices, frames and stack indices count from 1, as everywhere in ImageJ.
 */
final class HyperStackSelection {
    /** The most positions in a message. */
    private static final int MOST_NAMED = 3;

    final ImagePlus image;

    /** Holds the image's numbers of channels, slices and frames. */
    private final int[] all;

    /** Holds the first channel, slice and frame taken. */
    private final int[] first;

    /** Holds the numbers of channels, slices and frames taken. */
    private final int[] count;

    /** @param currentSliceOnly false for every z slice */
    HyperStackSelection(ImagePlus image, boolean allChannels, boolean allFrames, boolean currentSliceOnly) {
        this.image = image;
        all = new int[] {image.getNChannels(), image.getNSlices(), image.getNFrames()};
        int[] current = position(image.getCurrentSlice());
        boolean[] whole = {allChannels, !currentSliceOnly, allFrames};
        first = new int[whole.length];
        count = new int[whole.length];
        for (int axis = 0; axis < whole.length; axis++) {
            first[axis] = whole[axis] ? 1 : current[axis];
            count[axis] = whole[axis] ? all[axis] : 1;
        }
    }

    private HyperStackSelection(HyperStackSelection planes, int channel) {
        image = planes.image;
        all = planes.all;
        first = planes.first.clone();
        count = planes.count.clone();
        first[0] = channel;
        count[0] = 1;
    }

    /** Returns every plane that an image has. */
    static HyperStackSelection everything(ImagePlus image) {
        return new HyperStackSelection(image, true, true, false);
    }

    /** Returns the number of channels taken. */
    int channels() {
        return count[0];
    }

    /** Returns the number of z slices taken. */
    int slices() {
        return count[1];
    }

    /** Returns the number of frames taken. */
    int frames() {
        return count[2];
    }

    /** Returns the number of planes taken: channels x slices x frames. */
    int size() {
        return count[0] * count[1] * count[2];
    }

    /** Returns the stack indices of all planes in ImageJ's order: channel fastest, frame last. */
    int[] indices() {
        int[] indices = new int[size()];
        for (int place = 0; place < indices.length; place++) {
            int c = place % count[0];
            int z = place / count[0] % count[1];
            int t = place / (count[0] * count[1]);
            indices[place] = index(first[0] + c, first[1] + z, first[2] + t);
        }
        return indices;
    }

    /** Returns the stack indices of the z slices of each channel of each frame: one volume each. */
    List<int[]> volumes() {
        List<int[]> volumes = new ArrayList<>();
        for (int t = first[2]; t < first[2] + count[2]; t++) {
            for (int c = first[0]; c < first[0] + count[0]; c++) {
                int[] volume = new int[count[1]];
                for (int z = 0; z < volume.length; z++) {
                    volume[z] = index(c, first[1] + z, t);
                }
                volumes.add(volume);
            }
        }
        return volumes;
    }

    /** Returns the volume that a plane is in, as {@link #volumes} has it. */
    int[] volume(int index) {
        return volumes().stream()
                .filter(volume -> IntStream.of(volume).anyMatch(one -> one == index))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("plane " + index));
    }

    /** Returns the planes taken of each channel. */
    List<HyperStackSelection> byChannel() {
        return IntStream.range(0, count[0])
                .mapToObj(c -> new HyperStackSelection(this, first[0] + c))
                .collect(Collectors.toList());
    }

    /** Returns the planes taken of the channel of a plane of the image. */
    HyperStackSelection inChannel(int index) {
        return new HyperStackSelection(this, position(index)[0]);
    }

    /** Returns the index of a plane of the image among those taken, from 0 on; -1 if it is not taken. */
    int place(int index) {
        int[] position = position(index);
        for (int axis = 0; axis < position.length; axis++) {
            position[axis] -= first[axis];
            if (position[axis] < 0 || position[axis] >= count[axis]) {
                return -1;
            }
        }
        return position[0] + count[0] * (position[1] + count[1] * position[2]);
    }

    /** Returns the channel, slice and frame of a stack index of the image. */
    int[] position(int index) {
        int place = index - 1;
        return new int[] {place % all[0] + 1, place / all[0] % all[1] + 1, place / (all[0] * all[1]) + 1};
    }

    /** Returns true if a position, 0 for all, is on the plane of another one. */
    static boolean covers(int[] position, int... plane) {
        return IntStream.range(0, plane.length).allMatch(axis -> position[axis] == 0 || position[axis] == plane[axis]);
    }

    /**
     * Returns the position, 0 for all, that one has in a new image of the planes taken; null if that has none of it.
     */
    int[] moved(int... position) {
        int[] moved = new int[position.length];
        for (int axis = 0; axis < position.length; axis++) {
            if (position[axis] > 0) {
                moved[axis] = position[axis] - first[axis] + 1;
                if (moved[axis] < 1 || moved[axis] > count[axis]) {
                    return null;
                }
            }
        }
        return moved;
    }

    /** Returns the channels and frames taken, in words; "" for an image that has one of each. Slices are not named. */
    String describe() {
        String channels = describe("channel", 0);
        String frames = describe("frame", 2);
        return channels + (channels.isEmpty() || frames.isEmpty() ? "" : ", ") + frames;
    }

    private String describe(String name, int axis) {
        if (all[axis] == 1) {
            return "";
        }
        return count[axis] == all[axis]
                ? "all " + all[axis] + " " + name + "s"
                : name + " " + first[axis] + " of " + all[axis];
    }

    /**
     * Returns a plane in words, naming the axes that the image has several of: "slice 3", "frame 2", "channel 1, slice
     * 4, frame 2".
     */
    String name(int index) {
        String name = name(position(index));
        return name.isEmpty() ? "slice 1" : name;
    }

    /** Returns a position in such words, without axes on which it is 0, for all. */
    private String name(int... position) {
        String[] axes = {"channel", "slice", "frame"};
        List<String> words = new ArrayList<>();
        for (int axis = 0; axis < axes.length; axis++) {
            if (all[axis] > 1 && position[axis] > 0) {
                words.add(axes[axis] + " " + position[axis]);
            }
        }
        return String.join(", ", words);
    }

    /** Returns "on the slice that is looked at", or that of several. */
    String looked() {
        return size() == 1 ? "on the slice that is looked at" : "on the slices that are looked at";
    }

    /** Returns a sentence that says where starts lie and what to do if none of them is on the planes taken; else "". */
    String elsewhere(List<int[]> positions) {
        Set<String> names = new LinkedHashSet<>();
        for (int[] position : positions) {
            String name = name(position);
            if (name.isEmpty() || moved(position) != null) {
                return "";
            }
            names.add(name);
        }
        if (names.isEmpty()) {
            return "";
        }
        String some = names.stream().limit(MOST_NAMED).collect(Collectors.joining("; "));
        return " The starts lie on " + some + (names.size() > MOST_NAMED ? "; ..." : "")
                + ". Show that plane, choose all_channels or all_frames, or move the starts: select each in the ROI Manager"
                + " and press Update.";
    }

    private int index(int c, int z, int t) {
        return c + all[0] * (z - 1 + all[1] * (t - 1));
    }
}
