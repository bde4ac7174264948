package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import java.util.List;

/**
 * The dialog of the signed distance command, with a live preview. It does not block: a selection can be drawn or a
 * threshold set while it is open.
 */
final class DistanceDialog extends OperationDialog<DistanceSettings> {
    DistanceDialog(ImagePlus image, DistanceSettings defaults) throws IsolineException {
        super(image, DistancePlugin.COMMAND, "Felzenszwalb, Huttenlocher; Meijster et al.", defaults);
    }

    @Override
    void fit() throws BadInput {
        boolean selection = image.getRoi() != null && image.getRoi().isArea();
        if (settings.is(DistanceSettings.INSIDE, DistanceSettings.SELECTION) && selection) {
            return;
        }
        String inside = settings.usesThreshold() ? settings.text(DistanceSettings.INSIDE) : DistanceSettings.BRIGHT;
        ShapeThreshold.Offer offer = ShapeThreshold.offer(image);
        if (offer == ShapeThreshold.Offer.MASK && image.getBitDepth() == Byte.SIZE) {
            boolean bright = ShapeThreshold.areThingsBright();
            inside = bright ? DistanceSettings.BRIGHT : DistanceSettings.DARK;
        } else if (offer == ShapeThreshold.Offer.SHOWN) {
            inside = DistanceSettings.THRESHOLDED;
        }
        settings.set(DistanceSettings.INSIDE, inside);
        settings.set(DistanceSettings.THRESHOLD, ShapeThreshold.proposal(image));
    }

    @Override
    LivePreview<DistanceSettings> newPreview() {
        return new DistancePreview(image, this);
    }

    @Override
    void check() throws BadInput {
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

    @Override
    void hint(List<String> lines) {
        if (image.isInvertedLut() && settings.usesThreshold()) {
            lines.add("This image has an inverting LUT: its dark pixels have the high values.");
        }
        lines.add(Host.wrap(scope()));
        lines.add(previewLine());
    }

    @Override
    String meaning() {
        switch (settings.text(DistanceSettings.INSIDE)) {
            case DistanceSettings.SELECTION:
                return "Inside: the image's selection, the same in every slice.";
            case DistanceSettings.THRESHOLDED:
                return "Inside: what Image > Adjust > Threshold marks.";
            default:
                boolean bright = settings.is(DistanceSettings.INSIDE, DistanceSettings.BRIGHT);
                boolean above = bright != image.isInvertedLut();
                String than = settings.needsValues() ? "the lower of two" : settings.text(DistanceSettings.THRESHOLD);
                return String.format(
                        "Inside: %s pixels, value %s%s. A selection is ignored.",
                        bright ? "bright" : "dark", above ? "> " : "<= ", than);
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
        return String.format(
                "Distances in %s, pixels of %s x %s%s%s%s",
                size.unit,
                number(size.x),
                number(size.y),
                settings.isVolume() ? " x " + number(size.z) : "",
                planes.isEmpty() ? "" : ".\nTakes " + planes,
                size.warning == null ? "" : ".\nAttention: " + size.warning);
    }
}
