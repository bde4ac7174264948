package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.measure.ResultsTable;
import ij.process.FloatProcessor;
import ij.process.ImageConverter;
import ij.process.ImageProcessor;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.Isosurface;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the isosurface command without a window: measures, files, macro options and failures. */
class IsosurfaceTest extends HeadlessTest {
    private static final String LINE = "run(\"Isosurface...\", \"%s\");";
    private static final int SIDE = 40;
    private static final double RADIUS = 6;
    private static final int FRAMES = 8000;

    private static Outcome isosurface(ImagePlus image, String options) {
        return macro(image, String.format(LINE, options.replace("\\", "/")));
    }

    /** Returns a ball with a radius of 6 mm in voxels of 0.5 x 0.5 x 1 mm, whose surface is at 100. */
    private static ImagePlus ball() {
        ImageStack stack = new ImageStack(SIDE, SIDE);
        for (int z = 0; z < SIDE / 2; z++) {
            float[] pixels = new float[SIDE * SIDE];
            for (int i = 0; i < pixels.length; i++) {
                double x = 0.5 * (i % SIDE) - 9.9;
                double y = 0.5 * (i / SIDE) - 9.8;
                pixels[i] = (float) (100 + 10 * (RADIUS - Math.sqrt(x * x + y * y + (z - 9.7) * (z - 9.7))));
            }
            stack.addSlice(new FloatProcessor(SIDE, SIDE, pixels));
        }
        ImagePlus image = new ImagePlus("ball", stack);
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.5;
        image.getCalibration().pixelDepth = 1.0001;
        image.getCalibration().setUnit("mm");
        return image;
    }

    @Test
    void theLevelOfASignedImageIsTheValueThatImageJShows() {
        ImageStack stack = new ImageStack(SIDE, SIDE);
        ImageStack ball = ball().getStack();
        for (int z = 1; z <= ball.getSize(); z++) {
            ImageProcessor slice = ball.getProcessor(z).duplicate();
            slice.add(32668);
            stack.addSlice(slice.convertToShort(false));
        }
        ImagePlus image = new ImagePlus("signed", stack);
        image.getLocalCalibration().setSigned16BitCalibration();
        Outcome outcome = isosurface(image, "level=0 results_table");
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(0, table.getValue("Level", 0));
        assertEquals(2, table.getValue("Euler", 0));
    }

