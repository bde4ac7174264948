package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Objects;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polygons;
import java.util.Arrays;
import java.util.List;

/**
 * The dialog of the command that grows objects. Its preview grows those of the current slice, as an image of its own.
 */
final class ObjectsDialog extends OperationDialog<ObjectsSettings> {
    ObjectsDialog(ImagePlus image, ObjectsSettings defaults) throws IsolineException {
        super(image, Isoline.OBJECTS.command, "Elsey et al.; Zhu, Yuille", defaults);
    }

    @Override
    void fit() {
        settings.startFrom(image.getRoi());
    }

    @Override
    void built() {
        followRoiManager();
    }

    @Override
    void check() throws BadInput {
        ObjectsStart.of(settings.planes(image), settings);
    }

    @Override
    LivePreview<ObjectsSettings> newPreview() {
        return new Preview(image, this);
    }

    @Override
    String meaning() {
        String what = fields.stack ? " Takes " + taken("the whole stack") + "." : "";
        return starts() + what + (settings.is(Settings.START, Settings.ROI) ? "" : " A selection is ignored.");
    }

    private String starts() {
        switch (settings.text(Settings.START)) {
            case ObjectsSettings.ROI:
                return "Starts: the selection.";
            case ObjectsSettings.MANAGER:
                return "Starts: the areas and points of the ROI Manager.";
            case ObjectsSettings.LABELS:
                return "Starts: the labels of the start image.";
            default:
                return "Starts: in each thick part on the objects' side of the threshold.";
        }
    }

    /** Shows the outlines of the objects of the current slice. */
    private static final class Preview extends LivePreview<ObjectsSettings> {
        Preview(ImagePlus image, Listener listener) {
            super(image, listener);
            followSelection();
        }

        @Override
        String compute(ObjectsSettings settings, boolean draw) throws IsolineException {
            if (!draw) {
                hide();
                return "";
            }
            int slice = image.getCurrentSlice();
            VoxelSize size = new VoxelSize(image, false);
            Params params = settings.toParams(image, Settings.THRESHOLD);
            ObjectsStart start = ObjectsStart.of(HyperStackSelection.everything(image), settings);
            int width = image.getWidth();
            float[] found = new float[width * image.getHeight()];
            Context context = Contexts.of(settings.device());
            try (PixelBuffer pixels = Pixels.buffer(context, Pixels.type(image), image, 1);
                    PixelBuffer output = Pixels.buffer(context, PixelBuffer.Type.F32, image, 1);
                    PixelBuffer labels = start == null ? null : start.labels(context, slice)) {
                if (start != null && labels == null) {
                    hide();
                    return "no start on this slice";
                }
                pixels.write(0, Pixels.of(image, slice));
                pixels.setSpacing(size.x, size.y, size.z);
                run(settings.device(), (at, progress) -> Objects.run(at, params, pixels, labels, output, 1, progress));
                output.read(0, found);
            }
            int[] values = new int[found.length];
            Arrays.setAll(values, i -> (int) found[i]);
            List<MaskOutlines.Part> parts = MaskOutlines.of(values, width);
            int[][] corners = parts.stream().map(part -> part.outline).toArray(int[][]::new);
            Roi outlines = Outline.of(Polygons.of(corners));
            HyperStackSelection planes = HyperStackSelection.everything(image);
            show(() -> new Roi[] {GuestOverlay.element(outlines, "Isoline preview", planes, slice)});
            return RunLog.count(parts.size(), "object") + " in this slice alone";
        }
    }
}
