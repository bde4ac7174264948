package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.ImageRoi;
import ij.gui.Roi;
import ij.process.LUT;
import io.github.isoline.Distance;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Report;
import java.awt.Color;
import java.awt.image.BufferedImage;
import java.util.Locale;

/** Shows the current slice's distances over it, half transparent, and the boundary. */
final class DistancePreview extends LivePreview<DistanceSettings> {
    private static final int OPACITY = 140;

    /** The colour of inside pixels on the boundary. */
    private static final Color BOUNDARY = new Color(0xffe800);

    /** The index of that colour; the neighbouring white of the LUT hardly differs. */
    private static final int BOUNDARY_INDEX = 127;

    private static final int LAST_COLOUR = 255;

    // Only the worker uses these fields.
    private final byte[] mask;
    private PixelBuffer input;
    private PixelBuffer output;

    DistancePreview(ImagePlus image, Listener listener) {
        super(image, listener);
        followSelection();
        mask = new byte[image.getWidth() * image.getHeight()];
    }

    @Override
    String compute(DistanceSettings settings, boolean draw) throws BadInput, IsolineException {
        TwoValues found = null;
        if (settings.needsValues()) {
            found = values(settings.planes(image).indices());
            if (found == null) {
                return null;
            }
        }
        int slice = image.getCurrentSlice();
        InsideTest test = settings.insideTest(image, found);
        int inside = test.mark(test.isSelection() ? null : Pixels.of(image, slice), mask);
        String status = String.format(Locale.ROOT, "%.3g %% inside", percent(inside, mask.length));
        if (!draw) {
            hide();
            return status + "; not drawn";
        }
        if (inside == 0 || inside == mask.length) {
            hide();
            return status + (image.getStackSize() > 1 ? " in this slice" : "") + ": no boundary";
        }
        Report report = run(settings);
        float[] distances = new float[mask.length];
        output.read(0, distances);
        BufferedImage picture = picture(settings, distances);
        show(() -> {
            ImageRoi roi = new ImageRoi(0, 0, picture);
            roi.setName("Isoline preview");
            int[] position = HyperStackSelection.everything(image).position(slice);
            ResultImage.setPosition(roi, image, position);
            return new Roi[] {roi};
        });
        status += String.format(Locale.ROOT, ", %.1f ms on %s", report.seconds() * 1000, report.device());
        return settings.isVolume()
                ? status + "; of this slice by itself: in the volume distances are the same or less"
                : status;
    }

    private Report run(DistanceSettings settings) throws BadInput, IsolineException {
        if (input == null) {
            input = buffer(settings.device(), PixelBuffer.Type.U8);
            output = buffer(settings.device(), PixelBuffer.Type.F32);
        }
        VoxelSize size = new VoxelSize(image, false);
        input.setSpacing(size.x, size.y, size.z);
        input.write(0, mask);
        Params params = settings.toParams().set("dimensions", "slices");
        return run(settings.device(), (context, progress) -> Distance.run(context, params, input, output, 1, progress));
    }

    private BufferedImage picture(DistanceSettings settings, float[] distances) {
        float low = Float.POSITIVE_INFINITY;
        float high = Float.NEGATIVE_INFINITY;
        for (float distance : distances) {
            low = Math.min(low, distance);
            high = Math.max(high, distance);
        }
        LUT lut = BoundaryColours.of(settings.text(DistanceSettings.REGION), low, high);
        double scale = LAST_COLOUR / (lut.max - lut.min);
        byte[] colours = new byte[distances.length];
        for (int i = 0; i < colours.length; i++) {
            double colour = Math.rint((distances[i] - lut.min) * scale);
            colours[i] = (byte) (int) Math.max(0, Math.min(LAST_COLOUR, colour));
        }
        int width = image.getWidth();
        for (int i = 0; i < colours.length; i++) {
            if (mask[i] != 0 && isOnBoundary(i, width)) {
                colours[i] = (byte) BOUNDARY_INDEX;
            } else if (colours[i] == BOUNDARY_INDEX) {
                colours[i]++;
            }
        }
        return Shading.picture(colours, width, translucent(lut));
    }

    private boolean isOnBoundary(int pixel, int width) {
        int x = pixel % width;
        return x > 0 && mask[pixel - 1] == 0
                || x < width - 1 && mask[pixel + 1] == 0
                || pixel >= width && mask[pixel - width] == 0
                || pixel + width < mask.length && mask[pixel + width] == 0;
    }

    private static int[] translucent(LUT lut) {
        int[] colours = new int[LAST_COLOUR + 1];
        for (int i = 0; i < colours.length; i++) {
            colours[i] = lut.getRGB(i) & 0xffffff | OPACITY << 24;
        }
        colours[BOUNDARY_INDEX] = BOUNDARY.getRGB();
        return colours;
    }
}
