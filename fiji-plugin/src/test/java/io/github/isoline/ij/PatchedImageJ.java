package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.GenericDialog;
import ij.gui.OvalRoi;
import ij.measure.ResultsTable;
import io.github.isoline.IsolineException;
import net.imagej.patcher.LegacyInjector;

/**
 * Runs a script and a macro in the ImageJ of Fiji's headless mode: started by ScriptExamplesTest in its own process.
 */
final class PatchedImageJ {
    private PatchedImageJ() {}

    /** Takes the image to open. */
    public static void main(String[] args) throws Exception {
        LegacyInjector.preinit();
        // The class that uses ImageJ's must not be loaded before.
        Body.run(args[0]);
        System.exit(0);
    }

    /** A line for each command; {@link ScriptExamplesTest} has the image that it makes. */
    static final String[] LINES = {
        "run('Edge Strength Function...', 'threshold=110 rho=4');",
        "run('Edge Drawing...', 'edge_map');",
        "run('Signed Distance...', 'threshold=110');",
        "run('Level Set...', 'mask_stack results_table');",
        "run('Region Snake...', 'label_image results_table');",
        "run('Isolines...', 'results_table overlay');",
        "run('Isosurface...', 'results_table');",
        "run('Grow Objects...', 'label_image results_table');",
    };

    /** The part that runs in the patched ImageJ. */
    private static final class Body {
        static void run(String path) throws IsolineException {
            System.out.println("dialogs: " + GenericDialog.class.getSuperclass().getSimpleName());
            String options = "gradient_threshold=30 min_length=20";
            ImagePlus image = IJ.openImage(path);
            System.out.println(
                    "script: " + Isoline.edgeDrawing(image, options).getRois().size() + " segments");
            try {
                Isoline.edgeDrawing(image, "foo=1");
            } catch (IsolineException e) {
                System.out.println("refused: " + e.getMessage());
            }
            WindowManager.setTempCurrentImage(image);
            IJ.runMacro("run(\"Edge Drawing...\", \"" + options + " results_table\");");
            System.out.println("macro: " + ResultsTable.getResultsTable().size() + " segments");
            for (String line : LINES) {
                // An isosurface is that of a volume.
                ImagePlus each =
                        IJ.openImage(line.contains("Isosurface") ? path.replace("cell.png", "brain.tif") : path);
                each.setRoi(new OvalRoi(400, 350, 50, 50));
                WindowManager.setTempCurrentImage(each);
                ResultsTable.getResultsTable().reset();
                IJ.runMacro("setBatchMode(true);" + line + "print(getTitle());");
                ImagePlus made = WindowManager.getCurrentImage();
                System.out.println("made: " + made.getTitle() + ", rows "
                        + ResultsTable.getResultsTable().size());
            }
        }
    }
}
