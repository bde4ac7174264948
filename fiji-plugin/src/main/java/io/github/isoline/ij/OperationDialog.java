package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Prefs;
import ij.gui.DialogListener;
import ij.gui.GenericDialog;
import ij.gui.MultiLineLabel;
import ij.plugin.frame.Recorder;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.awt.AWTEvent;
import java.awt.Button;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * The common part of the operations' dialogs: a field for each parameter, the device, a preview, and a hint that states
 * the meaning of the fields for this image, or the problem with them.
 *
 * @param <S> the parameters of the dialog
 */
abstract class OperationDialog<S extends Settings> implements DialogListener, LivePreview.Listener {
    // These are the names of preferences.
    private static final String PREVIEW = ".preview";
    private static final String UNFOLDED = ".advanced_unfolded";

    private static final double SMALL = 0.01;
    private static final double LARGE = 1e9;

    /** The digits of large numbers. */
    private static final MathContext DIGITS = new MathContext(6);

    /** Holds images with an open dialog: two previews on one image would replace each other's overlay. */
    private static final Set<ImagePlus> ASKED = Collections.newSetFromMap(new IdentityHashMap<>());

    final ImagePlus image;
    final FieldDialog dialog;
    final ParameterFields<S> fields;
    private final List<DeviceInfo> devices;
    private final String command;
    private final String method;
    private final String prefs;

    /** Holds what is shown only with the advanced parameters. */
    private FieldDialog.Field versions;

    private boolean unfolded;

    /** Holds true if the choice of planes that was remembered does not fit this image. */
    private boolean unfitStack;

    S settings;
    boolean drawPreview;
    LivePreview<S> preview;

    private final Object hintLock = new Object();
    private MultiLineLabel hint;

    /** Holds why the command cannot run with the values of the fields; null if it can. */
    private String problem;

    /** Holds the problem that the preview found, which may take too long to look for here. */
    private String refusal;

    private String previewStatus = "";

    /**
     * Creates a dialog that does not block: the image can be worked on while it is open.
     *
     * @param command its name, without the dots of the menu
     * @param method its authors
     * @param first the defaults
     */
    OperationDialog(ImagePlus image, String command, String method, S first) throws IsolineException {
        this.image = image;
        this.command = command;
        this.method = method;
        dialog = new FieldDialog(command, this::accepts);
        settings = first;
        settings.readPrefs(image.getBitDepth());
        prefs = "isoline." + first.operation.name();
        drawPreview = Prefs.get(prefs + PREVIEW, true);
        unfolded = Prefs.get(prefs + UNFOLDED, false);
        devices = DeviceInfo.list();
        fields = new ParameterFields<>(dialog, image, devices);
        if (!DefaultDevice.choices(devices).contains(settings.device())) {
            // The preference is for a device that is not there today.
            settings.reset(Settings.DEVICE);
        }
        // An axis that the image does not have is off.
        if (fields.channels == 1) {
            settings.reset(Settings.ALL_CHANNELS);
        }
        if (fields.frames == 1) {
            settings.reset(Settings.ALL_FRAMES);
        }
        if (!fields.stack) {
            settings.reset(Settings.STACK);
        }
    }

    /** Resets the choice of planes, which does not fit this image; the one that is remembered stays for others. */
    final void resetStack() {
        settings.reset(Settings.STACK);
        unfitStack = true;
    }

    /** Fits the parameters chosen last to the image. */
    void fit() throws BadInput {}

    /**
     * Adds the fields: basic parameters, outputs, and the advanced parameters, which can be folded; in each of these
     * parts in the order of the macro that repeats a run.
     */
    private void build() throws IsolineException {
        fields.add(
                settings, setting -> !setting.advanced && !setting.output, FieldDialog.Place.ROW_OR_HALF, this::slider);
        fields.addOutputs(settings, this::slider);
        fields.addCheckbox("Preview", drawPreview, on -> drawPreview = on);
        fields.addCheckbox("Advanced", unfolded, on -> unfolded = on);
        fields.add(settings, setting -> setting.advanced, FieldDialog.Place.HALF, this::slider);
        String text = "Isoline " + NativeLoader.pluginVersion() + ", library " + NativeLoader.libraryVersion();
        versions = dialog.add(FieldDialog.Place.ROW, "", () -> dialog.addMessage(text + "; method: " + method));
    }

