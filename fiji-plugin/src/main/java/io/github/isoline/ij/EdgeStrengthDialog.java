package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.GenericDialog;
import ij.measure.Calibration;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;

/** The dialog of the edge strength command. The first word of each label is the macro key. */
final class EdgeStrengthDialog extends OperationDialog {
    private EdgeStrengthSettings settings;
    private String complaint;

    private EdgeStrengthDialog(ImagePlus image, EdgeStrengthSettings remembered)
            throws IsolineException {
        super(image, new GenericDialog(EdgeStrengthPlugin.COMMAND));
        settings = remembered;
    }

    /** Shows the dialog; null if it was cancelled. */
    static EdgeStrengthSettings ask(ImagePlus image) throws IsolineException {
        EdgeStrengthDialog asker = new EdgeStrengthDialog(image, EdgeStrengthSettings.fromPrefs());
        asker.build();
        asker.dialog.showDialog();
        if (asker.dialog.wasCanceled()) {
            return null;
        }
        // Closing with OK made the listener read the fields once more, for the macro recorder.
        asker.settings.savePrefs();
        return asker.settings;
    }

    private void build() throws IsolineException {
        EdgeStrengthSettings s = settings;
        addDevices(s.device);
        addNumber("Rho (decay length)", s.rho, "pixels");
        dialog.addChoice(
                "Mode",
                new String[] {EdgeStrengthSettings.ITERATE, EdgeStrengthSettings.CONVERGED},
                s.mode);
        addNumber("Iterations", s.iterations, "(mode iterations)");
        addSmallNumber("Tolerance", s.tolerance, "(mode converged)");
        dialog.addChoice(
                "Foreground is",
                new String[] {EdgeStrengthSettings.ABOVE, EdgeStrengthSettings.BELOW},
                s.foreground);
        addNumber(
                "Threshold",
                s.threshold,
                StackJob.isSigned16(image) ? "signed pixel value" : "raw pixel value");
        dialog.addChoice(
                "Start from",
                new String[] {EdgeStrengthSettings.MASK, EdgeStrengthSettings.IMAGE},
                s.start);
        if (stack) {
            dialog.addChoice(
                    "Stack as",
                    new String[] {EdgeStrengthSettings.SLICES, EdgeStrengthSettings.VOLUME},
                    s.stack);
        }
        addAxes(s.axes);
        addNumber("Time_step", s.timeStep, "(0 = automatic)");
        addFooter("Kele\u015f 2016", "edge-strength");
    }

    @Override
    public boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        EdgeStrengthSettings s = new EdgeStrengthSettings();
        s.device = dialog.getNextChoice();
        s.rho = dialog.getNextNumber();
        s.mode = dialog.getNextChoice();
        double iterations = dialog.getNextNumber();
        s.iterations = (long) iterations;
        s.tolerance = dialog.getNextNumber();
        s.foreground = dialog.getNextChoice();
        s.threshold = dialog.getNextNumber();
        s.start = dialog.getNextChoice();
        if (stack) {
            s.stack = dialog.getNextChoice();
        }
        s.axes = nextAxes();
        s.timeStep = dialog.getNextNumber();
        settings = s;
        complaint =
                iterations == s.iterations ? s.complaint() : "Iterations must be a whole number.";
        if (complaint == null) {
            try {
                EdgeStrengthJob.check(image, s.isVolume());
            } catch (BadInput e) {
                complaint = e.getMessage();
            }
        }
        refreshHint();
        return complaint == null;
    }

    /** What the numbers mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        if (complaint != null) {
            text.append(Host.wrap(complaint));
        } else {
            text.append("Shape: pixels ")
                    .append(EdgeStrengthSettings.BELOW.equals(settings.foreground) ? "<= " : "> ")
                    .append(number(settings.threshold))
                    .append(" (pixel values as stored, whatever the LUT shows)");
        }
        if (image.isInvertedLut()) {
            text.append("\nThis image has an inverting LUT: its dark pixels have the high values.");
        }
        String planes = settings.axes.of(image).describe();
        text.append(planes.isEmpty() ? "" : "\nTakes " + planes);
        text.append('\n').append(length());
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    private String length() {
        if (!(settings.rho > 0)) {
            return " ";
        }
        Calibration calibration = image.getCalibration();
        if (!calibration.scaled()) {
            return "Rho: " + number(settings.rho) + " pixels (the image has no scale)";
        }
        String x = number(settings.rho * calibration.pixelWidth);
        String y = number(settings.rho * calibration.pixelHeight);
        String size = x.equals(y) ? x : x + " x " + y;
        if (settings.isVolume()) {
            size += " x " + number(settings.rho * calibration.pixelDepth) + " (z)";
        }
        return "Rho: "
                + number(settings.rho)
                + " pixels = "
                + size
                + " "
                + VoxelSize.unit(calibration);
    }
}
