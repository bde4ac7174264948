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
import java.awt.Component;
import java.awt.TextField;
import java.awt.event.FocusAdapter;
import java.awt.event.FocusEvent;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The common part of the operations' dialogs: a field for each parameter, the device, a preview, and a hint that states
 * the meaning of the fields for this image, or the problem with them.
 *
 * @param <S> the parameters of the dialog
 */
abstract class OperationDialog<S extends Settings> implements DialogListener, LivePreview.Listener {
    /** The entry of a list of open images where none fits. */
    private static final String NO_IMAGE = "none";

    // These are the names of preferences.
    private static final String PREVIEW = ".preview";
    private static final String UNFOLDED = ".advanced_unfolded";

    private static final int COLUMNS = 8;

    /** The columns of the field for the name of a file. */
    private static final int FILE_COLUMNS = 28;

    private static final int MOST_DECIMALS = 9;
    private static final double SMALL = 0.01;
    private static final double SMALL_DEFAULT = 1e-3;

    /** Holds images with an open dialog: two previews on one image would replace each other's overlay. */
    private static final Set<ImagePlus> ASKED = Collections.newSetFromMap(new IdentityHashMap<>());

    final ImagePlus image;
    final boolean stack;
    final FieldDialog dialog;

    /** Holds the number at the time the dialog was made, even if the image changes. */
    private final int channels;

    private final int frames;
    private final List<DeviceInfo> devices;
    private final String command;
    private final String method;
    private final String prefs;

    /** Holds a reader for each field, in the order of the fields. */
    private final List<Consumer<S>> readers = new ArrayList<>();

    private final Map<Setting, FieldDialog.Field> fields = new LinkedHashMap<>();

    /** Holds the component with the value of each parameter. */
    private final Map<String, Component> components = new HashMap<>();

    /** Holds what is shown only with the advanced parameters. */
    private FieldDialog.Field versions;

    /** Is null for a command without outputs. */
    private FieldDialog.Field outputs;

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
        stack = image.getStackSize() > 1;
        channels = image.getNChannels();
        frames = image.getNFrames();
        devices = DeviceInfo.list();
        if (!DefaultDevice.choices(devices).contains(settings.device())) {
            // The preference is for a device that is not there today.
            settings.reset(Settings.DEVICE);
        }
        // An axis that the image does not have is off.
        if (channels == 1) {
            settings.reset(Settings.ALL_CHANNELS);
        }
        if (frames == 1) {
            settings.reset(Settings.ALL_FRAMES);
        }
        if (!stack) {
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
        List<Setting> offered = new ArrayList<>();
        settings.keys().forEach(key -> offered.add(settings.setting(key)));
        offered.removeIf(setting -> !isOffered(setting));
        for (Setting setting : offered) {
            if (!setting.advanced && !setting.output) {
                addField(setting, FieldDialog.Place.ROW_OR_HALF);
            }
        }
        if (!settings.outputs().isEmpty()) {
            outputs = dialog.add(FieldDialog.Place.SECTION, "", () -> dialog.addMessage("Outputs:"));
        }
        for (Setting setting : offered) {
            if (setting.output) {
                addField(setting, FieldDialog.Place.HALF);
            }
        }
        addCheckbox("Preview", drawPreview, on -> drawPreview = on);
        addCheckbox("Advanced", unfolded, on -> unfolded = on);
        for (Setting setting : offered) {
            if (setting.advanced) {
                addField(setting, FieldDialog.Place.HALF);
            }
        }
        String text = "Isoline " + NativeLoader.pluginVersion() + ", library " + NativeLoader.libraryVersion();
        versions = dialog.add(FieldDialog.Place.ROW, "", () -> dialog.addMessage(text + "; method: " + method));
    }

