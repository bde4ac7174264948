package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.process.ImageProcessor;
import io.github.isoline.PixelBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/** The test for inside pixels of an image, according to the parameters of a command. */
final class InsideTest {
    /** The number of pixels that are marked before they are copied: few enough for the cache of a core. */
    private static final int BLOCK = 1 << 15;

    private static final int SIGN = Integer.SIZE - 1;

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

    /** Returns a test for the stored values above a threshold, whatever the LUT shows, or for the others. */
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
        return mark(pixels, 0, mask, mask.length);
    }

    /**
     * Writes the mask of a slice, 1 inside and 0 outside, on several threads for a large one.
     *
     * @param to of type U8; null to count only
     * @param count the number of pixels
     * @return how many are inside
     */
    int write(Object pixels, int count, PixelBuffer to, int slot) {
        AtomicInteger inside = new AtomicInteger();
        Parallel.pixels(count, (first, some) -> inside.addAndGet(write(pixels, first, some, to, slot)));
        return inside.get();
    }

    private int write(Object pixels, int first, int count, PixelBuffer to, int slot) {
        byte[] block = new byte[Math.min(BLOCK, count)];
        int inside = 0;
        for (int from = first; from < first + count; from += BLOCK) {
            int some = Math.min(BLOCK, first + count - from);
            inside += mark(pixels, from, block, some);
            if (to != null) {
                to.write(slot, from, block, some);
            }
        }
        return inside;
    }

    /** Marks some pixels of a slice, from one on, and returns how many are inside. */
    private int mark(Object pixels, int from, byte[] mask, int count) {
        if (selection != null) {
            int inside = 0;
            for (int i = 0; i < count; i++) {
                mask[i] = (byte) (selection[from + i] != 0 ? 1 : 0);
                inside += mask[i];
            }
            return inside;
        }
        return pixels instanceof float[]
                ? mark((float[]) pixels, from, mask, count)
                : markIntegers(pixels, from, mask, count);
    }

    private int mark(float[] values, int from, byte[] mask, int count) {
        int inside = 0;
        for (int i = 0; i < count; i++) {
            float value = values[from + i];
            boolean within = value > low && value <= high;
            mask[i] = (byte) (within != inverse && !Float.isNaN(value) ? 1 : 0);
            inside += mask[i];
        }
        return inside;
    }

    /** Marks integers with whole bounds and without branches: the sign of a difference is the comparison. */
    private int markIntegers(Object pixels, int from, byte[] mask, int count) {
        int first = (int) Math.max(-1, Math.min(1 << Short.SIZE, Math.floor(low) + 1));
        int last = (int) Math.max(-1, Math.min(1 << Short.SIZE, Math.floor(high)));
        int outside = inverse ? 1 : 0;
        int inside = 0;
        if (pixels instanceof byte[]) {
            byte[] values = (byte[]) pixels;
            for (int i = 0; i < count; i++) {
                int value = values[from + i] & 0xff;
                int one = (value - first | last - value) >>> SIGN ^ 1 ^ outside;
                mask[i] = (byte) one;
                inside += one;
            }
        } else {
            short[] values = (short[]) pixels;
            for (int i = 0; i < count; i++) {
                int value = values[from + i] & 0xffff;
                int one = (value - first | last - value) >>> SIGN ^ 1 ^ outside;
                mask[i] = (byte) one;
                inside += one;
            }
        }
        return inside;
    }
}
