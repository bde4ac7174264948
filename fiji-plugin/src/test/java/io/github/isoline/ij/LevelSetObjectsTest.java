package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.measure.ResultsTable;
import ij.process.ImageProcessor;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the objects of level sets: label image, rows and outlines. */
class LevelSetObjectsTest extends HeadlessTest {
    private static final String RUN = "start=box box_x=1-79 box_y=1-59 range=values target=150 epsilon=40 alpha=0.5 ";

    @AfterEach
    void clearTable() {
        table().reset();
    }

    private static ResultsTable table() {
        return ResultsTable.getResultsTable();
    }

    private static void call(ImagePlus image, String options) {
        Outcome outcome = macro(image, "run(\"Level Set...\", \"" + RUN + options + "\");");
        assertTrue(WindowManager.getCurrentImage() != image, outcome.log);
    }

    /** Returns a dark image with a bright ball at each centre x, y, z, of a radius in pixels. */
    private static ImagePlus balls(int slices, double depth, int[]... centres) {
        ImagePlus image = IJ.createImage("balls", "8-bit black", 80, 60, slices);
        for (int z = 0; z < slices; z++) {
            ImageProcessor plane = image.getStack().getProcessor(z + 1);
            for (int i = 0; i < 80 * 60; i++) {
                plane.set(i, 20);
                for (int[] c : centres) {
                    double dz = (z - c[2]) * depth;
                    double squares = Math.pow(i % 80 - c[0], 2) + Math.pow(i / 80 - c[1], 2) + dz * dz;
                    plane.set(i, squares <= c[3] * c[3] ? 150 : plane.get(i));
                }
            }
        }
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.5;
        image.getCalibration().pixelDepth = 0.5 * depth;
        image.getCalibration().setUnit("um");
        return image;
    }

    @Test
    void objectsOfASliceHaveOneNumberInTableLabelsAndOutlines() {
        ImagePlus image = balls(1, 1, new int[] {55, 20, 0, 12}, new int[] {20, 35, 0, 9}, new int[] {70, 55, 0, 8});
        call(image, "label_image results_table overlay");
        ImagePlus labels = WindowManager.getCurrentImage();
        assertEquals("Labels of balls", labels.getTitle());
        assertEquals(3, table().size());
        assertEquals(3, image.getOverlay().size());
        double ground = outside(image, labels);
        assertEquals(20, ground, 1);
        int[][] places = {{55, 20, 12}, {20, 35, 9}, {70, 55, 8}};
        for (int row = 0; row < 3; row++) {
            int number = row + 1;
            int pixels = SnakeTest.count(labels.getProcessor(), number);
            assertEquals(number, table().getValue("Object", row));
            assertEquals(pixels * 0.25, table().getValue("Area", row), 1e-9);
            assertEquals(number, labels.getProcessor().get(places[row][0], places[row][1]));
            assertEquals("object-000" + number, image.getOverlay().get(row).getName());
            assertEquals(pixels, image.getOverlay().get(row).getContainedPoints().length);
            assertEquals(150, table().getValue("Mean", row), 5);
            assertEquals(ground, table().getValue("Mean outside", row), 1e-9);
            assertEquals(row == 2 ? 1 : 0, table().getValue("Touches image", row));
            if (row < 2) {
                double radius = places[row][2] * 0.5;
                assertEquals((places[row][0] + 0.5) * 0.5, table().getValue("X", row), 0.1);
                assertEquals((places[row][1] + 0.5) * 0.5, table().getValue("Y", row), 0.1);
                assertEquals(2 * Math.PI * radius, table().getValue("Perim.", row), 0.06 * 2 * Math.PI * radius);
                assertEquals(1, table().getValue("Circ.", row), 0.06);
            }
        }
        assertEquals("\u00b5m", table().getStringValue("Unit", 0));
    }

