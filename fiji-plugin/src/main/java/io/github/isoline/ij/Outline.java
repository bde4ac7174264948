package io.github.isoline.ij;

import ij.gui.Roi;
import ij.plugin.filter.ThresholdToSelection;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;

/** Converts masks to selections. */
final class Outline {
    private static final int WHITE = 255;

    private Outline() {}

    /**
     * Returns the border of the pixels, with its steps: a selection of exactly the mask's pixels.
     *
     * @param mask 255 inside
     * @return null if nothing is inside
     */
    static Roi of(byte[] mask, int width, int height) {
        ByteProcessor pixels = new ByteProcessor(width, height, mask);
        pixels.setThreshold(WHITE, WHITE, ImageProcessor.NO_LUT_UPDATE);
        return new ThresholdToSelection().convert(pixels);
    }
}