    @Test
    void aBallHasItsMeasures() {
        Outcome outcome = isosurface(ball(), "level=100 results_table");
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(1, table.size());
        assertEquals("ball", table.getLabel(0));
        assertEquals(100, table.getValue("Level", 0));
        assertEquals(4 * Math.PI * RADIUS * RADIUS, table.getValue("Surface area", 0), 5);
        assertEquals(4 * Math.PI / 3 * Math.pow(RADIUS, 3), table.getValue("Volume", 0), 12);
        assertEquals(1 / RADIUS, table.getValue("Mean curvature", 0), 0.003);
        assertEquals(1, table.getValue("Pieces", 0));
        assertEquals(2, table.getValue("Euler", 0));
        assertEquals(1, table.getValue("Closed", 0));
        assertEquals(table.getValue("Triangles", 0), 2 * table.getValue("Vertices", 0) - 4);
        assertEquals("mm", table.getStringValue("Unit", 0));
        // Half of it, closed at the border and open there.
        ImagePlus half = ball();
        for (int z = 0; z < 10; z++) {
            half.getStack().deleteSlice(1);
        }
        half = new ImagePlus("half", half.getStack());
        isosurface(half, "level=100 results_table");
        isosurface(half, "level=100 open_border results_table");
        assertEquals(1, table.getValue("Closed", 1));
        assertEquals(0, table.getValue("Closed", 2));
        assertTrue(Double.isNaN(table.getValue("Volume", 2)));
        assertTrue(table.getValue("Surface area", 2) < table.getValue("Surface area", 1) - 300);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void surfacesAreThoseOfTheLibrary(int bits) throws Exception {
        ImagePlus brain = open("brain.tif");
        convert(brain, bits);
        Outcome outcome = isosurface(brain, "results_table device=cpu");
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        PixelBuffer.Type[] types = {PixelBuffer.Type.U8, PixelBuffer.Type.U16, PixelBuffer.Type.F32};
        try (Context context = Context.open("cpu");
                PixelBuffer pixels = new PixelBuffer(
                        context, types[bits / 16], brain.getWidth(), brain.getHeight(), brain.getStackSize())) {
            for (int z = 0; z < brain.getStackSize(); z++) {
                pixels.write(z, brain.getStack().getPixels(z + 1));
            }
            VoxelSize size = new VoxelSize(brain, true);
            pixels.setSpacing(size.x, size.y, size.z);
            Isosurface surface =
                    Isosurface.run(context, new Params(Isosurface.NAME), pixels, brain.getStackSize(), null);
            assertTrue(surface.triangleCount() > 10_000 && surface.isClosed());
            assertEquals(surface.level(), table.getValue("Level", 0));
            assertEquals(surface.area(), table.getValue("Surface area", 0));
            assertEquals(surface.volume(), table.getValue("Volume", 0));
            assertEquals(surface.triangleCount(), table.getValue("Triangles", 0));
        }
    }

    @Test
    void filesHaveTheTriangles(@TempDir Path folder) throws Exception {
        Path stl = folder.resolve("ball.stl");
        Path ply = folder.resolve("ball.PLY");
        Path obj = folder.resolve("ball.obj");
        Files.write(stl, "another file".getBytes(StandardCharsets.US_ASCII));
        for (Path file : new Path[] {stl, ply, obj}) {
            Outcome outcome = isosurface(ball(), "level=100 results_table file=[" + file + "]");
            assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        }
        String[] left = folder.toFile().list();
        Arrays.sort(left);
        assertArrayEquals(new String[] {"ball.PLY", "ball.obj", "ball.stl"}, left, "no partial file is left");
        int triangles = (int) ResultsTable.getResultsTable().getValue("Triangles", 0);
        int vertices = (int) ResultsTable.getResultsTable().getValue("Vertices", 0);
        double volume = ResultsTable.getResultsTable().getValue("Volume", 0);

        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(stl)).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(84 + 50 * triangles, bytes.capacity());
        assertEquals(triangles, bytes.getInt(80));
        double sum = 0;
        for (int i = 0; i < triangles; i++) {
            double[] v = new double[12];
            for (int k = 0; k < v.length; k++) {
                v[k] = bytes.getFloat(84 + 50 * i + 4 * k);
            }
            sum += v[3] * (v[7] * v[11] - v[8] * v[10])
                    + v[4] * (v[8] * v[9] - v[6] * v[11])
                    + v[5] * (v[6] * v[10] - v[7] * v[9]);
            // The normal points away from the centre.
            assertTrue(v[0] * (v[3] - 9.9) + v[1] * (v[4] - 9.8) + v[2] * (v[5] - 9.7) > 0, "triangle " + i);
        }
        assertEquals(volume, sum / 6, 1e-2);

        byte[] whole = Files.readAllBytes(ply);
        String header = new String(whole, StandardCharsets.US_ASCII);
        int start = header.indexOf("end_header\n") + "end_header\n".length();
        assertTrue(header.startsWith("ply\nformat binary_little_endian 1.0\nelement vertex " + vertices + "\n"));
        assertTrue(header.substring(0, start).contains("element face " + triangles + "\n"));
        assertEquals(start + 24 * vertices + 13 * triangles, whole.length);
        ByteBuffer data = ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN);
        int last = start + 24 * vertices + 13 * (triangles - 1);
        assertEquals(3, data.get(last));

