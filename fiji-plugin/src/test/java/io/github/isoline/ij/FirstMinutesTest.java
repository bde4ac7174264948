package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.PointRoi;
import ij.measure.ResultsTable;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The first minutes of somebody who tries the plugin: opens a sample image from the menu, draws a start where the
 * command needs one, leaves the dialog as it is, and presses OK. scripts/screenshots.sh shows the dialogs of this test.
 */
class FirstMinutesTest extends WindowTest {
    @ParameterizedTest
    @CsvSource({
        // The image; what is counted, and its least and its largest number.
        "coins, closed lines longer than 80 pixels, 23, 60",
        "nuclei, targets that converged, 95, 110",
        "cell, pixels in the cell, 11500, 12700",
        // White matter has 275 cm^3 in this stack with range=values target=225 epsilon=30, and the brain 770.
        "brain, cm^3, 250, 320",
        "retina, lines longer than 40 pixels, 5, 8",
    })
    void dialogAsItOpensGivesAResult(String image, String counted, double least, double most) throws Exception {
        Map<String, String> seen = play("first " + image);
        assertTrue(seen.get("before").startsWith("Preview: "), seen.toString());
        assertEquals("1", seen.get("images before"));
        double number = Double.parseDouble(seen.get(counted));
        assertTrue(least <= number && number <= most, counted + ": " + number);
    }

    /** Plays the user. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes extends GuiDriver {
        private static final int LONG_EDGE = 80;
        private static final int LONG_VESSEL = 40;

        private Scenes() {}

        static void play(String scene, ImagePlus other) throws Exception {
            other.changes = false;
            other.close();
            String name = scene.substring("first ".length());
            IJ.doCommand(Character.toUpperCase(name.charAt(0)) + name.substring(1) + " Sample");
            await("the sample", () -> WindowManager.getCurrentImage() != null);
            ImagePlus image = WindowManager.getCurrentImage();
            await("its window", image::isVisible);
            IJ.wait(500);
            EventQueue.invokeAndWait(() -> image.getWindow().setLocation(680, 60));
            say("images before", WindowManager.getImageCount());
            Dialog dialog = dialog(name, image);
            toggle(checkbox(dialog, "Overlay"), true);
            toggle(checkbox(dialog, "Results table"), true);
            await("a preview", () -> status(dialog).startsWith("Preview: ") && image.getOverlay() != null);
            await("no complaint", () -> button(dialog, "OK").isEnabled());
            say("before", status(dialog));
            picture("first-" + name + "-dialog", dialog);
            picture("first-" + name + "-preview", image.getCanvas());
            press(button(dialog, "OK"));
            await("the end", () -> !dialog.isShowing());
            awaitAllRows();
            count(name, ResultsTable.getResultsTable(), image.getCalibration().pixelWidth);
        }

        /** Does what the command needs, and opens its dialog. */
        private static Dialog dialog(String name, ImagePlus image) throws Exception {
            switch (name) {
                case "nuclei":
                    return open(image, "Region Snake...");
                case "cell":
                    image.setRoi(new OvalRoi(400, 350, 50, 50));
                    return open(image, "Level Set...");
                case "brain":
                    image.setSlice(13);
                    PointRoi points = new PointRoi(60, 138);
                    points.addPoint(136, 138);
                    image.setRoi(points);
                    IJ.run(image, "In [+]", "");
                    Dialog volume = open(image, "Level Set...");
                    choose(volume, "volume");
                    choose(volume, "spheres");
                    return volume;
                case "retina":
                    for (int i = 0; i < 2; i++) {
                        IJ.run(image, "In [+]", "");
                    }
                    return open(image, "Edge Drawing...");
                default:
                    return open(image, "Edge Drawing...");
            }
        }

        private static void awaitAllRows() throws Exception {
            int[] rows = {0};
            await("all rows", () -> {
                int before = rows[0];
                rows[0] = ResultsTable.getResultsTable().size();
                IJ.wait(1000);
                return before > 0 && before == rows[0];
            });
        }

        /** Says what the table holds. */
        private static void count(String name, ResultsTable table, double pixel) {
            int lines = 0;
            int closed = 0;
            int converged = 0;
            for (int row = 0; row < table.size(); row++) {
                if (table.columnExists("Closed")) {
                    lines += table.getValue("Points", row) > LONG_VESSEL ? 1 : 0;
                    closed += table.getValue("Points", row) > LONG_EDGE && table.getValue("Closed", row) == 1 ? 1 : 0;
                }
                if (table.columnExists("Status")) {
                    converged += "converged".equals(table.getStringValue("Status", row)) ? 1 : 0;
                }
            }
            say("lines longer than 40 pixels", lines);
            say("closed lines longer than 80 pixels", closed);
            say("targets that converged", converged);
            say("pixels in the cell", name.equals("cell") ? table.getValue("Area", 0) / pixel / pixel : 0);
            say("cm^3", name.equals("brain") ? table.getValue("Volume", 0) / 1000 : 0);
        }
    }
}
