package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.DialogListener;
import ij.gui.GenericDialog;
import ij.gui.MultiLineLabel;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * What the dialogs of the operations share: the device, number fields, and a hint that says what
 * the fields mean for this image, or what is wrong with them.
 */
abstract class OperationDialog implements DialogListener {
    private static final int COLUMNS = 8;
    private static final int MOST_DECIMALS = 9;
    private static final double SMALL = 0.01;

    /** Images with an open dialog: two previews on one image would take each other's overlay. */
    private static final Set<ImagePlus> ASKED = Collections.newSetFromMap(new IdentityHashMap<>());

    final ImagePlus image;
    final boolean stack;
    final GenericDialog dialog;

    /** As they were when the dialog was made, whatever happens to the image meanwhile. */
    private final int channels;

    private final int frames;
    private final List<DeviceInfo> devices;
    private final Object hintLock = new Object();
    private MultiLineLabel hint;

    OperationDialog(ImagePlus image, GenericDialog dialog) throws IsolineException {
        this.image = image;
        this.dialog = dialog;
        stack = image.getStackSize() > 1;
        channels = image.getNChannels();
        frames = image.getNFrames();
        devices = DeviceInfo.list();
    }

    /** What a dialog finds out. */
    @FunctionalInterface
    interface Question<S> {
        S ask() throws BadInput, IsolineException;
    }

    /** Asks while no other dialog with a preview is open for the image. */
    static <S> S alone(ImagePlus image, Question<S> question) throws BadInput, IsolineException {
        synchronized (ASKED) {
            // Such a dialog does not block: nothing else keeps a person from opening another.
            if (!ASKED.add(image)) {
                throw new BadInput(
                        "A dialog for \""
                                + image.getTitle()
                                + "\" is open already. Close it before you open another.");
            }
        }
        try {
            return question.ask();
        } finally {
            synchronized (ASKED) {
                ASKED.remove(image);
            }
        }
    }

    /** The text of the hint. */
    abstract String hintText();

    final void addDevices(String chosen) {
        dialog.addChoice("Device", DefaultDevice.choices(devices).toArray(new String[0]), chosen);
    }

    /** A switch for each axis of a hyperstack that the image has. */
    final void addAxes(AxisChoice choice) {
        if (channels > 1) {
            dialog.addCheckbox("All_channels (" + channels + ")", choice.allChannels);
        }
        if (frames > 1) {
            dialog.addCheckbox("All_frames (" + frames + ")", choice.allFrames);
        }
    }

    /** What the switches say; an axis that the image has not is off. */
    final AxisChoice nextAxes() {
        AxisChoice choice = new AxisChoice();
        choice.allChannels = channels > 1 && dialog.getNextBoolean();
        choice.allFrames = frames > 1 && dialog.getNextBoolean();
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

    /** Writes the hint anew. On the event thread, or on the one that opens the dialog. */
    final void refreshHint() {
        // Of these two none may write an older text over a newer one.
        synchronized (hintLock) {
            String text = hintText();
            hint.setText(text);
            // The label paints its text: nothing else could read it.
            hint.getAccessibleContext().setAccessibleDescription(text);
        }
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