    /** Shows the fields that apply now; returns true if these are others than before. */
    private boolean showFields() {
        boolean changed = dialog.show(versions, unfolded);
        return fields.show(settings, unfolded) || changed;
    }

    abstract LivePreview<S> newPreview();

    /** Returns the problem with the parameters that the preview shows: all of them; null if there is none. */
    String previewProblem() {
        return settings.problem();
    }

    /** Returns true if OK may close the dialog; asks the user where that would replace something. */
    boolean accepts() {
        return true;
    }

    /** Is called with the values of the fields before they are used. */
    void changed(S asked) {}

    /** Shows the dialog unless another one is open for the image; returns null if it was cancelled. */
    final S ask() throws IsolineException {
        synchronized (ASKED) {
            // Such a dialog does not block, so the user could open a second one.
            if (!ASKED.add(image)) {
                throw new BadInput(
                        "A dialog for \"" + image.getTitle() + "\" is open already. Close it before you open another.");
            }
        }
        try {
            return askAlone();
        } finally {
            synchronized (ASKED) {
                ASKED.remove(image);
            }
        }
    }

    private S askAlone() throws IsolineException {
        fit();
        build();
        built();
        showFields();
        addFooter();
        preview = newPreview();
        try {
            requestPreview();
            dialog.showDialog();
        } finally {
            preview.close();
        }
        if (isCancelled()) {
            return null;
        }
        settings.savePrefs(image.getBitDepth(), this::isChosen);
        Prefs.set(prefs + PREVIEW, drawPreview);
        Prefs.set(prefs + UNFOLDED, unfolded);
        settings.record(command);
        return settings;
    }

    /** Returns true for a parameter that the user could choose; others keep the value that is remembered. */
    private boolean isChosen(Setting setting) {
        boolean left = unfitStack && setting.key.equals(Settings.STACK) && settings.is(setting.key, setting.words[0]);
        return fields.has(setting) && !left;
    }

