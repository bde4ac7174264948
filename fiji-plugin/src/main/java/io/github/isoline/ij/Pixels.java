package io.github.isoline.ij;

import ij.ImagePlus;
import ij.process.ColorProcessor;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import java.util.function.IntToDoubleFunction;

/** The pixels of an image's slices, as all commands read them; those of an RGB image are its luminance. */
final class Pixels {
    /** Guards the access to stacks: a virtual one reads its file, and does not expect several threads. */
    private static final Object STACKS = new Object();

    // These are the weights of ImageJ's weighted RGB conversion (Edit > Options > Conversions), whether that is on or
    // off: the same macro gives everybody the same.
    private static final double RED = 0.299;
    private static final double GREEN = 0.587;
    private static final double BLUE = 0.114;

    private Pixels() {}

    static boolean isRgb(ImagePlus image) {
        return image.getType() == ImagePlus.COLOR_RGB;
    }

    static PixelBuffer.Type type(ImagePlus image) {
        switch (image.getBitDepth()) {
            case 8:
            case 24:
                return PixelBuffer.Type.U8;
            case 16:
                return PixelBuffer.Type.U16;
            default:
                return PixelBuffer.Type.F32;
        }
    }

    /** Returns memory for some slices of the size of an image's. */
    static PixelBuffer buffer(Context context, PixelBuffer.Type type, ImagePlus image, int depth)
            throws IsolineException {
        return new PixelBuffer(context, type, image.getWidth(), image.getHeight(), depth);
    }

    /** Returns the pixels of a slice, as an array of the type that the image declares. */
    static Object of(ImagePlus image, int index) throws BadInput {
        Object pixels;
        synchronized (STACKS) {
            pixels = image.getStack().getPixels(index);
        }
        if (isRgb(image) && pixels instanceof int[]) {
            ColorProcessor colours = new ColorProcessor(image.getWidth(), image.getHeight(), (int[]) pixels);
            colours.setRGBWeights(RED, GREEN, BLUE);
            return colours.convertToByteProcessor(false).getPixels();
        }
        PixelBuffer.Type type = type(image);
        boolean fits = type == PixelBuffer.Type.U8
                ? pixels instanceof byte[]
                : type == PixelBuffer.Type.U16 ? pixels instanceof short[] : pixels instanceof float[];
        if (!fits) {
            throw new BadInput(
                    "\"%s\" (%s) cannot be read as %s-bit pixels. If it is a virtual stack, check its files, or "
                            + "open it without \"virtual\".",
                    image.getTitle(), HyperStackSelection.everything(image).name(index), image.getBitDepth());
        }
        return pixels;
    }

    /**
     * Returns the pixels of a mask or of labels by their places, as they are stored, since another calibration than
     * that of signed 16-bit images is the one of the image that they were made from.
     */
    static IntToDoubleFunction labels(ImagePlus image, int index) throws BadInput {
        Object pixels = of(image, index);
        ShownValues values = image.getCalibration().isSigned16Bit() ? ShownValues.of(image) : ShownValues.STORED;
        return pixel -> values.of(IntensitySample.value(pixels, pixel));
    }
}
