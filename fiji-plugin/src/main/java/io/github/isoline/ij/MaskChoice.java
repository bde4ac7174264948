package io.github.isoline.ij;

import ij.ImagePlus;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

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
        boolean current = settings.is(Settings.STACK, LevelSetSettings.CURRENT);
        return find(
                planes.image,
                settings.workspace.images(),
                settings.text(LevelSetSettings.MASK_IMAGE),
                current,
                "mask",
                LevelSetSettings.MASK_IMAGE,
                "one for stack=current a single");
    }

    /**
     * Returns the image with a title, or with an ID.
     *
     * @param from the images to search
     * @param single true if an image of a single slice is accepted
     * @param what the role of the image, for messages
     * @param key the macro key that names it
     * @param singles the end of the message about images of a single slice
     */
    static ImagePlus find(
            ImagePlus image, List<ImagePlus> from, String name, boolean single, String what, String key, String singles)
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
                    "The %s \"%s\" has %s, but \"%s\" has %s. They must have the same size; a %s for all "
                            + "channels and frames may have the slices only%s.",
                    what,
                    mask.getTitle(),
                    size(mask),
                    image.getTitle(),
                    size(image),
                    what,
                    mask.getStackSize() == 1 ? ", " + singles : "");
        }
        return mask;
    }

    private static String size(ImagePlus image) {
        return String.format(
                "%s x %s pixels in %s slice%s",
                image.getWidth(), image.getHeight(), image.getStackSize(), image.getStackSize() == 1 ? "" : "s");
    }

    private static boolean fits(ImagePlus mask, ImagePlus image, boolean current) {
        int planes = mask.getStackSize();
        return mask.getType() != ImagePlus.COLOR_RGB
                && mask.getWidth() == image.getWidth()
                && mask.getHeight() == image.getHeight()
                && (planes == image.getStackSize() || planes == image.getNSlices() || planes == 1 && current);
    }

    /** Returns the plane of the mask that corresponds to a plane of the image. */
    static int at(ImagePlus mask, HyperStackSelection planes, int index) throws BadInput {
        int at = index;
        if (mask.getStackSize() != planes.image.getStackSize()) {
            at = mask.getStackSize() == 1 ? 1 : planes.position(index)[1];
        }
        if (at > mask.getStackSize()) {
            throw new BadInput("\"" + mask.getTitle() + "\" was closed or cropped in the meantime.");
        }
        return at;
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
