package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import java.util.List;

/**
 * The dialog of the region snake command, with a preview of the start. It does not block: the user can draw a selection
 * and scroll through the slices while it is open.
 */
final class SnakeDialog extends OperationDialog<SnakeSettings> {
    SnakeDialog(ImagePlus image, SnakeSettings defaults) throws IsolineException {
        super(image, Isoline.REGION_SNAKE.command, "Perrot et al. 2011", defaults);
    }

    @Override
    void fit() {
        boolean frames = image.getNFrames() > 1;
        boolean fits = settings.is(Settings.STACK, SnakeSettings.TRACK) ? image.getNSlices() > 1 || frames : frames;
        if (settings.isTrack() && !fits) {
            resetStack();
        }
        settings.startFrom(image.getRoi());
    }

    @Override
    void built() {
        followRoiManager();
    }

    @Override
    LivePreview<SnakeSettings> newPreview() {
        return new Preview(image, this);
    }

    @Override
    void check() throws BadInput {
        if (settings.is(SnakeSettings.START, SnakeSettings.ROI)) {
            SnakeStart.areaOrPoints(image);
        } else if (settings.is(SnakeSettings.START, SnakeSettings.MANAGER)) {
            // Their outlines are traced by the preview: there may be thousands.
            new RoiFile.Starts(settings);
        } else {
            new SnakeStart(settings.planes(image), settings);
        }
    }

    @Override
    String previewProblem() {
        return settings.startProblem();
    }

    @Override
    void hint(List<String> lines) {
        lines.add(Host.wrap(settings.noiseHint()));
        lines.add(previewLine());
    }

    @Override
    String meaning() {
        HyperStackSelection planes = settings.planes(image);
        String where = planes.describe();
        String what = "The image";
        if (settings.isTrack()) {
            what = (planes.slices() > 1 ? planes.slices() + " slices" : planes.frames() + " frames")
                    + ", tracked from that of the start in both directions: each starts from"
                    + " the outlines of its neighbour";
        } else if (planes.slices() > 1) {
            what = planes.slices() + " slices, each by itself";
        } else if (image.getNSlices() > 1) {
            what = "The current slice";
        }
        return String.format(
                "%s%s. Each target is compared with %s%s",
                what,
                where.isEmpty() ? "" : ", " + where,
                settings.isWindow() ? "the pixels around it, in a window" : "all of the image outside",
                settings.is(SnakeSettings.START, SnakeSettings.ROI) ? "." : "; a selection is ignored.");
    }

    /** Draws on the current slice the polygons that the search starts from. */
    private static final class Preview extends LivePreview<SnakeSettings> {
        Preview(ImagePlus image, Listener listener) {
            super(image, listener);
            followSelection();
        }

        @Override
        String compute(SnakeSettings settings, boolean draw) throws BadInput {
            HyperStackSelection planes = settings.planes(image);
            SnakeStart start = new SnakeStart(planes, settings);
            int index = image.getCurrentSlice();
            List<SnakeTarget> here = start.on(index);
            if (isOutdated()) {
                return null;
            }
            if (draw && !here.isEmpty()) {
                Roi all = GuestOverlay.start(Outline.of(SnakeTarget.polygons(here)));
                GuestOverlay.element(all, "Isoline start", planes, index);
                show(() -> new Roi[] {all});
            } else {
                hide();
            }
            String count = here.size() == 1 ? "1 target starts" : here.size() + " targets start";
            return String.format(
                    "%s on this slice%s, from %s%s",
                    count, draw ? " (blue)" : "", start.describe(), start.note() == null ? "" : "; " + start.note());
        }
    }
}
