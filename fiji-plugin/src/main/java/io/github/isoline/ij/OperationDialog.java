package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.DialogListener;
import ij.gui.GenericDialog;
import ij.gui.MultiLineLabel;
import ij.plugin.frame.Recorder;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.awt.Button;
import java.awt.Checkbox;
import java.awt.Component;
import java.awt.Container;
import java.awt.Label;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the dialogs of the operations share: the device, number fields, and a hint that says what
 * the fields mean for this image, or what is wrong with them.
 */
abstract class OperationDialog implements DialogListener, LivePreview.Listener {
    private static final int COLUMNS = 8;
    private static final int MOST_DECIMALS = 9;
    private static final double SMALL = 0.01;

    /** A macro key, and with "=" a word for it. */
    private static final Pattern KEY =
            Pattern.compile("\\b([a-z]+(?:_[a-z]+)*)\\b(?:=([a-z]+)\\b)?");

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

    /** Why the command could not run with what the fields say; null if it could. */
    private String complaint;

    /** What the preview found to be in the way, which may take too long to look for here. */
    private String refusal;

    private String previewStatus = "";

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

    /**
     * True if the dialog was cancelled, which the recorder would take for a run without options.
     */
    final boolean isCancelled() {
        boolean cancelled = dialog.wasCanceled();
        if (cancelled && Recorder.record) {
            Recorder.setCommand(null);
        }
        return cancelled;
    }

    /** The text of the hint. */
    abstract String hintText();

    /** Refuses settings with which the command could not run on the image as it is now. */
    abstract void check() throws BadInput;

    static void refuse(String complaint) throws BadInput {
        if (complaint != null) {
            throw new BadInput(complaint);
        }
    }

    /** Checks the settings, after the fields or the image have changed. */
    final boolean isRunnable() {
        try {
            check();
            complaint = null;
        } catch (BadInput e) {
            complaint = inLabels(e.getMessage());
        }
        return complaint == null && refusal == null;
    }

    /** Why the command could not run; else, what its settings mean. */
    final String complaintOr(String meaning) {
        String why = complaint != null ? complaint : refusal;
        return Host.wrap(why != null ? why : meaning);
    }

    /** Checks what was not changed in the fields: the selection, say. On the event thread. */
    private void checkAgain() {
        boolean runnable = isRunnable();
        Button ok = dialog.getButtons()[0];
        if (ok != null) {
            ok.setEnabled(runnable);
        }
        refreshHint();
    }

    /**
     * Asks for a preview, or takes it away.
     *
     * @param fault of the settings by themselves; null if there is none
     */
    final <S> void requestPreview(LivePreview<S> preview, S settings, boolean draw, String fault) {
        refusal = null;
        previewStatus = fault == null ? "computing..." : "none";
        if (fault == null) {
            preview.request(settings, draw);
        } else {
            preview.clear();
        }
    }

    final String previewLine() {
        return "\nPreview: " + Host.wrap(previewStatus);
    }

    @Override
    public final void status(String text) {
        refusal = null;
        previewStatus = text;
        checkAgain();
    }

    @Override
    public final void refused(String why) {
        refusal = inLabels(why);
        previewStatus = "none";
        checkAgain();
    }

    @Override
    public final void imageClosed() {
        dialog.windowClosing(null);
    }

    /**
     * A message in the words of the dialog: macro keys become the labels of their fields, and
     * key=word the choice in it.
     */
    final String inLabels(String message) {
        Matcher matcher = KEY.matcher(message);
        StringBuffer text = new StringBuffer();
        while (matcher.find()) {
            boolean first = matcher.start() == 0;
            boolean chosen = matcher.group(2) != null;
            // A single word may be one of the sentence.
            boolean isKey = first || chosen || matcher.group(1).indexOf('_') > 0;
            String label = isKey ? label(matcher.group(1)) : null;
            String words = matcher.group();
            if (label != null) {
                words = chosen ? label + " \"" + matcher.group(2) + "\"" : label;
            }
            matcher.appendReplacement(text, Matcher.quoteReplacement(words));
        }
        return matcher.appendTail(text).toString();
    }

    /** The label of a key's field, without what explains it; null if the dialog has none. */
    private String label(String key) {
        for (Component component : everything(dialog)) {
            String text =
                    component instanceof Label
                            ? ((Label) component).getText()
                            : component instanceof Checkbox
                                    ? ((Checkbox) component).getLabel()
                                    : "";
            text = text.trim().replaceAll(" \\(.*|:$", "").replace('_', ' ');
            String start = text.toLowerCase(Locale.ROOT) + " ";
            if (start.startsWith(key.replace('_', ' ') + " ")) {
                return text;
            }
        }
        return null;
    }

    private static List<Component> everything(Container root) {
        List<Component> found = new ArrayList<>();
        for (Component child : root.getComponents()) {
            found.add(child);
            if (child instanceof Container) {
                found.addAll(everything((Container) child));
            }
        }
        return found;
    }

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
        isRunnable();
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
        dialog.addWindowListener(
                new WindowAdapter() {
                    @Override
                    public void windowOpened(WindowEvent event) {
                        // The preview may have been ready before there was a button to disable.
                        checkAgain();
                    }
                });
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
