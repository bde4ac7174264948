package io.github.isoline.ij;

import ij.CompositeImage;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.process.ImageProcessor;
import ij.process.LUT;

/** Adds the properties of the input image to computed pixels. */
final class ResultImage {
    private ResultImage() {}

    /**
     * Returns a new image of the planes taken: calibration, labels, dimensions, colours, overlay and position are the
     * input's.
     *
     * @param pixels one array for each plane, in their order
     * @param quantity the name of the values, for the grey calibration
     * @param min the value that is shown as black
     * @param max the value that is shown as white
     */
    static ImagePlus like(
            HyperStackSelection planes, Object[] pixels, String title, String quantity, double min, double max) {
        ImagePlus image = planes.image;
        ImagePlus result = bare(planes, pixels, title, quantity, min, max);
        if (image.isComposite()) {
            CompositeImage composite = (CompositeImage) image;
            LUT[] luts = new LUT[planes.channels()];
            for (int c = 0; c < luts.length; c++) {
                int channel = planes.position(planes.indices()[c])[0];
                luts[c] = (LUT) composite.getChannelLut(channel).clone();
                luts[c].min = min;
                luts[c].max = max;
            }
            if (luts.length > 1) {
                result = new CompositeImage(result, composite.getMode());
                ((CompositeImage) result).setLuts(luts);
            } else {
                setColours(result, luts[0]);
            }
            result.setDisplayRange(min, max);
        } else {
            takeColours(image, result);
        }
        finish(planes, result);
        return result;
    }

    /** Returns such an image with the colours of a table and the range that it names, the same for every channel. */
    static ImagePlus inColours(HyperStackSelection planes, Object[] pixels, String title, String quantity, LUT lut) {
        ImagePlus result = bare(planes, pixels, title, quantity, lut.min, lut.max);
        setColours(result, lut);
        finish(planes, result);
        return result;
    }

    /**
     * Returns an image with pixels, labels, dimensions, display range (its ends in the first and the last colour) and
     * calibration.
     */
    private static ImagePlus bare(
            HyperStackSelection planes, Object[] pixels, String title, String quantity, double min, double max) {
        ImagePlus image = planes.image;
        ImageStack stack = new ImageStack(image.getWidth(), image.getHeight());
        int[] indices = planes.indices();
        for (int i = 0; i < pixels.length; i++) {
            stack.addSlice(image.getStack().getSliceLabel(indices[i]), pixels[i]);
        }
        ImagePlus result = new ImagePlus(title, stack);
        // ImageJ searches all pixels of the shown plane for a range when it is asked for the stack before it has one.
        result.setDisplayRange(min, max);
        result.setDimensions(planes.channels(), planes.slices(), planes.frames());
        Calibration calibration = image.getCalibration().copy();
        // The grey calibration is that of the input's values, not of the result's.
        calibration.setFunction(Calibration.NONE, null, null);
        calibration.setValueUnit(quantity);
        result.setCalibration(calibration);
        return result;
    }

    /** Sets the properties that can be set only when the image is otherwise complete. */
    private static void finish(HyperStackSelection planes, ImagePlus result) {
        ImagePlus image = planes.image;
        // A single stack of z slices is no longer a hyperstack.
        boolean axes = planes.channels() > 1 || planes.frames() > 1;
        result.setOpenAsHyperStack(image.isHyperStack() && axes);
        if (image.getOverlay() != null) {
            result.setOverlay(MovedOverlay.of(planes, result));
        }
        int[] shown = planes.moved(planes.position(image.getCurrentSlice()));
        if (shown != null) {
            result.setPosition(shown[0], shown[1], shown[2]);
        }
    }

    /** Sets the position of a selection; 0 for all channels, slices or frames. */
    static void setPosition(Roi roi, ImagePlus image, int... position) {
        if (isHyperStack(image)) {
            roi.setPosition(position[0], position[1], position[2]);
        } else if (image.getStackSize() > 1) {
            boolean everywhere =
                    position[1] == 0 && image.getNSlices() > 1 || position[2] == 0 && image.getNFrames() > 1;
            int z = Math.max(1, position[1]);
            int t = Math.max(1, position[2]);
            roi.setPosition(everywhere ? 0 : image.getStackIndex(1, z, t));
        } else {
            roi.setPosition(0);
        }
    }

    /** Returns the end of a name that gives a selection's position: " s3", " c1z2t1"; "" in an image. */
    static String where(ImagePlus image, int index) {
        if (isHyperStack(image)) {
            int[] position = image.convertIndexToPosition(index);
            return " c" + position[0] + "z" + position[1] + "t" + position[2];
        }
        return image.getStackSize() > 1 ? " s" + index : "";
    }

    /** Returns true if ImageJ's canvas uses a selection's channel, slice and frame. */
    static boolean isHyperStack(ImagePlus image) {
        return image.isHyperStack() || image.getNChannels() > 1;
    }

    private static void takeColours(ImagePlus image, ImagePlus result) {
        ImageProcessor processor = image.getProcessor();
        boolean palette = image.getType() == ImagePlus.COLOR_256 || Pixels.isRgb(image);
        if (!palette && !processor.isInvertedLut()) {
            result.getProcessor().setColorModel(processor.getColorModel());
            result.getStack().setColorModel(processor.getColorModel());
        }
    }

    private static void setColours(ImagePlus result, LUT lut) {
        result.getProcessor().setColorModel(lut);
        result.getStack().setColorModel(lut);
    }
}
