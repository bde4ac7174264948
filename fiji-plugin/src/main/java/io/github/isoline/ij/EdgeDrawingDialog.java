package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;

/**
 * The dialog of the edge drawing command, with a live preview. It does not block: slices can be
 * turned over and the image zoomed while it is open. The first word of each label is the macro key.
 */
final class EdgeDrawingDialog extends OperationDialog implements EdgeDrawingPreview.Listener {
    private static final String PREVIEW_PREFS = "isoline.edge_drawing.preview";
    private static final int COLUMNS = 8;

    private final boolean float32;
    private EdgeDrawingSettings settings;
    private boolean drawPreview = Prefs.get(PREVIEW_PREFS, true);
    private EdgeDrawingPreview preview;
    private double usedThreshold = Double.NaN;

    private EdgeDrawingDialog(ImagePlus image, EdgeDrawingSettings remembered)
            throws IsolineException {
        super(image, new NonBlockingGenericDialog(EdgeDrawingPlugin.COMMAND));
        float32 = image.getBitDepth() == Float.SIZE;
        settings = remembered;
    }

    /** Shows the dialog; null if it was cancelled. */
    static EdgeDrawingSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> askOnce(image));
    }

    private static EdgeDrawingSettings askOnce(ImagePlus image) throws IsolineException {
        EdgeDrawingDialog asker =
                new EdgeDrawingDialog(image, EdgeDrawingSettings.fromPrefs(image.getBitDepth()));
        asker.build();
        asker.preview = new EdgeDrawingPreview(image, asker);
        try {
            asker.requestPreview();
            asker.dialog.showDialog();
        } finally {
            asker.preview.close();
        }
        if (asker.isCancelled()) {
            return null;
        }
        asker.settings.savePrefs(image.getBitDepth());
        Prefs.set(PREVIEW_PREFS, asker.drawPreview);
        asker.settings.options().record(EdgeDrawingPlugin.COMMAND);
        return asker.settings;
    }

    private void build() throws IsolineException {
        EdgeDrawingSettings s = settings;
        addDevices(s.device);
        dialog.addChoice("Profile", EdgeDrawingSettings.PROFILES, s.profile);
        dialog.addChoice("Operator", EdgeDrawingSettings.OPERATORS, s.operator);
        dialog.addStringField("Gradient_threshold", s.gradientThreshold, COLUMNS);
        addNumber("Anchor_threshold", s.anchorThreshold, "pixel values");
        addNumber("Scan_interval", s.scanInterval, "pixels");
        addNumber("Min_length", s.minLength, "pixels");
        dialog.addCheckbox("Follow_turns (profile paper)", s.followTurns);
        if (float32) {
            addNumber("Range_min", s.rangeMin, "pixel value");
            addNumber("Range_max", s.rangeMax, "(both 0 = automatic)");
        }
        if (stack) {
            dialog.addChoice("Stack", EdgeDrawingSettings.STACKS, s.stack);
        }
        addAxes(s.axes);
        dialog.addCheckboxGroup(
                2,
                2,
                new String[] {"Edge_map", "ROI_Manager", "Overlay", "Results_table"},
                new boolean[] {s.edgeMap, s.roiManager, s.overlay, s.resultsTable},
                new String[] {"Outputs:", ""});
        dialog.addChoice("ROI_shape", EdgeDrawingSettings.SHAPES, s.roiShape);
        addNumber("Tolerance", s.tolerance, "pixels (polyline)");
        addNumber("Most_ROIs", s.mostRois, "(ROI Manager, overlay)");
        dialog.addCheckbox("Preview", drawPreview);
        addFooter("\u00d6zsen, Topal, Ak\u0131nlar", "edge-drawing");
    }

    @Override
    public boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        EdgeDrawingSettings s = new EdgeDrawingSettings();
        s.device = dialog.getNextChoice();
        s.profile = dialog.getNextChoice();
        s.operator = dialog.getNextChoice();
        s.gradientThreshold = dialog.getNextString();
        s.anchorThreshold = dialog.getNextNumber();
        s.scanInterval = dialog.getNextNumber();
        s.minLength = dialog.getNextNumber();
        s.followTurns = dialog.getNextBoolean();
        if (float32) {
            s.rangeMin = dialog.getNextNumber();
            s.rangeMax = dialog.getNextNumber();
        }
        if (stack) {
            s.stack = dialog.getNextChoice();
        }
        s.axes = nextAxes();
        s.edgeMap = dialog.getNextBoolean();
        s.roiManager = dialog.getNextBoolean();
        s.overlay = dialog.getNextBoolean();
        s.resultsTable = dialog.getNextBoolean();
        s.roiShape = dialog.getNextChoice();
        s.tolerance = dialog.getNextNumber();
        s.mostRois = dialog.getNextNumber();
        drawPreview = dialog.getNextBoolean();
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
    }

    private void requestPreview() {
        requestPreview(preview, settings, drawPreview, settings.computationComplaint());
    }

    /** What the settings mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(complaintOr(scope()));
        if (image.getType() == ImagePlus.COLOR_256) {
            text.append(
                    "\nThis image has a colour table: its edges are those of the colours' numbers.");
        }
        text.append("\nGradient threshold").append(threshold());
        text.append(drawPreview ? previewLine() : "\nPreview: off");
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    /** Which slices the command will look at. */
    private String scope() {
        HyperStackSelection planes = settings.planes(image);
        String slices =
                planes.slices() == image.getNSlices()
                        ? planes.slices() > 1
                                ? "all " + planes.slices() + " slices, each by itself"
                                : ""
                        : "the current slice only ("
                                + planes.position(planes.indices()[0])[1]
                                + " of "
                                + image.getNSlices()
                                + ")";
        String where = planes.describe();
        if (slices.isEmpty() && where.isEmpty()) {
            return "Looks at the whole image; a selection is ignored.";
        }
        where += slices.isEmpty() || where.isEmpty() ? "" : ", ";
        return "Looks at " + where + slices + "; a selection is ignored.";
    }

    private String threshold() {
        if (!settings.isAutomatic()) {
            return ": in pixel values, as |gx| + |gy| of the smoothed image";
        }
        return " auto: "
                + (Double.isNaN(usedThreshold)
                        ? "looking at the pixels..."
                        : number(usedThreshold) + " for this image");
    }

    @Override
    public void threshold(double threshold) {
        usedThreshold = threshold;
        refreshHint();
    }
}
