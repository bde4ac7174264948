package io.github.isoline.ij;

import ij.ImagePlus;
import ij.WindowManager;
import java.util.ArrayList;
import java.util.List;

/** Open images that can be the mask that a level set starts from. */
final class MaskChoice {
    private MaskChoice() {}

    /** The titles of all that fit. */
    static String[] titles(ImagePlus image) {
        List<String> titles = new ArrayList<>();
        for (ImagePlus other : open()) {
            if (other != image && fits(other, image, true)) {
                titles.add(other.getTitle());
            }
        }
        return titles.toArray(new String[0]);
    }

    private static List<ImagePlus> open() {
        List<ImagePlus> images = new ArrayList<>();
        int[] ids = WindowManager.getIDList();
        for (int id : ids == null ? new int[0] : ids) {
            ImagePlus image = WindowManager.getImage(id);
            if (image != null) {
                images.add(image);
            }
        }
        return images;
    }

    /** The image that the settings name. */
    static ImagePlus find(HyperStackSelection planes, LevelSetSettings settings) throws BadInput {
        ImagePlus image = planes.image;
        ImagePlus mask = null;
        for (ImagePlus other : open()) {
            if (other.getTitle().equals(settings.maskImage)) {
                mask = other;
            }
        }
        if (mask == null) {
            throw new BadInput(
                    "There is no open image \""
                            + settings.maskImage
                            + "\" for the mask to start from (mask_image).");
        }
        if (mask.getType() == ImagePlus.COLOR_RGB) {
            throw new BadInput(
                    "The mask \""
                            + mask.getTitle()
                            + "\" is an RGB image. Convert it with Image > Type > 8-bit.");
        }
        boolean current = LevelSetSettings.CURRENT.equals(settings.stack);
        if (!fits(mask, image, current)) {
            throw new BadInput(
                    "The mask \""
                            + mask.getTitle()
                            + "\" has "
                            + size(mask)
                            + ", but \""
                            + image.getTitle()
                            + "\" has "
                            + size(image)
                            + ". They must have the same size; a mask for all channels and frames"
                            + " may have the slices only"
                            + (mask.getStackSize() == 1 ? ", one for stack=current a single" : "")
                            + ".");
        }
        return mask;
    }

    private static String size(ImagePlus image) {
        return image.getWidth()
                + " x "
                + image.getHeight()
                + " pixels in "
                + image.getStackSize()
                + " slice"
                + (image.getStackSize() == 1 ? "" : "s");
    }

    private static boolean fits(ImagePlus mask, ImagePlus image, boolean current) {
        int planes = mask.getStackSize();
        return mask.getType() != ImagePlus.COLOR_RGB
                && mask.getWidth() == image.getWidth()
                && mask.getHeight() == image.getHeight()
                && (planes == image.getStackSize()
                        || planes == image.getNSlices()
                        || planes == 1 && current);
    }

    /** 255 where the mask is above 0 in the plane that belongs to one of the image. */
    static void copy(ImagePlus mask, HyperStackSelection planes, int index, byte[] pixels)
            throws BadInput {
        int at = index;
        if (mask.getStackSize() != planes.image.getStackSize()) {
            at = mask.getStackSize() == 1 ? 1 : planes.position(index)[1];
        }
        if (at > mask.getStackSize()) {
            throw new BadInput("The mask \"" + mask.getTitle() + "\" was closed or cut meanwhile.");
        }
        Object from = StackJob.pixels(mask, at);
        for (int i = 0; i < pixels.length; i++) {
            boolean inside =
                    from instanceof byte[]
                            ? ((byte[]) from)[i] != 0
                            : from instanceof short[]
                                    ? ((short[]) from)[i] != 0
                                    : ((float[]) from)[i] > 0;
            pixels[i] = (byte) (inside ? 255 : 0);
        }
    }
}