    /** Returns true for a parameter that this image has. */
    private boolean isOffered(Setting setting) {
        switch (setting.key) {
            case Settings.LUMINANCE:
                return Pixels.isRgb(image);
            case Settings.ALL_CHANNELS:
                return channels > 1;
            case Settings.ALL_FRAMES:
            case LevelSetSettings.FOLLOW:
                return frames > 1;
            case IsosurfaceSettings.VIEWER:
                return Viewer3D.isInstalled();
            case Settings.STACK:
                return stack && setting.words.length > 1;
            case LevelSetSettings.ROI_SLICES:
                return stack;
            case Settings.RANGE_MIN:
            case Settings.RANGE_MAX:
                return image.getBitDepth() == Float.SIZE;
            default:
                return !setting.macroOnly;
        }
    }

    /** Shows the fields that apply now; returns true if these are others than before. */
    private boolean showFields() {
        boolean changed = dialog.show(versions, unfolded);
        if (outputs != null) {
            changed |= dialog.show(
                    outputs, fields.keySet().stream().anyMatch(setting -> setting.output && setting.applies(settings)));
        }
        for (Map.Entry<Setting, FieldDialog.Field> field : fields.entrySet()) {
            Setting setting = field.getKey();
            boolean shown = setting.applies(settings) && (unfolded || !setting.advanced);
            // A field that must be corrected is never hidden.
            changed |= dialog.show(field.getValue(), shown || settings.problemOf(setting.key) != null);
        }
        return changed;
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
        return fields.containsKey(setting) && !left;
    }

