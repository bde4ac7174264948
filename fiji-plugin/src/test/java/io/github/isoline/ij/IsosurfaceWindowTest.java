package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.Prefs;
import ij.measure.ResultsTable;
import ij.plugin.frame.Recorder;
import ij.process.ByteProcessor;
import java.awt.Checkbox;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the isosurface command in ImageJ's window: its dialog, preview, table and the recorder. */
class IsosurfaceWindowTest extends WindowTest {
    @Test
    void dialogPreviewsAndIsRecorded() throws Exception {
        File file = home.resolve("mesh.stl").toFile();
        Path table = home.resolve("window.csv");
        // The dialog asks before it replaces a file.
        Files.write(file.toPath(), new byte[1]);
        Map<String, String> seen = play("isosurface dialog", "-Disoline.mesh=" + file, "-Disoline.table=" + table);
        assertTrue(
                seen.get("first status").matches("Preview: level .* cuts this slice in [1-9][0-9]* curves?"),
                seen.toString());
        assertEquals("1", seen.get("overlay during preview"));
        assertEquals("false", seen.get("ok with another ending"));
        // The 3D Viewer is not installed here.
        assertEquals("false", seen.get("viewer offered"));
        assertEquals("1", seen.get("rows"));
        assertEquals("Replace file?", seen.get("question"));
        assertEquals("true", seen.get("dialog after keeping"));
        String recorded = seen.get("recorded");
        assertTrue(recorded.contains("level=90.5") && recorded.contains("open_border"), recorded);
        assertFalse(recorded.contains("viewer"), recorded);
        assertUnderstood(recorded, new IsosurfaceSettings());
        assertEquals(84 + 50 * Long.parseLong(seen.get("triangles")), file.length());
        assertHeadlessRunMakesTheSame(recorded.replace("mesh.stl", "again.stl"), file.toPath(), table);
    }

    @ParameterizedTest
    @ValueSource(strings = {StandInViewer.VECMATH, StandInViewer.OLD_VECMATH})
    void theViewerGetsTheSurface(String vecmath) throws Exception {
        Path jar = home.resolve("plugins").resolve("3D_Viewer-test.jar");
        StandInViewer.install(home, jar, vecmath);
        Map<String, String> seen;
        Map<String, String> failed;
        try {
            seen = play("isosurface viewer");
            failed = play("isosurface viewer", "-Dviewer.fails=true");
        } finally {
            Files.delete(jar);
        }
        String recorded = seen.get("recorded");
        assertTrue(recorded.contains(" results_table viewer\""), recorded);
        // The line is run again: in the same window, under another name and in another colour.
        assertEquals("1", seen.get("universes"));
        assertEquals("brain.tif, level 90.5", seen.get("content 1"));
        assertEquals("brain.tif, level 90.5 (2)", seen.get("content 2"));
        for (int i = 1; i <= 2; i++) {
            String[] mesh = seen.get("mesh " + i).split(" ");
            assertEquals(seen.get("vertices"), mesh[0]);
            assertEquals(seen.get("triangles"), mesh[1]);
            double volume = Double.parseDouble(seen.get("volume"));
            assertEquals(volume, Double.parseDouble(mesh[2]), 1e-4 * volume);
            assertEquals(i == 1 ? "e69f00" : "56b4e9", mesh[4]);
            double transparency = Double.parseDouble(mesh[5]);
            assertTrue(transparency > 0 && transparency < 1e-9, mesh[5]);
            assertEquals("[0]", seen.get("times " + i));
        }
        // The second time, the image has an origin.
        assertEquals(1000, leastX(seen, 2) - leastX(seen, 1), 1e-3);

        // In a film, a channel is one content with a point in time for each frame that has a surface.
        for (int channel = 1; channel <= 2; channel++) {
            int content = channel + 2;
            assertEquals("planes, level 0.5, channel " + channel, seen.get("content " + content));
            assertEquals(channel == 1 ? "[0, 1]" : "[1]", seen.get("times " + content));
            assertEquals(
                    channel == 1 ? "9e73" : "f0e442",
                    seen.get("mesh " + content).split(" ")[4]);
        }
        assertEquals("planes, level 0.5, channel 2, frame 2", seen.get("content 5"));
        assertEquals("[0]", seen.get("times 5"));
        assertNull(seen.get("content 6"));

        assertNull(failed.get("content 1"));
        String said = failed.get("log");
        assertEquals("1", failed.get("rows"), said);
        assertTrue(said.contains("it failed (java.lang.IllegalStateException: no OpenGL). Try Plugins"), said);
    }