    @Override
    public final boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        S asked = copy();
        fields.read(asked);
        changed(asked);
        settings = asked;
        boolean runnable = isRunnable();
        if (event != null) {
            requestPreview();
        }
        boolean others = showFields();
        refreshHint();
        if (others && dialog.isShowing()) {
            dialog.pack();
        }
        return runnable;
    }

    @SuppressWarnings("unchecked")
    private S copy() {
        return (S) settings.clone();
    }

    /** Returns true if the dialog was cancelled, which the recorder would record as a run without options. */
    final boolean isCancelled() {
        boolean cancelled = dialog.wasCanceled();
        if (cancelled && Recorder.record) {
            Recorder.setCommand(null);
        }
        return cancelled;
    }

    /** Returns the meaning of the parameters for this image, where they are valid. */
    abstract String meaning();

    /** Returns the planes that the command takes, in words. */
    final String taken(String all) {
        HyperStackSelection planes = settings.planes(image);
        String slice = planes.slices() < image.getNSlices() ? "the current slice" : "";
        String others = planes.describe();
        String both = slice + (slice.isEmpty() || others.isEmpty() ? "" : ", ") + others;
        return both.isEmpty() ? all : both;
    }

    /** Adds further lines to the hint, with the preview's own. */
    void hint(List<String> lines) {
        lines.add(drawPreview ? previewLine() : "Preview: off");
    }

    private String hintText() {
        String why = problem != null ? problem : refusal;
        List<String> lines = new ArrayList<>();
        lines.add(Host.wrap(why != null ? why : meaning()));
        LutHint.add(image, lines);
        hint(lines);
        if (unfolded) {
            lines.add(Host.wrap(automaticDevice()));
        } else if (!fields.folded(settings).isEmpty()) {
            lines.add(Host.wrap("Advanced: " + fields.folded(settings)));
        }
        return String.join("\n", lines);
    }

    /** Refuses parameters with which the command could not run on the current image, beside invalid values. */
    void check() throws BadInput {}

    static void refuse(String problem) throws BadInput {
        if (problem != null) {
            throw new BadInput(problem);
        }
    }

    /** Checks the parameters, after the fields or the image have changed. */
    final boolean isRunnable() {
        try {
            refuse(settings.problem());
            settings.check(image);
            check();
            problem = null;
        } catch (BadInput e) {
            problem = MessageLabels.in(e.getMessage(), settings, fields.keys());
        }
        return problem == null && refusal == null;
    }

    /** Checks again after a change outside the fields, such as the selection. Runs on the event thread. */
    private void checkAgain() {
        boolean runnable = isRunnable();
        Button ok = dialog.getButtons()[0];
        if (ok != null) {
            ok.setEnabled(runnable);
        }
        refreshHint();
    }

    /** Requests a preview, or removes it. */
    private void requestPreview() {
        refusal = null;
        String fault = previewProblem();
        previewStatus = fault == null ? "computing..." : "none";
        if (fault == null) {
            preview.request(settings, drawPreview);
        } else {
            preview.clear();
        }
    }

    final String previewLine() {
        return "Preview: " + Host.wrap(previewStatus);
    }

    @Override
    public final void status(String text) {
        refusal = null;
        previewStatus = text;
        checkAgain();
    }

    @Override
    public final void refused(String why) {
        refusal = MessageLabels.in(why, settings, fields.keys());
        previewStatus = "none";
        checkAgain();
    }

    @Override
    public final void imageClosed() {
        dialog.windowClosing(null);
    }

    /** Returns the smallest and largest value, the first one and the step of a slider; null for a field without one. */
    double[] slider(String key) throws BadInput {
        return null;
    }

    /** Is called when all fields exist. */
    void built() {}

    /** Adds the hint and the help button at the end of the dialog. */
    private void addFooter() {
        isRunnable();
        dialog.addMessage(hintText() + "\n ");
        hint = (MultiLineLabel) dialog.getMessage();
        dialog.addHelp(Help.text(settings.kind.replace(' ', '-'), settings));
        dialog.addDialogListener(this);
        dialog.addWindowListener(new WindowAdapter() {
            @Override
            public void windowOpened(WindowEvent event) {
                // The preview may have finished before there was a button to disable.
                checkAgain();
                Help.opensInFrontOf(dialog);
            }
        });
    }

    /** Computes the preview again when the user comes back from the ROI Manager, which sends no event. */
    final void followRoiManager() {
        dialog.addWindowListener(new WindowAdapter() {
            @Override
            public void windowActivated(WindowEvent event) {
                preview.requestAgain();
            }
        });
    }

    /** Updates the hint. Runs on the event thread, or on the thread that opens the dialog. */
    final void refreshHint() {
        // Neither of these two threads may write an older text over a newer one.
        synchronized (hintLock) {
            String text = hintText();
            hint.setText(text);
            hint.invalidate();
            // The label paints its text: accessibility tools could not read it otherwise.
            hint.getAccessibleContext().setAccessibleDescription(text);
        }
        boolean tooSmall =
                hint.getPreferredSize().width > hint.getWidth() || hint.getPreferredSize().height > hint.getHeight();
        if (tooSmall && dialog.isShowing()) {
            dialog.pack();
        }
    }

    /** Returns the device that "auto" selects on this computer. */
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

    /** Returns three decimals, or scientific notation where they would show no digit, or too many before the point. */
    static String number(double value) {
        if (Math.abs(value) >= LARGE && !Double.isInfinite(value)) {
            return new BigDecimal(value, DIGITS).stripTrailingZeros().toString();
        }
        if (value == Math.rint(value)) {
            return IJ.d2s(value, 0);
        }
        return IJ.d2s(value, Math.abs(value) < SMALL ? -3 : 3);
    }
}
