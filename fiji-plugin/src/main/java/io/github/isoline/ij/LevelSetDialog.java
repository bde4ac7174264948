package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import ij.util.Tools;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;
import java.awt.Choice;
import java.awt.Scrollbar;
import java.awt.TextField;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import java.util.Arrays;

/**
 * The dialog of the level set command, with a live preview. It does not block: a selection can be
 * drawn, points added and slices turned over while it is open. The first word of each label is the
 * macro key.
 */
final class LevelSetDialog extends OperationDialog implements LevelSetPreview.Listener {
    private static final String PREVIEW_PREFS = "isoline.level_set.preview";
    private static final int COLUMNS = 8;

    /** In pixels. */
    private static final int FIRST_RADIUS = 10;

    /** Stands in the list of masks where no open image fits. */
    private static final String NO_MASK = "none";

    /** How many slices are looked at for the ends of the sliders. */
    private static final int MOST_SAMPLES = 64;

    /** Places of the sliders, of the choice of a range among their kind. */
    private static final double SLIDER_STEPS = 500;

    private final String[] masks;
    private LevelSetSettings settings;
    private boolean drawPreview = Prefs.get(PREVIEW_PREFS, true);
    private LevelSetPreview preview;

    // The fields of the range, and what was written into them last by the dialog itself.
    private Choice rangeChoice;
    private TextField targetField;
    private TextField epsilonField;
    private double sliderStep;
    private double writtenTarget = Double.NaN;
    private double writtenEpsilon = Double.NaN;

    private LevelSetDialog(ImagePlus image, LevelSetSettings remembered) throws IsolineException {
        super(image, new NonBlockingGenericDialog(LevelSetPlugin.COMMAND));
        String[] titles = MaskChoice.titles(image);
        masks = titles.length == 0 ? new String[] {NO_MASK} : titles;
        settings = remembered;
        // The one that the list begins with.
        settings.maskImage = titles.length == 0 ? "" : titles[0];
    }

