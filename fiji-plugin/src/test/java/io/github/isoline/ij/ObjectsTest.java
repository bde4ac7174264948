package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.Macro;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.gui.ShapeRoi;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import io.github.isoline.Context;
import io.github.isoline.Objects;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests the command that grows objects without a window: labels, rows, macro options and failures. */
class ObjectsTest extends HeadlessTest implements CommandContract {
    private static final int WIDTH = 60;
    private static final int HEIGHT = 40;
    private static final int DEPTH = 15;

    @Override
    public String command() {
        return "Grow Objects...";
    }

    @Override
    public String quick() {
        return "stack=slices start=detect threshold=100 label_image";
    }

    @Test
    void imageIsShownAlsoIfTheRestCannotBeDelivered() throws Exception {
        ImagePlus image = new ImagePlus("full", balls().getStack()) {
            @Override
            public void setOverlay(Overlay overlay) {
                throw new IllegalStateException("no room");
            }
        };
        StackCommand command = new StackCommand();
        List<ImagePlus> shown = new ArrayList<>();
        Thread thread = new Thread(
                () -> {
                    WindowManager.setTempCurrentImage(image);
                    assertThrows(IllegalStateException.class, () -> command.run("grow_objects"));
                    shown.add(WindowManager.getCurrentImage());
                    WindowManager.setTempCurrentImage(null);
                },
                "Run$_objects");
        Macro.setOptions(thread, "threshold=90 label_image overlay");
        thread.start();
        thread.join();
        assertEquals("Labels of full", command.getResult().getTitle());
        assertEquals(Collections.singletonList(command.getResult()), shown);
    }

    /** Returns the ball, 1 or 2, of two that touch, in which a voxel of 0.5 x 0.5 x 1 um is; 0 in none. */
    private static int ball(int x, int y, int z, double share) {
        double dy = 0.5 * y - 9.9;
        double dz = z - 7;
        if (square(0.5 * x - 9) + dy * dy + dz * dz <= square(share * 6)) {
            return 1;
        }
        return square(0.5 * x - 19.8) + dy * dy + dz * dz <= square(share * 5) ? 2 : 0;
    }

    private static double square(double number) {
        return number * number;
    }

