package io.github.isoline.ij;

import static io.github.isoline.ij.GuiDriver.await;
import static io.github.isoline.ij.GuiDriver.awaitEnd;
import static io.github.isoline.ij.GuiDriver.button;
import static io.github.isoline.ij.GuiDriver.checkbox;
import static io.github.isoline.ij.GuiDriver.dialog;
import static io.github.isoline.ij.GuiDriver.open;
import static io.github.isoline.ij.GuiDriver.press;
import static io.github.isoline.ij.GuiDriver.say;
import static io.github.isoline.ij.GuiDriver.status;
import static io.github.isoline.ij.GuiDriver.toggle;
import static io.github.isoline.ij.GuiDriver.type;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the isosurface command in ImageJ's window: its dialog, preview, table and the recorder. */
class IsosurfaceWindowTest extends WindowTest {
    @Test
    void dialogPreviewsAndIsRecorded() throws Exception {
        File file = home.resolve("mesh.stl").toFile();
        Path table = home.resolve("window.csv");
        Map<String, String> seen = play("isosurface dialog", "-Disoline.mesh=" + file, "-Disoline.table=" + table);
        assertTrue(
                seen.get("first status").matches("Preview: level .* cuts this slice in [1-9][0-9]* curves?"),
                seen.toString());
        assertEquals("1", seen.get("overlay during preview"));
        assertEquals("false", seen.get("ok with another ending"));
        assertEquals("1", seen.get("rows"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.contains("level=90.5") && recorded.contains("open_border"), recorded);
        String options = recorded.split("\"")[3];
        // A macro understands the recorded options.
        assertEquals(
                options, Settings.fromMacro(new IsosurfaceSettings(), options).toString());
        assertEquals(84 + 50 * Long.parseLong(seen.get("triangles")), file.length());
        assertHeadlessRunMakesTheSame(recorded.replace("mesh.stl", "again.stl"), file.toPath(), table);
    }

    /** Runs the recorded line without a display; asserts that it makes the same table and the same triangles. */
    private static void assertHeadlessRunMakesTheSame(String line, Path mesh, Path table) throws Exception {
        Path again = home.resolve("again.csv");
        File input = new File(System.getProperty("isoline.test.data"), "brain.tif");
        String macro = "open(\"" + input + "\");\n" + line + "\nsaveAs(\"Results\", \"" + again + "\");";
        HeadlessProcess.Outcome outcome = HeadlessProcess.imagej(home, HeadlessProcess.classPath(true), macro);
        assertEquals(0, outcome.status, outcome.text());
        assertEquals(Files.readAllLines(table), Files.readAllLines(again));
        assertArrayEquals(Files.readAllBytes(mesh), Files.readAllBytes(home.resolve("again.stl")));
    }

    /** Plays a user who looks for a surface. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes implements GuiDriver.Scenes {
        private final GuiDriver driver;

        Scenes(GuiDriver driver) {
            this.driver = driver;
        }

        @Override
        public void play(String scene, ImagePlus single) throws Exception {
            ImagePlus image = IJ.openImage(single.getOriginalFileInfo().directory + "brain.tif");
            image.setSlice(image.getStackSize() / 2);
            image.show();
            IJ.run(image, "In [+]", "");
            IJ.wait(500);
            EventQueue.invokeAndWait(() -> image.getWindow().setLocation(740, 60));
            Recorder recorder = new Recorder();
            recorder.setLocation(20, 700);
            Dialog dialog = open(image, IsosurfacePlugin.COMMAND + "...");
            await("a preview", () -> status(dialog).contains(" cuts this slice in "));
            String first = status(dialog);
            say("first status", first);
            await("curves", () -> image.getOverlay() != null);
            say("overlay during preview", image.getOverlay().size());
            driver.picture("isosurface-dialog", dialog);
            driver.picture("isosurface-preview", image.getCanvas());
            type(dialog, IsosurfaceSettings.FILE, "mesh.txt");
            await("a complaint", () -> !button(dialog, "OK").isEnabled());
            say("ok with another ending", button(dialog, "OK").isEnabled());
            type(dialog, IsosurfaceSettings.FILE, System.getProperty("isoline.mesh"));
            type(dialog, IsosurfaceSettings.LEVEL, "90.5");
            await("another preview", () -> status(dialog).contains("level 90.5 cuts"));
            toggle(checkbox(dialog, "Open at the border"), true);
            press(button(dialog, "OK"));
            await("the end", () -> !dialog.isShowing() && !image.isLocked());
            awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
            say("rows", ResultsTable.getResultsTable().size());
            say("triangles", (long) ResultsTable.getResultsTable().getValue("Triangles", 0));
            ResultsTable.getResultsTable().save(System.getProperty("isoline.table"));
            driver.picture("isosurface");
            for (String line : recorder.getText().trim().split("\n")) {
                if (line.startsWith("run(\"Isosurface")) {
                    say("recorded", line);
                }
            }
        }
    }
}
