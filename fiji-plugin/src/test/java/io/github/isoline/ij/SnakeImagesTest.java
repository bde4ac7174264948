package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.gui.ShapeRoi;
import ij.io.RoiEncoder;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageConverter;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import java.awt.Polygon;
import java.awt.Rectangle;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests starts, stacks, pixel types and outputs of region snakes, on real and on noisy images. */
class SnakeImagesTest extends SnakeTest {
    @TempDir
    Path folder;

    @Test
    void coinsAreFoundFromRoughCircles() {
        ImagePlus coins = open("coins.png");
        // These are the centres of six coins, shifted by a third of their size.
        int[][] middles = {{44, 54}, {99, 56}, {155, 51}, {216, 48}, {44, 124}, {265, 116}};
        Overlay starts = new Overlay();
        for (int[] middle : middles) {
            starts.add(new OvalRoi(middle[0] - 16, middle[1] - 16, 26, 26));
        }
        ImagePlus labels = labels(coins, "start=manager start_file=[" + file(starts) + "] results_table");
        assertEquals(middles.length, table().size());
        for (int i = 0; i < middles.length; i++) {
            assertEquals("converged", table().getStringValue("Status", i));
            double area = table().getValue("Area (pixels^2)", i);
            assertEquals(count(labels.getProcessor(), i + 1), area);
            // The coins have about 40 pixels in diameter.
            assertTrue(area > 900 && area < 2000, "coin " + i + " of " + area + " pixels");
            assertEquals(i + 1, labels.getProcessor().get(middles[i][0], middles[i][1]));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rectangle", "oval", "polygon", "freehand", "composite", "rotated"})
    void everyKindOfAreaIsAStart(String kind) {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        Roi roi;
        switch (kind) {
            case "rectangle":
                roi = new Roi(30, 28, 34, 30);
                break;
            case "oval":
                roi = new OvalRoi(28, 22, 24, 30);
                break;
            case "polygon":
                roi = new PolygonRoi(new int[] {30, 62, 55, 33}, new int[] {25, 30, 60, 55}, 4, 2);
                break;
            case "freehand":
                roi = new PolygonRoi(
                        new float[] {30.2f, 61.7f, 57.1f, 33.3f},
                        new float[] {25.4f, 30.9f, 58.2f, 54.6f},
                        4,
                        Roi.FREEROI);
                break;
            case "composite":
                roi = new ShapeRoi(new Roi(28, 26, 30, 30)).or(new ShapeRoi(new Roi(45, 30, 18, 30)));
                break;
            default:
                roi = new ij.gui.RotatedRectRoi(30, 40, 60, 42, 24);
                break;
        }
        image.setRoi(roi);
        ImagePlus labels = labels(image, "overlay");
        assertTrue(overlap(labels.getProcessor(), 1, 45, 40, 14) > 0.93, kind);
        Roi outline = image.getOverlay().get(0);
        assertEquals(Roi.POLYGON, outline.getType());
        assertFalse(outline.subPixelResolution());
    }

    @Test
    void partsOfACompositeSelectionAreTargets() {
        ImagePlus image = disc(120, 80, 40, 40, 14);
        byte[] other = (byte[]) plane(120, 80, 90, 40, 12, 8).getPixels();
        byte[] pixels = (byte[]) image.getProcessor().getPixels();
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = i % 120 > 65 ? other[i] : pixels[i];
        }
        ShapeRoi ring = new ShapeRoi(new OvalRoi(28, 28, 26, 26)).not(new ShapeRoi(new Roi(38, 38, 3, 3)));
        image.setRoi(ring.or(new ShapeRoi(new OvalRoi(80, 30, 18, 18))));
        Outcome outcome = macro(image, call("label_image results_table overlay"));
        ImageProcessor labels = current().getProcessor();
        assertTrue(overlap(labels, 1, 40, 40, 14) > 0.93, outcome.log);
        assertTrue(overlap(labels, 2, 90, 40, 12) > 0.93, outcome.log);
        assertEquals("snake-1", table().getStringValue("Name", 0));
        assertEquals("snake-2", image.getOverlay().get(1).getName());
        assertTrue(outcome.log.contains("holes in starts were filled"), outcome.log);
    }

    @Test
    void outlinesHoldThePixelsOfTheLabels() {
        ImagePlus coins = open("coins.png");
        coins.setRoi(new OvalRoi(305, 15, 60, 60));
        ImageProcessor labels = labels(coins, "overlay node_spacing=8").getProcessor();
        ImageProcessor filled = new ByteProcessor(coins.getWidth(), coins.getHeight());
        filled.setValue(1);
        filled.fill(coins.getOverlay().get(0));
        Polygon outline = coins.getOverlay().get(0).getPolygon();
        int inside = 0;
        for (int i = 0; i < filled.getPixelCount(); i++) {
            int x = i % filled.getWidth();
            int y = i / filled.getWidth();
            inside += labels.get(i);
            // ImageJ differs only where a pixel's very centre lies on an edge.
            if (filled.get(i) != labels.get(i)) {
                assertTrue(isOnEdge(outline, 2 * x + 1, 2 * y + 1), x + " " + y);
            }
        }
        assertTrue(inside > 2000, "inside " + inside);
    }

    /** Returns true if a point lies on an edge; the coordinates are doubled. */
    private static boolean isOnEdge(Polygon p, int x, int y) {
        for (int i = 0; i < p.npoints; i++) {
            int next = (i + 1) % p.npoints;
            if (new java.awt.geom.Line2D.Double(
                                    2 * p.xpoints[i], 2 * p.ypoints[i], 2 * p.xpoints[next], 2 * p.ypoints[next])
                            .ptSegDist(x, y)
                    < 1e-6) {
                return true;
            }
        }
        return false;
    }

    @Test
    void labelImagesKeepTheirNumbers() {
        ImagePlus image = disc(120, 80, 40, 40, 14);
        ShortProcessor start = new ShortProcessor(120, 80);
        start.setValue(4711);
        start.fill(new OvalRoi(30, 28, 20, 20));
        start.setValue(9);
        start.fill(new Roi(90, 50, 3, 3));
        start.fill(new Roi(80, 10, 20, 20));
        ImagePlus labels = startedFrom(image, start, "results_table overlay max_iterations=300", "");
        assertTrue(overlap(labels.getProcessor(), 4711, 40, 40, 14) > 0.93);
        assertEquals(2, table().size());
        // The numbers increase, whichever object is higher in the image.
        assertEquals(9, table().getValue("Target", 0));
        assertEquals("snake-4711", table().getStringValue("Name", 1));
    }

    @Test
    void piecesOfAMaskAreTargetsOfTheirOwn() {
        ImagePlus image = disc(120, 80, 40, 40, 14);
        ByteProcessor start = new ByteProcessor(120, 80);
        start.setValue(255);
        start.fill(new OvalRoi(30, 28, 20, 20));
        start.fill(new Roi(90, 10, 12, 12));
        startedFrom(image, start, "results_table", "");
        assertEquals(2, table().size());
        assertEquals(1, table().getValue("Target", 0));
        assertEquals(2, table().getValue("Target", 1));
    }

    @Test
    void numbersAbove65535MakeAnImageOf32Bits() {
        ImagePlus image = disc(120, 80, 40, 40, 14);
        FloatProcessor start = new FloatProcessor(120, 80);
        start.setValue(70001);
        start.fill(new OvalRoi(30, 28, 20, 20));
        ImagePlus labels = startedFrom(image, start, "", "");
        assertEquals(32, labels.getBitDepth());
        assertTrue(overlap(labels.getProcessor(), 70001, 40, 40, 14) > 0.93);
        start.setf(5, 0.5f);
        startedFrom(image, start, "", "is no label image: it has the pixel value 0.5");
    }

    /** Runs with both images open, as in a macro; a sentence may be expected instead of a result. */
    private static ImagePlus startedFrom(ImagePlus image, ImageProcessor start, String options, String complaint) {
        ImagePlus labels = new ImagePlus("my start", start.duplicate());
        ij.macro.Interpreter.batchMode = true;
        ij.macro.Interpreter.addBatchModeImage(labels);
        Outcome outcome = macro(image, call("start=labels start_image=[my start] label_image " + options));
        ImagePlus made = current();
        ij.macro.Interpreter.removeBatchModeImage(labels);
        if (complaint.isEmpty()) {
            assertEquals("Labels of disc", made.getTitle(), outcome.log);
        } else {
            assertOneSentence(outcome.log, complaint);
        }
        return made;
    }

    @Test
    void selectionsOfAFileKeepNamesAndSlices() throws IOException {
        ImagePlus image = moving(3, 20);
        Overlay starts = new Overlay();
        Roi first = new OvalRoi(24, 32, 16, 16);
        first.setName("nucleus A");
        first.setPosition(1);
        starts.add(first);
        Roi third = new OvalRoi(60, 32, 16, 16);
        third.setName("nucleus B");
        third.setPosition(3);
        starts.add(third);
        Roi gone = new Roi(500, 500, 10, 10);
        gone.setName("far away");
        gone.setPosition(3);
        starts.add(gone);
        String out = folder.resolve("out.zip").toString();
        Outcome outcome = macro(
                image,
                call("start=manager start_file=["
                        + file(starts)
                        + "] label_image overlay results_table roi_file=["
                        + out
                        + "]"));
        assertTrue(outcome.log.contains("outside the image: 1 start"), outcome.log);
        ImagePlus labels = current();
        assertTrue(overlap(labels.getStack().getProcessor(1), 1, 30, 40, 12) > 0.93);
        assertEquals(0, count(labels.getStack().getProcessor(2), 1));
        assertTrue(overlap(labels.getStack().getProcessor(3), 2, 70, 40, 12) > 0.93);
        assertEquals(2, image.getOverlay().size());
        assertEquals("nucleus B", image.getOverlay().get(1).getName());
        assertEquals(3, image.getOverlay().get(1).getPosition());
        assertEquals(3, table().size());
        assertEquals("left image", table().getStringValue("Status", 2));
        assertEquals(1, table().getValue("Slice", 0));
        try {
            List<Roi> saved = RoiFile.read(out, "areas");
            assertEquals(2, saved.size());
            assertEquals("nucleus A", saved.get(0).getName());
            assertEquals(3, saved.get(1).getPosition());
        } catch (BadInput e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void selectionsWithoutASliceStartOnEachOne() {
        ImagePlus image = moving(3, 0);
        Roi start = new OvalRoi(24, 32, 16, 16);
        start.setName("mine");
        Overlay starts = new Overlay(start);
        ImagePlus labels = labels(image, "start=manager start_file=[" + file(starts) + "] overlay");
        for (int z = 1; z <= 3; z++) {
            assertTrue(overlap(labels.getStack().getProcessor(z), 1, 30, 40, 12) > 0.93);
            assertEquals("mine s" + z, image.getOverlay().get(z - 1).getName());
        }
        ImagePlus one = labels(image, "start=manager stack=current start_file=[" + file(starts) + "]");
        assertEquals(1, one.getStackSize());
    }

    @Test
    void outlinesOfOneNameAreAllInTheFile() throws BadInput {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        Overlay starts = new Overlay();
        for (int z = 1; z <= 2; z++) {
            Roi roi = new OvalRoi(34, 30, 24, 24);
            roi.setName("cell");
            roi.setPosition(z);
            starts.add(roi);
        }
        ImageStack stack = new ImageStack(90, 80);
        stack.addSlice(image.getProcessor());
        stack.addSlice(image.getProcessor());
        String out = folder.resolve("same.zip").toString();
        Outcome outcome = macro(
                new ImagePlus("two", stack),
                call("start=manager start_file=[" + file(starts) + "] roi_file=[" + out + "]"));
        List<Roi> saved = RoiFile.read(out, "areas");
        assertEquals(2, saved.size(), outcome.log);
        assertEquals(2, saved.get(1).getPosition());
    }

    @Test
    void targetsAreTrackedThroughSlices() {
        ImagePlus image = moving(7, 10);
        image.setRoi(new OvalRoi(24, 32, 16, 16));
        ImagePlus labels = labels(image, "stack=track overlay results_table");
        for (int z = 1; z <= 7; z++) {
            double there = overlap(labels.getStack().getProcessor(z), 1, 30 + 10 * (z - 1), 40, 12);
            assertTrue(there > 0.9, "slice " + z + ": " + there);
        }
        assertEquals(7, table().size());
        assertEquals(7, image.getOverlay().get(6).getPosition());
        assertEquals("snake s7", image.getOverlay().get(6).getName());
        // On its own, the last slice has no object at the position of the first one's start.
        ImagePlus alone = labels(image, "stack=slices margin=0.1");
        assertTrue(overlap(alone.getStack().getProcessor(7), 1, 90, 40, 12) < 0.5);
    }

    @Test
    void tracksBeginWhereTheStartLies() {
        ImagePlus image = moving(5, 6);
        image.setSlice(3);
        image.setRoi(new OvalRoi(34, 32, 16, 16));
        Outcome outcome = macro(image, call("stack=track label_image results_table"));
        assertTrue(outcome.log.contains("tracked from slice 3 on"), outcome.log);
        assertEquals(3, table().size());
        assertEquals(3, table().getValue("Slice", 0));
        assertEquals(0, count(current().getStack().getProcessor(2), 1));
        assertTrue(overlap(current().getStack().getProcessor(5), 1, 54, 40, 12) > 0.9);
    }

    @Test
    void planesOfAHyperstackAreNamedByTheirChannelSliceAndFrame() {
        ImagePlus film = moving(5, 6);
        ImageStack planes = new ImageStack(film.getWidth(), film.getHeight());
        for (int i = 0; i < 2 * 5 * 3; i++) {
            planes.addSlice(film.getStack().getProcessor(i / 2 % 5 + 1));
        }
        ImagePlus image = new ImagePlus("hyper", planes);
        image.setDimensions(2, 5, 3);
        image.setOpenAsHyperStack(true);
        image.setPosition(2, 3, 2);
        image.setRoi(new OvalRoi(34, 32, 16, 16));
        Outcome outcome = macro(image, call("stack=track results_table"));
        String where = "tracked from channel 2, slice 3, frame 2 on";
        assertTrue(outcome.log.contains(where), outcome.log);
        // The sliver contains no pixel's centre.
        image.setRoi(new PolygonRoi(new int[] {90, 91, 94}, new int[] {20, 20, 21}, 3, Roi.POLYGON));
        outcome = macro(image, call("stack=track results_table"));
        assertTrue(outcome.log.contains("after channel 2, slice 3, frame 2 nothing was"), outcome.log);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 32})
    void flatImagesAreNoSuccess(int bits) {
        for (double value : new double[] {0, 100, Double.NaN}) {
            if (bits < 32 && Double.isNaN(value)) {
                continue;
            }
            ImagePlus image = IJ.createImage("flat", bits + "-bit black", 80, 60, 1);
            image.getProcessor().setValue(value);
            image.getProcessor().fill();
            image.setRoi(new OvalRoi(30, 20, 20, 20));
            Outcome outcome = macro(image, call("label_image results_table"));
            assertFalse(outcome.log.contains("converged"), value + ": " + outcome.log);
            assertTrue(outcome.log.contains("1 target, flat"), value + ": " + outcome.log);
            assertTrue(outcome.log.contains("(flat): nothing to segment: all"), outcome.log);
            int last = table().size() - 1;
            assertEquals("flat", table().getStringValue("Status", last));
        }
    }

    @Test
    void filmsAreTrackedThroughFrames() {
        ImagePlus image = moving(5, 8);
        image.setDimensions(1, 1, 5);
        image.setRoi(new OvalRoi(24, 32, 16, 16));
        ImagePlus labels = labels(image, "stack=track");
        assertEquals(5, labels.getNFrames());
        assertTrue(overlap(labels.getStack().getProcessor(5), 1, 62, 40, 12) > 0.9);
    }

    @Test
    void targetsThatVanishAreNotTrackedOn() {
        ImagePlus image = moving(4, 0);
        // The sliver contains no pixel's centre.
        Roi sliver = new PolygonRoi(new int[] {90, 91, 94}, new int[] {20, 20, 21}, 3, Roi.POLYGON);
        sliver.setName("sliver");
        Overlay starts = new Overlay(sliver);
        starts.add(new OvalRoi(24, 32, 16, 16));
        String track = "stack=track label_image overlay results_table start=manager start_file=[";
        Outcome outcome = macro(image, call(track + file(starts) + "]"));
        assertTrue(outcome.log.contains("1 target vanished"), outcome.log);
        assertTrue(outcome.log.contains("and nothing tracked on"), outcome.log);
        assertFalse(outcome.log.contains("nothing was left to track"), outcome.log);
        assertEquals(5, table().size());
        assertEquals("vanished", table().getStringValue("Status", 0));
        assertEquals("sliver s1", table().getStringValue("Name", 0));
        assertEquals(0, table().getValue("Area (pixels^2)", 0));
        assertEquals(4, image.getOverlay().size());
        for (int z = 1; z <= 4; z++) {
            assertTrue(overlap(current().getStack().getProcessor(z), 2, 30, 40, 12) > 0.9);
        }
        table().reset();
        outcome = macro(image, call(track + file(new Overlay(sliver)) + "]"));
        assertTrue(outcome.log.contains("after slice 1 nothing was left to track"), outcome.log);
        assertEquals(1, table().size());
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32})
    void allPixelTypesGiveTheSameOutline(int bits) {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        image.setRoi(new OvalRoi(34, 30, 24, 24));
        ImagePlus wanted = labels(image, "results_table");
        double mean = table().getValue("Mean inside", 0);
        table().reset();
        ImagePlus other = new ImagePlus("disc", image.getProcessor().duplicate());
        if (bits == 16) {
            new ImageConverter(other).convertToGray16();
        } else {
            new ImageConverter(other).convertToGray32();
        }
        other.setRoi(new OvalRoi(34, 30, 24, 24));
        String options = bits == 32 ? "results_table range_min=0 range_max=255" : "results_table";
        ImagePlus got = labels(other, options);
        assertArrayEquals((short[]) wanted.getProcessor().getPixels(), (short[])
                got.getProcessor().getPixels());
        assertEquals(mean, table().getValue("Mean inside", 0), 1e-6);
    }

    @Test
    void signedPixelsAreGivenAsImageJShowsThem() {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        ShortProcessor signed = new ShortProcessor(90, 80);
        for (int i = 0; i < signed.getPixelCount(); i++) {
            signed.set(i, 32768 - 500 + image.getProcessor().get(i));
        }
        ImagePlus shown = new ImagePlus("signed", signed);
        shown.getCalibration().setSigned16BitCalibration();
        for (ImagePlus one : new ImagePlus[] {image, shown}) {
            one.setRoi(new OvalRoi(34, 30, 24, 24));
            macro(one, call("results_table"));
        }
        assertEquals(BRIGHT, table().getValue("Mean inside", 0), 4);
        assertEquals(DARK, table().getValue("Mean outside", 0), 4);
        for (String mean : new String[] {"Mean inside", "Mean outside"}) {
            assertEquals(table().getValue(mean, 0) - 500, table().getValue(mean, 1), 1e-6);
        }
        for (String same : new String[] {"SD inside", "SD outside", "Area (pixels^2)"}) {
            assertEquals(table().getValue(same, 0), table().getValue(same, 1), 1e-6);
        }
    }

    @Test
    void targetsThatReachTheirWindowsBorderAreSaid() {
        // The disc reaches farther to the right than the window of this start.
        ImagePlus image = disc(200, 180, 100, 90, 60);
        Roi start = new OvalRoi(60, 65, 50, 50);
        image.setRoi(start);
        Outcome outcome = macro(image, call("results_table"));
        assertTrue(outcome.log.contains("1 target reached the border of the window"));
        for (String enough : new String[] {"margin=2", "background=image"}) {
            image.setRoi(start);
            outcome = macro(image, call("results_table " + enough));
            assertFalse(outcome.log.contains("reached the border"), outcome.log);
        }
    }

    @Test
    void earlierOutlinesInTheOverlayAreReplaced() {
        ImagePlus image = disc(90, 80, 45, 40, 14);
        Roi own = new Roi(1, 1, 3, 3);
        image.setOverlay(new Overlay(own));
        image.setRoi(new OvalRoi(34, 30, 24, 24));
        macro(image, call("overlay"));
        macro(image, call("overlay noise=poisson"));
        assertEquals(2, image.getOverlay().size());
        assertNull(image.getOverlay().get(0).getName());
        ImagePlus labels = labels(image, "");
        assertEquals(1, labels.getOverlay().size(), "only what is the user's own");
    }

    @Test
    void nothingToStartFromOnTheSliceIsSaid() {
        ImagePlus image = moving(3, 5);
        Roi start = new OvalRoi(24, 32, 16, 16);
        start.setPosition(3);
        Overlay starts = new Overlay(start);
        Outcome outcome = macro(image, call("stack=current overlay start=manager start_file=[" + file(starts) + "]"));
        assertOneSentence(outcome.log, "There is nothing to start from");
    }

    /** Returns a file as the ROI Manager saves it. */
    private String file(Overlay rois) {
        Path file = folder.resolve("starts.zip");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file));
                DataOutputStream out = new DataOutputStream(zip)) {
            int number = 0;
            for (Roi roi : rois.toArray()) {
                // The name of a selection is stored in itself; that of an entry is only for the
                // archive.
                zip.putNextEntry(new ZipEntry("roi" + ++number + ".roi"));
                new RoiEncoder(out).write(roi);
                out.flush();
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return file.toString();
    }

    @Test
    void nucleiThatPeopleOutlinedAreFoundFromTheirMiddles() {
        ImagePlus nuclei = open("nuclei.png");
        ImageProcessor drawn = open("nuclei_labels.png").getProcessor();
        Overlay starts = new Overlay();
        List<Integer> numbers = new ArrayList<>();
        for (int label = 1; label < 256; label++) {
            Rectangle box = box(drawn, label);
            if (box != null && box.width >= 10 && box.height >= 10 && isAlone(drawn, label, box)) {
                // This is the middle half of its box.
                int x = box.x + box.width / 4;
                int y = box.y + box.height / 4;
                starts.add(new OvalRoi(x, y, box.width / 2, box.height / 2));
                numbers.add(label);
            }
        }
        ImageProcessor found = labels(nuclei, "start=manager start_file=[" + file(starts) + "]")
                .getProcessor();
        int good = 0;
        double all = 0;
        for (int i = 0; i < numbers.size(); i++) {
            int both = 0;
            int either = 0;
            for (int p = 0; p < found.getPixelCount(); p++) {
                boolean a = drawn.get(p) == numbers.get(i);
                boolean b = found.get(p) == i + 1;
                both += a && b ? 1 : 0;
                either += a || b ? 1 : 0;
            }
            double overlap = (double) both / either;
            all += overlap;
            good += overlap > 0.7 ? 1 : 0;
        }
        String what = good + " of " + numbers.size() + ", mean " + all / numbers.size();
        assertTrue(numbers.size() > 20, what);
        assertTrue(good > 0.9 * numbers.size(), what);
        assertTrue(all > 0.8 * numbers.size(), what);
    }

    /** Returns the bounds of a label; null if there is none. */
    private static Rectangle box(ImageProcessor labels, int label) {
        Rectangle box = null;
        for (int p = 0; p < labels.getPixelCount(); p++) {
            if (labels.get(p) == label) {
                Rectangle pixel = new Rectangle(p % labels.getWidth(), p / labels.getWidth(), 1, 1);
                box = box == null ? pixel : box.union(pixel);
            }
        }
        return box;
    }

    /** Returns true if there is no other label near, nor the border of the image. */
    private static boolean isAlone(ImageProcessor labels, int label, Rectangle box) {
        Rectangle around = new Rectangle(box);
        around.grow(7, 7);
        Rectangle all = new Rectangle(labels.getWidth(), labels.getHeight());
        if (!all.contains(around)) {
            return false;
        }
        for (int y = around.y; y < around.y + around.height; y++) {
            for (int x = around.x; x < around.x + around.width; x++) {
                if (labels.get(x, y) != 0 && labels.get(x, y) != label) {
                    return false;
                }
            }
        }
        return true;
    }
}
