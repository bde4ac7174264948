package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;

/**
 * The dialog of the signed distance command, with a live preview. It does not block: a selection can be drawn or a
 * threshold set while it is open.
 */
final class DistanceDialog extends OperationDialog<DistanceSettings> {
    private DistanceDialog(ImagePlus image) throws BadInput, IsolineException {
        super(image, DistancePlugin.COMMAND, first(image));
    }

    /** Shows the dialog; null if it was cancelled. */
    static DistanceSettings ask(ImagePlus image) throws BadInput, IsolineException {
        return alone(image, () -> new DistanceDialog(image).ask());
    }

    /** Returns the parameters chosen last, as far as they fit this image. */
    private static DistanceSettings first(ImagePlus image) throws BadInput, IsolineException {
        DistanceSettings s = new DistanceSettings();
        s.readPrefs(image.getBitDepth());
        boolean selection = image.getRoi() != null && image.getRoi().isArea();
        if (s.is(DistanceSettings.INSIDE, DistanceSettings.SELECTION) && selection) {
            return s;
        }
        String inside = s.usesThreshold() ? s.text(DistanceSettings.INSIDE) : DistanceSettings.BRIGHT;
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            boolean bright = ShapeThreshold.areThingsBright();
            inside = bright ? DistanceSettings.BRIGHT : DistanceSettings.DARK;
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            inside = DistanceSettings.THRESHOLDED;
        }
        s.set(DistanceSettings.INSIDE, inside);
        s.set(DistanceSettings.THRESHOLD, ShapeThreshold.proposal(image));
        return s;
    }

    @Override
    void build() throws IsolineException {
        addDevices();
        add(DistanceSettings.INSIDE, DistanceSettings.THRESHOLD, DistanceSettings.REGION);
        if (stack) {
            add(Settings.STACK);
        }
        addAxes();
        addPreview();
        addFooter("Felzenszwalb, Huttenlocher; Meijster et al.", "distance");
    }

    @Override
    LivePreview<DistanceSettings> newPreview() {
        return new DistancePreview(image, this);
    }

    @Override
    void check() throws BadInput {
        refuse(settings.problem());
        DistanceJob.check(image, settings);
        if (settings.is(DistanceSettings.INSIDE, DistanceSettings.THRESHOLDED)) {
            InsideTest.byShownThreshold(image);
        } else if (settings.is(DistanceSettings.INSIDE, DistanceSettings.SELECTION)) {
            StartSurface.areaSelection(image, "inside=selection");
        }
    }

    @Override
    String previewProblem() {
        return settings.problem();
    }

    /** Returns the meaning of the parameters for this image, or the problem with them. */
    @Override
    String hintText() {
        StringBuilder text = new StringBuilder();
        text.append(problemOr(inside()));
        if (image.isInvertedLut() && settings.usesThreshold()) {
            text.append("\nThis image has an inverting LUT: its dark pixels have the high values.");
        }
        text.append('\n').append(Host.wrap(scope()));
        text.append(previewLine());
        text.append('\n').append(Host.wrap(automaticDevice()));
        return text.toString();
    }

    private String inside() {
        switch (settings.text(DistanceSettings.INSIDE)) {
            case DistanceSettings.SELECTION:
                return "Inside: the image's selection, the same in every slice.";
            case DistanceSettings.THRESHOLDED:
                return "Inside: what Image > Adjust > Threshold marks.";
            default:
                boolean bright = settings.is(DistanceSettings.INSIDE, DistanceSettings.BRIGHT);
                boolean above = bright != image.isInvertedLut();
                String than = settings.isAutomatic() ? "the lower of two" : settings.text(DistanceSettings.THRESHOLD);
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
