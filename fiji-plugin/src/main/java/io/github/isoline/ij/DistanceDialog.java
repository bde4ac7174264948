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
import java.awt.image.BufferedImage;
import java.util.List;
import java.util.Locale;

/**
 * The dialog of the signed distance command, with a live preview. It does not block: a selection can be drawn or a
 * threshold set while it is open.
 */
final class DistanceDialog extends OperationDialog<DistanceSettings> {
    DistanceDialog(ImagePlus image, DistanceSettings defaults) throws IsolineException {
        super(image, Isoline.SIGNED_DISTANCE.command, "Felzenszwalb, Huttenlocher; Meijster et al.", defaults);
    }

    @Override
    void fit() throws BadInput {
        boolean selection = image.getRoi() != null && image.getRoi().isArea();
        if (settings.is(DistanceSettings.INSIDE, DistanceSettings.SELECTION) && selection) {
            return;
        }
        String inside = settings.usesThreshold() ? settings.text(DistanceSettings.INSIDE) : DistanceSettings.BRIGHT;
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            boolean bright = ShapeThreshold.areThingsBright();
            inside = bright ? DistanceSettings.BRIGHT : DistanceSettings.DARK;
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            inside = DistanceSettings.THRESHOLDED;
        }
        settings.set(DistanceSettings.INSIDE, inside);
        settings.set(DistanceSettings.THRESHOLD, ShapeThreshold.proposal(image));
    }

    @Override
    LivePreview<DistanceSettings> newPreview() {
        return new Preview(image, this);
    }

    @Override
    void check() throws BadInput {
        if (settings.is(DistanceSettings.INSIDE, DistanceSettings.THRESHOLDED)) {
            InsideTest.byShownThreshold(image);
        } else if (settings.is(DistanceSettings.INSIDE, DistanceSettings.SELECTION)) {
            StartSurface.areaSelection(image, "inside=selection");
        }
    }

    @Override
    void hint(List<String> lines) {
        lines.add(Host.wrap(scope()));
        lines.add(previewLine());
    }

    @Override
    String meaning() {
        switch (settings.text(DistanceSettings.INSIDE)) {
            case DistanceSettings.SELECTION:
                return "Inside: the image's selection, the same in every slice.";
            case DistanceSettings.THRESHOLDED:
                return "Inside: what Image > Adjust > Threshold marks.";
            default:
                boolean bright = settings.is(DistanceSettings.INSIDE, DistanceSettings.BRIGHT);
                boolean above = bright != image.isInvertedLut();
                String than = settings.needsValues() ? "the lower of two" : settings.text(DistanceSettings.THRESHOLD);
                return String.format(
                        "Inside: %s pixels, value %s%s. A selection is ignored.",
                        bright ? "bright" : "dark", above ? "> " : "<= ", than);
        }
    }

    private String scope() {
        String planes = taken("");
        return VoxelSize.describe(
                image,
                settings.isVolume(),
                size -> "Distances in " + size.unit + ", pixels of " + size.sides(settings.isVolume())
                        + (planes.isEmpty() ? "" : ".\nTakes " + planes) + size.attention(".\n"));
    }

    /** Shows the current slice's distances over it, half transparent, and the boundary. */
    private static final class Preview extends LivePreview<DistanceSettings> {
        private static final int OPACITY = 140;

        /** The colour of inside pixels on the boundary, yellow. */
        private static final int BOUNDARY = 0xffffe800;

        /** The index of that colour; the neighbouring white of the LUT hardly differs. */
        private static final int BOUNDARY_INDEX = 127;

        private static final int LAST_COLOUR = 255;

        // Only the worker uses this field.
        private byte[] mask;

        Preview(ImagePlus image, Listener listener) {
            super(image, listener);
            followSelection();
        }

        @Override
        String compute(DistanceSettings settings, boolean draw) throws IsolineException {
            int slice = image.getCurrentSlice();
            HyperStackSelection channel = settings.planes(image).inChannel(slice);
            TwoValues found = values(settings.needsValues() ? channel.indices() : new int[0]);
            if (found == null) {
                return null;
            }
            InsideTest test = settings.insideTest(image, found);
            mask = new byte[image.getWidth() * image.getHeight()];
            int inside = test.mark(test.isSelection() ? null : Pixels.of(image, slice), mask);
            String status = String.format(Locale.ROOT, "%.3g %% inside", percent(inside, mask.length));
            boolean boundary = inside > 0 && inside < mask.length;
            if (!draw || !boundary) {
                hide();
                String where = image.getStackSize() > 1 ? " in this slice" : "";
                return status + (draw ? where + ": no boundary" : "; not drawn");
            }
            PixelBuffer output = buffer("output", settings.device(), PixelBuffer.Type.F32);
            Report report = run(settings, output);
            float[] distances = new float[mask.length];
            output.read(0, distances);
            BufferedImage picture = picture(settings.text(DistanceSettings.REGION), distances);
            show(() -> {
                Roi roi = new ImageRoi(0, 0, picture);
                return new Roi[] {GuestOverlay.element(roi, "Isoline preview", channel, slice)};
            });
            status += timed(report);
            return settings.isVolume()
                    ? status + "; of this slice by itself: in the volume distances are the same or less"
                    : status;
        }

        private Report run(DistanceSettings settings, PixelBuffer output) throws IsolineException {
            PixelBuffer input = buffer("mask", settings.device(), PixelBuffer.Type.U8);
            VoxelSize size = new VoxelSize(image, false);
            input.setSpacing(size.x, size.y, size.z);
            input.write(0, mask);
            Params params = settings.toParams().set("dimensions", "slices");
            return run(
                    settings.device(),
                    (context, progress) -> Distance.run(context, params, input, output, 1, progress));
        }

        private BufferedImage picture(String region, float[] distances) {
            GreyRange range = GreyRange.of(distances);
            LUT lut = BoundaryColours.of(region, range.min, range.max);
            double scale = LAST_COLOUR / (lut.max - lut.min);
            int width = image.getWidth();
            byte[] indices = new byte[distances.length];
            for (int i = 0; i < indices.length; i++) {
                int index = (int) Math.max(0, Math.min(LAST_COLOUR, Math.rint((distances[i] - lut.min) * scale)));
                index += index == BOUNDARY_INDEX ? 1 : 0;
                indices[i] = (byte) (mask[i] != 0 && isOnBoundary(i, width) ? BOUNDARY_INDEX : index);
            }
            int[] colours = new int[LAST_COLOUR + 1];
            for (int i = 0; i < colours.length; i++) {
                colours[i] = lut.getRGB(i) & 0xffffff | OPACITY << 24;
            }
            colours[BOUNDARY_INDEX] = BOUNDARY;
            return Shading.picture(indices, width, colours);
        }

        private boolean isOnBoundary(int pixel, int width) {
            int x = pixel % width;
            return x > 0 && mask[pixel - 1] == 0
                    || x < width - 1 && mask[pixel + 1] == 0
                    || pixel >= width && mask[pixel - width] == 0
                    || pixel + width < mask.length && mask[pixel + width] == 0;
        }
    }
}
