package io.github.isoline.ij;

import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.Isosurface;
import io.github.isoline.Params;

/** The parameters of the isosurface command. */
final class IsosurfaceSettings extends Settings {
    static final String LEVEL = "level";
    static final String FOREGROUND = "foreground";
    static final String OPEN_BORDER = "open_border";
    static final String VIEWER = "viewer";
    static final String FILE = "file";

    private static final String CLOSE = "close";

    IsosurfaceSettings() throws IsolineException {
        super(Isosurface.NAME, "isosurface", "An isosurface");
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
                        .file()
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
        String file = text(FILE).trim();
        if (file.isEmpty()) {
            return is(RESULTS_TABLE) || is(VIEWER)
                    ? null
                    : String.format(
                            NO_OUTPUT + " Choose results_table%s, or give a file that ends with .stl, .ply or .obj.",
                            Viewer3D.isInstalled() ? " or viewer" : "");
        }
        return MeshFile.isKnown(file)
                ? null
                : "file must end with .stl, .ply or .obj, which say the format, got \"" + file + "\".";
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