    private static double leastX(Map<String, String> seen, int content) {
        return Double.parseDouble(seen.get("mesh " + content).split(" ")[3]);
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
    static final class Scenes extends GuiDriver.Scenes {
        private static final int SIDE = 5;

        @Override
        void play(String scene, ImagePlus single) throws Exception {
            ImagePlus image = IJ.openImage(single.getOriginalFileInfo().directory + "brain.tif");
            image.setSlice(image.getStackSize() / 2);
            image.show();
            IJ.run(image, "In [+]", "");
            IJ.wait(500);
            EventQueue.invokeAndWait(() -> image.getWindow().setLocation(740, 60));
            Recorder recorder = new Recorder();
            recorder.setLocation(20, 700);
            // The viewer may have been there when the choice was remembered.
            Prefs.set("isoline.isosurface.viewer", true);
            if (scene.equals("viewer")) {
                view(image, recorder);
                return;
            }
            Dialog dialog = open(image, "Isosurface...");
            say("viewer offered", offersViewer(dialog));
            await("a preview", () -> status(dialog).contains(" cuts this slice in "));
            String first = status(dialog);
            say("first status", first);
            await("curves", () -> image.getOverlay() != null);
            say("overlay during preview", image.getOverlay().size());
            picture("isosurface-dialog", dialog);
            picture("isosurface-preview", image.getCanvas());
            type(dialog, IsosurfaceSettings.FILE, "mesh.txt");
            await("a complaint", () -> !button(dialog, "OK").isEnabled());
            say("ok with another ending", button(dialog, "OK").isEnabled());
            type(dialog, IsosurfaceSettings.FILE, System.getProperty("isoline.mesh"));
            type(dialog, IsosurfaceSettings.LEVEL, "90.5");
            await("another preview", () -> status(dialog).contains("level 90.5 cuts"));
            toggle(checkbox(dialog, "Open at the border"), true);
            press(button(dialog, "OK"));
            await("a question", () -> dialog() != dialog);
            Dialog question = dialog();
            say("question", question.getTitle());
            press(button(question, "Keep"));
            await("no question", () -> !question.isShowing());
            say("dialog after keeping", dialog.isShowing());
            press(button(dialog, "OK"));
            await("a second question", () -> dialog() != dialog);
            press(button(dialog(), "Replace"));
            await("the end", () -> !dialog.isShowing() && !image.isLocked());
            awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
            say("rows", ResultsTable.getResultsTable().size());
            say("triangles", (long) ResultsTable.getResultsTable().getValue("Triangles", 0));
            ResultsTable.getResultsTable().save(System.getProperty("isoline.table"));
            picture("isosurface");
            say("recorded", recorded(recorder));
        }

        private static boolean offersViewer(Dialog dialog) {
            return all(dialog, Checkbox.class).stream()
                    .anyMatch(box -> box.getLabel().equals("Show in 3D Viewer"));
        }

        /** Returns the last line of this command. */
        private static String recorded(Recorder recorder) {
            String last = "";
            for (String line : recorder.getText().trim().split("\n")) {
                last = line.startsWith("run(\"Isosurface") ? line : last;
            }
            return last;
        }

        /** Shows surfaces in the viewer: that of the dialog, again that of the recorded line, and those of a film. */
        private void view(ImagePlus image, Recorder recorder) throws Exception {
            if (Boolean.getBoolean("viewer.fails")) {
                IJ.runMacro("run(\"Isosurface...\", \"level=90.5 results_table viewer\");");
                say("rows", ResultsTable.getResultsTable().size());
                say("log", IJ.getLog());
                return;
            }
            Dialog dialog = open(image, "Isosurface...");
            await("a preview", () -> status(dialog).contains(" cuts this slice in "));
            toggle(checkbox(dialog, "Show in 3D Viewer"), true);
            type(dialog, IsosurfaceSettings.LEVEL, "90.5");
            picture("isosurface-viewer-dialog", dialog);
            press(button(dialog, "OK"));
            awaitEnd("rows", () -> ResultsTable.getResultsTable().size() > 0);
            ResultsTable table = ResultsTable.getResultsTable();
            say("rows", table.size());
            say("vertices", (long) table.getValue("Vertices", 0));
            say("triangles", (long) table.getValue("Triangles", 0));
            say("volume", table.getValue("Volume", 0));
            picture("isosurface-viewer");
            String line = recorded(recorder);
            say("recorded", line);
            image.getCalibration().xOrigin = 1000;
            IJ.runMacro(line);

            ImageStack cubes = new ImageStack(SIDE, SIDE);
            for (int i = 0; i < 2 * SIDE * 2; i++) {
                ByteProcessor plane = new ByteProcessor(SIDE, SIDE);
                // Channel 2 is empty in frame 1.
                plane.set(SIDE / 2, SIDE / 2, i < 2 * SIDE && i % 2 == 1 ? 0 : 1);
                cubes.addSlice(plane);
            }
            ImagePlus planes = new ImagePlus("planes", cubes);
            planes.setDimensions(2, SIDE, 2);
            planes.show();
            await("the planes", () -> makesCurrent(planes));
            IJ.runMacro("run(\"Isosurface...\", \"level=0.5 all_channels all_frames viewer\");");
            planes.setPosition(2, 1, 2);
            IJ.runMacro("run(\"Isosurface...\", \"viewer\");");
            picture("isosurface-viewer-film");
        }
    }
}
