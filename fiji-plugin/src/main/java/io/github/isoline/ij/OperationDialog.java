package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.Prefs;
import ij.gui.DialogListener;
import ij.gui.GenericDialog;
import ij.gui.MultiLineLabel;
import ij.gui.NonBlockingGenericDialog;
import ij.plugin.frame.Recorder;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.awt.AWTEvent;
import java.awt.Button;
import java.awt.Component;
import java.awt.event.FocusAdapter;
import java.awt.event.FocusEvent;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The common part of the operations' dialogs: a field for each parameter, the device, a preview, and a hint that states
 * the meaning of the fields for this image, or the problem with them.
 *
 * @param <S> the parameters of the dialog
 */
abstract class OperationDialog<S extends Settings> implements DialogListener, LivePreview.Listener {
    /** The entry of a list of open images where none fits. */
    private static final String NO_IMAGE = "none";

    private static final int COLUMNS = 8;
    private static final int MOST_DECIMALS = 9;
    private static final double SMALL = 0.01;
    private static final double SMALL_DEFAULT = 1e-3;

    /** Matches a macro key, or "key=word". */
    private static final Pattern KEY = Pattern.compile("\\b([a-z]+(?:_[a-z]+)*)\\b(?:=([a-z]+)\\b)?");

    /** Holds images with an open dialog: two previews on one image would replace each other's overlay. */
    private static final Set<ImagePlus> ASKED = Collections.newSetFromMap(new IdentityHashMap<>());

    final ImagePlus image;
    final boolean stack;
    final GenericDialog dialog;

    /** Holds the number at the time the dialog was made, even if the image changes. */
    private final int channels;

    private final int frames;
    private final List<DeviceInfo> devices;
    private final String command;
    private final String method;
    private final String previewPrefs;

    /** Holds a reader for each field, in the order of the fields. */
    private final List<Consumer<S>> readers = new ArrayList<>();

    /** Holds the labels of the parameters that have a field. */
    private final Map<String, String> labels = new HashMap<>();

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
        dialog = new NonBlockingGenericDialog(command);
        settings = first;
        settings.readPrefs(image.getBitDepth());
        previewPrefs = "isoline." + first.operation.name() + ".preview";
        drawPreview = Prefs.get(previewPrefs, true);
        stack = image.getStackSize() > 1;
        channels = image.getNChannels();
        frames = image.getNFrames();
        devices = DeviceInfo.list();
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

    /** Fits the parameters chosen last to the image. */
    void fit() throws BadInput {}

    /** Adds a field for each parameter, in the order of the macro that repeats a run. */
    void build() throws BadInput, IsolineException {
        for (String key : settings.keys()) {
            if (key.equals(Settings.DEVICE)) {
                addDevices();
            } else if (key.equals(Settings.ALL_CHANNELS)) {
                addAxes();
            } else if (settings.outputs().indexOf(key) == 0) {
                addOutputs(2);
            } else if (hasOwnField(settings.setting(key))) {
                add(key);
            }
        }
        addPreview();
    }

    /** Returns true for a parameter that this image has, and that no other part of the dialog adds. */
    private boolean hasOwnField(Setting setting) {
        switch (setting.key) {
            case Settings.ALL_FRAMES:
                return false;
            case Settings.STACK:
                return stack;
            case Settings.RANGE_MIN:
            case Settings.RANGE_MAX:
                return image.getBitDepth() == Float.SIZE;
            default:
                return !setting.output && !setting.macroOnly;
        }
    }

    abstract LivePreview<S> newPreview();

    /** Returns the problem with the parameters that the preview shows; null if there is none. */
    abstract String previewProblem();

    /** Is called with the values of the fields before they are used. */
    void changed(S asked) {}

    /** Shows a second dialog, if one was requested; returns false if it was cancelled. */
    boolean askMore() {
        return true;
    }

