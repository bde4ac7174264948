package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import java.util.Locale;

/** Shades the pixels of the current slice that belong to the shape. */
final class EdgeStrengthPreview extends LivePreview<EdgeStrengthSettings> {
    EdgeStrengthPreview(ImagePlus image, Listener listener) {
        super(image, listener);
        followSelection();
    }

    @Override
    String compute(EdgeStrengthSettings settings, boolean draw) throws BadInput, IsolineException {
        TwoValues found = null;
        if (settings.needsValues()) {
            found = values(settings.planes(image).indices());
            if (found == null) {
                return null;
            }
        }
        int slice = image.getCurrentSlice();
        byte[] shade = new byte[image.getWidth() * image.getHeight()];
        int inside = settings.insideTest(image, found).mark(Pixels.of(image, slice), shade);
        String where = image.getStackSize() > 1 ? "this slice" : "the image";
        if (inside == 0 || inside == shade.length) {
            hide();
            return String.format(
                    "Attention: %s of %s is shape: the result will be blank. Look at foreground and threshold.",
                    inside == 0 ? "no pixel" : "every pixel", where);
        }
        if (draw) {
            Roi shading = Shading.of(shade, image.getWidth());
            GuestOverlay.element(shading, "Isoline shape", settings.planes(image), slice);
            show(() -> new Roi[] {shading});
        } else {
            hide();
        }
        return String.format(
                Locale.ROOT, "%.3g %% of %s is shape%s", percent(inside, shade.length), where, draw ? " (red)" : "");
    }
}