        List<String> lines = Files.readAllLines(obj);
        assertEquals(2 * vertices + triangles, lines.size());
        assertEquals(
                String.format("v %s %s %s", data.getFloat(start), data.getFloat(start + 4), data.getFloat(start + 8)),
                lines.get(0));
        StringBuilder face = new StringBuilder("f");
        for (int k = 0; k < 3; k++) {
            int number = data.getInt(last + 1 + 4 * k) + 1;
            face.append(' ').append(number).append("//").append(number);
        }
        assertEquals(face.toString(), lines.get(lines.size() - 1));
    }

    @Test
    void withoutTheViewerOrADisplayTheOtherOutputsAreMade(@TempDir Path folder) throws Exception {
        assertFalse(Viewer3D.isInstalled());
        Path mesh = folder.resolve("ball.stl");
        Outcome outcome = isosurface(ball(), "level=100 results_table viewer file=[" + mesh + "]");
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertOneSentence(outcome.log, "cannot be shown in the 3D Viewer: it is not installed. Run the macro in Fiji");
        assertEquals(1, ResultsTable.getResultsTable().size());
        assertTrue(mesh.toFile().length() > 10_000);
        String said = assertThrows(IsolineException.class, () -> Isoline.isosurface(ball(), "level=100 viewer"))
                .getMessage();
        assertTrue(said.contains("it is not installed"), said);
        Path gone = Files.createDirectory(folder.resolve("gone"));
        String options = "level=100 viewer file=[" + gone.resolve("lost.stl") + "]";
        IsosurfaceJob job = new IsosurfaceJob(ball(), Settings.fromMacro(new IsosurfaceSettings(), options));
        job.run(null);
        Files.delete(gone);
        job.saveFiles();
        String both = assertThrows(BadInput.class, job::deliver).getMessage();
        assertTrue(both.contains("lost.stl") && both.contains("it is not installed"), both);

        Path jar = folder.resolve("3D_Viewer-test.jar");
        StandInViewer.install(folder, jar, StandInViewer.VECMATH);
        Path again = folder.resolve("again.stl");
        String line = String.format(LINE, "level=90 viewer file=[" + again + "]");
        String macro = "open(\"" + System.getProperty("isoline.test.data") + "/brain.tif\");" + line;
        HeadlessProcess.Outcome ended =
                HeadlessProcess.imagej(folder, HeadlessProcess.classPath(true) + File.pathSeparator + jar, macro);
        assertEquals(1, ended.status, ended.text());
        assertOneSentence(ended.errors, "cannot be shown in the 3D Viewer: there is no display. Run the macro in");
        assertTrue(again.toFile().length() > 10_000);
    }

    @Test
    void theViewerNeedsMemory() {
        assertNull(Viewer3D.memoryProblem(1_000_000, 250_000_000));
        String problem = Viewer3D.memoryProblem(20_000_000, 4L << 30);
        assertTrue(problem.contains("20000000 triangles need 4768 MB of Java's memory, of which 4096 MB"), problem);
        assertTrue(problem.contains("Smooth the image or scale it down") && problem.contains(".stl"), problem);
    }

    @Test
    void eachVolumeOfAHyperstackHasARowAndAFile(@TempDir Path folder) {
        ImageStack stack = new ImageStack(SIDE, SIDE);
        for (int z = 0; z < SIDE / 2; z++) {
            // Channel 1, frames 1 and 2; channel 2 is empty.
            stack.addSlice(ball().getStack().getProcessor(z + 1));
            stack.addSlice(new FloatProcessor(SIDE, SIDE));
        }
        for (int i = 0; i < SIDE; i++) {
            stack.addSlice(stack.getProcessor(i + 1).duplicate());
        }
        ImagePlus hyper = new ImagePlus("hyper", stack);
        hyper.setDimensions(2, SIDE / 2, 2);
        hyper.setOpenAsHyperStack(true);
        String file = folder.resolve("a.b.stl").toString();
        Outcome outcome = isosurface(hyper, "level=100 all_channels all_frames results_table file=[" + file + "]");
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        assertTrue(outcome.log.contains("there is no surface"), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(4, table.size());
        for (int row = 0; row < 4; row++) {
            boolean empty = table.getValue("Ch", row) == 2;
            assertEquals(empty ? 0 : 1, table.getValue("Pieces", row));
            Path made = folder.resolve(String.format("a.b-%04d.stl", row + 1));
            assertEquals(
                    84 + 50 * (long) table.getValue("Triangles", row),
                    made.toFile().length());
        }
        assertEquals(2, table.getValue("Frame", 3));
    }

    @Test
    void badOptionsAndImagesAreSaid(@TempDir Path folder) {
        String[][] bad = {
            {"level=high results_table", "level must be \"auto\" or a number"},
            {"level=100", "No output is chosen"},
            {"level=100 file=[" + folder.resolve("mesh.vtk") + "]", "file must end with .stl, .ply or .obj"},
            {"level=100 file=[" + folder.resolve("none") + "/mesh.stl]", "file cannot be written: there is no folder"},
            {"close results_table", "close"},
        };
        for (String[] options : bad) {
            Outcome outcome = isosurface(ball(), options[0]);
            assertEquals(ABORTED, outcome.returned, outcome.log);
            assertOneSentence(outcome.log, options[1]);
        }
        assertOneSentence(
                isosurface(open("coins.png"), "results_table").log, "an isosurface needs a volume of several");
        ImagePlus channels = ball();
        channels.setDimensions(SIDE / 2, 1, 1);
        assertOneSentence(isosurface(channels, "results_table").log, "say so in Image > Properties");
        ImagePlus rgb = open("brain.tif");
        new ImageConverter(rgb).convertToRGB();
        assertOneSentence(isosurface(rgb, "results_table").log, "(option luminance)");
    }

    @Test
    void everyLineOfTheLogNamesTheImage() {
        ImagePlus image = ball();
        image.setTitle("my ball.tif");
        String log = isosurface(image, "level=100 results_table").log + isosurface(image, "no_such_key=1").log;
        String[] lines = log.trim().split("\n");
        assertEquals(2, lines.length, log);
        for (String line : lines) {
            assertTrue(line.startsWith("Isosurface (my ball.tif): "), line);
        }
        assertTrue(lines[0].contains("triangles"), log);
        assertOneSentence(isosurface(null, "results_table").log, "No image is open");
    }

    @Test
    void escapeCancelsAndWritesNothing(@TempDir Path folder) {
        // The planes share their pixels: a long run in little memory.
        FloatProcessor plane = new FloatProcessor(256, 256);
        for (int i = 0; i < plane.getPixelCount(); i++) {
            plane.setf(i, i % 256);
        }
        ImageStack planes = new ImageStack(256, 256);
        for (int i = 0; i < 2 * FRAMES; i++) {
            planes.addSlice("", plane.getPixels());
        }
        ImagePlus film = new ImagePlus("film", planes);
        film.setDimensions(1, 2, FRAMES);
        pressEscapeAfter(1000, film);
        Outcome outcome = isosurface(film, "all_frames level=100 results_table file=[" + folder + "/mesh.stl]");
        assertEquals(ABORTED, outcome.returned, outcome.log);
        assertOneSentence(outcome.log, "Isosurface (film): cancelled");
        assertFalse(film.isLocked());
        assertEquals(0, ResultsTable.getResultsTable().size());
        assertEquals(0, folder.toFile().list().length);
    }

    @Test
    void fileThatCannotBeWrittenLeavesTheOthers(@TempDir Path folder) throws Exception {
        ImageStack ball = ball().getStack();
        ImageStack planes = new ImageStack(ball.getWidth(), ball.getHeight());
        for (int i = 0; i < 3 * ball.size(); i++) {
            planes.addSlice(ball.getProcessor(i % ball.size() + 1));
        }
        ImagePlus film = new ImagePlus("film", planes);
        film.setDimensions(1, ball.size(), 3);
        String options = "all_frames level=100 file=[" + folder + "/mesh.stl]";
        IsosurfaceJob job = new IsosurfaceJob(film, Settings.fromMacro(new IsosurfaceSettings(), options));
        job.run(null);
        for (String taken : new String[] {"mesh-0001.stl.part", "mesh-0003.stl.part"}) {
            Files.createDirectory(folder.resolve(taken));
        }
        job.saveFiles();
        assertTrue(folder.resolve("mesh-0002.stl").toFile().length() > 10_000);
        String said = assertThrows(BadInput.class, job::checkFiles).getMessage();
        String both = "The files \"mesh-0001.stl\", \"mesh-0003.stl\" for the surface cannot be written: ";
        assertTrue(said.startsWith(both), said);
    }

    @Test
    void scriptsGetARow() throws Exception {
        Result found = Isoline.isosurface(ball(), "level=100");
        assertEquals(1, found.getTable().size());
        assertEquals(2, found.getTable().getValue("Euler", 0));
        assertNull(found.getImage());
        assertTrue(found.getRois().isEmpty());
        assertThrows(IsolineException.class, () -> Isoline.isosurface(open("coins.png"), ""));
    }
}
