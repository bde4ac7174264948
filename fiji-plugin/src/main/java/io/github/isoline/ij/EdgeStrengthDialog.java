package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import ij.measure.Calibration;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;

/**
 * The dialog of the edge strength command, with a preview of the shape. It does not block: a
 * threshold can be set while it is open. The first word of each label is the macro key.
 */
final class EdgeStrengthDialog extends OperationDialog {
    private static final String PREVIEW_PREFS = "isoline.edge_strength.preview";
    private static final int COLUMNS = 8;

    private EdgeStrengthSettings settings;
    private double iterations;
    private boolean drawPreview = Prefs.get(PREVIEW_PREFS, true);
    private EdgeStrengthPreview preview;

    private EdgeStrengthDialog(ImagePlus image, EdgeStrengthSettings first)
            throws IsolineException {
        super(image, new NonBlockingGenericDialog(EdgeStrengthPlugin.COMMAND));
        settings = first;
        iterations = first.iterations;
    }

    /** Shows the dialog; null if it was cancelled. */
    static EdgeStrengthSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> askOnce(image));
    }

    private static EdgeStrengthSettings askOnce(ImagePlus image) throws BadInput, IsolineException {
        EdgeStrengthDialog asker = new EdgeStrengthDialog(image, first(image));
        asker.build();
        asker.preview = new EdgeStrengthPreview(image, asker);
        try {
            asker.requestPreview();
            asker.dialog.showDialog();
        } finally {
            asker.preview.close();
        }
        if (asker.isCancelled()) {
            return null;
        }
        asker.settings.savePrefs();
        Prefs.set(PREVIEW_PREFS, asker.drawPreview);
        asker.settings.options().record(EdgeStrengthPlugin.COMMAND);
        return asker.settings;
    }

    /** What was chosen last, and what of it fits this image. */
    private static EdgeStrengthSettings first(ImagePlus image) throws BadInput {
        EdgeStrengthSettings s = EdgeStrengthSettings.fromPrefs();
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            // Bright is above the threshold, but where an inverting LUT shows it.
            boolean above = ShapeThreshold.areThingsBright() != image.isInvertedLut();
            s.foreground = above ? EdgeStrengthSettings.ABOVE : EdgeStrengthSettings.BELOW;
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            s.foreground = EdgeStrengthSettings.THRESHOLDED;
            s.start = EdgeStrengthSettings.MASK;
        } else if (!s.usesThreshold()) {
            s.foreground = EdgeStrengthSettings.ABOVE;
        }
        s.threshold = ShapeThreshold.proposal(image);
        return s;
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
        dialog.addChoice("Foreground is", EdgeStrengthSettings.FOREGROUNDS, s.foreground);
        dialog.addStringField("Threshold (above, below)", s.threshold, COLUMNS);
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
        dialog.addCheckbox("Preview", drawPreview);
        addFooter("Kele\u015f 2016", "edge-strength");
    }

    @Override
    public boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        EdgeStrengthSettings s = new EdgeStrengthSettings();
        s.device = dialog.getNextChoice();
        s.rho = dialog.getNextNumber();
        s.mode = dialog.getNextChoice();
        iterations = dialog.getNextNumber();
        s.iterations = (long) iterations;
        s.tolerance = dialog.getNextNumber();
        s.foreground = dialog.getNextChoice();
        s.threshold = dialog.getNextString();
        s.start = dialog.getNextChoice();
        if (stack) {
            s.stack = dialog.getNextChoice();
        }
        s.axes = nextAxes();
        s.timeStep = dialog.getNextNumber();
        drawPreview = dialog.getNextBoolean();
        settings = s;
        boolean runnable = isRunnable();
        if (event != null) {
            requestPreview();
        }
        refreshHint();
        return runnable;
    }

    @Override
    void check() throws BadInput {
        if (iterations != settings.iterations) {
            throw new BadInput("Iterations must be a whole number.");
        }
        refuse(settings.complaint());
        EdgeStrengthJob.check(image, settings.isVolume());
        if (!settings.usesThreshold()) {
            InsideTest.byShownThreshold(image);
        }
    }

    private void requestPreview() {
        requestPreview(preview, settings, drawPreview, settings.shapeComplaint());
    }

    /** What the numbers mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(complaintOr(shape()));
        if (image.isInvertedLut()) {
            text.append("\nThis image has an inverting LUT: its dark pixels have the high values.");
        }
        String planes = settings.axes.of(image).describe();
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
        boolean below = EdgeStrengthSettings.BELOW.equals(settings.foreground);
        return "Shape: pixels "
                + (below ? "<= " : "> ")
                + (settings.needsValues() ? "the lower of two values" : settings.threshold)
                + " (as they are stored, whatever the LUT shows)";
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
