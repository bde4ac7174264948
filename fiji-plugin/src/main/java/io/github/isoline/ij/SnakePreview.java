package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Polygons;
import java.awt.Color;
import java.util.List;

/** Draws on the current slice the polygons that the search starts from. */
final class SnakePreview extends LivePreview<SnakeSettings> {
    private static final Color START = new Color(0x20e0ff);
    private static final double START_WIDTH = 1.5;

    SnakePreview(ImagePlus image, Listener listener) {
        super(image, listener);
        followSelection();
    }

    @Override
    String compute(SnakeSettings settings, boolean draw) throws BadInput {
        try {
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
                Roi all = SnakeOverlay.all(Polygons.of(nodes));
                all.setName("Isoline start");
                all.setStrokeColor(START);
                all.setStrokeWidth(START_WIDTH);
                // A cursor element has no label and is not saved with the image.
                all.setIsCursor(true);
                ResultImage.setPosition(all, image, planes.position(index));
                show(() -> new Roi[] {all});
            } else {
                hide();
            }
            String count = here.size() == 1 ? "1 target starts" : here.size() + " targets start";
            return count
                    + " on this slice"
                    + (draw ? " (blue)" : "")
                    + ", from "
                    + start.describe()
                    + (settings.isAutomatic(SnakeSettings.LARGEST_STEP)
                            ? "; largest step auto: " + settings.largestStep(here) + " pixels"
                            : "")
                    + (start.note() == null ? "" : "; " + start.note());
        } catch (BadInput e) {
            hide();
            throw e;
        }
    }
}
