package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import java.util.List;

/**
 * The dialog of the edge drawing command, with a live preview. It does not block: the user can scroll through the
 * slices and zoom while it is open.
 */
final class EdgeDrawingDialog extends OperationDialog<EdgeDrawingSettings> implements EdgeDrawingPreview.Listener {
    private double usedThreshold = Double.NaN;

    EdgeDrawingDialog(ImagePlus image, EdgeDrawingSettings defaults) throws IsolineException {
        super(image, Isoline.EDGE_DRAWING.command, "\u00d6zsen, Topal, Ak\u0131nlar", defaults);
    }

    @Override
    LivePreview<EdgeDrawingSettings> newPreview() {
        return new EdgeDrawingPreview(image, this);
    }

    @Override
    String previewProblem() {
        return settings.computationProblem();
    }

    @Override
    void hint(List<String> lines) {
        lines.add("Gradient threshold" + threshold());
        super.hint(lines);
    }

    @Override
    String meaning() {
        HyperStackSelection planes = settings.planes(image);
        String slices = planes.slices() == image.getNSlices()
                ? planes.slices() > 1 ? "all " + planes.slices() + " slices, each by itself" : ""
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
        if (!settings.isAutomatic(EdgeDrawingSettings.GRADIENT_THRESHOLD)) {
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
