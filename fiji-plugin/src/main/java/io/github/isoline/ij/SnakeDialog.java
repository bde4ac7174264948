package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import ij.gui.Roi;
import ij.plugin.frame.Recorder;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;
import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;

/**
 * The dialog of the region snake command, with a preview of the start. It does not block: a
 * selection can be drawn and slices turned over while it is open. What is seldom changed is in a
 * second dialog. The first word of each label is the macro key.
 */
final class SnakeDialog extends OperationDialog {
    private static final String PREVIEW_PREFS = "isoline.snake.preview";

    /** Stands in the list of start images where no open image fits. */
    private static final String NO_IMAGE = "none";

    private final String[] images;
    private SnakeSettings settings;
    private boolean drawPreview = Prefs.get(PREVIEW_PREFS, true);
    private boolean wantsMore;
    private SnakePreview preview;

    private SnakeDialog(ImagePlus image, SnakeSettings remembered) throws IsolineException {
        super(image, new NonBlockingGenericDialog(SnakePlugin.COMMAND));
        String[] titles = MaskChoice.titles(image);
        images = titles.length == 0 ? new String[] {NO_IMAGE} : titles;
        settings = remembered;
        // The one that the list begins with.
        settings.startImage = titles.length == 0 ? "" : titles[0];
    }