    /** Shows the dialog; returns null if it was cancelled. */
    final S ask() throws BadInput, IsolineException {
        fit();
        build();
        addFooter();
        preview = newPreview();
        try {
            requestPreview();
            dialog.showDialog();
        } finally {
            preview.close();
        }
        if (isCancelled() || !askMore()) {
            return null;
        }
        settings.savePrefs(image.getBitDepth());
        Prefs.set(previewPrefs, drawPreview);
        settings.record(command);
        return settings;
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
        refreshHint();
        return runnable;
    }

    @SuppressWarnings("unchecked")
    private S copy() {
        return (S) settings.clone();
    }

    /** A dialog that returns an answer. */
    @FunctionalInterface
    interface Question<T> {
        T ask() throws BadInput, IsolineException;
    }

    /** Shows a dialog unless another one with a preview is open for the image. */
    static <T> T alone(ImagePlus image, Question<T> question) throws BadInput, IsolineException {
        synchronized (ASKED) {
            // Such a dialog does not block, so the user could open a second one.
            if (!ASKED.add(image)) {
                throw new BadInput(
                        "A dialog for \"" + image.getTitle() + "\" is open already. Close it before you open another.");
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
    abstract void hint(List<String> lines);

    private String hintText() {
        String why = problem != null ? problem : refusal;
        List<String> lines = new ArrayList<>();
        lines.add(Host.wrap(why != null ? why : meaning()));
        hint(lines);
        lines.add(Host.wrap(automaticDevice()));
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
            problem = inLabels(e.getMessage());
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
        refusal = inLabels(why);
        previewStatus = "none";
        checkAgain();
    }

    @Override
    public final void imageClosed() {
        dialog.windowClosing(null);
    }

    /**
     * Returns a message with the labels of the dialog: macro keys become the labels of their fields, and key=word the
     * choice in it.
     */
    final String inLabels(String message) {
        Matcher matcher = KEY.matcher(message);
        StringBuffer text = new StringBuffer();
        while (matcher.find()) {
            boolean first = matcher.start() == 0;
            boolean chosen = matcher.group(2) != null;
            // A single word may be an ordinary word of the sentence.
            boolean isKey = first || chosen || matcher.group(1).indexOf('_') > 0;
            String label = isKey ? labels.get(matcher.group(1)) : null;
            String words = matcher.group();
            if (label != null) {
                words = chosen ? label + " \"" + matcher.group(2) + "\"" : label;
            }
            matcher.appendReplacement(text, Matcher.quoteReplacement(words));
        }
        return matcher.appendTail(text).toString();
    }

    /** Adds a field for each of these parameters, one below the other. */
    final void add(String... keys) {
        readers.addAll(addFields(dialog, Arrays.asList(keys)));
    }

    /** Adds fields to a dialog; each of the returned readers takes the value of one, in this order. */
    final List<Consumer<S>> addFields(GenericDialog to, List<String> keys) {
        List<Consumer<S>> added = new ArrayList<>();
        keys.forEach(key -> added.add(addField(to, settings.setting(key))));
        return added;
    }

    private Consumer<S> addField(GenericDialog to, Setting setting) {
        Object value = settings.value(setting.key);
        switch (setting.type) {
            case CHOICE:
                return addChoice(to, setting, setting.words);
            case SWITCH:
                return addSwitch(to, setting, "");
            case NUMBER:
                to.addNumericField(
                        label(setting, ""), (Double) value, decimals(setting, (Double) value), COLUMNS, setting.unit);
                describe(setting, to.getNumericFields());
                return asked -> asked.set(setting.key, to.getNextNumber());
            default:
                to.addStringField(label(setting, ""), (String) value, COLUMNS);
                describe(setting, to.getStringFields());
                return asked -> asked.set(setting.key, to.getNextString());
        }
    }

    /** Adds a field beside the last one. */
    final void addBeside(String key) {
        dialog.addToSameRow();
        add(key);
    }

    /** Adds a list of open images, the first of which is chosen. */
    final void addImages(String key, String... titles) {
        String[] listed = titles.length == 0 ? new String[] {NO_IMAGE} : titles;
        // This is the first entry of the list.
        settings.set(key, titles.length == 0 ? "" : titles[0]);
        Setting setting = settings.setting(key);
        dialog.addChoice(label(setting, ""), listed, listed[0]);
        readers.add(asked -> {
            String title = dialog.getNextChoice();
            asked.set(key, NO_IMAGE.equals(title) ? "" : title);
        });
    }

    /** Adds a number with a slider. */
    final void addSlider(String key, double min, double max, double value, double step) {
        Setting setting = settings.setting(key);
        dialog.addSlider(label(setting, ""), min, max, value, step);
        describe(setting, dialog.getNumericFields());
        readers.add(asked -> asked.set(key, dialog.getNextNumber()));
    }

    /** Adds the switches of the outputs in rows. */
    final void addOutputs(int columns) {
        String[] keys = settings.outputs().toArray(new String[0]);
        int rows = (keys.length + columns - 1) / columns;
        String[] shown = new String[keys.length];
        boolean[] values = new boolean[keys.length];
        for (int i = 0; i < keys.length; i++) {
            shown[i] = label(settings.setting(keys[i]), "");
            values[i] = settings.is(keys[i]);
        }
        String[] headings = new String[columns];
        Arrays.fill(headings, "");
        headings[0] = "Outputs:";
        dialog.addCheckboxGroup(rows, columns, shown, values, headings);
        for (String key : keys) {
            readers.add(asked -> asked.set(key, dialog.getNextBoolean()));
        }
    }

    final void addPreview() {
        addCheckbox("Preview", drawPreview, on -> drawPreview = on);
    }

    /** Adds a checkbox that is not a parameter. */
    final void addCheckbox(String label, boolean on, Consumer<Boolean> taker) {
        dialog.addCheckbox(label, on);
        readers.add(asked -> taker.accept(dialog.getNextBoolean()));
    }

    final void addDevices() {
        String[] choices = DefaultDevice.choices(devices).toArray(new String[0]);
        readers.add(addChoice(dialog, settings.setting(Settings.DEVICE), choices));
    }

    /** Adds a switch for each axis of a hyperstack that the image has. */
    final void addAxes() {
        if (channels > 1) {
            Setting all = settings.setting(Settings.ALL_CHANNELS);
            readers.add(addSwitch(dialog, all, " (" + channels + ")"));
        }
        if (frames > 1) {
            Setting all = settings.setting(Settings.ALL_FRAMES);
            readers.add(addSwitch(dialog, all, " (" + frames + ")"));
        }
    }

    private Consumer<S> addChoice(GenericDialog to, Setting setting, String... words) {
        to.addChoice(label(setting, ""), words, settings.text(setting.key));
        describe(setting, to.getChoices());
        return asked -> asked.set(setting.key, to.getNextChoice());
    }

    private Consumer<S> addSwitch(GenericDialog to, Setting setting, String more) {
        to.addCheckbox(label(setting, more), settings.is(setting.key));
        describe(setting, to.getCheckboxes());
        return asked -> asked.set(setting.key, to.getNextBoolean());
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
    private String label(Setting setting, String more) {
        String plain = setting.label.replaceAll(" \\(.*", "");
        labels.put(setting.key, plain);
        return plain.replace(' ', '_') + setting.label.substring(plain.length()) + more;
    }

    /** Shows the help of a field in the status bar when it gets the focus. */
    private static void describe(Setting setting, List<?> fields) {
        if (!setting.help.isEmpty()) {
            Component field = (Component) fields.get(fields.size() - 1);
            field.getAccessibleContext().setAccessibleDescription(setting.help);
            field.addFocusListener(new FocusAdapter() {
                @Override
                public void focusGained(FocusEvent event) {
                    IJ.showStatus(setting.help);
                }
            });
        }
    }

    /** Adds the hint, the versions and the help button at the end of the dialog. */
    private void addFooter() throws IsolineException {
        isRunnable();
        dialog.addMessage(hintText());
        hint = (MultiLineLabel) dialog.getMessage();
        dialog.addMessage("Isoline "
                + NativeLoader.pluginVersion()
                + ", library "
                + NativeLoader.libraryVersion()
                + "; method: "
                + method);
        dialog.addHelp(Help.text(settings.kind.replace(' ', '-')));
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
