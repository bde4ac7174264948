package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.DialogListener;
import ij.gui.GenericDialog;
import ij.gui.MultiLineLabel;
import ij.measure.Calibration;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.awt.AWTEvent;
import java.util.List;
import java.util.Locale;

/** The dialog of the edge strength command. The first word of each label is the macro key. */
final class EdgeStrengthDialog implements DialogListener {
    private static final int COLUMNS = 8;
    private static final int MOST_DECIMALS = 9;

    private final ImagePlus image;
    private final boolean stack;
    private final GenericDialog dialog = new GenericDialog(EdgeStrengthPlugin.COMMAND);
    private final List<DeviceInfo> devices;
    private EdgeStrengthSettings settings;
    private String complaint;
    private MultiLineLabel hint;

    private EdgeStrengthDialog(ImagePlus image, EdgeStrengthSettings remembered)
            throws IsolineException {
        this.image = image;
        stack = image.getStackSize() > 1;
        devices = DeviceInfo.list();
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
        dialog.addChoice("Device", DefaultDevice.choices(devices).toArray(new String[0]), s.device);
        number("Rho (decay length)", s.rho, "pixels");
        dialog.addChoice(
                "Mode",
                new String[] {EdgeStrengthSettings.ITERATE, EdgeStrengthSettings.CONVERGED},
                s.mode);
        number("Iterations", s.iterations, "(mode iterations)");
        // Negative digits: scientific notation where it is needed.
        dialog.addNumericField("Tolerance", s.tolerance, -2, COLUMNS, "(mode converged)");
        dialog.addChoice(
                "Foreground is",
                new String[] {EdgeStrengthSettings.ABOVE, EdgeStrengthSettings.BELOW},
                s.foreground);
        number(
                "Threshold",
                s.threshold,
                EdgeStrengthJob.isSigned16(image) ? "signed pixel value" : "raw pixel value");
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
        number("Time_step", s.timeStep, "(0 = automatic)");
        dialog.addMessage(hintText());
        hint = (MultiLineLabel) dialog.getMessage();
        dialog.addMessage(
                "Isoline "
                        + NativeLoader.pluginVersion()
                        + ", library "
                        + NativeLoader.libraryVersion()
                        + "; method: Kele\u015f 2016");
        dialog.addHelp(Help.text("edge-strength"));
        dialog.addDialogListener(this);
    }

    /**
     * A field that shows as many decimals as the value has, so that what is seen is what is used.
     */
    private void number(String label, double value, String unit) {
        int decimals = 0;
        while (decimals < MOST_DECIMALS
                && Double.parseDouble(String.format(Locale.ROOT, "%." + decimals + "f", value))
                        != value) {
            decimals++;
        }
        dialog.addNumericField(label, value, decimals, COLUMNS, unit);
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
        hint.setText(hintText());
        if (hint.getPreferredSize().width > hint.getWidth()
                || hint.getPreferredSize().height > hint.getHeight()) {
            dialog.pack();
        }
        return complaint == null;
    }

    /** What the numbers mean for this image, or what is wrong with them. */
    private String hintText() {
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
        text.append('\n').append(length());
        text.append('\n').append(Host.wrap(automatic()));
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
        return "Rho: " + number(settings.rho) + " pixels = " + size + " " + calibration.getUnits();
    }

    /** What "auto" stands for on this computer. */
    private String automatic() {
        String why = "";
        for (DeviceInfo device : devices) {
            if (device.isCuda() && device.isUsable()) {
                return "Device auto: " + device;
            }
            if (device.isCuda() && why.isEmpty()) {
                why = ", because " + device.reason();
            }
        }
        return "Device auto: " + devices.get(0) + why;
    }

    private static String number(double value) {
        return ij.IJ.d2s(value, value == Math.rint(value) ? 0 : 3);
    }
}
