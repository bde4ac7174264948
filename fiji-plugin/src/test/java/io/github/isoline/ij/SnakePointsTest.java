package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.process.ImageProcessor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests region snakes that start from points, thresholded pixels and detected objects. */
class SnakePointsTest extends SnakeTest {
    /** Returns two discs of different sizes. */
    private static ImagePlus two() {
        ImagePlus image = disc(140, 80, 40, 40, 18);
        putRight(image, plane(140, 80, 105, 40, 9, 8), 75);
        return image;
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "radius=8"})
    void pointsOfTheSelectionAreStarts(String radius) {
        ImagePlus image = two();
        image.setRoi(new PointRoi(new float[] {42, 104}, new float[] {38, 41}, 2));
        Outcome outcome = macro(image, call("label_image results_table " + radius));
        assertTrue(overlap(current().getProcessor(), 1, 40, 40, 18) > 0.93, outcome.log);
        assertTrue(overlap(current().getProcessor(), 2, 105, 40, 9) > 0.9, outcome.log);
        assertEquals("snake-0002", table().getStringValue("Name", 1));
    }

    @Test
    void radiusWithoutPointsIsNamed() throws Exception {
        ImagePlus image = two();
        String warning = "radius has no effect, because no start is a point";
        OvalRoi area = new OvalRoi(20, 20, 36, 36);
        image.setRoi(area);
        assertTrue(macro(image, call("label_image radius=8")).log.contains("warning: " + warning + "."));
        assertFalse(macro(image, call("label_image")).log.contains("radius"));
        assertFalse(macro(image, call("label_image start=detect radius=8")).log.contains("no effect"));
        PointRoi point = new PointRoi(104, 41);
        for (Roi[] starts : new Roi[][] {{area}, {area, point}}) {
            Map<String, Object> options = new HashMap<>();
            options.put("rois", Arrays.asList(starts));
            options.put("radius", 8);
            for (Result result :
                    new Result[] {Isoline.regionSnake(image, options), Isoline.growObjects(image, options)}) {
                String warnings = result.getWarnings().toString();
                assertEquals(starts.length == 1, warnings.contains(warning), warnings);
            }
        }
    }

    @Test
    void aRememberedStartFromTheManagerStaysWhileItHasSelections() throws Exception {
        for (Settings settings : new Settings[] {new SnakeSettings(), new ObjectsSettings()}) {
            ScriptWorkspace workspace = new ScriptWorkspace();
            settings.workspace = workspace;
            settings.set(Settings.START, SnakeSettings.MANAGER);
            workspace.add(new OvalRoi(3, 3, 9, 9));
            settings.startFrom(new OvalRoi(3, 3, 9, 9));
            assertEquals(SnakeSettings.MANAGER, settings.text(Settings.START));
            settings.workspace = new ScriptWorkspace();
            settings.startFrom(new OvalRoi(3, 3, 9, 9));
            assertEquals(Settings.ROI, settings.text(Settings.START));
        }
    }

    @Test
    void automaticRadiusIsTheDistanceToTheBorder() throws Exception {
        ImagePlus image = two();
        StartDiscs discs = new StartDiscs(image, 1);
        List<Roi> found = discs.around(Arrays.asList(new double[] {40, 40}, new double[] {105, 40}), 0);
        assertEquals(2 * 18, found.get(0).getBounds().width, 4);
        assertEquals(2 * 9, found.get(1).getBounds().width, 4);
        // The same objects are found where they are dark.
        image.getProcessor().invert();
        found = new StartDiscs(image, 1).detected(0);
        assertEquals(2, found.size());
        // Two points in one object have discs that do not overlap.
        found = discs.around(Arrays.asList(new double[] {36, 40}, new double[] {46, 40}), 0);
        assertTrue(found.get(0).getBounds().width <= 11, "" + found.get(0).getBounds());
    }

    @Test
    void radiusIsInTheImagesUnit() throws Exception {
        ImagePlus image = two();
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.25;
        Roi disc = new StartDiscs(image, 1)
                .around(java.util.Collections.singletonList(new double[] {40, 40}), 3)
                .get(0);
        assertEquals(new java.awt.Rectangle(34, 28, 12, 24), disc.getBounds());
    }

    @Test
    void areasAndPointsOfTheManagerAreStarts() {
        ImagePlus image = two();
        Roi area = new OvalRoi(30, 30, 20, 20);
        area.setName("area");
        Roi point = new PointRoi(105, 40);
        point.setName("point");
        Overlay starts = new Overlay(point);
        starts.add(area);
        macro(image, call("label_image results_table " + from(starts)));
        assertTrue(overlap(current().getProcessor(), 1, 105, 40, 9) > 0.9);
        assertTrue(overlap(current().getProcessor(), 2, 40, 40, 18) > 0.93);
        assertEquals("point", table().getStringValue("Name", 0));
        assertEquals("area", table().getStringValue("Name", 1));
    }

    @Test
    void pointsStartOnTheirSliceAndAreTracked() {
        ImagePlus image = moving(5, 6);
        PointRoi point = new PointRoi(42, 40);
        point.setPosition(3);
        // The ROI Manager's own name holds the slice, which its files lack for points.
        point.setName("0003-0040-0042");
        Outcome outcome = macro(image, call(from(new Overlay(point)) + " stack=track label_image results_table"));
        ImagePlus labels = current();
        assertEquals("Labels of moving", labels.getTitle(), outcome.log);
        for (int z = 1; z <= 5; z++) {
            assertTrue(overlap(labels.getStack().getProcessor(z), 1, 24 + 6 * z, 40, 12) > 0.9, "slice " + z);
        }
        assertEquals("0003-0040-0042", table().getStringValue("Name", 2));
        assertEquals("0003-0040-0042", table().getStringValue("Parent", 3));
        table().reset();
        labels(image, from(new Overlay(point)) + " stack=slices results_table");
        assertEquals(1, table().size());
        assertEquals(3, table().getValue("Slice", 0));
    }

    @Test
    void pointsBesideObjectsHaveNoAutomaticRadius() {
        ImagePlus image = two();
        image.setRoi(new PointRoi(5, 5));
        Outcome outcome = macro(image, call("label_image"));
        assertOneSentence(
                outcome.log, "There is no automatic radius: the point of \"disc\" in slice 1 lies beside the objects");
        outcome = macro(image, call("label_image radius=0"));
        assertOneSentence(outcome.log, "radius must be a number above 0");
    }

    @Test
    void thresholdedPartsAreStarts() {
        ImagePlus image = two();
        Outcome outcome = macro(image, call("start=thresholded label_image"));
        assertOneSentence(outcome.log, "shows no threshold");
        image.getProcessor().setThreshold(128, 255, ImageProcessor.NO_LUT_UPDATE);
        outcome = macro(image, call("start=thresholded label_image results_table"));
        assertEquals(2, table().size(), outcome.log);
        // The numbers are those of the parts from the top to the bottom.
        assertTrue(overlap(current().getProcessor(), 1, 40, 40, 18) > 0.93, outcome.log);
        assertTrue(overlap(current().getProcessor(), 2, 105, 40, 9) > 0.9, outcome.log);
    }

    @Test
    void nucleiAreDetected() throws Exception {
        ImagePlus image = open("nuclei.png");
        ImageProcessor truth = open("nuclei_labels.png").getProcessor();
        Set<Integer> found = new HashSet<>();
        int twice = 0;
        int beside = 0;
        for (Roi disc : new StartDiscs(image, 1).detected(0)) {
            int x = (int) disc.getBounds().getCenterX();
            int y = (int) disc.getBounds().getCenterY();
            int nucleus = truth.get(Math.min(511, x), Math.min(511, y));
            beside += nucleus == 0 ? 1 : 0;
            twice += nucleus != 0 && !found.add(nucleus) ? 1 : 0;
        }
        // People outlined 125 nuclei.
        assertTrue(found.size() >= 100, found.size() + " nuclei, " + twice + " twice, " + beside + " beside");
        assertTrue(twice <= 1 && beside <= 3, twice + " twice, " + beside + " beside");
        macro(image, call("start=detect results_table label_image"));
        assertEquals(found.size() + twice + beside, table().size());
    }
}
