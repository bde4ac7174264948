package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Polygons;
import java.util.List;

/** Draws on the current slice the polygons that the search starts from. */
final class SnakePreview extends LivePreview<SnakeSettings> {
    SnakePreview(ImagePlus image, Listener listener) {
        super(image, listener);
        followSelection();
    }

    @Override
    String compute(SnakeSettings settings, boolean draw) throws BadInput {
        HyperStackSelection planes = settings.planes(image);
        SnakeStart start = new SnakeStart(planes, settings);
        int index = image.getCurrentSlice();
        List<SnakeTarget> here = start.on(index);
        int[][] nodes = new int[here.size()][];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = here.get(i).nodes;
        }
        if (isOutdated()) {
            return null;
        }
        if (draw && nodes.length > 0) {
            Roi all = GuestOverlay.start(Outline.of(Polygons.of(nodes)));
            GuestOverlay.element(all, "Isoline start", planes, index);
            show(() -> new Roi[] {all});
        } else {
            hide();
        }
        String count = here.size() == 1 ? "1 target starts" : here.size() + " targets start";
        return String.format(
                "%s on this slice%s, from %s%s%s",
                count,
                draw ? " (blue)" : "",
                start.describe(),
                settings.isAutomatic(SnakeSettings.LARGEST_STEP)
                        ? "; largest step auto: " + RunLog.count(settings.largestStep(here), "pixel")
                        : "",
                start.note() == null ? "" : "; " + start.note());
    }
}
