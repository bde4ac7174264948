package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.Polylines;

/** The dialog of the isosurface command. Its preview shows where the surface cuts the current slice. */
final class IsosurfaceDialog extends OperationDialog<IsosurfaceSettings> {
    IsosurfaceDialog(ImagePlus image, IsosurfaceSettings defaults) throws IsolineException {
        super(image, Isoline.ISOSURFACE.command, "Lorensen, Cline; Nielson, Hamann", defaults);
        if (!Viewer3D.isInstalled()) {
            // It may have been installed when the choice was remembered.
            settings.reset(IsosurfaceSettings.VIEWER);
        }
    }

    @Override
    LivePreview<IsosurfaceSettings> newPreview() {
        return new Preview(image, this);
    }

    @Override
    String previewProblem() {
        return settings.problemOf(IsosurfaceSettings.LEVEL);
    }

    @Override
    String meaning() {
        String size = VoxelSize.describe(
                image, true, voxel -> "Voxels of " + voxel.sides(true) + " " + voxel.unit + "." + voxel.attention(" "));
        return size + " Looks at " + taken("the whole stack") + "; a selection is ignored.";
    }

    @Override
    boolean accepts() {
        return OutputFile.mayReplace(settings.files(image));
    }

    /** Shows the isolines of the current slice at the level of the surface. */
    static final class Preview extends LivePreview<IsosurfaceSettings> {
        Preview(ImagePlus image, Listener listener) {
            super(image, listener);
        }

        @Override
        String compute(IsosurfaceSettings settings, boolean draw) throws IsolineException {
            if (!draw) {
                hide();
                return "";
            }
            double level = 0;
            if (settings.isAutomatic(IsosurfaceSettings.LEVEL)) {
                GreyRange range = new GreyRange();
                if (!eachSlice(settings.planes(image).volume(image.getCurrentSlice()), GreyRange::of, range::add)) {
                    return null;
                }
                level = range.hasExtent() ? range.min / 2 + range.max / 2 : range.min;
            } else {
                level = ShownValues.of(image).stored(settings.number(IsosurfaceSettings.LEVEL));
            }
            Polylines curves = showIsolines(settings.device(), new Params(Isolines.NAME), level)
                    .found();
            String shown = Setting.shortest(ShownValues.of(image).of(level));
            return "level " + shown + " cuts this slice in " + RunLog.count(curves.count(), "curve");
        }
    }
}