    /** Shows the dialog; null if it was cancelled. */
    static SnakeSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> askOnce(image));
    }

    private static SnakeSettings askOnce(ImagePlus image) throws IsolineException {
        SnakeDialog asker = new SnakeDialog(image, first(image));
        asker.build();
        asker.preview = new SnakePreview(image, asker);
        try {
            asker.requestPreview();
            asker.dialog.showDialog();
        } finally {
            asker.preview.close();
        }
        if (asker.isCancelled() || asker.wantsMore && !asker.askMore()) {
            return null;
        }
        asker.settings.savePrefs();
        Prefs.set(PREVIEW_PREFS, asker.drawPreview);
        asker.settings.options().record(SnakePlugin.COMMAND);
        return asker.settings;
    }

    /** What was chosen last, where the image has it. */
    private static SnakeSettings first(ImagePlus image) {
        SnakeSettings first = SnakeSettings.fromPrefs();
        if (image.getNSlices() == 1 && image.getNFrames() == 1 && first.isTrack()) {
            first.stack = SnakeSettings.SLICES;
        }
        Roi roi = image.getRoi();
        if (roi != null && roi.isArea()) {
            // Who has drawn an area means it.
            first.start = SnakeSettings.ROI;
        }
        return first;
    }

    private void build() throws IsolineException {
        SnakeSettings s = settings;
        addDevices(s.device);
        if (stack) {
            dialog.addToSameRow();
            dialog.addChoice("Stack", SnakeSettings.STACKS, s.stack);
        }
        addAxes(s.axes);
        dialog.addChoice("Start from", SnakeSettings.STARTS, s.start);
        dialog.addToSameRow();
        dialog.addChoice("Start_image", images, images[0]);
        dialog.addChoice("Noise", SnakeSettings.NOISES, s.noise);
        dialog.addToSameRow();
        addNumber("Looks (gamma)", s.looks, "");
        dialog.addChoice("Background", SnakeSettings.BACKGROUNDS, s.background);
        dialog.addToSameRow();
        addNumber("Margin (window)", s.margin, "sides");
        dialog.addCheckboxGroup(
                2,
                2,
                new String[] {"Label_image", "Overlay", "ROI_Manager", "Results_table"},
                new boolean[] {s.labelImage, s.overlay, s.roiManager, s.resultsTable},
                new String[] {"Outputs:", ""});
        dialog.addCheckbox("Preview", drawPreview);
        dialog.addToSameRow();
        dialog.addCheckbox("More settings after OK...", false);
        addFooter("Perrot et al. 2011", "region-snake");
        dialog.addWindowListener(
                new WindowAdapter() {
                    @Override
                    public void windowActivated(WindowEvent event) {
                        // The ROI Manager tells nobody when areas come to it.
                        preview.requestAgain();
                    }
                });
    }

    @Override
    public boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        SnakeSettings s = new SnakeSettings();
        takeSearch(settings, s);
        s.device = dialog.getNextChoice();
        if (stack) {
            s.stack = dialog.getNextChoice();
        }
        s.axes = nextAxes();
        s.start = dialog.getNextChoice();
        String title = dialog.getNextChoice();
        s.startImage = NO_IMAGE.equals(title) ? "" : title;
        s.noise = dialog.getNextChoice();
        s.looks = dialog.getNextNumber();
        s.background = dialog.getNextChoice();
        s.margin = dialog.getNextNumber();
        s.labelImage = dialog.getNextBoolean();
        s.overlay = dialog.getNextBoolean();
        s.roiManager = dialog.getNextBoolean();
        s.resultsTable = dialog.getNextBoolean();
        drawPreview = dialog.getNextBoolean();
        wantsMore = dialog.getNextBoolean();
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
        SnakeJob.check(image, settings);
        if (SnakeSettings.ROI.equals(settings.start)) {
            StartSurface.areaSelection(image, "start=roi");
        } else {
            new SnakeStart(settings.planes(image), settings);
        }
    }

    private void requestPreview() {
        requestPreview(preview, settings, drawPreview, settings.startComplaint());
    }

    /** What the second dialog asks goes on from one to the other. */
    private static void takeSearch(SnakeSettings from, SnakeSettings to) {
        to.largestStep = from.largestStep;
        to.nodeSpacing = from.nodeSpacing;
        to.nodeCost = from.nodeCost;
        to.maxNodes = from.maxNodes;
        to.maxIterations = from.maxIterations;
        to.schedule = from.schedule;
        to.rangeMin = from.rangeMin;
        to.rangeMax = from.rangeMax;
        to.showEvery = from.showEvery;
    }

    /** The second dialog; false if it was cancelled. */
    private boolean askMore() {
        boolean recording = Recorder.record;
        // What it asks is recorded with the rest.
        Recorder.record = false;
        try {
            return askMoreUnrecorded();
        } finally {
            Recorder.record = recording;
        }
    }

    private boolean askMoreUnrecorded() {
        SnakeSettings s = settings;
        boolean floats = image.getBitDepth() == Float.SIZE;
        GenericDialog more = new GenericDialog(SnakePlugin.COMMAND + ": more settings");
        more.addStringField("Largest_step (1, 2, 4, ... or auto)", s.largestStep, 8);
        more.addNumericField("Node_spacing", s.nodeSpacing, 1, 8, "pixels");
        more.addNumericField("Node_cost", s.nodeCost, 2, 8, "more: fewer nodes, smoother");
        more.addNumericField("Max_nodes", s.maxNodes, 0, 8, "of a target");
        more.addNumericField("Max_iterations", s.maxIterations, 0, 8, "of a target");
        more.addChoice("Schedule", SnakeSettings.SCHEDULES, s.schedule);
        if (floats) {
            more.addNumericField("Range_min", s.rangeMin, 3, 8, "pixel value");
            more.addNumericField("Range_max", s.rangeMax, 3, 8, "(both 0: automatic)");
        }
        more.addNumericField("Show_every", s.showEvery, 0, 8, "iterations (0: never)");
        more.addMessage("These are remembered. Usual: " + usual());
        more.addHelp(Help.text("region-snake"));
        more.addDialogListener(
                (source, event) -> {
                    SnakeSettings asked = settings;
                    asked.largestStep = more.getNextString();
                    asked.nodeSpacing = more.getNextNumber();
                    asked.nodeCost = more.getNextNumber();
                    asked.maxNodes = more.getNextNumber();
                    asked.maxIterations = more.getNextNumber();
                    asked.schedule = more.getNextChoice();
                    if (floats) {
                        asked.rangeMin = more.getNextNumber();
                        asked.rangeMax = more.getNextNumber();
                    }
                    asked.showEvery = more.getNextNumber();
                    return asked.searchComplaint() == null;
                });
        more.showDialog();
        return !more.wasCanceled();
    }

    private static String usual() {
        SnakeSettings s = new SnakeSettings();
        return String.join(
                ", ",
                s.largestStep,
                OptionText.text(s.nodeSpacing),
                OptionText.text(s.nodeCost),
                OptionText.text(s.maxNodes),
                OptionText.text(s.maxIterations),
                s.schedule);
    }

    /** What the settings mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(complaintOr(scope()));
        text.append('\n').append(Host.wrap(settings.noiseHint()));
        text.append(previewLine());
        String unusual = settings.unusual();
        if (!unusual.isEmpty()) {
            text.append('\n').append(Host.wrap("More settings: " + unusual));
        }
        text.append("\nEscape stops the run and keeps the state that it has reached.");
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    private String scope() {
        HyperStackSelection planes = settings.planes(image);
        String where = planes.describe();
        String what = "The image";
        if (settings.isTrack()) {
            what =
                    (planes.slices() > 1
                                    ? planes.slices() + " slices"
                                    : planes.frames() + " frames")
                            + ", each from where the last one came to, from the start's on";
        } else if (planes.slices() > 1) {
            what = planes.slices() + " slices, each by itself";
        } else if (image.getNSlices() > 1) {
            what = "The current slice";
        }
        return what
                + (where.isEmpty() ? "" : ", " + where)
                + "; targets are held against "
                + (settings.isWindow()
                        ? "a window round their start."
                        : "all of the image outside them.");
    }
}
