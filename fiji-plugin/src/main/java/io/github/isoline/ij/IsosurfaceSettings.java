package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.Isosurface;
import io.github.isoline.Params;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The parameters of the isosurface command. */
final class IsosurfaceSettings extends Settings {
    static final String LEVEL = "level";
    static final String FOREGROUND = "foreground";
    static final String OPEN_BORDER = "open_border";
    static final String VIEWER = "viewer";
    static final String FILE = "file";

    private static final String CLOSE = "close";

    IsosurfaceSettings() throws IsolineException {
        super(Isosurface.NAME, "isosurface");
        declare(
                Setting.of(parameter(LEVEL)).forgotten(),
                Setting.of(parameter(FOREGROUND)).recordedIfChanged().forgotten());
        declare(
                // In a macro a switch that is left out is off, so the switch is for what is unusual.
                Setting.toggle(OPEN_BORDER)
                        .label("Open at the border")
                        .help(
                                "On: the surface ends at the border of the volume. Off: it is closed there, half a voxel beyond"
                                        + " the last centres."),
                // The only word: slices are always one volume.
                Setting.choice(STACK, "volume").recordedIf(s -> false));
        declareAxes();
        declare(
                Setting.output(RESULTS_TABLE).first(true),
                Setting.output(VIEWER)
                        .label("Show in 3D Viewer")
                        .help("Adds the surface to the first open window of the 3D Viewer, or to a new one."),
                Setting.text(FILE, "")
                        .forgotten()
                        .written(MeshFile.ENDINGS)
                        .label("Save as")
                        .help(
                                "A file for the triangles, whose ending is .stl, .ply or .obj; nothing: none is written."));
        // The switch says it.
        declareOthers(CLOSE);
    }

    @Override
    Params toParams() throws IsolineException {
        return super.toParams().set(CLOSE, is(OPEN_BORDER) ? 0 : 1);
    }

    @Override
    String otherProblem() {
        return is(RESULTS_TABLE) || is(VIEWER) || !text(FILE).trim().isEmpty()
                ? null
                : String.format(
                        NO_OUTPUT + " Choose results_table%s, or give a file that ends with .stl, .ply or .obj.",
                        Viewer3D.isInstalled() ? " or viewer" : "");
    }

    /** Returns the names of the files of an image's volumes, in the order of the volumes; none if none is given. */
    List<String> files(ImagePlus image) {
        List<String> files = new ArrayList<>();
        String file = text(FILE).trim();
        int ending = file.lastIndexOf('.');
        int volumes = ending < 0 ? 0 : planes(image).volumes().size();
        for (int i = 1; i <= volumes; i++) {
            String number = volumes == 1 ? "" : String.format(Locale.ROOT, "-%04d", i);
            files.add(file.substring(0, ending) + number + file.substring(ending));
        }
        return files;
    }

    @Override
    void check(ImagePlus image) throws BadInput {
        if (image.getNSlices() == 1) {
            throw new BadInput(
                    "\"%s\" has a single z slice, and an isosurface needs a volume of several. If the slices of a stack are"
                            + " channels or frames by mistake, say so in Image > Properties.",
                    image.getTitle());
        }
        super.check(image);
        new VoxelSize(image, true);
    }
}