    @Test
    void moreObjectsThan16BitsHoldHave32() throws Exception {
        int side = 400;
        ImagePlus image = IJ.createImage("many", "8-bit black", side, side, 2);
        image.setDimensions(1, 1, 2);
        LevelSetSettings settings = new LevelSetSettings();
        settings.set(Settings.ALL_FRAMES, true).set(Settings.STACK, "volume");
        LevelSetObjects objects = new LevelSetObjects(settings.planes(image), new VoxelSize(image, true), settings);
        byte[] many = objects.masks[0];
        many[4] = 1;
        objects.add(1);
        for (int i = 0; i < many.length; i++) {
            many[i] = (byte) ((i + i / side) % 2);
        }
        assertEquals(1 + many.length / 2, objects.add(2).size() + 1);
        ImagePlus labels = objects.labelImage();
        assertEquals(32, labels.getBitDepth());
        assertEquals(1, labels.getStack().getProcessor(1).getf(4));
        assertEquals(0, labels.getStack().getProcessor(2).getf(4));
        assertEquals(2, labels.getStack().getProcessor(2).getf(1));
        assertEquals(1 + many.length / 2, labels.getStack().getProcessor(2).getStats().max);
    }

    @Test
    void objectsOfAVolumeAddUpToItsRow() {
        ImagePlus image = balls(15, 2, new int[] {22, 30, 7, 11}, new int[] {58, 30, 8, 9});
        call(image, "box_z=2-14 stack=volume label_image results_table overlay");
        ImagePlus labels = WindowManager.getCurrentImage();
        assertEquals(15, labels.getNSlices());
        assertEquals(2, table().size());
        double ground = outside(image, labels);
        assertEquals(20, ground, 1);
        double volume = table().getValue("Volume", 0) + table().getValue("Volume", 1);
        double surface = table().getValue("Surface", 0) + table().getValue("Surface", 1);
        for (int row = 0; row < 2; row++) {
            int voxels = 0;
            for (int z = 1; z <= 15; z++) {
                voxels += SnakeTest.count(labels.getStack().getProcessor(z), row + 1);
            }
            double radius = (row == 0 ? 11 : 9) * 0.5;
            assertEquals(ground, table().getValue("Mean outside", row), 1e-9);
            assertEquals(voxels * 0.25, table().getValue("Volume", row), 1e-9);
            assertEquals(4 * Math.PI * radius * radius, table().getValue("Surface", row), 40);
            assertEquals(((row == 0 ? 22 : 58) + 0.5) * 0.5, table().getValue("X", row), 0.1);
            assertEquals(30.5 * 0.5, table().getValue("Y", row), 0.1);
            assertEquals((row == 0 ? 7 : 8) + 0.5, table().getValue("Z", row), 0.2);
            assertEquals(0, table().getValue("Touches image", row));
        }
        // Each object has an outline on each of its slices, with its number.
        assertEquals("object-0001 s8", named(image, "object-0001 s8"));
        table().reset();
        call(image, "box_z=2-14 stack=volume mask_stack results_table");
        assertEquals(1, table().size());
        assertEquals(volume, table().getValue("Volume", 0), 1e-9);
        assertEquals(surface, table().getValue("Surface", 0), 1e-9);
        assertEquals(ground, table().getValue("Mean outside", 0), 1e-9);
        double z = table().getValue("Z", 0);
        assertTrue(z > 7.4 && z < 8.6, "" + z);
    }

    /** Returns the mean of the pixels of the image that have no label. */
    private static double outside(ImagePlus image, ImagePlus labels) {
        double sum = 0;
        long count = 0;
        for (int z = 1; z <= image.getStackSize(); z++) {
            ImageProcessor plane = image.getStack().getProcessor(z);
            for (int i = 0; i < plane.getPixelCount(); i++) {
                boolean outside = labels.getStack().getProcessor(z).get(i) == 0;
                sum += outside ? plane.getf(i) : 0;
                count += outside ? 1 : 0;
            }
        }
        return sum / count;
    }

    private static String named(ImagePlus image, String name) {
        for (ij.gui.Roi roi : image.getOverlay().toArray()) {
            if (name.equals(roi.getName())) {
                return name;
            }
        }
        return image.getOverlay().size() + " others";
    }

