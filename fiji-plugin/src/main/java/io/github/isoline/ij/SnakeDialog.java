package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.GenericDialog;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.plugin.frame.Recorder;
import io.github.isoline.IsolineException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The dialog of the region snake command, with a preview of the start. It does not block: the user can draw a selection
 * and scroll through the slices while it is open. Parameters that are seldom changed are in a second dialog.
 */
final class SnakeDialog extends OperationDialog<SnakeSettings> {
    private boolean wantsMore;

    SnakeDialog(ImagePlus image, SnakeSettings defaults) throws IsolineException {
        super(image, SnakePlugin.COMMAND, "Perrot et al. 2011", defaults);
    }

    @Override
    void fit() {
        boolean frames = image.getNFrames() > 1;
        boolean fits = settings.is(Settings.STACK, SnakeSettings.TRACK) ? image.getNSlices() > 1 || frames : frames;
        if (settings.isTrack() && !fits) {
            settings.reset(Settings.STACK);
        }
        Roi roi = image.getRoi();
        if (roi != null && (roi.isArea() || roi instanceof PointRoi)) {
            // A user who has drawn an area or points wants to start from them.
            settings.set(SnakeSettings.START, SnakeSettings.ROI);
        }
    }

    @Override
    void build() throws IsolineException {
        addDevices();
        if (stack) {
            addBeside(Settings.STACK);
        }
        addAxes();
        add(SnakeSettings.START);
        dialog.addToSameRow();
        addImages(SnakeSettings.START_IMAGE, MaskChoice.titles(image));
        add(SnakeSettings.RADIUS);
        add(SnakeSettings.NOISE);
        addBeside(SnakeSettings.LOOKS);
        add(SnakeSettings.BACKGROUND);
        addBeside(SnakeSettings.MARGIN);
        add(SnakeSettings.OVERLAP);
        addOutputs(2);
        addPreview();
        dialog.addToSameRow();
        addCheckbox("More settings after OK...", false, on -> wantsMore = on);
        followRoiManager();
    }

    @Override
    LivePreview<SnakeSettings> newPreview() {
        return new SnakePreview(image, this);
    }

    @Override
    void check() throws BadInput {
        if (settings.is(SnakeSettings.START, SnakeSettings.ROI)) {
            SnakeStart.areaOrPoints(image);
        } else {
            new SnakeStart(settings.planes(image), settings);
        }
    }

    @Override
    String previewProblem() {
        return settings.startProblem();
    }

    @Override
    boolean askMore() {
        boolean recording = Recorder.record;
        // The values of the second dialog are recorded with the others.
        Recorder.record = false;
        try {
            return !wantsMore || askMoreUnrecorded();
        } finally {
            Recorder.record = recording;
        }
    }

    private boolean askMoreUnrecorded() {
        boolean floats = image.getBitDepth() == Float.SIZE;
        List<String> keys = new ArrayList<>(SnakeSettings.SEARCH);
        if (!floats) {
            keys.removeAll(Arrays.asList(SnakeSettings.RANGE_MIN, SnakeSettings.RANGE_MAX));
        }
        keys.add(SnakeSettings.SHOW_EVERY);
        GenericDialog more = new GenericDialog(SnakePlugin.COMMAND + ": more settings");
        List<Consumer<SnakeSettings>> readers = addFields(more, keys);
        more.addMessage("These are remembered. Usual: " + usual());
        more.addHelp(Help.text("region-snake"));
        more.addDialogListener((source, event) -> {
            readers.forEach(reader -> reader.accept(settings));
            return settings.searchProblem() == null;
        });
        more.showDialog();
        return !more.wasCanceled();
    }

    private String usual() {
        return SnakeSettings.SEARCH.stream()
                .filter(key -> !key.startsWith("range_"))
                .map(key -> settings.setting(key).initial)
                .map(value -> value instanceof Double ? Setting.shortest((Double) value) : "" + value)
                .collect(Collectors.joining(", "));
    }

    @Override
    void hint(List<String> lines) {
        lines.add(Host.wrap(settings.noiseHint()));
        lines.add(previewLine());
        String unusual = settings.unusual();
        if (!unusual.isEmpty()) {
            lines.add(Host.wrap("More settings: " + unusual));
        }
        lines.add("Escape stops the run and keeps the state that it has reached.");
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
                "%s%s; targets are compared with %s",
                what,
                where.isEmpty() ? "" : ", " + where,
                settings.isWindow() ? "a window around their start." : "all of the image outside them.");
    }
}
