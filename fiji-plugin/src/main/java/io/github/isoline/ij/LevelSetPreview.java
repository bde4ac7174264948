package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import java.awt.EventQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Shades the pixels of the current slice that lie within T ± ε, and draws the outline of the start. */
final class LevelSetPreview extends LivePreview<LevelSetSettings> {
    /** Receives the computed values on the event thread. */
    interface Listener extends LivePreview.Listener {
        /** Receives the range that is used, and its T and ε in the pixel values that ImageJ shows. */
        void range(double target, double epsilon, LevelSetRange range);
    }

    private final Listener listener;

    LevelSetPreview(ImagePlus image, Listener listener) {
        super(image, listener);
        this.listener = listener;
        followSelection();
    }

    @Override
    String compute(LevelSetSettings settings, boolean draw) throws IsolineException {
        HyperStackSelection planes = settings.planes(image);
        StartSurface start = null;
        try {
            start = new StartSurface(planes, settings);
        } catch (BadInput e) {
            // The range can be chosen before there is a start.
            if (settings.hasRegions() || settings.is(LevelSetSettings.RANGE, Settings.AUTO)) {
                throw e;
            }
        }
        LevelSetRange range = LevelSetRange.find(planes.inChannel(image.getCurrentSlice()), settings, start, valid);
        if (range == null) {
            return null;
        }
        if (range == LevelSetRange.NOTHING) {
            throw LevelSetRange.nothing(start);
        }
        double target = ShownValues.of(image).of(range.target);
        double epsilon = ShownValues.of(image).difference(range.epsilon);
        EventQueue.invokeLater(() -> listener.range(target, epsilon, range));
        if (!draw) {
            hide();
            return "off";
        }
        return draw(planes, start, range);
    }

    private String draw(HyperStackSelection planes, StartSurface start, LevelSetRange range) throws IsolineException {
        int index = image.getCurrentSlice();
        int width = image.getWidth();
        int height = image.getHeight();
        byte[] shade = new byte[width * height];
        int within = within(Pixels.of(image, index), range, shade);
        List<Roi> shown = new ArrayList<>();
        shown.add(GuestOverlay.element(Shading.of(shade, width), "Isoline range", planes, index));
        if (start != null && planes.place(index) >= 0) {
            Roi outline = Outline.of(start.plane(index, new byte[shade.length]), width, height);
            if (outline != null) {
                shown.add(GuestOverlay.start(GuestOverlay.element(outline, "Isoline start", planes, index)));
            }
        }
        if (isOutdated()) {
            return null;
        }
        show(() -> shown.toArray(new Roi[0]));
        String status =
                String.format(Locale.ROOT, "%.3g %% of this slice in range (red)", percent(within, shade.length));
        return status + (start != null ? "; start (blue): " + start.describe() : "");
    }

    /** Marks the pixels in range with 1, and returns their number. */
    static int within(Object pixels, LevelSetRange range, byte[] shade) {
        int count = 0;
        for (int i = 0; i < shade.length; i++) {
            if (range.contains(IntensitySample.value(pixels, i))) {
                shade[i] = 1;
                count++;
            }
        }
        return count;
    }
}