    @Test
    void numbersContinueFromSliceToSlice() {
        ImagePlus image = balls(3, 100, new int[] {22, 30, 0, 11}, new int[] {58, 30, 0, 9}, new int[] {58, 30, 2, 9});
        call(image, "label_image results_table");
        assertEquals(3, table().size());
        assertEquals(3, table().getValue("Object", 2));
        assertEquals(3, table().getValue("Slice", 2));
        assertEquals(
                3, WindowManager.getCurrentImage().getStack().getProcessor(3).get(58, 30));
    }

    @Test
    void automaticRadiusOfASphereReachesTheBorder() {
        ImagePlus image = balls(15, 2, new int[] {22, 30, 7, 11}, new int[] {58, 30, 8, 9});
        image.setSlice(8);
        String first = "run(\"Level Set...\", \"stack=volume start=spheres range=values target=150 epsilon=40"
                + " mode=iterations iterations=1 time_step=1e-7 mask_stack results_table\");";
        image.setRoi(new ij.gui.PointRoi(22, 30));
        Outcome outcome = macro(image, first);
        assertEquals(1, table().size(), outcome.log);
        double radius = 11 * 0.5;
        assertEquals(4 * Math.PI / 3 * Math.pow(radius, 3), table().getValue("Volume", 0), 130);
        image.setRoi(new ij.gui.PointRoi(40, 5));
        assertOneSentence(macro(image, first).log, "There is no automatic radius: the point of \"balls\" in slice 8");
    }

    @Test
    void objectsAreComponentsConnectedBySides() {
        Random random = new Random(5);
        for (int run = 0; run < 20; run++) {
            int width = 1 + random.nextInt(12);
            byte[][] masks = new byte[1 + random.nextInt(4)][width * (1 + random.nextInt(12))];
            for (byte[] mask : masks) {
                for (int i = 0; i < mask.length; i++) {
                    mask[i] = (byte) (random.nextInt(10) < 6 ? 255 : 0);
                }
            }
            masks = alike(masks);
            MaskObjects objects = new MaskObjects(masks, width);
            int[][] filled = filled(masks, width);
            for (int z = 0; z < masks.length; z++) {
                org.junit.jupiter.api.Assertions.assertArrayEquals(filled[z], objects.labels[z]);
            }
        }
    }

    private static byte[][] alike(byte[]... masks) {
        for (int z = 1; z < masks.length; z++) {
            masks[z] = java.util.Arrays.copyOf(masks[z], masks[0].length);
        }
        return masks;
    }

    /** Fills one object after the other from its first pixel. */
    private static int[][] filled(byte[][] masks, int width) {
        int[][] labels = new int[masks.length][masks[0].length];
        int count = 0;
        for (int z = 0; z < masks.length; z++) {
            for (int i = 0; i < masks[z].length; i++) {
                if (masks[z][i] == 0 || labels[z][i] != 0) {
                    continue;
                }
                Deque<int[]> open = new ArrayDeque<>();
                open.add(new int[] {z, i});
                labels[z][i] = ++count;
                while (!open.isEmpty()) {
                    int[] at = open.remove();
                    int x = at[1] % width;
                    int[][] near = {
                        {at[0], x > 0 ? at[1] - 1 : -1},
                        {at[0], x < width - 1 ? at[1] + 1 : -1},
                        {at[0], at[1] - width},
                        {at[0], at[1] + width},
                        {at[0] - 1, at[1]},
                        {at[0] + 1, at[1]},
                    };
                    for (int[] next : near) {
                        boolean in =
                                next[0] >= 0 && next[0] < masks.length && next[1] >= 0 && next[1] < masks[0].length;
                        if (in && masks[next[0]][next[1]] != 0 && labels[next[0]][next[1]] == 0) {
                            labels[next[0]][next[1]] = count;
                            open.add(next);
                        }
                    }
                }
            }
        }
        return labels;
    }
}
