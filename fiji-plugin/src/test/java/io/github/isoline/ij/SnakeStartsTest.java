package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.gui.ShapeRoi;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what region snakes start from: selections, files of the ROI Manager, and label images. */
class SnakeStartsTest extends SnakeTest {
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
        putRight(image, plane(120, 80, 90, 40, 12, 8), 65);
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
        Outcome outcome =
                macro(image, call(from(starts) + " label_image overlay results_table roi_file=[" + out + "]"));
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
        ImagePlus labels = labels(image, from(starts) + " overlay");
        for (int z = 1; z <= 3; z++) {
            assertTrue(overlap(labels.getStack().getProcessor(z), 1, 30, 40, 12) > 0.93);
            assertEquals("mine s" + z, image.getOverlay().get(z - 1).getName());
        }
        ImagePlus one = labels(image, from(starts) + " stack=current");
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
        Outcome outcome = macro(new ImagePlus("two", stack), call(from(starts) + " roi_file=[" + out + "]"));
        List<Roi> saved = RoiFile.read(out, "areas");
        assertEquals(2, saved.size(), outcome.log);
        assertEquals(2, saved.get(1).getPosition());
    }

    @Test
    void nothingToStartFromOnTheSliceIsSaid() {
        ImagePlus image = moving(3, 5);
        Roi start = new OvalRoi(24, 32, 16, 16);
        start.setPosition(3);
        Overlay starts = new Overlay(start);
        Outcome outcome = macro(image, call("stack=current overlay " + from(starts)));
        assertOneSentence(outcome.log, "There is nothing to start from");
    }

    /** A batch goes on after an image without objects. */
    @ParameterizedTest
    @ValueSource(strings = {"detect", "labels", "thresholded"})
    void imagesWithoutObjectsGiveAnEmptyResult(String start) throws Exception {
        ImagePlus image = new ImagePlus("even", new ByteProcessor(40, 30));
        image.getProcessor().add(90);
        image.getProcessor().setThreshold(100, 200, ImageProcessor.NO_LUT_UPDATE);
        if (start.equals("detect")) {
            image.getProcessor().resetThreshold();
        }
        Map<String, Object> options = new HashMap<>();
        options.put("start", start);
        for (String output : new String[] {"label_image", "overlay", "results_table"}) {
            options.put(output, true);
        }
        String out = folder.resolve(start + ".zip").toString();
        options.put("roi_file", out);
        if (start.equals("labels")) {
            options.put("start_image", new ImagePlus("none", new ByteProcessor(40, 30)));
        }
        Result result = Isoline.regionSnake(image, options);
        assertEquals(0, result.getImage().getStatistics().max);
        assertEquals(0, result.getTable().size());
        assertEquals(0, result.getRois().size());
        assertEquals("none", result.getDevice());
        assertEquals(1, result.getWarnings().size(), result.getWarnings().toString());
        assertTrue(
                result.getWarnings().get(0).startsWith("there is nothing to start from on the slice"),
                result.getWarnings().toString());
        if (!start.equals("labels")) {
            Outcome outcome = macro(image, call("start=" + start + " label_image results_table"));
            assertFalse(ABORTED.equals(outcome.returned), outcome.log);
            assertTrue(outcome.log.contains("warning: there is nothing to start from on the slice"), outcome.log);
        }
    }
}