    static ImagePlus balls() {
        ImageStack stack = new ImageStack(WIDTH, HEIGHT);
        for (int z = 0; z < DEPTH; z++) {
            ByteProcessor slice = new ByteProcessor(WIDTH, HEIGHT);
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                slice.set(i, ball(i % WIDTH, i / WIDTH, z, 1) > 0 ? 150 : 30);
            }
            stack.addSlice("z" + z, slice);
        }
        ImagePlus image = new ImagePlus("balls", stack);
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.5;
        image.getCalibration().pixelDepth = 1.0001;
        image.getCalibration().setUnit("um");
        return image;
    }

    private static ImagePlus starts(boolean floats) {
        ImageStack stack = new ImageStack(WIDTH, HEIGHT);
        for (int z = 0; z < DEPTH; z++) {
            ImageProcessor slice = floats ? new FloatProcessor(WIDTH, HEIGHT) : new ShortProcessor(WIDTH, HEIGHT);
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                slice.setf(i, 300 * ball(i % WIDTH, i / WIDTH, z, 0.5));
            }
            stack.addSlice(slice);
        }
        return new ImagePlus("starts", stack);
    }

    /** Asserts that labels are the balls, each of the first label or its double. */
    private static void assertBalls(ImagePlus labels, int first) {
        int wrong = 0;
        for (int z = 0; z < DEPTH; z++) {
            ImageProcessor slice = labels.getStack().getProcessor(z + 1);
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                wrong += slice.getf(i) == first * ball(i % WIDTH, i / WIDTH, z, 1) ? 0 : 1;
            }
        }
        assertTrue(wrong < 150, wrong + " wrong voxels");
    }

    @Test
    void objectsAreFoundAndMeasured() {
        ImagePlus image = balls();
        image.getCalibration().xOrigin = 4;
        image.getCalibration().yOrigin = -3;
        image.getCalibration().zOrigin = 2;
        ImagePlus labels = run(command(), image, "stack=volume start=detect label_image results_table overlay");
        assertEquals("Labels of balls", labels.getTitle());
        assertEquals(16, labels.getBitDepth());
        assertEquals(
                balls().getCalibration().getUnits(), labels.getCalibration().getUnits());
        assertBalls(labels, 1);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(2, table.size());
        for (int row = 0; row < 2; row++) {
            assertEquals("balls", table.getLabel(row));
            assertEquals(row + 1, table.getValue("Object", row));
            double radius = row == 0 ? 6 : 5;
            double volume = 4 * Math.PI / 3 * radius * radius * radius;
            assertEquals(volume, table.getValue("Volume", row), 0.07 * volume);
            assertEquals(table.getValue("Volume", row), 0.25 * 1.0001 * table.getValue("Voxels", row), 1e-6);
            // The balls' centres are given from the centre of the first voxel, and columns from the origin.
            assertEquals((row == 0 ? 9 : 19.8) + (0.5 - 4) * 0.5, table.getValue("X", row), 0.2);
            assertEquals(9.9 + (0.5 + 3) * 0.5, table.getValue("Y", row), 0.2);
            assertEquals(7 + 0.5 - 2, table.getValue("Z", row), 0.2);
            assertEquals(4 * Math.PI * radius * radius, table.getValue("Surface", row), 40);
            assertEquals(150, table.getValue("Mean", row), 3);
            assertEquals(30, table.getValue("Mean outside", row), 3);
            assertEquals(1, table.getValue("Overlaps", row));
            assertEquals(0, table.getValue("Touches image", row));
            assertEquals(balls().getCalibration().getUnits(), table.getStringValue("Unit", row));
        }
        // Each object has an outline on each of its slices.
        int pixels = 0;
        for (Roi roi : image.getOverlay().toArray()) {
            assertTrue(roi.getName().matches("object-000[12] s[1-9][0-9]*"), roi.getName());
            pixels += roi.getContainedPoints().length;
        }
        assertEquals(table.getValue("Voxels", 0) + table.getValue("Voxels", 1), pixels);
    }

    @Test
    void currentSliceIsGrownAlone() throws Exception {
        ImagePlus image = balls();
        image.setSlice(6);
        for (boolean detected : new boolean[] {true, false}) {
            Map<String, Object> options = new HashMap<>();
            options.put("label_image", true);
            options.put("results_table", true);
            options.put("overlay", true);
            options.put("start", detected ? "detect" : "labels");
            if (!detected) {
                options.put("start_image", starts(false));
            }
            ImageStack slices = Isoline.growObjects(image, options).getImage().getStack();
            options.put("stack", "current");
            Result current = Isoline.growObjects(image, options);
            assertEquals(1, current.getImage().getStackSize());
            assertArrayEquals((short[]) slices.getPixels(6), (short[])
                    current.getImage().getProcessor().getPixels());
            assertTrue(current.getTable().size() > 0);
            assertEquals(6, current.getTable().getValue("Slice", 0));
            assertEquals(6, image.getOverlay().get(0).getPosition());
        }
    }

    @Test
    void sizesAndShapesAreThoseOfImageJsOwnMeasure() {
        for (boolean signed : new boolean[] {false, true}) {
            ResultsTable.getResultsTable().reset();
            ImagePlus image = new ImagePlus("discs", balls().getStack().getProcessor(8));
            if (signed) {
                convert(image, 16);
                // Pixels are stored with this offset.
                image.getProcessor().add(1 << 15);
                image.getCalibration().setSigned16BitCalibration();
            }
            image.getCalibration().pixelWidth = 0.5;
            image.getCalibration().pixelHeight = 0.5;
            image.getCalibration().setUnit("um");
            image.getCalibration().xOrigin = 12;
            image.getCalibration().yOrigin = -7;
            image.getCalibration().setInvertY(true);
            macro(image, line("results_table overlay"));
            ResultsTable table = ResultsTable.getResultsTable();
            assertEquals(2, table.size());
            for (int row = 0; row < 2; row++) {
                ResultsTable measured =
                        TablesTest.measured(image, image.getOverlay().get(row));
                for (String column : ("Area Mean IntDen RawIntDen " + TablesTest.SHAPE).split(" ")) {
                    // The perimeter is measured without the steps of the pixels.
                    if (!"Perim. Circ.".contains(column)) {
                        assertEquals(measured.getValue(column, 0), table.getValue(column, row), 1e-6, column);
                    }
                }
                double radius = row == 0 ? 6 : 5;
                assertEquals(2 * Math.PI * radius, table.getValue("Perim.", row), 0.1 * radius);
                assertEquals(30, table.getValue("Mean outside", row), 3);
            }
        }
    }

    @Test
    void outlinesAreNoStartsOfTheNextRun() throws Exception {
        Map<String, Object> options = new HashMap<>();
        options.put("stack", "volume");
        PointRoi point = new PointRoi(18, 20);
        point.setPosition(8);
        options.put("rois", point);
        Result found = Isoline.growObjects(balls(), options);
        assertEquals("object-0001 s3", found.getRois().get(0).getName());
        List<Roi> all = new ArrayList<>(found.getRois());
        all.add(point);
        options.put("rois", all);
        assertEquals(1, Isoline.growObjects(balls(), options).getTable().size());
    }

    @Test
    void vanishedObjectsHaveARowAndNoOutline() throws Exception {
        PointRoi ball = new PointRoi(18, 20);
        PointRoi outside = new PointRoi(58, 2);
        Map<String, Object> options = new HashMap<>();
        options.put("rois", Arrays.asList(ball, outside));
        options.put("radius", 1);
        options.put("moving", true);
        Result found =
                Isoline.growObjects(new ImagePlus("discs", balls().getStack().getProcessor(8)), options);
        assertEquals(2, found.getTable().size());
        assertEquals(1, found.getRois().size());
        assertEquals(0, found.getTable().getValue("Voxels", 1));
        assertEquals(0, found.getTable().getValue("Area", 1));
        assertTrue(Double.isNaN(found.getTable().getValue("Mean", 1)));
        for (String column : TablesTest.SHAPE.split(" ")) {
            assertFalse(Double.isNaN(found.getTable().getValue(column, 0)), column);
            assertTrue(Double.isNaN(found.getTable().getValue(column, 1)), column);
        }
    }

    @Test
    void labelsAreTheStarts() throws Exception {
        for (boolean floats : new boolean[] {false, true}) {
            Map<String, Object> options = new HashMap<>();
            options.put("start", "labels");
            options.put("stack", "volume");
            options.put("start_image", starts(floats));
            Result found = Isoline.growObjects(balls(), options);
            assertEquals(floats ? 32 : 16, found.getImage().getBitDepth());
            assertBalls(found.getImage(), 300);
            assertEquals(2, found.getTable().size());
            assertEquals(600, found.getTable().getValue("Object", 1));
            assertEquals(Collections.emptyList(), found.getWarnings());
        }
    }

    @Test
    void pointsAndAreasAreStarts() throws Exception {
        ImagePlus image = balls();
        PointRoi point = new PointRoi(18, 20);
        point.setPosition(8);
        Roi area = new OvalRoi(37, 17, 6, 6);
        area.setPosition(8);
        Roi hidden = new Roi(39, 19, 2, 2);
        hidden.setPosition(8);
        hidden.setName("hidden");
        Map<String, Object> options = new HashMap<>();
        options.put("stack", "volume");
        options.put("rois", Arrays.asList(point, area, hidden));
        Result found = Isoline.growObjects(image, options);
        assertBalls(found.getImage(), 1);
        assertEquals(2, found.getTable().size());
        assertEquals(1, found.getWarnings().size(), found.getWarnings().toString());
        assertTrue(
                found.getWarnings().get(0).contains("1 start had no pixel of its own, and so no object: \"hidden\""));

        // Two points that were clicked on the middle slice.
        PointRoi clicked = new PointRoi(new float[] {18, 40}, new float[] {20, 20}, 2);
        image.setSlice(8);
        image.setRoi(clicked);
        Map<String, Object> selected = new HashMap<>();
        selected.put("stack", "volume");
        selected.put("start", "roi");
        selected.put("radius", 2);
        assertBalls(Isoline.growObjects(image, selected).getImage(), 1);

        // A second area that was added with the Shift key; one with a hole is one part.
        ShapeRoi both = new ShapeRoi(new OvalRoi(15, 17, 6, 6));
        both.not(new ShapeRoi(new Roi(17, 19, 2, 2)));
        both.or(new ShapeRoi(area));
        image.setRoi(both);
        selected.remove("radius");
        assertBalls(Isoline.growObjects(image, selected).getImage(), 1);
        // In the ROI Manager it is the outline of one object.
        both.setPosition(8);
        options.put("rois", both);
        assertEquals(1, Isoline.growObjects(image, options).getTable().size());
    }

    @Test
    void pointIsAStartOnItsSlice() throws Exception {
        PointRoi point = new PointRoi(18, 20);
        point.setPosition(8);
        Map<String, Object> options = new HashMap<>();
        options.put("stack", "slices");
        options.put("rois", point);
        Result found = Isoline.growObjects(balls(), options);
        assertEquals(1, found.getTable().size());
        assertEquals(8, found.getTable().getValue("Slice", 0));
        // Nothing else grows, so that it takes the other ball, too.
        assertEquals(Math.PI * (36 + 25), found.getTable().getValue("Area", 0), 3);
    }

    @Test
    void slicesWithoutAStartStayEmpty() throws Exception {
        Map<String, Object> options = new HashMap<>();
        options.put("start", "labels");
        options.put("stack", "slices");
        options.put("start_image", starts(false));
        Result found = Isoline.growObjects(balls(), options);
        ImageStack slices = found.getImage().getStack();
        assertEquals(0, slices.getProcessor(1).getStats().max);
        assertEquals(600, slices.getProcessor(8).getStats().max);
        assertTrue(found.getTable().columnExists("Area") && found.getTable().columnExists("Slice"));
    }

    @Test
    void labelsAreThoseOfTheLibrary() throws Exception {
        ImagePlus image = balls();
        ImagePlus labels = run(
                command(),
                image,
                "stack=volume start=detect alpha=0.7 threshold=90 prominence=1.5 device=cpu label_image");
        try (Context context = Context.open("cpu");
                PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.U8, WIDTH, HEIGHT, DEPTH);
                PixelBuffer output = new PixelBuffer(context, PixelBuffer.Type.U16, WIDTH, HEIGHT, DEPTH)) {
            for (int z = 0; z < DEPTH; z++) {
                input.write(z, image.getStack().getPixels(z + 1));
            }
            input.setSpacing(0.5, 0.5, 1.0001);
            Params params = new Params(Objects.NAME);
            params.set("alpha", 0.7).set("threshold", 90).set("prominence", 1.5);
            Objects found = Objects.run(context, params, input, null, output, DEPTH, null);
            assertEquals(2, found.count());
            assertTrue(found.report().converged());
            for (int z = 0; z < DEPTH; z++) {
                short[] slice = new short[WIDTH * HEIGHT];
                output.read(z, slice);
                assertArrayEquals(slice, (short[]) labels.getStack().getPixels(z + 1));
            }
        }
    }

    @Test
    void whatIsNotRightIsSaid() {
        assertRefused(
                balls(),
                "stack=volume start=labels label_image",
                "start_image must be the title of an open label image");
        assertRefused(balls(), "start=labels start_image=none label_image", "There is no open image \"none\"");
        assertRefused(balls(), "start=detect", "No output is chosen");
        assertRefused(balls(), "start=roi label_image", "start=roi needs a selection with an area");
        assertRefused(balls(), "start=manager label_image", "start=manager needs areas or points");
        assertRefused(
                balls(),
                "start=manager start_file=none.zip label_image",
                "none.zip of areas and points cannot be read");
        assertRefused(balls(), "start=roi radius=0 label_image", "radius");
        assertRefused(balls(), "start=detect alpha=0 label_image", "greater than 0 and at most 1");
        assertRefused(balls(), "start=detect range_max=2 label_image", "range_min and range_max must both be given");
        assertRefused(
                balls(), "start=detect range_min=3 range_max=2 label_image", "range_min must be less than range_max");
        assertRefused(
                balls(),
                "start=detect range_min=0 range_max=2 label_image",
                "range_min and range_max are for 32-bit images");
        ImagePlus even = new ImagePlus("even", new ByteProcessor(20, 20));
        Outcome outcome = macro(even, line("start=detect label_image"));
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        assertTrue(outcome.log.contains("no start was found, so there is no object"), outcome.log);
        assertEquals(0, WindowManager.getCurrentImage().getStatistics().max);
        new ImagePlus("empty", new ByteProcessor(WIDTH, HEIGHT)).show();
        ImagePlus labels = run(command(), balls(), "stack=slices start=labels start_image=empty label_image");
        assertEquals(DEPTH, labels.getStackSize());
        assertEquals(0, labels.getStatistics().max);
        outcome = macro(balls(), line("stack=slices start=labels start_image=empty label_image"));
        assertFalse(ABORTED.equals(outcome.returned), outcome.log);
        assertTrue(
                outcome.log.contains("no object: the start image \"empty\" is 0 on the slices that are looked at."),
                outcome.log);
        outcome = macro(balls(), line("start=detect iterations=5 label_image"));
        assertTrue(outcome.log.contains("not at rest after 5 iterations"), outcome.log);
    }
}
