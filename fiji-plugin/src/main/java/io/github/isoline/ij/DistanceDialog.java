package io.github.isoline.ij;

import ij.ImagePlus;
import ij.Prefs;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import java.awt.AWTEvent;

/**
 * The dialog of the signed distance command, with a live preview. It does not block: a selection
 * can be drawn or a threshold set while it is open. The first word of each label is the macro key.
 */
final class DistanceDialog extends OperationDialog implements LivePreview.Listener {
    private static final String PREVIEW_PREFS = "isoline.distance.preview";
    private static final int COLUMNS = 8;

    private DistanceSettings settings;
    private boolean drawPreview = Prefs.get(PREVIEW_PREFS, true);
    private String complaint;
    private DistancePreview preview;
    private String previewStatus = "";

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
        if (asker.dialog.wasCanceled()) {
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
        ImageProcessor processor = image.getProcessor();
        boolean selection = image.getRoi() != null && image.getRoi().isArea();
        if (DistanceSettings.SELECTION.equals(s.inside) && selection) {
            return s;
        }
        boolean twoValued = !TwoValues.of(StackJob.pixels(image, image.getCurrentSlice())).isMore();
        if (twoValued && image.getBitDepth() == Byte.SIZE) {
            // What ImageJ's own binary commands take for things in a mask.
            s.inside = Prefs.blackBackground ? DistanceSettings.BRIGHT : DistanceSettings.DARK;
        } else if (processor.getMinThreshold() != ImageProcessor.NO_THRESHOLD) {
            s.inside = DistanceSettings.THRESHOLDED;
        } else if (!s.usesThreshold()) {
            s.inside = DistanceSettings.BRIGHT;
        }
        if (!twoValued) {
            s.threshold = number(guess(image));
        }
        return s;
    }

    /** ImageJ's own threshold for the current slice, in the values that are asked for. */
    private static double guess(ImagePlus image) {
        ImageProcessor copy = image.getProcessor().duplicate();
        copy.setAutoThreshold("Default dark");
        double min = copy.getMinThreshold();
        if (image.getBitDepth() == Float.SIZE) {
            return min;
        }
        // ImageJ's bright pixels begin with this value, and ours above it.
        return min - 1 - (StackJob.rawThreshold(image, 0));
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
        complaint = s.complaint();
        if (complaint == null) {
            try {
                DistanceJob.check(image, s);
            } catch (BadInput e) {
                complaint = e.getMessage();
            }
        }
        if (event != null) {
            requestPreview();
        }
        refreshHint();
        return complaint == null;
    }

    private void requestPreview() {
        if (complaint == null) {
            previewStatus = "computing...";
            preview.request(settings, drawPreview);
        }
    }

    /** What the settings mean for this image, or what is wrong with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(Host.wrap(complaint != null ? complaint : inside()));
        if (image.isInvertedLut() && settings.usesThreshold()) {
            text.append("\nThis image has an inverting LUT: its dark pixels have the high values.");
        }
        text.append('\n').append(Host.wrap(scope()));
        text.append("\nPreview: ").append(Host.wrap(previewStatus));
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

    @Override
    public void status(String text) {
        previewStatus = text;
        refreshHint();
    }

    @Override
    public void imageClosed() {
        dialog.windowClosing(null);
    }
}
