package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.macro.Interpreter;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the operations for scripts: the same results as the commands', and no trace of a run outside of its result. */
class ScriptTest extends HeadlessTest {
    @AfterEach
    void nothingElseHasChanged() {
        assertEquals(0, ResultsTable.getResultsTable().size());
        assertNull(WindowManager.getIDList());
        assertEquals(0, Interpreter.getBatchModeImageCount());
    }

    /** A call of a script. */
    @FunctionalInterface
    interface Call {
        Result run() throws IsolineException;
    }

    /** Returns the result of a call, which must print nothing. */
    private static Result quietly(Call call) {
        Result[] result = new Result[1];
        Outcome outcome = captured(() -> {
            try {
                result[0] = call.run();
            } catch (IsolineException e) {
                throw new IllegalStateException(e);
            }
            return "";
        });
        assertEquals("", outcome.log);
        return result[0];
    }

    private static void assertRefused(Call call, String... words) {
        IsolineException refused = assertThrows(IsolineException.class, call::run);
        for (String word : words) {
            assertTrue(refused.getMessage().contains(word), refused.getMessage());
        }
    }

    private static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put((String) pairs[i], pairs[i + 1]);
        }
        return map;
    }

    private static void assertSameImage(ImagePlus wanted, ImagePlus got) {
        assertEquals(wanted.getTitle(), got.getTitle());
        assertEquals(wanted.getStackSize(), got.getStackSize());
        for (int z = 1; z <= wanted.getStackSize(); z++) {
            Object[] planes = {wanted.getStack().getPixels(z), got.getStack().getPixels(z)};
            if (planes[0] instanceof byte[]) {
                assertArrayEquals((byte[]) planes[0], (byte[]) planes[1]);
            } else if (planes[0] instanceof short[]) {
                assertArrayEquals((short[]) planes[0], (short[]) planes[1]);
            } else {
                assertArrayEquals((float[]) planes[0], (float[]) planes[1]);
            }
        }
    }

    /** The command runs as a macro would run it. */
    @ParameterizedTest
    @CsvSource({
        "Edge Strength Function..., edge_strength, rho=16 foreground=below threshold=127",
        "Edge Drawing..., edge_drawing, gradient_threshold=40 min_length=12 edge_map",
        "Signed Distance..., signed_distance, inside=dark threshold=127",
        "Level Set..., level_set, start=box range=values target=20 epsilon=40 iterations=40 mask_stack",
        "Region Snake..., region_snake, start=rectangle label_image",
        "Grow Objects..., grow_objects, label_image",
    })
    void pixelsAreThoseOfTheCommand(String command, String operation, String options) {
        ImagePlus image = open("horse.png");
        ImagePlus wanted = run(command, image, options);
        forgetImages();
        Result result = quietly(() -> call(operation, image, options));
        assertSameImage(wanted, result.getImage());
        assertSame(result.getImage(), result.getImages().get(0));
        assertFalse(image.isLocked());
        assertNull(image.getOverlay());
        assertTrue(result.getRois().isEmpty());
        assertEquals(0, result.getTable().size());
        assertTrue(result.getDevice().startsWith("cpu") || result.getDevice().startsWith("cuda"), result.getDevice());
        assertTrue(result.getSummary().startsWith(result.getDevice()), result.getSummary());
        assertTrue(result.getSeconds() > 0);
        assertFalse(result.isStopped());
        assertTrue(result.getImage().getInfoProperty().contains("Isoline device: "));
    }

    @Test
    void everyCommandThatMakesAnImageIsCompared() {
        assertEquals(
                new HashSet<>(Arrays.asList("Isolines", "Isosurface", "Devices")),
                SampleImagesTest.commandsWithoutRow(getClass(), "pixelsAreThoseOfTheCommand"));
    }

    private static Result call(String operation, ImagePlus image, String options) throws IsolineException {
        try {
            return (Result) method(operation, String.class).invoke(null, image, options);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the method of an operation: that of edge_strength is edgeStrength. */
    private static Method method(String operation, Class<?> options) throws ReflectiveOperationException {
        String[] words = operation.split("_");
        for (int i = 1; i < words.length; i++) {
            words[i] = Character.toUpperCase(words[i].charAt(0)) + words[i].substring(1);
        }
        return Isoline.class.getMethod(String.join("", words), ImagePlus.class, options);
    }

    @Test
    void withoutOutputsNamedThereAreImageRoisAndRows(@TempDir Path folder) throws Exception {
        ImagePlus image = open("coins.png");
        Path file = folder.resolve("segments.zip");
        Map<String, Object> options = map("gradient_threshold", 60, "profile", "reference");
        Result all = quietly(() -> Isoline.edgeDrawing(image, options));
        assertEquals("Edges of coins.png", all.getImage().getTitle());
        assertTrue(all.getRois().size() > 10, "segments " + all.getRois().size());
        assertEquals(all.getRois().size(), all.getTable().size());
        assertTrue(all.getWarnings().isEmpty());
        // Named outputs are the only ones; false is as good as left out.
        options.put("roi_file", file);
        options.put("edge_map", false);
        Result saved = quietly(() -> Isoline.edgeDrawing(image, options));
        assertNull(saved.getImage());
        assertTrue(saved.getRois().isEmpty());
        assertEquals(0, saved.getTable().size());
        List<Roi> read = RoiFile.read(file.toString(), "the test");
        assertEquals(all.getRois().size(), read.size());
        for (int i = 0; i < read.size(); i++) {
            assertEquals(all.getRois().get(i).getName(), read.get(i).getName());
            assertEquals(all.getRois().get(i).getPolygon().npoints, read.get(i).getPolygon().npoints);
        }
        // The overlay is that of the input.
        quietly(() -> Isoline.edgeDrawing(image, "profile=reference gradient_threshold=60 overlay"));
        assertEquals(all.getRois().size(), image.getOverlay().size());
    }

    @Test
    void fileThatCannotBeWrittenLeavesTheResult(@TempDir Path folder) throws Exception {
        Files.createDirectory(folder.resolve("a.zip.part"));
        String options = "edge_map roi_manager results_table roi_file=[" + folder.resolve("a.zip") + "]";
        IncompleteException failure =
                assertThrows(IncompleteException.class, () -> Isoline.edgeDrawing(open("coins.png"), options));
        assertTrue(failure.getMessage().contains("\"a.zip\" for the segments cannot be written"), failure.getMessage());
        Result made = failure.getResult();
        assertEquals("Edges of coins.png", made.getImage().getTitle());
        assertTrue(made.getRois().size() > 10, "segments " + made.getRois().size());
        assertEquals(made.getRois().size(), made.getTable().size());
    }

    @Test
    void roisImagesAndTablesGoInAndOut() {
        ImagePlus image = discs();
        List<Roi> starts = new ArrayList<>();
        starts.add(new OvalRoi(24, 24, 12, 12));
        starts.add(new OvalRoi(64, 24, 12, 12));
        ResultsTable table = new ResultsTable();
        for (Object rois : new Object[] {starts, starts.toArray(new Roi[0]), starts.get(0)}) {
            Result result = quietly(() -> Isoline.regionSnake(image, map("rois", rois, "results_table", table)));
            assertSame(table, result.getTable());
            assertNull(result.getImage());
        }
        assertEquals(2 + 2 + 1, table.size());
        assertEquals("discs", table.getLabel(0));

        // The label image is not open in any window.
        ByteProcessor labels = new ByteProcessor(100, 60);
        labels.setValue(7);
        labels.fill(starts.get(1));
        ImagePlus start = new ImagePlus("no window has this", labels);
        Result labelled = quietly(() -> Isoline.regionSnake(image, map("start", "labels", "start_image", start)));
        assertEquals(7, labelled.getImage().getProcessor().get(70, 30));
        assertEquals(0, labelled.getImage().getProcessor().get(30, 30));
        assertEquals(1, labelled.getRois().size());

        // Points grow to the discs that they lie in.
        PointRoi points = new PointRoi(30, 30);
        points.addPoint(70, 30);
        Result grown = quietly(() -> Isoline.levelSet(
                image,
                map(
                        "rois",
                        points,
                        "radius",
                        5,
                        "range",
                        "values",
                        "target",
                        200,
                        "epsilon",
                        60,
                        "phi",
                        true,
                        "mask_stack",
                        true)));
        assertEquals(2, grown.getImages().size());
        assertEquals("Phi of discs", grown.getImages().get(1).getTitle());
        assertEquals(255, grown.getImage().getProcessor().get(30, 22));
        assertEquals(0, grown.getImage().getProcessor().get(50, 30));
    }

    @Test
    void regionSnakesStartFromPointsThresholdedPixelsAndDetectedObjects() {
        ImagePlus image = discs();
        PointRoi points = new PointRoi(30, 30);
        points.addPoint(70, 30);
        image.setRoi(points);
        Map<String, Result> found = new HashMap<>();
        found.put("selection", quietly(() -> Isoline.regionSnake(image, "start=roi")));
        image.deleteRoi();
        found.put("points", quietly(() -> Isoline.regionSnake(image, map("rois", points, "radius", 6))));
        found.put("detect", quietly(() -> Isoline.regionSnake(image, map("start", "detect"))));
        image.getProcessor().setThreshold(100, 255, ImageProcessor.NO_LUT_UPDATE);
        found.put("thresholded", quietly(() -> Isoline.regionSnake(image, "start=thresholded")));
        found.forEach((start, result) -> {
            assertEquals(2, result.getRois().size(), start);
            assertEquals(2, result.getTable().size(), start);
            int[] at = {
                result.getImage().getProcessor().get(30, 30),
                result.getImage().getProcessor().get(70, 30)
            };
            Arrays.sort(at);
            assertArrayEquals(new int[] {1, 2}, at, start);
            assertEquals(0, result.getImage().getProcessor().get(50, 30), start);
            // The discs have a diameter of 24 pixels.
            assertEquals(1, result.getTable().getValue("Area", 0) / (Math.PI * 12 * 12), 0.1, start);
        });
        image.getProcessor().resetThreshold();
        assertRefused(() -> Isoline.regionSnake(image, "start=thresholded"), "shows no threshold");
        assertRefused(() -> Isoline.regionSnake(image, "start=roi radius=-1"), "radius", "-1");
    }

    @Test
    void outlinesOfAnEarlierRunAreNoStartsAndThatIsSaid() {
        ImagePlus image = discs();
        for (boolean snake : new boolean[] {false, true}) {
            List<Roi> rois = new ArrayList<>();
            rois.add(new OvalRoi(24, 24, 12, 12));
            Map<String, Object> options = map("rois", rois);
            Call call = () -> snake ? Isoline.regionSnake(image, options) : Isoline.growObjects(image, options);
            rois.addAll(quietly(call).getRois());
            assertEquals(2, rois.size());
            Result again = quietly(call);
            assertEquals(1, again.getTable().size());
            String warnings = String.join(" ", again.getWarnings());
            assertTrue(warnings.contains("1 outline that an earlier run left"), warnings);
        }
    }

    @Test
    void rgbIsTakenAsLuminance() {
        ImagePlus colours = CommandContract.coloured();
        assertRefused(() -> Isoline.signedDistance(colours, "threshold=40"), "RGB", "option luminance");
        Result result = quietly(() -> Isoline.signedDistance(colours, map("threshold", 40, "luminance", true)));
        assertEquals(3, result.getImage().getStackSize());
    }

    private static ImagePlus discs() {
        ByteProcessor pixels = new ByteProcessor(100, 60);
        for (int i = 0; i < pixels.getPixelCount(); i++) {
            pixels.set(i, 20 + i * 7919 % 13);
        }
        pixels.setValue(200);
        pixels.fill(new OvalRoi(18, 18, 24, 24));
        pixels.fill(new OvalRoi(58, 18, 24, 24));
        return new ImagePlus("discs", pixels);
    }

    @Test
    void failuresAreExceptionsThatSayWhatToDo() throws Exception {
        ImagePlus image = open("horse.png");
        assertRefused(() -> Isoline.edgeDrawing(null, ""), "No image was given");
        assertRefused(
                () -> Isoline.edgeDrawing(image, "no_such_key=1"),
                "There is no option \"no_such_key\". The options are ",
                "min_length");
        assertRefused(() -> Isoline.edgeDrawing(image, map("min_length", -3)), "min_length", "-3");
        assertRefused(() -> Isoline.edgeDrawing(image, map("follow_turns", 3)), "true or false, got \"3\"");
        assertRefused(() -> Isoline.edgeDrawing(image, map("profile", null)), "profile has no value");
        assertRefused(() -> Isoline.edgeDrawing(image, map("rois", new Roi(0, 0, 9, 9))), "edge drawing takes none");
        assertRefused(() -> Isoline.regionSnake(image, map("rois", "cells.zip")), "got \"cells.zip\"");
        assertRefused(() -> Isoline.regionSnake(image, ""), "start=roi needs a selection");
        assertRefused(() -> Isoline.regionSnake(image, map("rois", Collections.emptyList())), "start=manager needs");
        assertRefused(() -> Isoline.regionSnake(image, "start=labels start_image=x"), "no open image \"x\"");
        assertRefused(() -> Isoline.edgeStrength(image, "threshold=9 device=cuda:99"), "cuda:99");
        Thread other = new Thread(image::lock);
        other.start();
        other.join();
        assertRefused(() -> Isoline.edgeStrength(image, "threshold=9"), "is in use by another command");
    }

    /** The pixel values of such an image are no brightness. */
    @ParameterizedTest
    @MethodSource("operations")
    void everyOperationWarnsOfAPalette(String operation) throws Exception {
        ImageStack slices = new ImageStack(40, 36);
        for (int z = 0; z < 2; z++) {
            ByteProcessor slice = new ByteProcessor(40, 36);
            slice.setValue(z == 0 ? 200 : 0);
            slice.fill(new OvalRoi(10, 10, 20, 20));
            slices.addSlice(slice);
        }
        for (int type : new int[] {ImagePlus.GRAY8, ImagePlus.COLOR_256}) {
            ImagePlus typed = new ImagePlus("typed", slices) {
                @Override
                public int getType() {
                    return type;
                }
            };
            typed.setRoi(new OvalRoi(12, 12, 16, 16));
            Result result = Isoline.OPERATIONS.get(operation).on(typed, "");
            boolean warned = result.getWarnings().stream().anyMatch(text -> text.startsWith("this is an 8-bit colour"));
            assertEquals(
                    type == ImagePlus.COLOR_256, warned, result.getWarnings().toString());
        }
    }

    /** Points and areas count on the channel that they were added on. */
    @ParameterizedTest
    @ValueSource(strings = {"region_snake", "grow_objects"})
    void startsOnAnotherChannelAreSaid(String operation) throws Exception {
        ImageStack channels = new ImageStack(100, 60);
        channels.addSlice(discs().getProcessor());
        channels.addSlice(discs().getProcessor());
        ImagePlus image = new ImagePlus("channels", channels);
        image.setDimensions(2, 1, 1);
        image.setOpenAsHyperStack(true);
        Isoline.Call<?> call = Isoline.OPERATIONS.get(operation);
        for (Roi start : new Roi[] {new OvalRoi(20, 20, 18, 18), new PointRoi(30, 30)}) {
            start.setPosition(2, 0, 0);
            image.setPosition(2, 1, 1);
            assertEquals(1, call.on(image, map("rois", start)).getTable().size());
            image.setPosition(1, 1, 1);
            IsolineException refused = assertThrows(IsolineException.class, () -> call.on(image, map("rois", start)));
            assertTrue(
                    refused.getMessage().contains("The starts lie on channel 2. Show that plane, choose all_channels"),
                    refused.getMessage());
            assertEquals(
                    1,
                    call.on(image, map("rois", start, "all_channels", true))
                            .getTable()
                            .size());
            // The image's own selection is on every channel.
            image.setRoi(start);
            assertEquals(1, call.on(image, map("start", "roi")).getTable().size());
            image.deleteRoi();
        }
    }

    @Test
    void deviationsAreWarningsAndNotPrinted() {
        ImagePlus image = new ImagePlus("flat", new ByteProcessor(40, 36));
        Result result = quietly(() -> Isoline.levelSet(image, "start=box"));
        assertEquals(1, result.getWarnings().size());
        assertTrue(
                result.getWarnings().get(0).contains("all is inside"),
                result.getWarnings().get(0));
        Result none = quietly(() -> Isoline.edgeDrawing(image, ""));
        assertEquals(Arrays.asList("no segments, so no new rows in the table."), none.getWarnings());
    }

    static Set<String> operations() {
        return Isoline.OPERATIONS.keySet();
    }

    @Test
    void everyCommandIsAnOperation() throws Exception {
        // Devices is none, and one command has a longer name.
        List<String> commands = SampleImagesTest.commands().stream()
                .map(command ->
                        command.replace(" Function", "").replace(' ', '_').toLowerCase(Locale.ROOT))
                .filter(command -> !command.equals("devices"))
                .collect(Collectors.toList());
        assertEquals(new HashSet<>(commands), operations());
        for (String operation : operations()) {
            assertSame(Result.class, method(operation, String.class).getReturnType());
            assertSame(Result.class, method(operation, Map.class).getReturnType());
        }
    }

    @ParameterizedTest
    @MethodSource("operations")
    void optionsAreListedWithDefaultAndUnit(String operation) throws IsolineException {
        String options = Isoline.options(operation);
        assertTrue(options.startsWith("device: "), options);
        for (String line : options.trim().split("\n")) {
            assertTrue(line.matches("[a-z_]+: .*(, by default |a switch).*"), line);
        }
        IsolineException refused = assertThrows(IsolineException.class, () -> Isoline.options("canny"));
        assertTrue(refused.getMessage().contains(operation), refused.getMessage());
    }
}
