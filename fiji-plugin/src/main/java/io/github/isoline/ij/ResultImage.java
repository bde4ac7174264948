package io.github.isoline.ij;

import ij.CompositeImage;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Overlay;
import ij.measure.Calibration;
import ij.process.ImageProcessor;
import ij.process.LUT;

/** Gives bare pixels what the image that they were computed from has. */
final class ResultImage {
    private ResultImage() {}

    /**
     * A new image of the input's size and dimensions: calibration, labels, channels, colours,
     * overlay and position are the input's.
     *
     * @param pixels one array for each slice of the input
     * @param quantity what the values are, for the grey calibration
     * @param max what is shown as white; 0 is black
     */
    static ImagePlus like(
            ImagePlus image, Object[] pixels, String title, String quantity, double max) {
        ImageStack stack = new ImageStack(image.getWidth(), image.getHeight());
        for (int i = 0; i < pixels.length; i++) {
            stack.addSlice(image.getStack().getSliceLabel(i + 1), pixels[i]);
        }
        ImagePlus result = new ImagePlus(title, stack);
        result.setDimensions(image.getNChannels(), image.getNSlices(), image.getNFrames());
        result.setCalibration(calibration(image, quantity));
        if (image.isComposite()) {
            CompositeImage composite = (CompositeImage) image;
            result = new CompositeImage(result, composite.getMode());
            LUT[] luts = new LUT[image.getNChannels()];
            for (int c = 0; c < luts.length; c++) {
                luts[c] = (LUT) composite.getChannelLut(c + 1).clone();
                luts[c].min = 0;
                luts[c].max = max;
            }
            ((CompositeImage) result).setLuts(luts);
        } else {
            takeColours(image, result);
        }
        result.setDisplayRange(0, max);
        result.setOpenAsHyperStack(image.isHyperStack());
        Overlay overlay = image.getOverlay();
        if (overlay != null) {
            result.setOverlay(overlay.duplicate());
        }
        result.setPosition(image.getC(), image.getZ(), image.getT());
        return result;
    }

    /** A new image of one slice of the input, with its calibration and label. */
    static ImagePlus ofSlice(
            ImagePlus image, int index, Object pixels, String title, String quantity, double max) {
        ImageStack stack = new ImageStack(image.getWidth(), image.getHeight());
        stack.addSlice(image.getStack().getSliceLabel(index), pixels);
        ImagePlus result = new ImagePlus(title, stack);
        result.setCalibration(calibration(image, quantity));
        result.setDisplayRange(0, max);
        return result;
    }

    private static Calibration calibration(ImagePlus image, String quantity) {
        Calibration calibration = image.getCalibration().copy();
        // The grey calibration is that of the input's values, not of the result's.
        calibration.setFunction(Calibration.NONE, null, quantity);
        return calibration;
    }

    private static void takeColours(ImagePlus image, ImagePlus result) {
        ImageProcessor processor = image.getProcessor();
        boolean palette = image.getType() == ImagePlus.COLOR_256;
        if (!palette && !processor.isInvertedLut()) {
            result.getProcessor().setColorModel(processor.getColorModel());
            result.getStack().setColorModel(processor.getColorModel());
        }
    }
}
