package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.process.ImageProcessor;
import ij.util.Tools;

/**
 * The threshold of commands that ask which pixels are a shape: "auto" for an image of two values,
 * or a number, as it was typed; and what fits an image when a dialog opens.
 */
final class ShapeThreshold {
    /** Between the two values of a mask. */
    static final String AUTO = "auto";

    /** The choice of what Image > Adjust > Threshold marks, instead of a threshold of our own. */
    static final String THRESHOLDED = "thresholded";

    /** What an image has by which its shape can be known. */
    enum Offer {
        /** It has two values at most. */
        MASK,
        /** It shows a threshold. */
        SHOWN,
        /** Neither: ImageJ can propose a threshold. */
        NOTHING
    }

    private ShapeThreshold() {}

    static Offer offer(ImagePlus image) throws BadInput {
        boolean mask = isTwoValued(image);
        if (mask && image.getBitDepth() == Byte.SIZE) {
            return Offer.MASK;
        }
        if (image.getProcessor().getMinThreshold() != ImageProcessor.NO_THRESHOLD) {
            return Offer.SHOWN;
        }
        return mask ? Offer.MASK : Offer.NOTHING;
    }

    /** True for a slice of two values at most: "auto" will do. */
    private static boolean isTwoValued(ImagePlus image) throws BadInput {
        return !TwoValues.of(StackJob.pixels(image, image.getCurrentSlice())).isMore();
    }

    /**
     * True if ImageJ's own binary commands take for things what is seen bright in an 8-bit mask.
     */
    static boolean areThingsBright() {
        return Prefs.blackBackground;
    }

    /** What a dialog begins with: {@link #AUTO} for a mask, else ImageJ's own for this slice. */
    static String proposal(ImagePlus image) throws BadInput {
        if (isTwoValued(image)) {
            return AUTO;
        }
        ImageProcessor copy = image.getProcessor().duplicate();
        copy.setAutoThreshold("Default dark");
        double min = copy.getMinThreshold();
        boolean whole = image.getBitDepth() != Float.SIZE;
        // ImageJ's bright pixels begin with this value, and ours above it.
        return OperationDialog.number(whole ? min - 1 - StackJob.rawThreshold(image, 0) : min);
    }

    static boolean isAutomatic(String text) {
        return AUTO.equalsIgnoreCase(text.trim());
    }

    /** The number that was typed; NaN if it is none. */
    static double number(String text) {
        return Tools.parseDouble(text.trim(), Double.NaN);
    }

    /** Null if it can be a threshold, else what is wrong. */
    static String complaint(String text) {
        boolean finite = Math.abs(number(text)) < Double.POSITIVE_INFINITY;
        return isAutomatic(text) || finite
                ? null
                : "threshold must be \"auto\" or a number, got \"" + text + "\".";
    }

    /**
     * The threshold as a raw pixel value.
     *
     * @param values of all planes, where it is automatic
     */
    static double raw(ImagePlus image, String text, TwoValues values) throws BadInput {
        if (!isAutomatic(text)) {
            return StackJob.rawThreshold(image, number(text));
        }
        if (values.isMore()) {
            throw new BadInput(
                    "\""
                            + image.getTitle()
                            + "\" has more than two values, so there is no automatic threshold."
                            + " Give one (threshold=VALUE, a pixel value), or set one with Image >"
                            + " Adjust > Threshold and choose \""
                            + THRESHOLDED
                            + "\".");
        }
        return values.between();
    }
}
