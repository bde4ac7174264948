package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import io.github.isoline.DeviceInfo;
import java.awt.Component;
import java.awt.TextField;
import java.awt.event.FocusAdapter;
import java.awt.event.FocusEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The fields of a dialog, one for each parameter that the image has: adds them, reads their values and shows those that
 * apply.
 *
 * @param <S> the parameters of the dialog
 */
final class ParameterFields<S extends Settings> {
    /** The entry of a list of open images where none fits. */
    private static final String NO_IMAGE = "none";

    private static final int COLUMNS = 8;

    /** The columns of the field for the name of a file. */
    private static final int FILE_COLUMNS = 28;

    private static final int MOST_DECIMALS = 9;
    private static final double SMALL_DEFAULT = 1e-3;

    // These are the numbers at the time the dialog was made, even if the image changes.
    final boolean stack;
    final int channels;
    final int frames;

    private final FieldDialog dialog;
    private final ImagePlus image;
    private final List<DeviceInfo> devices;

    /** Holds a reader for each field, in the order of the fields. */
    private final List<Consumer<S>> readers = new ArrayList<>();

    private final Map<Setting, FieldDialog.Field> fields = new LinkedHashMap<>();

    /** Holds the component with the value of each parameter. */
    private final Map<String, Component> components = new HashMap<>();

    /** The title of the outputs; null for a command without them. */
    private FieldDialog.Field outputs;

    ParameterFields(FieldDialog dialog, ImagePlus image, List<DeviceInfo> devices) {
        this.dialog = dialog;
        this.image = image;
        this.devices = devices;
        stack = image.getStackSize() > 1;
        channels = image.getNChannels();
        frames = image.getNFrames();
    }

    /** The ends of sliders. */
    @FunctionalInterface
    interface Sliders {
        /** Returns the smallest and largest value, the first one and the step; null for a field without a slider. */
        double[] of(String key) throws BadInput;
    }

    /** Adds the title and the fields of the outputs, if there are any. */
    void addOutputs(S settings, Sliders sliders) throws BadInput {
        if (!settings.outputs().isEmpty()) {
            outputs = dialog.add(FieldDialog.Place.SECTION, "", () -> dialog.addMessage("Outputs:"));
        }
        add(settings, setting -> setting.output, FieldDialog.Place.HALF, sliders);
    }

    /** Adds the fields of some parameters, with their values. */
    void add(S settings, Predicate<Setting> which, FieldDialog.Place place, Sliders sliders) throws BadInput {
        for (String key : settings.keys()) {
            Setting setting = settings.setting(key);
            if (isOffered(setting) && which.test(setting)) {
                double[] slider = sliders.of(key);
                Runnable adder =
                        () -> readers.add(slider == null ? field(setting, settings) : sliderField(setting, slider));
                fields.put(setting, dialog.add(slider == null ? place : FieldDialog.Place.ROW, setting.unit, adder));
            }
        }
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

    /** Adds a checkbox that is not a parameter. */
    void addCheckbox(String label, boolean on, Consumer<Boolean> taker) {
        dialog.add(FieldDialog.Place.HALF, "", () -> dialog.addCheckbox(label, on));
        readers.add(asked -> taker.accept(dialog.getNextBoolean()));
    }

    /** Reads all fields into the parameters. */
    void read(S asked) {
        readers.forEach(reader -> reader.accept(asked));
    }

    /** Shows the fields that apply now; returns true if these are others than before. */
    boolean show(S settings, boolean unfolded) {
        boolean changed = outputs != null
                && dialog.show(
                        outputs,
                        fields.keySet().stream().anyMatch(setting -> setting.output && setting.applies(settings)));
        for (Map.Entry<Setting, FieldDialog.Field> field : fields.entrySet()) {
            Setting setting = field.getKey();
            boolean shown = setting.applies(settings) && (unfolded || !setting.advanced);
            // A field that must be corrected is never hidden.
            changed |= dialog.show(field.getValue(), shown || settings.problemOf(setting.key) != null);
        }
        return changed;
    }

    /** Returns true if the parameter has a field. */
    boolean has(Setting setting) {
        return fields.containsKey(setting);
    }

    /** Returns the keys of the parameters that have fields. */
    Set<String> keys() {
        return components.keySet();
    }

    /** Returns the component with the value of a parameter. */
    Component component(String key) {
        return components.get(key);
    }

    /** Returns the advanced parameters that are used, are not shown, and are not at their defaults; "" for none. */
    String folded(S settings) {
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

    /** Adds a field; the returned reader takes its value. */
    private Consumer<S> field(Setting setting, S settings) {
        String label = label(setting);
        Object value = settings.value(setting.key);
        switch (setting.type) {
            case CHOICE:
                return choice(setting, settings, setting.words);
            case IMAGE:
                return images(setting, settings);
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
                    return choice(
                            setting, settings, DefaultDevice.choices(devices).toArray(new String[0]));
                }
                dialog.addStringField(label, (String) value, setting.isWritten() ? FILE_COLUMNS : COLUMNS);
                describe(setting, dialog.getStringFields());
                return asked -> asked.set(setting.key, dialog.getNextString());
        }
    }

    private Consumer<S> choice(Setting setting, S settings, String... words) {
        dialog.addChoice(label(setting), words, settings.text(setting.key));
        describe(setting, dialog.getChoices());
        return asked -> asked.set(setting.key, dialog.getNextChoice());
    }

    /** Adds a list of the open images that fit, the first of which is chosen. */
    private Consumer<S> images(Setting setting, S settings) {
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
}
