package io.github.isoline.ij;

import ij.ImagePlus;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;

/** Open images that can be the mask or the labels that a command starts from. */
final class MaskChoice {
    private MaskChoice() {}

    /**
     * Returns the images that fit: by their entries in a dialog the values of the parameter. Both are the title, and
     * with several images of one title have the ID.
     *
     * @param from the images to choose from
     */
    static Map<String, String> entries(ImagePlus image, List<ImagePlus> from) {
        Map<String, String> entries = new LinkedHashMap<>();
        for (ImagePlus other : from) {
            if (other != image && fits(other, image, true)) {
                String title = other.getTitle();
                String id = Integer.toString(other.getID());
                boolean alone = named(title, image, from).size() == 1;
                entries.put(alone ? title : title + " (" + id + ")", alone ? title : id);
            }
        }
        return entries;
    }

    /** Returns the images with a title, or the one with an ID; the input counts if no other image is so named. */
    private static List<ImagePlus> named(String name, ImagePlus image, List<ImagePlus> from) {
        List<ImagePlus> named = new ArrayList<>(from);
        named.removeIf(other -> !other.getTitle().equals(name));
        if (named.isEmpty()) {
            named.addAll(from);
            named.removeIf(other -> !Integer.toString(other.getID()).equals(name));
        }
        if (named.size() > 1) {
            named.remove(image);
        }
        return named;
    }

    /** Returns the image that the parameters name. */
    static ImagePlus find(HyperStackSelection planes, LevelSetSettings settings) throws BadInput {
        return find(
                planes.image,
                settings.workspace.images(),
                settings.text(LevelSetSettings.MASK_IMAGE),
                !settings.isVolume(),
                "mask",
                LevelSetSettings.MASK_IMAGE);
    }

    /**
     * Returns the image with a title, or with an ID.
     *
     * @param from the images to search
     * @param single true if an image with one slice serves every slice
     * @param what the role of the image, for messages
     * @param key the macro key that names it
     */
    static ImagePlus find(ImagePlus image, List<ImagePlus> from, String name, boolean single, String what, String key)
            throws BadInput {
        List<ImagePlus> named = named(name, image, from);
        if (named.isEmpty()) {
            throw new BadInput(
                    "There is no open image \"" + name + "\" for the " + what + " to start from (" + key + ").");
        }
        ImagePlus mask = named.get(0);
        if (named.size() > 1) {
            throw new BadInput(
                    "%s open images have the title \"%s\", so that %s does not say which one is the %s. Rename one with"
                            + " Image > Rename..., or give its ID (getImageID() in a macro), such as %s=%s.",
                    named.size(), name, key, what, key, mask.getID());
        }
        if (mask.getType() == ImagePlus.COLOR_RGB) {
            throw new BadInput(
                    "The %s \"%s\" is an RGB image. Convert it with Image > Type > 8-bit.", what, mask.getTitle());
        }
        if (!fits(mask, image, single)) {
            throw new BadInput(
                    "The %s \"%s\" has %s, but \"%s\" has %s. They must have the same size; one channel or frame serves"
                            + " all, and one slice all but a volume's. Image > Properties says what the planes of a stack are.",
                    what, mask.getTitle(), size(mask), image.getTitle(), size(image));
        }
        return mask;
    }

    private static String size(ImagePlus image) {
        List<String> axes = new ArrayList<>();
        String[] names = {"channel", "slice", "frame"};
        int[] lengths = lengths(image);
        for (int axis = 0; axis < lengths.length; axis++) {
            if (lengths[axis] > 1 || axis == 1 && image.getStackSize() == 1) {
                axes.add(RunLog.count(lengths[axis], names[axis]));
            }
        }
        return String.format("%s x %s pixels in %s", image.getWidth(), image.getHeight(), String.join(", ", axes));
    }

    /** Returns the numbers of channels, slices and frames. */
    private static int[] lengths(ImagePlus image) {
        return new int[] {image.getNChannels(), image.getNSlices(), image.getNFrames()};
    }

    /** @param single true if an image with one slice serves every slice */
    private static boolean fits(ImagePlus mask, ImagePlus image, boolean single) {
        return mask.getType() != ImagePlus.COLOR_RGB
                && mask.getWidth() == image.getWidth()
                && mask.getHeight() == image.getHeight()
                && (isSameSeries(mask, image) || repeats(mask, image, single));
    }

    /** Returns true if every axis has the image's length, or is 1 and serves all channels, slices or frames. */
    private static boolean repeats(ImagePlus mask, ImagePlus image, boolean single) {
        int[] some = lengths(mask);
        int[] all = lengths(image);
        return IntStream.range(0, all.length)
                .allMatch(axis -> some[axis] == all[axis] || some[axis] == 1 && (axis != 1 || single));
    }

    /**
     * Returns true for as many planes along one axis each, of slices or of frames: ImageJ takes films for slices until
     * it gets other properties.
     */
    private static boolean isSameSeries(ImagePlus mask, ImagePlus image) {
        int planes = image.getStackSize();
        return mask.getStackSize() == planes
                && mask.getNChannels() == 1
                && image.getNChannels() == 1
                && IntStream.of(lengths(mask)).anyMatch(length -> length == planes)
                && IntStream.of(lengths(image)).anyMatch(length -> length == planes);
    }

    /** Returns the plane of the mask that corresponds to a plane of the image. */
    static int at(ImagePlus mask, HyperStackSelection planes, int index) throws BadInput {
        if (!fits(mask, planes.image, true)) {
            throw new BadInput("\"" + mask.getTitle() + "\" was closed or cropped in the meantime.");
        }
        if (isSameSeries(mask, planes.image)) {
            return index;
        }
        int[] at = planes.position(index);
        int[] lengths = lengths(mask);
        Arrays.setAll(at, axis -> Math.min(at[axis], lengths[axis]));
        return mask.getStackIndex(at[0], at[1], at[2]);
    }

    /** Copies the plane of the mask that corresponds to a plane of the image: 255 where it is above 0. */
    static void copy(ImagePlus mask, HyperStackSelection planes, int index, byte[] pixels) throws BadInput {
        IntToDoubleFunction from = Pixels.labels(mask, at(mask, planes, index));
        for (int i = 0; i < pixels.length; i++) {
            boolean inside = from.applyAsDouble(i) > 0;
            pixels[i] = (byte) (inside ? 255 : 0);
        }
    }
}
