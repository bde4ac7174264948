package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.Calibration;
import io.github.isoline.IsolineException;
import java.util.List;
import java.util.Locale;

/**
 * The dialog of the edge strength command, with a preview of the shape. It does not block: a threshold can be set while
 * it is open.
 */
final class EdgeStrengthDialog extends OperationDialog<EdgeStrengthSettings> {
    EdgeStrengthDialog(ImagePlus image, EdgeStrengthSettings defaults) throws IsolineException {
        super(image, Isoline.EDGE_STRENGTH.command, "Kele\u015f 2016", defaults);
    }

    @Override
    void fit() throws BadInput {
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            // Bright pixels are above the threshold, except with an inverting LUT.
            boolean above = ShapeThreshold.areThingsBright() != image.isInvertedLut();
            settings.set(
                    EdgeStrengthSettings.FOREGROUND, above ? EdgeStrengthSettings.ABOVE : EdgeStrengthSettings.BELOW);
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            settings.set(EdgeStrengthSettings.FOREGROUND, EdgeStrengthSettings.THRESHOLDED);
            settings.set(EdgeStrengthSettings.START, EdgeStrengthSettings.MASK);
        } else if (!settings.usesThreshold()) {
            settings.set(EdgeStrengthSettings.FOREGROUND, EdgeStrengthSettings.ABOVE);
        }
        settings.set(EdgeStrengthSettings.THRESHOLD, ShapeThreshold.proposal(image));
    }

    @Override
    LivePreview<EdgeStrengthSettings> newPreview() {
        return new Preview(image, this);
    }

    @Override
    void check() throws BadInput {
        if (!settings.usesThreshold()) {
            InsideTest.byShownThreshold(image);
        }
    }

    @Override
    String previewProblem() {
        return settings.shapeProblem();
    }

    @Override
    void hint(List<String> lines) {
        String planes = taken("");
        if (!planes.isEmpty()) {
            lines.add("Takes " + planes);
        }
        lines.add(length());
        lines.add(previewLine());
    }

    @Override
    String meaning() {
        if (!settings.usesThreshold()) {
            return "Shape: what Image > Adjust > Threshold marks.";
        }
        boolean below = settings.is(EdgeStrengthSettings.FOREGROUND, EdgeStrengthSettings.BELOW);
        return String.format(
                "Shape: pixels %s%s (whatever the LUT shows)",
                below ? "<= " : "> ",
                settings.needsValues() ? "the lower of two values" : settings.text(EdgeStrengthSettings.THRESHOLD));
    }

    private String length() {
        double rho = settings.number(EdgeStrengthSettings.RHO);
        if (!(rho > 0)) {
            return " ";
        }
        Calibration calibration = image.getCalibration();
        if (settings.isVolume()) {
            return volumeLength(rho, calibration);
        }
        if (!calibration.scaled()) {
            return "Decay length: " + number(rho) + " pixels (the image has no scale)";
        }
        String x = number(rho * calibration.pixelWidth);
        String y = number(rho * calibration.pixelHeight);
        String size = x.equals(y) ? x : x + " x " + y;
        return "Decay length: " + number(rho) + " pixels = " + size + " " + VoxelSize.unit(calibration);
    }

    /** Returns what the decay length is in a volume, the same in every direction, with the voxel's size. */
    private String volumeLength(double rho, Calibration calibration) {
        return VoxelSize.describe(image, true, size -> {
            String length =
                    calibration.scaled() ? " = " + number(rho * size.x) + " " + size.unit : " (the image has no scale)";
            return Host.wrap("Decay length: " + number(rho) + " pixel widths" + length + ", voxels of "
                    + size.sides(true) + size.attention(".\n"));
        });
    }

    /** Shades the pixels of the current slice that belong to the shape. */
    private static final class Preview extends LivePreview<EdgeStrengthSettings> {
        Preview(ImagePlus image, Listener listener) {
            super(image, listener);
            followSelection();
        }

        @Override
        String compute(EdgeStrengthSettings settings, boolean draw) throws IsolineException {
            int slice = image.getCurrentSlice();
            HyperStackSelection channel = settings.planes(image).inChannel(slice);
            TwoValues found = values(settings.needsValues() ? channel.indices() : new int[0]);
            if (found == null) {
                return null;
            }
            byte[] shade = new byte[image.getWidth() * image.getHeight()];
            int inside = settings.insideTest(image, found).mark(Pixels.of(image, slice), shade);
            String where = image.getStackSize() > 1 ? "this slice" : "the image";
            if (inside == 0 || inside == shade.length) {
                hide();
                return String.format(
                        "Attention: %s of %s is shape: the result will be blank. Look at foreground and threshold.",
                        inside == 0 ? "no pixel" : "every pixel", where);
            }
            if (draw) {
                Roi shading = Shading.of(shade, image.getWidth());
                GuestOverlay.element(shading, "Isoline shape", settings.planes(image), slice);
                show(() -> new Roi[] {shading});
            } else {
                hide();
            }
            return String.format(
                    Locale.ROOT,
                    "%.3g %% of %s is shape%s",
                    percent(inside, shade.length),
                    where,
                    draw ? " (red)" : "");
        }
    }
}