    /** Shows the dialog; null if it was cancelled. */
    static LevelSetSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> askOnce(image));
    }

    private static LevelSetSettings askOnce(ImagePlus image) throws BadInput, IsolineException {
        LevelSetSettings first = LevelSetSettings.fromPrefs();
        if (image.getNSlices() == 1 && first.isVolume()) {
            first.stack = LevelSetSettings.SLICES;
        }
        if (first.radius == 0) {
            // Nobody has chosen one yet: something that can be seen.
            first.radius =
                    Double.parseDouble(number(FIRST_RADIUS * image.getCalibration().pixelWidth));
        }
        LevelSetDialog asker = new LevelSetDialog(image, first);
        asker.build();
        asker.preview = new LevelSetPreview(image, asker);
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
        asker.settings.options().record(LevelSetPlugin.COMMAND);
        return asker.settings;
    }

    private void build() throws BadInput, IsolineException {
        LevelSetSettings s = settings;
        addDevices(s.device);
        if (stack) {
            dialog.addToSameRow();
            dialog.addChoice("Stack as", LevelSetSettings.STACKS, s.stack);
        }
        addAxes(s.axes);
        dialog.addChoice("Start from", LevelSetSettings.STARTS, s.start);
        if (stack) {
            dialog.addToSameRow();
            dialog.addChoice("ROI_slices", LevelSetSettings.ROI_SLICE_CHOICES, s.roiSlices);
        }
        String unit = VoxelSize.unit(image.getCalibration());
        addNumber("Radius (spheres)", s.radius, unit);
        dialog.addToSameRow();
        dialog.addChoice("Mask_image", masks, masks[0]);
        dialog.addStringField("Box_x", s.boxX, COLUMNS);
        dialog.addToSameRow();
        dialog.addStringField("Box_y", s.boxY, COLUMNS);
        dialog.addToSameRow();
        dialog.addStringField("Box_z", s.boxZ, COLUMNS);
        addRange(s);
        dialog.addStringField("Alpha", s.alpha, COLUMNS);
        dialog.addToSameRow();
        dialog.addChoice("Mode", LevelSetSettings.MODES, s.mode);
        addNumber("Iterations", s.iterations, "at most");
        dialog.addToSameRow();
        addNumber("Show_every", s.showEvery, "iterations");
        addNumber("Reinitialise", s.reinitialise, "iterations");
        dialog.addToSameRow();
        addNumber("Time_step", s.timeStep, "(0 = auto)");
        dialog.addCheckboxGroup(
                2,
                3,
                new String[] {"Mask_stack", "Phi", "Overlay", "ROI_Manager", "Results_table"},
                new boolean[] {s.maskStack, s.phi, s.overlay, s.roiManager, s.resultsTable},
                new String[] {"Outputs:", "", ""});
        dialog.addCheckbox("Preview", drawPreview);
        addFooter("Mostofi 2009", "level-set");
        dialog.addWindowListener(
                new WindowAdapter() {
                    @Override
                    public void windowActivated(WindowEvent event) {
                        // Points may have come to the ROI Manager meanwhile, which tells nobody.
                        preview.requestAgain();
                    }
                });
    }

    private void addRange(LevelSetSettings s) throws BadInput {
        GreyRange extent = extent();
        double step = step(extent.extent());
        dialog.addChoice("Range", LevelSetSettings.RANGES, s.range);
        rangeChoice = (Choice) dialog.getChoices().lastElement();
        dialog.addToSameRow();
        addNumber("Deviations (range roi)", s.deviations, "sd");
        double middle = extent.min + Math.rint(extent.extent() / 2 / step) * step;
        double width = Math.max(step, Math.rint(extent.extent() / 8 / step) * step);
        double widest = Math.max(2 * step, extent.extent() / 2);
        dialog.addSlider(
                "Target", extent.min, Math.max(extent.max, extent.min + step), middle, step);
        targetField = (TextField) dialog.getNumericFields().lastElement();
        dialog.addSlider("Epsilon", 0, widest, width, step);
        epsilonField = (TextField) dialog.getNumericFields().lastElement();
        sliderStep = step;
        write(middle, width);
    }

    /** A round step for a slider over a range. */
    private double step(double extent) {
        if (image.getBitDepth() != Float.SIZE) {
            return 1;
        }
        return extent > 0 ? Math.pow(10, Math.floor(Math.log10(extent / SLIDER_STEPS))) : 1;
    }

    /** The smallest and the largest value, as ImageJ shows them: from a part of a large stack. */
    private GreyRange extent() throws BadInput {
        GreyRange extent = new GreyRange();
        if (image.getBitDepth() == Byte.SIZE) {
            extent.min = 0;
            extent.max = 255;
            return extent;
        }
        int[] indices = settings.planes(image).indices();
        int stride = (indices.length + MOST_SAMPLES - 1) / MOST_SAMPLES;
        for (int i = 0; i < indices.length; i += stride) {
            extent.add(GreyRange.of(StackJob.pixels(image, indices[i])));
        }
        if (!(extent.min <= extent.max)) {
            throw new BadInput("\"" + image.getTitle() + "\" has no pixel that is a number.");
        }
        double offset = StackJob.rawThreshold(image, 0);
        extent.min -= offset;
        extent.max -= offset;
        return extent;
    }

    @Override
    public boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        LevelSetSettings s = new LevelSetSettings();
        s.device = dialog.getNextChoice();
        if (stack) {
            s.stack = dialog.getNextChoice();
        }
        s.axes = nextAxes();
        s.start = dialog.getNextChoice();
        if (stack) {
            s.roiSlices = dialog.getNextChoice();
        }
        s.radius = dialog.getNextNumber();
        String mask = dialog.getNextChoice();
        s.maskImage = NO_MASK.equals(mask) ? "" : mask;
        s.boxX = dialog.getNextString();
        s.boxY = dialog.getNextString();
        s.boxZ = dialog.getNextString();
        s.range = dialog.getNextChoice();
        s.deviations = dialog.getNextNumber();
        s.target = dialog.getNextNumber();
        s.epsilon = dialog.getNextNumber();
        s.alpha = dialog.getNextString();
        s.mode = dialog.getNextChoice();
        s.iterations = dialog.getNextNumber();
        s.showEvery = dialog.getNextNumber();
        s.reinitialise = dialog.getNextNumber();
        s.timeStep = dialog.getNextNumber();
        s.maskStack = dialog.getNextBoolean();
        s.phi = dialog.getNextBoolean();
        s.overlay = dialog.getNextBoolean();
        s.roiManager = dialog.getNextBoolean();
        s.resultsTable = dialog.getNextBoolean();
        drawPreview = dialog.getNextBoolean();
        boolean moved = s.target != writtenTarget || s.epsilon != writtenEpsilon;
        if (moved && !LevelSetSettings.VALUES.equals(s.range)) {
            // Who moves a slider wants that value.
            s.range = LevelSetSettings.VALUES;
            rangeChoice.select(s.range);
        }
        writtenTarget = s.target;
        writtenEpsilon = s.epsilon;
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
        refuse(settings.complaint());
        LevelSetJob.check(image, settings);
        new StartSurface(settings.planes(image), settings).close();
        if (LevelSetSettings.ROI.equals(settings.range)) {
            StartSurface.areaSelection(image, "range=roi");
        }
    }

    private void requestPreview() {
        requestPreview(preview, settings, drawPreview, settings.previewComplaint());
    }

    /** What the settings mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(complaintOr(scope()));
        text.append(previewLine());
        text.append("\nEscape stops the run and keeps the state that it has reached.");
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    private String scope() {
        VoxelSize size;
        try {
            size = new VoxelSize(image, settings.isVolume());
        } catch (BadInput e) {
            return e.getMessage();
        }
        HyperStackSelection planes = settings.planes(image);
        String where = planes.describe();
        String what =
                settings.isVolume()
                        ? "One volume of " + planes.slices() + " slices"
                        : planes.slices() > 1
                                ? planes.slices() + " slices, each by itself"
                                : image.getNSlices() > 1 ? "The current slice" : "The image";
        return what
                + (where.isEmpty() ? "" : ", " + where)
                + "; pixels of "
                + number(size.x)
                + " x "
                + number(size.y)
                + (settings.isVolume() ? " x " + number(size.z) : "")
                + " "
                + size.unit
                + "."
                + (size.warning == null ? "" : "\nAttention: " + size.warning);
    }

    @Override
    public void range(double target, double epsilon) {
        // Not over what somebody is typing, which the dialog may not have heard of yet.
        boolean typed =
                Tools.parseDouble(targetField.getText(), Double.NaN) != writtenTarget
                        || Tools.parseDouble(epsilonField.getText(), Double.NaN) != writtenEpsilon;
        if (!typed && !LevelSetSettings.VALUES.equals(settings.range)) {
            write(target, epsilon);
        }
    }

    /** Puts the sliders where the fields are. */
    private void moveSliders() {
        double[] values = {writtenTarget, writtenEpsilon};
        for (int i = 0; i < values.length; i++) {
            Scrollbar slider = (Scrollbar) dialog.getSliders().get(i);
            double place = Math.rint(values[i] / sliderStep);
            double most = slider.getMaximum() - slider.getVisibleAmount();
            slider.setValue((int) Math.max(slider.getMinimum(), Math.min(most, place)));
        }
    }

    /** Shows a range that nobody typed. */
    private void write(double target, double epsilon) {
        for (TextField field : Arrays.asList(targetField, epsilonField)) {
            String text = number(field == targetField ? target : epsilon);
            double value = Double.parseDouble(text);
            if (field == targetField) {
                writtenTarget = value;
            } else {
                writtenEpsilon = value;
            }
            if (!text.equals(field.getText())) {
                field.setText(text);
            }
        }
        moveSliders();
    }
}
