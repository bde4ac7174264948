package io.github.isoline.ij;

import ij.gui.ImageRoi;
import ij.gui.Roi;
import java.awt.image.BufferedImage;
import java.awt.image.DataBuffer;
import java.awt.image.DataBufferByte;
import java.awt.image.IndexColorModel;
import java.awt.image.Raster;
import java.awt.image.WritableRaster;

/** Shades pixels half transparent red, for previews. */
final class Shading {
    private static final int RED = 0x80ff3030;

    private Shading() {}

    /** Returns an element of an overlay that shades the pixels that are 1; the others are 0. */
    static Roi of(byte[] shade, int width) {
        return new ImageRoi(0, 0, picture(shade, width, 0, RED));
    }

    /** Returns an image from indices of colours, row by row; the colours have their opacity. */
    static BufferedImage picture(byte[] pixels, int width, int... colours) {
        IndexColorModel model = new IndexColorModel(8, colours.length, colours, 0, true, -1, DataBuffer.TYPE_BYTE);
        DataBufferByte data = new DataBufferByte(pixels, pixels.length);
        WritableRaster raster =
                Raster.createInterleavedRaster(data, width, pixels.length / width, width, 1, new int[] {0}, null);
        return new BufferedImage(model, raster, false, null);
    }
}
