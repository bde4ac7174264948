package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;

/**
 * The threshold of commands that need the pixels of a shape: "auto" for an image of two values, or a number as it was
 * typed. It also proposes a threshold when a dialog opens.
 */
final class ShapeThreshold {
    /** The choice of the pixels that Image > Adjust > Threshold marks, instead of a threshold of the dialog. */
    static final String THRESHOLDED = "thresholded";

    /** The ways in which an image can define its shape. */
    enum Offer {
        /** The image has at most two values. */
        MASK,
        /** The image shows a threshold. */
        SHOWN,
        /** The image has neither; ImageJ can propose a threshold. */
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

    /** Returns true for a slice of at most two values, for which "auto" works. */
    private static boolean isTwoValued(ImagePlus image) throws BadInput {
        return !TwoValues.of(Pixels.of(image, image.getCurrentSlice())).isMore();
    }

    /** Returns true if ImageJ's own binary commands take the bright pixels of an 8-bit mask as objects. */
    static boolean areThingsBright() {
        return Prefs.blackBackground;
    }

    /**
     * Returns the proposal of a dialog: "auto" for a mask, else the one that ImageJ finds by Otsu's method for this
     * slice.
     */
    static String proposal(ImagePlus image) throws BadInput {
        if (isTwoValued(image)) {
            return Settings.AUTO;
        }
        ImageProcessor copy = Pixels.isRgb(image)
                ? new ByteProcessor(
                        image.getWidth(), image.getHeight(), (byte[]) Pixels.of(image, image.getCurrentSlice()))
                : image.getProcessor().duplicate();
        if (copy.isInvertedLut()) {
            // With such a LUT ImageJ's "dark" range is the lower one, which begins with the lowest value.
            copy.invertLut();
        }
        copy.setAutoThreshold("Otsu dark");
        double min = copy.getMinThreshold();
        boolean whole = image.getBitDepth() != Float.SIZE;
        // ImageJ's bright pixels begin with this value, ours above it.
        return OperationDialog.number(ShownValues.of(image).of(whole ? min - 1 : min));
    }

    /** Returns the problem with the text as a threshold; null if it is valid. */
    static String problem(String text) {
        boolean finite = Math.abs(Setting.number(text)) < Double.POSITIVE_INFINITY;
        return Settings.isAuto(text) || finite
                ? null
                : "threshold must be \"auto\" or a number, got \"" + text + "\"." + Setting.decimalPoint(text);
    }

    /** Returns the threshold as a raw pixel value; an automatic one follows from the values of all planes. */
    static double raw(ImagePlus image, String text, TwoValues values) throws BadInput {
        if (!Settings.isAuto(text)) {
            return ShownValues.of(image).stored(Setting.number(text));
        }
        if (values.isMore()) {
            throw new BadInput(
                    "\"%s\" has more than two values, so there is no automatic threshold. Give one "
                            + "(threshold=VALUE, a pixel value), or set one with Image > Adjust > Threshold and choose "
                            + "\"%s\".",
                    image.getTitle(), THRESHOLDED);
        }
        // A mask of 16 bits with a sign stores another value for 0.
        boolean signed = image.getCalibration().isSigned16Bit();
        return values.between(signed ? ShownValues.of(image).stored(0) : 0);
    }
}
