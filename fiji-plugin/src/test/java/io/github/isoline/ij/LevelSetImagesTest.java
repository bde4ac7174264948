package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.Line;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.io.RoiEncoder;
import ij.measure.ResultsTable;
import ij.process.ByteProcessor;
import io.github.isoline.IsolineException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests masks, φ, outlines and rows for images and starts. */
class LevelSetImagesTest extends LevelSetTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        // The ball is the same in voxels of several shapes; radius and voxel size are in
        // micrometres.
        "40, 40, 40, 12, 1, 1, 1",
        "60, 60, 24, 12, 0.6, 0.6, 1.5",
        "36, 48, 40, 12, 1, 0.7, 0.9"
    })
    void ballIsFoundWithItsVolumeAndSurface(
            int width, int height, int depth, double radius, double x, double y, double z) {
        ImagePlus ball = ball(width, height, depth, radius, x, y, z);
        ball.setSlice(3);
        macro(ball, call("stack=volume start=box mask_stack phi results_table" + RANGE));
        ImagePlus mask = current();
        assertEquals("Level set of ball", mask.getTitle());
        assertEquals(depth, mask.getNSlices());
        assertEquals(3, mask.getCurrentSlice());
        assertTrue(dice(mask, ball) > 0.98, "Dice " + dice(mask, ball));
        assertEquals(z, mask.getCalibration().pixelDepth);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(1, table.size());
        assertEquals("ball", table.getLabel(0));
        String unit = ball.getCalibration().scaled() ? "\u00b5m" : "pixels";
        double volume = table.getValue("Volume", 0);
        assertEquals(count(mask) * x * y * z, volume, 1e-9 * volume);
        assertEquals(1, volume / (4 * Math.PI / 3 * Math.pow(radius, 3)), 0.04);
        double surface = table.getValue("Surface", 0);
        // This is the radius of the segmented ball.
        double found = Math.cbrt(volume * 3 / (4 * Math.PI));
        assertEquals(1, surface / (4 * Math.PI * found * found), 0.02);
        assertEquals(1, table.getValue("Converged", 0));
        assertTrue(table.getValue("Iterations", 0) > 10);
        assertTrue(table.getValue("Seconds", 0) > 0);
    }

    @Test
    void phiIsNegativeInside() {
        ImagePlus ball = ball(40, 40, 40, 12, 1, 1, 1);
        macro(ball, call("stack=volume start=box mask_stack phi" + RANGE));
        ImagePlus mask = current();
        ImagePlus phi = run(LEVEL_SET, ball, "stack=volume start=box phi" + RANGE);
        assertEquals("Phi of ball", phi.getTitle());
        assertEquals(32, phi.getBitDepth());
        for (int z = 1; z <= 40; z++) {
            float[] values = (float[]) phi.getStack().getPixels(z);
            byte[] inside = (byte[]) mask.getStack().getPixels(z);
            for (int i = 0; i < values.length; i++) {
                assertEquals(values[i] < 0, inside[i] == -1);
            }
        }
        assertTrue(phi.getDisplayRangeMin() < 0 && phi.getDisplayRangeMax() > 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void depthOfThePixelsDoesNotMatter(int bits) {
        ImagePlus ball = ball(36, 36, 20, 8, 1, 1, 1);
        ImagePlus wanted = mask(ball, "stack=volume start=box" + RANGE);
        ImagePlus other = ball.duplicate();
        convert(other, bits);
        ImagePlus got = mask(other, "stack=volume start=box" + RANGE);
        for (int z = 1; z <= 20; z++) {
            assertArrayEquals((byte[]) wanted.getStack().getPixels(z), (byte[])
                    got.getStack().getPixels(z));
        }
    }

    @Test
    void signedPixelsAreMeantAsImageJShowsThem() {
        ImagePlus ball = ball(36, 36, 1, 8, 1, 1, 1);
        byte[] wanted = (byte[]) mask(ball, "start=box" + RANGE).getProcessor().getPixels();
        ImagePlus signed = new ImagePlus("signed", ball.getProcessor().convertToShort(false));
        signed.getProcessor().add(32768 - 100);
        signed.getLocalCalibration().setSigned16BitCalibration();
        ImagePlus got = mask(signed, "start=box range=values target=-20 epsilon=20 alpha=0.2");
        assertArrayEquals(wanted, (byte[]) got.getProcessor().getPixels());
    }

    @Test
    void selectionStartsOnItsSliceOrOnAll() {
        ImagePlus ball = ball(40, 40, 20, 8, 1, 1, 1);
        String options = "stack=volume mode=iterations iterations=1 time_step=1e-6" + RANGE;
        ball.setSlice(7);
        ball.setRoi(new OvalRoi(15, 15, 9, 10));
        ImagePlus own = mask(ball, options);
        ImagePlus all = mask(ball, options + " roi_slices=all");
        int pixels = 0;
        byte[] inside = StartSurface.pixels(ball.getRoi(), ball);
        for (byte pixel : inside) {
            pixels += pixel != 0 ? 1 : 0;
        }
        for (int z = 1; z <= 20; z++) {
            boolean here = z == 7;
            assertEquals(here ? pixels : 0, count(slice(own, z)), "slice " + z);
            assertArrayEquals(inside, (byte[]) all.getStack().getPixels(z));
        }
        // A selection may have another slice than the one shown.
        Roi placed = (Roi) ball.getRoi().clone();
        placed.setPosition(12);
        ball.setRoi(placed);
        ball.setSlice(7);
        assertEquals(pixels, count(slice(mask(ball, options), 12)));
        // For independent slices it is the start of each.
        ImagePlus slices = mask(ball, "stack=slices mode=iterations iterations=1 time_step=1e-6" + RANGE);
        assertEquals(20 * pixels, count(slices));
    }

    @Test
    void pointsOfASelectionAreSpheresInTheImagesUnit() {
        ImagePlus ball = ball(40, 40, 20, 8, 0.5, 0.5, 2);
        String options = "stack=volume start=spheres radius=4 mode=iterations iterations=1 time_step=1e-7" + RANGE;
        ball.setSlice(9);
        ball.setRoi(new PointRoi(18, 21));
        ImagePlus mask = mask(ball, options);
        for (int z = 1; z <= 20; z++) {
            byte[] pixels = (byte[]) mask.getStack().getPixels(z);
            for (int i = 0; i < pixels.length; i++) {
                double x = (i % 40 - 18) * 0.5;
                double y = (i / 40 - 21) * 0.5;
                double dz = (z - 9) * 2;
                boolean inside = x * x + y * y + dz * dz <= 16;
                assertEquals(inside ? -1 : 0, pixels[i], "pixel " + i + " of slice " + z);
            }
        }
    }

    @Test
    void pointsOfAFileGrowIntoTheirOwnSlices() throws IOException {
        ImagePlus ball = ball(40, 40, 20, 8, 1, 1, 1);
        PointRoi first = new PointRoi(19, 19);
        // The ROI Manager gives this name: its files do not keep the slice of a point otherwise.
        first.setName("0010-0019-0019");
        PointRoi second = new PointRoi(5, 5);
        second.setPosition(1, 3, 1);
        String file = save(first, second);
        ImagePlus volume = mask(ball, "stack=volume start=spheres radius=3 sphere_file=" + file + RANGE);
        assertTrue(dice(volume, ball) > 0.97, "Dice " + dice(volume, ball));
        // The front in the dark has vanished.
        assertEquals(0, volume.getStack().getProcessor(3).get(5, 5));
        // With independent slices, only those with points have a start.
        ImagePlus slices = mask(ball, "start=spheres radius=3 sphere_file=" + file + RANGE);
        for (int z = 1; z <= 20; z++) {
            assertEquals(z == 10, count(slice(slices, z)) > 0, "slice " + z);
        }
        // A point without a slice has no position in a volume.
        Roi lost = new PointRoi(19, 19);
        lost.setName("lost");
        Outcome outcome = macro(ball, call("mask_stack stack=volume start=spheres radius=3 sphere_file=" + save(lost)));
        assertOneSentence(outcome.log, "The point \"lost\" in the file");
        Outcome square =
                macro(ball, call("mask_stack start=spheres radius=3 sphere_file=" + save(new Roi(1, 1, 5, 5))));
        assertOneSentence(square.log, "takes points only, but");
    }

    @Test
    void aPointSelectionComesBeforeOlderPointsOfTheManager() throws Exception {
        ImagePlus image = new ImagePlus("black", new ByteProcessor(60, 40));
        PointRoi older = new PointRoi(10, 10);
        PointRoi newer = new PointRoi(40, 20);
        for (boolean given : new boolean[] {false, true}) {
            ScriptWorkspace workspace = new ScriptWorkspace() {
                @Override
                public boolean isForThisRun() {
                    return given;
                }
            };
            workspace.add(older);
            LevelSetSettings settings = Settings.fromMacro(new LevelSetSettings(), "start=spheres radius=3 phi");
            settings.workspace = workspace;
            image.setRoi(newer);
            assertEquals(given ? 10 : 40, points(image, settings).get(0).x);
            // The last point that was added stays on the image.
            workspace.add(newer);
            assertEquals(2, points(image, settings).size());
            image.deleteRoi();
            assertEquals(2, points(image, settings).size());
            // The outlines of an earlier run are no starts.
            Roi outline = new Roi(1, 1, 5, 5);
            outline.setProperty(RoiOutput.PROPERTY, settings.kind);
            workspace.add(outline);
            assertEquals(2, points(image, settings).size());
        }
        image.setRoi(new Line(1, 1, 9, 9));
        assertOneSentence(
                macro(image, call("phi")).log,
                "but there is a straight line. Draw one with the rectangle, oval, polygon or freehand tool, or click");
    }

    @Test
    void pointsOfTheSelectionAreAStartOfRoi() {
        ImagePlus ball = ball(40, 40, 20, 8, 1, 1, 2);
        PointRoi points = new PointRoi(19, 20);
        points.addPoint(23, 20);
        ball.setSlice(10);
        ball.setRoi(points);

        for (String options : new String[] {" stack=volume", " stack=current"}) {
            ImagePlus spheres = mask(ball, "start=spheres radius=auto" + options);
            ImagePlus roi = mask(ball, "start=roi" + options);
            assertTrue(count(spheres) > 100, options);
            for (int z = 1; z <= spheres.getStackSize(); z++) {
                assertArrayEquals((byte[]) spheres.getStack().getPixels(z), (byte[])
                        roi.getStack().getPixels(z));
            }
        }
        assertOneSentence(
                macro(ball, call("phi stack=volume roi_slices=all")).log,
                "roi_slices=all needs a selection with an area, but there are points");
        assertOneSentence(macro(ball, call("phi start=roi radius=3")).log, "Write start=spheres, or leave radius out.");
    }

    private static List<StartPoints.Point> points(ImagePlus image, LevelSetSettings settings) throws BadInput {
        return StartPoints.of(settings.planes(image), settings);
    }

    private String save(Roi... rois) throws IOException {
        Path file = folder.resolve("points" + System.nanoTime() + ".zip");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            for (int i = 0; i < rois.length; i++) {
                zip.putNextEntry(new ZipEntry(i + ".roi"));
                zip.write(RoiEncoder.saveAsByteArray(rois[i]));
            }
        }
        return file.toString();
    }

    @Test
    void boxIsTheOneThatWasNamed() {
        ImagePlus ball = ball(40, 40, 20, 8, 1, 1, 1);
        String options = "start=box mode=iterations iterations=1 time_step=1e-6" + RANGE;
        ImagePlus box = mask(ball, "stack=volume box_x=3-7 box_y=10-10 box_z=2-4 " + options);
        for (int z = 1; z <= 20; z++) {
            for (int i = 0; i < 1600; i++) {
                boolean inside = z >= 2 && z <= 4 && i / 40 == 10 && i % 40 >= 3 && i % 40 <= 7;
                assertEquals(inside ? -1 : 0, ((byte[]) box.getStack().getPixels(z))[i]);
            }
        }
        // The box is the central half, or the bounds of a selection.
        assertEquals(20 * 20 * 10, count(mask(ball, "stack=volume " + options)));
        assertEquals(20 * 20 * 20, count(mask(ball, options)));
        ball.setRoi(new OvalRoi(5, 6, 12, 11));
        assertEquals(12 * 11 * 10, count(mask(ball, "stack=volume " + options)));
        assertEquals(12 * 11, count(mask(ball, "stack=current " + options)));
    }

    @Test
    void maskOfAnotherImageIsTheStart() {
        Outcome outcome = macro(
                null,
                "setBatchMode(true);"
                        + "newImage(\"thing\", \"8-bit black\", 40, 36, 6);"
                        + "setColor(80); for (i = 1; i <= 6; i++) { setSlice(i);"
                        + " fillOval(10, 8, 20, 20); }"
                        + "newImage(\"my start\", \"32-bit black\", 40, 36, 6);"
                        + "for (i = 1; i <= 6; i++) { setSlice(i);"
                        + " setPixel(20, 18, i * 0.1 - 0.15); setPixel(21, 18, -1); }"
                        + "selectImage(\"thing\"); setSlice(1);"
                        + call("start=mask mask_image=[my start] mask_stack mode=iterations"
                                + " iterations=1 time_step=1e-6"
                                + RANGE)
                        + "s = \"\"; for (i = 1; i <= 6; i++) { setSlice(i);"
                        + " s = s + getPixel(20, 18) + \" \" + getPixel(21, 18) + \"|\"; }"
                        + "return \"\" + s;");
        assertEquals("0 0|255 0|255 0|255 0|255 0|255 0|", outcome.returned, outcome.log);
        assertTrue(
                outcome.log.contains("1 slice has nothing inside") || !outcome.log.contains("nothing inside"),
                outcome.log);
    }

    @Test
    void rangeOfASelectionIsItsMeanAndDeviation() {
        ImagePlus image = disc(40, 36, 10);
        image.setRoi(new Roi(17, 15, 6, 6));
        ij.process.ImageStatistics seen = image.getStatistics();
        double n = seen.pixelCount;
        double deviation = seen.stdDev * Math.sqrt((n - 1) / n);
        ImagePlus mask = mask(image, "start=roi range=roi deviations=3");
        String info = (String) mask.getProperty("Info");
        String line = info.substring(info.indexOf("Isoline range: ") + 15).split("\n")[0];
        String[] numbers = line.split(" \\+- ");
        assertEquals(seen.mean, Double.parseDouble(numbers[0]), 1e-9);
        assertEquals(3 * deviation, Double.parseDouble(numbers[1]), 1e-9);
    }

    @Test
    void startOfOneValueOnlyHasARange() {
        ImagePlus flat = new ImagePlus("flat", disc(40, 36, 10).getProcessor().convertToFloat());
        flat.getProcessor().setRoi(new Roi(15, 13, 10, 10));
        flat.getProcessor().setValue(80);
        flat.getProcessor().fill();
        flat.getProcessor().resetRoi();
        flat.setRoi(new Roi(16, 14, 8, 8));
        assertTrue(count(mask(flat, "start=roi alpha=1")) > 0);
    }

    @Test
    void slicesHaveTheirOwnRowsAndOutlines() throws Exception {
        ImagePlus ball = ball(40, 40, 20, 8, 0.5, 0.5, 1);
        Roi mine = new Roi(1, 2, 3, 4);
        ball.setOverlay(new Overlay(mine));
        Path file = folder.resolve("outlines.zip");
        String options = "start=box box_z=8-12 overlay results_table roi_file=" + file + RANGE;
        macro(ball, call(options));
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(20, table.size());
        int outlined = 0;
        for (int z = 1; z <= 20; z++) {
            assertEquals(z, table.getValue("Slice", z - 1));
            double area = table.getValue("Area", z - 1);
            double perimeter = table.getValue("Perim.", z - 1);
            boolean thing = z >= 8 && z <= 12;
            assertEquals(thing, area > 0, "slice " + z);
            outlined += thing ? 1 : 0;
            if (thing) {
                double radius = Math.sqrt(area / Math.PI);
                assertEquals(1, perimeter / (2 * Math.PI * radius), 0.02);
            }
        }
        Roi[] all = ball.getOverlay().toArray();
        assertSame(mine, all[0]);
        assertEquals(1 + outlined, all.length);
        for (int i = 1; i < all.length; i++) {
            int z = all[i].getPosition();
            assertEquals("level-set s" + z, all[i].getName());
            double area = all[i].getStatistics().area * 0.25;
            assertEquals(table.getValue("Area", z - 1), area, 1e-6);
        }
        assertEquals(outlined, RoiFile.read(file.toString(), "the test").size());
        // A second run replaces the outlines of the first, and a new image gets only the user's
        // own.
        macro(ball, call(options));
        assertEquals(1 + outlined, ball.getOverlay().size());
        assertEquals(1, mask(ball, "start=box" + RANGE).getOverlay().size());
    }

    @Test
    void framesEvolveByThemselves() {
        ImagePlus small = ball(36, 36, 10, 6, 1, 1, 1);
        ImagePlus large = ball(36, 36, 10, 9, 1, 1, 1);
        ImageStack both = new ImageStack(36, 36);
        for (ImagePlus ball : new ImagePlus[] {small, large}) {
            for (int z = 1; z <= 10; z++) {
                both.addSlice("", ball.getStack().getPixels(z));
            }
        }
        ImagePlus film = new ImagePlus("film", both);
        film.setDimensions(1, 10, 2);
        film.setOpenAsHyperStack(true);
        String options = "stack=volume start=box results_table" + RANGE;
        ImagePlus all = mask(film, options + " all_frames");
        assertEquals(2, all.getNFrames());
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(2, table.size());
        for (int t = 1; t <= 2; t++) {
            assertEquals(t, table.getValue("Frame", t - 1));
            ImagePlus alone = mask(t == 1 ? small : large, options);
            for (int z = 1; z <= 10; z++) {
                assertArrayEquals((byte[]) alone.getStack().getPixels(z), (byte[])
                        all.getStack().getPixels(all.getStackIndex(1, z, t)));
            }
        }
        assertEquals(4, table.size());
        assertEquals(table.getValue("Volume", 1), table.getValue("Volume", 3));
    }

    @Test
    void framesStartFromTheLastOnesResult() {
        int step = 7;
        ImageStack discs = new ImageStack(90, 40);
        for (int t = 0; t < 6; t++) {
            ByteProcessor disc = new ByteProcessor(90, 40);
            disc.setValue(150);
            disc.fill(new OvalRoi(10 + step * t, 10, 20, 20));
            discs.addSlice(disc);
        }
        ImagePlus film = new ImagePlus("film", discs);
        film.setDimensions(1, 1, 6);
        film.setOpenAsHyperStack(true);
        film.setRoi(new OvalRoi(14, 14, 12, 12));
        String options = "range=values target=150 epsilon=60 results_table all_frames";
        ResultsTable table = ResultsTable.getResultsTable();
        // The last discs do not touch the start any more.
        mask(film, options);
        assertEquals("lost", table.getStringValue("Outcome", 5));
        assertFalse(table.columnExists("Overlap"));
        table.reset();
        ImagePlus all = mask(film, options + " follow");
        assertEquals(6, table.size());
        assertEquals(6, all.getNFrames());
        assertTrue(Double.isNaN(table.getValue("Overlap", 0)));
        for (int t = 0; t < 6; t++) {
            assertEquals("front", table.getStringValue("Outcome", t));
            assertEquals(Math.PI * 100, table.getValue("Area", t), 12);
            assertEquals(20 + step * t, table.getValue("X", t), 0.3);
            assertEquals(20, table.getValue("Y", t), 0.3);
        }
        for (int t = 1; t < 6; t++) {
            byte[] here = (byte[]) all.getStack().getPixels(t + 1);
            byte[] before = (byte[]) all.getStack().getPixels(t);
            double common = 0;
            double either = 0;
            for (int i = 0; i < here.length; i++) {
                common += here[i] != 0 && before[i] != 0 ? 1 : 0;
                either += here[i] != 0 || before[i] != 0 ? 1 : 0;
            }
            assertEquals(common / either, table.getValue("Overlap", t), 1e-12);
        }
    }

    @Test
    void volumesStartFromTheLastFramesVolume() {
        ImageStack both = new ImageStack(36, 36);
        ImagePlus ball = ball(36, 36, 10, 8, 1, 1, 1);
        for (int t = 0; t < 2; t++) {
            for (int z = 1; z <= 10; z++) {
                both.addSlice("", ball.getStack().getPixels(z));
            }
        }
        ImagePlus film = new ImagePlus("film", both);
        film.setDimensions(1, 10, 2);
        film.setOpenAsHyperStack(true);
        mask(film, "stack=volume start=box results_table all_frames follow" + RANGE);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(2, table.size());
        // The same volume again: the front hardly moves.
        assertTrue(table.getValue("Overlap", 1) > 0.98, "" + table.getValue("Overlap", 1));
        assertEquals(table.getValue("Volume", 0), table.getValue("Volume", 1), 0.02 * table.getValue("Volume", 0));
    }

    @Test
    void voxelDepthThatCannotBeRightIsSaid() {
        ImagePlus ball = ball(36, 36, 10, 6, 0.5, 0.5, 1);
        ball.getCalibration().setUnit("pixel");
        Outcome outcome = macro(ball, call("stack=volume start=box mask_stack" + RANGE));
        assertTrue(outcome.log.contains("the voxel depth is 1, "), outcome.log);
        ball.getCalibration().pixelDepth = 0;
        outcome = macro(ball, call("stack=volume start=box mask_stack" + RANGE));
        assertTrue(outcome.log.contains("the voxel depth is 0"), outcome.log);
        ball.getCalibration().pixelDepth = 2;
        ball.getCalibration().setZUnit("nm");
        outcome = macro(ball, call("stack=volume start=box mask_stack" + RANGE));
        assertTrue(outcome.log.contains("units along x, y and z differ"), outcome.log);
        // Each warning has a line of its own, which names the image.
        outcome = macro(ball, call("stack=volume start=box range=values target=90 epsilon=9 mask_stack"));
        String begin = "Level Set (" + ball.getTitle() + "): warning: ";
        assertTrue(outcome.log.contains(begin + "the units along x"), outcome.log);
        assertTrue(outcome.log.contains(begin + "in the volume nothing is left"), outcome.log);
        outcome = macro(ball, call("stack=slices start=box mask_stack" + RANGE));
        assertFalse(outcome.log.contains("units"), outcome.log);
    }

    @Test
    void noResultInTheTimeGivenIsSaid() {
        Outcome outcome =
                macro(ball(36, 36, 10, 9, 1, 1, 1), call("stack=volume start=box mask_stack iterations=3" + RANGE));
        assertTrue(outcome.log.contains("not converged after 3 iterations"), outcome.log);
        outcome = macro(
                ball(36, 36, 10, 9, 1, 1, 1),
                call("stack=volume start=box mask_stack iterations=3 mode=iterations" + RANGE));
        assertFalse(outcome.log.contains("not converged"), outcome.log);
    }

    @Test
    void imageIsOnlyRead() {
        ImagePlus ball = ball(36, 36, 10, 6, 1, 1, 1);
        ball.setRoi(new Roi(10, 10, 12, 12));
        byte[] before = ((byte[]) ball.getStack().getPixels(5)).clone();
        mask(ball, "stack=volume roi_slices=all" + RANGE);
        assertArrayEquals(before, (byte[]) ball.getStack().getPixels(5));
        assertNotNull(ball.getRoi());
        assertFalse(ball.isLocked());
        assertFalse(ball.changes);
    }

    @Test
    void everyGpuFindsTheSameAsTheCpu() throws IsolineException {
        List<String> gpus = gpus("level set's everyGpuFindsTheSameAsTheCpu");
        ImagePlus brain = open("brain.tif");
        for (String stack : new String[] {"volume", "slices"}) {
            String options = "start=box range=values target=200 epsilon=30 alpha=0.02 mode=iterations"
                    + " iterations=200 stack="
                    + stack;
            ImagePlus cpu = mask(brain, options + " device=cpu");
            for (String gpu : gpus) {
                ImagePlus other = mask(brain, options + " device=" + gpu);
                long both = 0;
                for (int z = 1; z <= brain.getStackSize(); z++) {
                    byte[] a = (byte[]) cpu.getStack().getPixels(z);
                    byte[] b = (byte[]) other.getStack().getPixels(z);
                    for (int i = 0; i < a.length; i++) {
                        both += a[i] != 0 && b[i] != 0 ? 1 : 0;
                    }
                }
                double dice = 2.0 * both / (count(cpu) + count(other));
                assertTrue(dice >= 0.9999, stack + " on " + gpu + ": Dice " + dice);
            }
        }
    }

    @Test
    void resultWithoutAFrontIsNoSuccess() {
        ImagePlus image = IJ.createImage("flat", "8-bit black", 40, 36, 1);
        Outcome outcome = macro(image, call("start=box results_table"));
        assertTrue(outcome.log.contains("in the image all is inside and no front"), outcome.log);
        assertTrue(outcome.log.contains(", no front left"), outcome.log);
        assertFalse(outcome.log.contains("converged"), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(0, table.getValue("Converged", table.size() - 1));
        assertEquals(40 * 36, table.getValue("Area", table.size() - 1));
        // No pixel is in range, and the start shrinks until it vanishes.
        String options = "start=box range=values target=200 epsilon=20 alpha=0.5 results_table";
        outcome = macro(image, call(options));
        assertTrue(outcome.log.contains("in the image nothing is left inside"), outcome.log);
        assertTrue(outcome.log.contains(", no front left"), outcome.log);
        assertFalse(outcome.log.contains("converged"), outcome.log);
        assertEquals(0, table.getValue("Converged", table.size() - 1));
        // One slice of two has an object.
        ImageStack slices = new ImageStack(40, 36);
        slices.addSlice(image.getProcessor());
        ByteProcessor disc = new ByteProcessor(40, 36);
        disc.setValue(200);
        disc.fill(new OvalRoi(10, 8, 20, 20));
        slices.addSlice(disc);
        outcome = macro(new ImagePlus("two", slices), call(options));
        assertTrue(outcome.log.contains("in 1 of 2 slices nothing is left inside"), outcome.log);
        assertEquals(0, table.getValue("Converged", table.size() - 2));
    }

    @Test
    void rangeThatCutsIntoTheObjectIsSaid() {
        // Noise of ±30 in the disc, of which the range takes the middle half.
        ImagePlus image = IJ.createImage("noisy", "8-bit black", 80, 80, 1);
        java.util.Random random = new java.util.Random(5);
        for (int y = 0; y < 80; y++) {
            for (int x = 0; x < 80; x++) {
                boolean inside = Math.hypot(x - 40, y - 40) < 25;
                image.getProcessor().set(x, y, (inside ? 170 : 40) + random.nextInt(61) - 30);
            }
        }
        String options = "start=box box_x=30-50 box_y=30-50 alpha=0.03 results_table range=values target=170 epsilon=";
        Outcome outcome = macro(image, call(options + "24"));
        assertTrue(outcome.log.contains("at the limits of the range, which cut into the object"), outcome.log);
        assertTrue(outcome.log.contains("converged, at the range's limits"), outcome.log);
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals("at limit", table.getStringValue("Outcome", table.size() - 1));
        outcome = macro(image, call(options + "65"));
        assertFalse(outcome.log.contains("limits"), outcome.log);
        assertEquals("front", table.getStringValue("Outcome", table.size() - 1));
    }

    private static ImagePlus slice(ImagePlus stack, int z) {
        return new ImagePlus("slice", stack.getStack().getProcessor(z));
    }
}
