package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;

/**
 * The dialog of the signed distance command, with a live preview. It does not block: a selection
 * can be drawn or a threshold set while it is open. The first word of each label is the macro key.
 */
final class DistanceDialog extends OperationDialog {
    private static final String PREVIEW_PREFS = "isoline.distance.preview";
    private static final int COLUMNS = 8;

    private DistanceSettings settings;
    private boolean drawPreview = Prefs.get(PREVIEW_PREFS, true);
    private DistancePreview preview;

    private DistanceDialog(ImagePlus image, DistanceSettings first) throws IsolineException {
        super(image, new NonBlockingGenericDialog(DistancePlugin.COMMAND));
        settings = first;
    }

    /** Shows the dialog; null if it was cancelled. */
    static DistanceSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> askOnce(image));
    }

    private static DistanceSettings askOnce(ImagePlus image) throws BadInput, IsolineException {
        DistanceDialog asker = new DistanceDialog(image, first(image));
        asker.build();
        asker.preview = new DistancePreview(image, asker);
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
        asker.settings.options().record(DistancePlugin.COMMAND);
        return asker.settings;
    }

    /** What was chosen last, and what of it fits this image. */
    private static DistanceSettings first(ImagePlus image) throws BadInput {
        DistanceSettings s = DistanceSettings.fromPrefs();
        boolean selection = image.getRoi() != null && image.getRoi().isArea();
        if (DistanceSettings.SELECTION.equals(s.inside) && selection) {
            return s;
        }
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            boolean bright = ShapeThreshold.areThingsBright();
            s.inside = bright ? DistanceSettings.BRIGHT : DistanceSettings.DARK;
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            s.inside = DistanceSettings.THRESHOLDED;
        } else if (!s.usesThreshold()) {
            s.inside = DistanceSettings.BRIGHT;
        }
        s.threshold = ShapeThreshold.proposal(image);
        return s;
    }

    private void build() throws IsolineException {
        DistanceSettings s = settings;
        addDevices(s.device);
        dialog.addChoice("Inside is", DistanceSettings.INSIDES, s.inside);
        dialog.addStringField("Threshold (bright, dark)", s.threshold, COLUMNS);
        dialog.addChoice("Region", DistanceSettings.REGIONS, s.region);
        if (stack) {
            dialog.addChoice("Stack as", DistanceSettings.STACKS, s.stack);
        }
        addAxes(s.axes);
        dialog.addCheckbox("Preview", drawPreview);
        addFooter("Felzenszwalb, Huttenlocher; Meijster et al.", "distance");
    }

    @Override
    public boolean dialogItemChanged(GenericDialog source, AWTEvent event) {
        DistanceSettings s = new DistanceSettings();
        s.device = dialog.getNextChoice();
        s.inside = dialog.getNextChoice();
        s.threshold = dialog.getNextString();
        s.region = dialog.getNextChoice();
        if (stack) {
            s.stack = dialog.getNextChoice();
        }
        s.axes = nextAxes();
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
        DistanceJob.check(image, settings);
        if (DistanceSettings.THRESHOLDED.equals(settings.inside)) {
            InsideTest.byShownThreshold(image);
        } else if (DistanceSettings.SELECTION.equals(settings.inside)) {
            StartSurface.areaSelection(image, "inside=selection");
        }
    }

    private void requestPreview() {
        requestPreview(preview, settings, drawPreview, settings.complaint());
    }

    /** What the settings mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(complaintOr(inside()));
        if (image.isInvertedLut() && settings.usesThreshold()) {
            text.append("\nThis image has an inverting LUT: its dark pixels have the high values.");
        }
        text.append('\n').append(Host.wrap(scope()));
        text.append(previewLine());
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    private String inside() {
        switch (settings.inside) {
            case DistanceSettings.SELECTION:
                return "Inside: the image's selection, the same in every slice.";
            case DistanceSettings.THRESHOLDED:
                return "Inside: what Image > Adjust > Threshold marks.";
            default:
                boolean bright = DistanceSettings.BRIGHT.equals(settings.inside);
                boolean above = bright != image.isInvertedLut();
                String than = settings.isAutomatic() ? "the lower of two" : settings.threshold;
                return "Inside: "
                        + (bright ? "bright" : "dark")
                        + " pixels, value "
                        + (above ? "> " : "<= ")
                        + than
                        + ". A selection is ignored.";
        }
    }

    private String scope() {
        VoxelSize size;
        try {
            size = new VoxelSize(image, settings.isVolume());
        } catch (BadInput e) {
            return e.getMessage();
        }
        String planes = settings.planes(image).describe();
        return "Distances in "
                + size.unit
                + ", pixels of "
                + number(size.x)
                + " x "
                + number(size.y)
                + (settings.isVolume() ? " x " + number(size.z) : "")
                + (planes.isEmpty() ? "" : ".\nTakes " + planes)
                + (size.warning == null ? "" : ".\nAttention: " + size.warning);
    }
}
