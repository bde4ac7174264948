package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.process.ImageProcessor;

/** The test for inside pixels of an image, according to the parameters of a command. */
final class InsideTest {
    /** Inside is low < value <= high, or its complement without NaN; unused for a selection. */
    private final double low;

    private final double high;
    private final boolean inverse;

    /** The selection, as large as the image, 0 outside; null where values decide. */
    private final byte[] selection;

    private InsideTest(double low, double high, boolean inverse, byte[] selection) {
        this.low = low;
        this.high = high;
        this.inverse = inverse;
        this.selection = selection;
    }

    /**
     * Returns a test of pixel values against a threshold.
     *
     * @param bright true for the pixels that are displayed brighter, false for the others
     * @param threshold raw pixel value; values equal to it belong to the lower ones
     */
    static InsideTest byValue(ImagePlus image, boolean bright, double threshold) {
        // An inverting LUT shows the high values dark.
        return byStoredValue(bright != image.isInvertedLut(), threshold);
    }

    /**
     * Returns a test of stored values against a threshold, whatever the LUT.
     *
     * @param above true for the values above the threshold, false for the others
     */
    static InsideTest byStoredValue(boolean above, double threshold) {
        return new InsideTest(threshold, Double.POSITIVE_INFINITY, !above, null);
    }

    /** Returns the test for the threshold that the image shows, from Image > Adjust > Threshold. */
    static InsideTest byShownThreshold(ImagePlus image) throws BadInput {
        ImageProcessor processor = image.getProcessor();
        double min = processor.getMinThreshold();
        if (min == ImageProcessor.NO_THRESHOLD) {
            throw new BadInput(
                    "\"%s\" shows no threshold. Set one with Image > Adjust > Threshold, or choose something "
                            + "else than \"%s\".",
                    image.getTitle(), ShapeThreshold.THRESHOLDED);
        }
        double justBelow = Math.nextDown(min);
        return new InsideTest(justBelow, processor.getMaxThreshold(), false, null);
    }

    /** Returns the test for the selection, which is the same in every slice. */
    static InsideTest bySelection(ImagePlus image) throws BadInput {
        String purpose = DistanceSettings.INSIDE + "=" + DistanceSettings.SELECTION;
        Roi roi = StartSurface.areaSelection(image, purpose);
        return new InsideTest(0, 0, false, StartSurface.pixels(roi, image));
    }

    /** Returns true if the pixels' values do not matter. */
    boolean isSelection() {
        return selection != null;
    }

    /**
     * Marks the pixels of a slice that are inside.
     *
     * @param pixels byte[] and short[] as unsigned, or float[]
     * @param mask becomes 1 inside, 0 outside
     * @return how many are inside
     */
    int mark(Object pixels, byte[] mask) {
        if (selection != null) {
            for (int i = 0; i < mask.length; i++) {
                mask[i] = (byte) (selection[i] != 0 ? 1 : 0);
            }
        } else if (pixels instanceof byte[]) {
            byte[] values = (byte[]) pixels;
            for (int i = 0; i < mask.length; i++) {
                mask[i] = mark(values[i] & 0xff);
            }
        } else if (pixels instanceof short[]) {
            short[] values = (short[]) pixels;
            for (int i = 0; i < mask.length; i++) {
                mask[i] = mark(values[i] & 0xffff);
            }
        } else {
            float[] values = (float[]) pixels;
            for (int i = 0; i < mask.length; i++) {
                mask[i] = Float.isNaN(values[i]) ? 0 : mark(values[i]);
            }
        }
        int inside = 0;
        for (byte pixel : mask) {
            inside += pixel;
        }
        return inside;
    }

    private byte mark(double value) {
        return (byte) ((value > low && value <= high) != inverse ? 1 : 0);
    }
}
