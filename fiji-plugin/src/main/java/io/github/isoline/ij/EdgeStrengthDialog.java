package io.github.isoline.ij;

import ij.ImagePlus;
import ij.measure.Calibration;
import io.github.isoline.IsolineException;

/**
 * The dialog of the edge strength command, with a preview of the shape. It does not block: a threshold can be set while
 * it is open.
 */
final class EdgeStrengthDialog extends OperationDialog<EdgeStrengthSettings> {
    private EdgeStrengthDialog(ImagePlus image) throws BadInput, IsolineException {
        super(image, EdgeStrengthPlugin.COMMAND, first(image));
    }

    /** Shows the dialog; null if it was cancelled. */
    static EdgeStrengthSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> new EdgeStrengthDialog(image).ask());
    }

    /** Returns the parameters chosen last, as far as they fit this image. */
    private static EdgeStrengthSettings first(ImagePlus image) throws BadInput, IsolineException {
        EdgeStrengthSettings s = new EdgeStrengthSettings();
        s.readPrefs(image.getBitDepth());
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            // Bright pixels are above the threshold, except with an inverting LUT.
            boolean above = ShapeThreshold.areThingsBright() != image.isInvertedLut();
            s.set(EdgeStrengthSettings.FOREGROUND, above ? EdgeStrengthSettings.ABOVE : EdgeStrengthSettings.BELOW);
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            s.set(EdgeStrengthSettings.FOREGROUND, EdgeStrengthSettings.THRESHOLDED);
            s.set(EdgeStrengthSettings.START, EdgeStrengthSettings.MASK);
        } else if (!s.usesThreshold()) {
            s.set(EdgeStrengthSettings.FOREGROUND, EdgeStrengthSettings.ABOVE);
        }
        s.set(EdgeStrengthSettings.THRESHOLD, ShapeThreshold.proposal(image));
        return s;
    }

    @Override
    void build() throws IsolineException {
        addDevices();
        add(
                EdgeStrengthSettings.RHO,
                EdgeStrengthSettings.MODE,
                EdgeStrengthSettings.ITERATIONS,
                EdgeStrengthSettings.TOLERANCE,
                EdgeStrengthSettings.FOREGROUND,
                EdgeStrengthSettings.THRESHOLD,
                EdgeStrengthSettings.START);
        if (stack) {
            add(Settings.STACK);
        }
        addAxes();
        add(EdgeStrengthSettings.TIME_STEP);
        addPreview();
        addFooter("Kele\u015f 2016", "edge-strength");
    }

    @Override
    LivePreview<EdgeStrengthSettings> newPreview() {
        return new EdgeStrengthPreview(image, this);
    }

    @Override
    void check() throws BadInput {
        refuse(settings.problem());
        EdgeStrengthJob.check(image, settings.isVolume());
        if (!settings.usesThreshold()) {
            InsideTest.byShownThreshold(image);
        }
    }

    @Override
    String previewProblem() {
        return settings.shapeProblem();
    }

    /** Returns the meaning of the parameters for this image, or the problem with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(problemOr(shape()));
        if (image.isInvertedLut()) {
            text.append("\nThis image has an inverting LUT: its dark pixels have the high values.");
        }
        String planes = settings.axes().of(image).describe();
        text.append(planes.isEmpty() ? "" : "\nTakes " + planes);
        text.append('\n').append(length());
        text.append(previewLine());
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    private String shape() {
        if (!settings.usesThreshold()) {
            return "Shape: what Image > Adjust > Threshold marks.";
        }
        boolean below = settings.is(EdgeStrengthSettings.FOREGROUND, EdgeStrengthSettings.BELOW);
        return "Shape: pixels "
                + (below ? "<= " : "> ")
                + (settings.needsValues() ? "the lower of two values" : settings.text(EdgeStrengthSettings.THRESHOLD))
                + " (as they are stored, whatever the LUT shows)";
    }

    private String length() {
        double rho = settings.number(EdgeStrengthSettings.RHO);
        if (!(rho > 0)) {
            return " ";
        }
        Calibration calibration = image.getCalibration();
        if (!calibration.scaled()) {
            return "Rho: " + number(rho) + " pixels (the image has no scale)";
        }
        String x = number(rho * calibration.pixelWidth);
        String y = number(rho * calibration.pixelHeight);
        String size = x.equals(y) ? x : x + " x " + y;
        if (settings.isVolume()) {
            size += " x " + number(rho * calibration.pixelDepth) + " (z)";
        }
        return "Rho: " + number(rho) + " pixels = " + size + " " + VoxelSize.unit(calibration);
    }
}
