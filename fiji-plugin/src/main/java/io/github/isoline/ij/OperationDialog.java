package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.DialogListener;
import ij.gui.GenericDialog;
import ij.gui.MultiLineLabel;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.util.List;
import java.util.Locale;

/**
 * What the dialogs of the operations share: the device, number fields, and a hint that says what
 * the fields mean for this image, or what is wrong with them.
 */
abstract class OperationDialog implements DialogListener {
    private static final int COLUMNS = 8;
    private static final int MOST_DECIMALS = 9;
    private static final double SMALL = 0.01;

    final ImagePlus image;
    final boolean stack;
    final GenericDialog dialog;
    private final List<DeviceInfo> devices;
    private MultiLineLabel hint;

    OperationDialog(ImagePlus image, GenericDialog dialog) throws IsolineException {
        this.image = image;
        this.dialog = dialog;
        stack = image.getStackSize() > 1;
        devices = DeviceInfo.list();
    }

    /** The text of the hint. */
    abstract String hintText();

    final void addDevices(String chosen) {
        dialog.addChoice("Device", DefaultDevice.choices(devices).toArray(new String[0]), chosen);
    }

    /** A switch for each axis of a hyperstack that the image has. */
    final void addAxes(AxisChoice choice) {
        if (image.getNChannels() > 1) {
            dialog.addCheckbox("All_channels (" + image.getNChannels() + ")", choice.allChannels);
        }
        if (image.getNFrames() > 1) {
            dialog.addCheckbox("All_frames (" + image.getNFrames() + ")", choice.allFrames);
        }
    }

    /** What the switches say; an axis that the image has not is off. */
    final AxisChoice nextAxes() {
        AxisChoice choice = new AxisChoice();
        if (image.getNChannels() > 1) {
            choice.allChannels = dialog.getNextBoolean();
        }
        if (image.getNFrames() > 1) {
            choice.allFrames = dialog.getNextBoolean();
        }
        return choice;
    }

    /**
     * A field that shows as many decimals as the value has, so that what is seen is what is used.
     */
    final void addNumber(String label, double value, String unit) {
        int decimals = 0;
        while (decimals < MOST_DECIMALS
                && Double.parseDouble(String.format(Locale.ROOT, "%." + decimals + "f", value))
                        != value) {
            decimals++;
        }
        dialog.addNumericField(label, value, decimals, COLUMNS, unit);
    }

    /** A field for numbers in scientific notation. */
    final void addSmallNumber(String label, double value, String unit) {
        // Negative digits: scientific notation where it is needed.
        dialog.addNumericField(label, value, -2, COLUMNS, unit);
    }

    /** The hint, the versions and the help: the end of every dialog. */
    final void addFooter(String method, String helpPage) throws IsolineException {
        dialog.addMessage(hintText());
        hint = (MultiLineLabel) dialog.getMessage();
        dialog.addMessage(
                "Isoline "
                        + NativeLoader.pluginVersion()
                        + ", library "
                        + NativeLoader.libraryVersion()
                        + "; method: "
                        + method);
        dialog.addHelp(Help.text(helpPage));
        dialog.addDialogListener(this);
    }

    /** Writes the hint anew. On the event thread. */
    final void refreshHint() {
        String text = hintText();
        hint.setText(text);
        // The label paints its text: nothing else could read it.
        hint.getAccessibleContext().setAccessibleDescription(text);
        boolean tooSmall =
                hint.getPreferredSize().width > hint.getWidth()
                        || hint.getPreferredSize().height > hint.getHeight();
        if (tooSmall && dialog.isShowing()) {
            dialog.pack();
        }
    }

    /** What "auto" stands for on this computer. */
    final String automaticDevice() {
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

    /** Three decimals, or scientific notation where they would say nothing. */
    static String number(double value) {
        if (value == Math.rint(value)) {
            return IJ.d2s(value, 0);
        }
        return IJ.d2s(value, Math.abs(value) < SMALL ? -3 : 3);
    }
}