    @Override
    public final boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        S asked = copy();
        readers.forEach(reader -> reader.accept(asked));
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
        } else if (!folded().isEmpty()) {
            lines.add(Host.wrap("Advanced: " + folded()));
        }
        return String.join("\n", lines);
    }

    /** Returns the advanced parameters that are used, are not shown, and are not at their defaults; "" for none. */
    private String folded() {
        List<String> unusual = new ArrayList<>();
        fields.keySet().forEach(setting -> {
            Object value = settings.value(setting.key);
            if (setting.advanced && setting.applies(settings) && !value.equals(setting.initial)) {
                String text = value instanceof Double ? Setting.shortest((Double) value) : value.toString();
                unusual.add(setting.label + " " + text);
            }
        });
        return String.join(", ", unusual);
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
            problem = MessageLabels.in(e.getMessage(), settings, components.keySet());
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
        boolean refused = Pixels.isRgb(image) && !settings.is(Settings.LUMINANCE);
        String fault = refused ? problem : previewProblem();
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
        refusal = MessageLabels.in(why, settings, components.keySet());
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

    /** Returns the component with the value of a parameter. */
    final Component component(String key) {
        return components.get(key);
    }

    private void addField(Setting setting, FieldDialog.Place place) throws BadInput {
        double[] slider = slider(setting.key);
        fields.put(
                setting,
                dialog.add(
                        slider == null ? place : FieldDialog.Place.ROW,
                        setting.unit,
                        () -> readers.add(slider == null ? field(setting) : sliderField(setting, slider))));
    }

    /** Adds a field; the returned reader takes its value. */
    private Consumer<S> field(Setting setting) {
        String label = label(setting);
        Object value = settings.value(setting.key);
        switch (setting.type) {
            case CHOICE:
                return choice(setting, setting.words);
            case IMAGE:
                return images(setting);
            case SWITCH:
                int planes = setting.key.equals(Settings.ALL_CHANNELS)
                        ? channels
                        : setting.key.equals(Settings.ALL_FRAMES) ? frames : 0;
                dialog.addCheckbox(planes == 0 ? label : label + " (" + planes + ")", (Boolean) value);
                describe(setting, dialog.getCheckboxes());
                return asked -> asked.set(setting.key, dialog.getNextBoolean());
            case NUMBER:
                dialog.addNumericField(label, (Double) value, decimals(setting, (Double) value), COLUMNS, "");
                describe(setting, dialog.getNumericFields());
                return asked -> asked.set(setting.key, dialog.getNextNumber());
            default:
                if (setting.key.equals(Settings.DEVICE)) {
                    return choice(setting, DefaultDevice.choices(devices).toArray(new String[0]));
                }
                dialog.addStringField(label, (String) value, setting.isWritten() ? FILE_COLUMNS : COLUMNS);
                describe(setting, dialog.getStringFields());
                return asked -> asked.set(setting.key, dialog.getNextString());
        }
    }

    private Consumer<S> choice(Setting setting, String... words) {
        dialog.addChoice(label(setting), words, settings.text(setting.key));
        describe(setting, dialog.getChoices());
        return asked -> asked.set(setting.key, dialog.getNextChoice());
    }

    /** Adds a list of the open images that fit, the first of which is chosen. */
    private Consumer<S> images(Setting setting) {
        Map<String, String> entries = MaskChoice.entries(image, settings.workspace.images());
        if (entries.isEmpty()) {
            entries.put(NO_IMAGE, "");
        }
        String[] listed = entries.keySet().toArray(new String[0]);
        settings.set(setting.key, entries.get(listed[0]));
        dialog.addChoice(label(setting), listed, listed[0]);
        describe(setting, dialog.getChoices());
        return asked -> asked.set(setting.key, entries.get(dialog.getNextChoice()));
    }

    private Consumer<S> sliderField(Setting setting, double... slider) {
        dialog.addSlider(label(setting), slider[0], slider[1], slider[2], slider[3]);
        describe(setting, dialog.getNumericFields());
        TextField field = (TextField) component(setting.key);
        field.setColumns(COLUMNS);
        return asked -> {
            double read = dialog.getNextNumber();
            // ImageJ returns its unrounded default as long as the field has the rounded text of that.
            double shown = Setting.number(field.getText());
            asked.set(setting.key, Double.isNaN(shown) ? read : shown);
        };
    }

    /** Adds a checkbox that is not a parameter. */
    private void addCheckbox(String label, boolean on, Consumer<Boolean> taker) {
        dialog.add(FieldDialog.Place.HALF, "", () -> dialog.addCheckbox(label, on));
        readers.add(asked -> taker.accept(dialog.getNextBoolean()));
    }

    /**
     * Returns the number of decimals of the value, so that the field shows exactly the value used; -2, for scientific
     * notation, where the default is small.
     */
    private static int decimals(Setting setting, double value) {
        double usual = Math.abs((Double) setting.initial);
        if (usual > 0 && usual < SMALL_DEFAULT) {
            return -2;
        }
        int decimals = 0;
        while (decimals < MOST_DECIMALS
                && Double.parseDouble(String.format(Locale.ROOT, "%." + decimals + "f", value)) != value) {
            decimals++;
        }
        return decimals;
    }

    /** Returns the label of a field, in which ImageJ shows underscores as spaces. */
    private static String label(Setting setting) {
        return setting.label.replace(' ', '_');
    }

    /** Names the last one of these fields, and shows its help in the status bar when it gets the focus. */
    private void describe(Setting setting, List<?> added) {
        Component field = (Component) added.get(added.size() - 1);
        components.put(setting.key, field);
        field.setName(setting.key);
        field.getAccessibleContext().setAccessibleName(setting.label);
        field.getAccessibleContext().setAccessibleDescription(setting.help);
        field.addFocusListener(new FocusAdapter() {
            @Override
            public void focusGained(FocusEvent event) {
                // The status bar has room for a sentence.
                IJ.showStatus(setting.help.split("(?<=[.;:]) ")[0]);
                dialog.reveal(field);
            }
        });
    }

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

    /** Returns three decimals, or scientific notation where they would show no digit. */
    static String number(double value) {
        if (value == Math.rint(value)) {
            return IJ.d2s(value, 0);
        }
        return IJ.d2s(value, Math.abs(value) < SMALL ? -3 : 3);
    }
}
