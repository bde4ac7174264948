package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.ImageProcessor;
import io.github.isoline.IsolineException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests targets that are tracked through the slices or the frames of noisy images. */
class SnakeTracksTest extends SnakeTest {
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
    void tracksGoFromTheStartInBothDirections() {
        ImagePlus image = moving(7, 8);
        image.setSlice(4);
        image.setRoi(new OvalRoi(48, 32, 16, 16));
        Outcome outcome = macro(image, call("stack=track label_image overlay results_table"));
        assertFalse(outcome.log.contains("warning"), outcome.log);
        assertEquals(7, table().size());
        for (int z = 1; z <= 7; z++) {
            double there = overlap(current().getStack().getProcessor(z), 1, 30 + 8 * (z - 1), 40, 12);
            assertTrue(there > 0.9, "slice " + z + ": " + there);
            assertEquals(z, table().getValue("Slice", z - 1));
            assertEquals(1, table().getValue("Track", z - 1));
            String parent = z == 4 ? "" : "snake s" + (z < 4 ? z + 1 : z - 1);
            assertEquals(parent, table().getStringValue("Parent", z - 1));
            assertEquals("snake s" + z, image.getOverlay().get(z - 1).getName());
            assertEquals("snake s" + z, table().getStringValue("Name", z - 1));
        }
    }

    @Test
    void startsOnSeveralSlicesAreTrackedToBothEnds() {
        ImagePlus image = moving(5, 0);
        for (int z = 1; z <= 5; z++) {
            // This is a second disc, the same in all slices.
            byte[] other = (byte[]) plane(120, 80, 90, 40, 12, 40 + z).getPixels();
            byte[] pixels = (byte[]) image.getStack().getPixels(z);
            for (int i = 0; i < pixels.length; i++) {
                pixels[i] = i % 120 > 60 ? other[i] : pixels[i];
            }
        }
        Roi early = new OvalRoi(24, 32, 16, 16);
        early.setPosition(2);
        Roi late = new OvalRoi(84, 32, 16, 16);
        late.setPosition(4);
        Overlay starts = new Overlay(late);
        starts.add(early);
        macro(image, call("stack=track label_image results_table " + from(starts)));
        assertEquals(10, table().size());
        for (int z = 1; z <= 5; z++) {
            assertTrue(overlap(current().getStack().getProcessor(z), 1, 90, 40, 12) > 0.9, "late on " + z);
            assertTrue(overlap(current().getStack().getProcessor(z), 2, 30, 40, 12) > 0.9, "early on " + z);
            assertEquals(1, table().getValue("Target", 2 * z - 2));
            assertEquals(2, table().getValue("Target", 2 * z - 1));
        }
    }

    @Test
    void linksJoinTheOutlinesOfNeighbouringSlices() throws Exception {
        ImagePlus image = moving(7, 8);
        image.getCalibration().pixelWidth = 0.5;
        image.getCalibration().pixelHeight = 0.25;
        image.getCalibration().setUnit("um");
        image.setSlice(4);
        image.setRoi(new OvalRoi(48, 32, 16, 16));
        Result result = Isoline.regionSnake(image, "stack=track links results_table label_image roi_manager");
        ResultsTable links = result.getLinks();
        assertEquals(6, links.size());
        for (int i = 0; i < 6; i++) {
            // The track went from slice 4 in both directions; links go with the slices.
            assertEquals(1, links.getValue("Track", i));
            assertEquals(i + 1, links.getValue("Source slice", i));
            assertEquals(i + 2, links.getValue("Target slice", i));
            assertEquals(i + 1, links.getValue("Source row", i));
            assertEquals(i + 2, links.getValue("Target row", i));
            assertEquals("snake s" + (i + 1), links.getStringValue("Source", i));
            assertEquals("snake s" + (i + 2), links.getStringValue("Target", i));
            assertEquals(4, links.getValue("Displacement X", i), 0.4);
            assertEquals(0, links.getValue("Displacement Y", i), 0.2);
            assertEquals("µm", links.getStringValue("Unit", i));
            // Two discs of radius 12, 8 pixels apart.
            assertEquals(0.41, links.getValue("Overlap", i), 0.06);
            double there =
                    result.getTable().getValue("X", i + 1) - result.getTable().getValue("X", i);
            assertEquals(there, links.getValue("Displacement X", i), 1e-3);
        }
        assertEquals(-1, links.getColumnIndex("Source frame"));
        // Rows are counted as the table shows them, with those that it had before.
        Map<String, Object> options = new HashMap<>();
        options.put("stack", "track");
        options.put("links", true);
        options.put("results_table", result.getTable());
        links = Isoline.regionSnake(image, options).getLinks();
        assertEquals(8, links.getValue("Source row", 0));
        assertEquals(0, Isoline.regionSnake(image, "stack=track").getLinks().size());
        IsolineException refused = assertThrows(
                IsolineException.class, () -> Isoline.regionSnake(image, "stack=slices links label_image"));
        assertTrue(refused.getMessage().contains("links is used with stack=track"), refused.getMessage());
        // Without a display ImageJ has no table of links, which is said.
        Outcome outcome = macro(image, call("stack=track links"));
        assertTrue(outcome.log.contains("a script gets it with Result.getLinks()"), outcome.log);
    }

    @Test
    void linksOfAHyperstackNameSlicesAndFrames() throws Exception {
        ImagePlus film = moving(3, 8);
        ImageStack planes = new ImageStack(film.getWidth(), film.getHeight());
        for (int t = 1; t <= 3; t++) {
            planes.addSlice(plane(120, 80, 0, 0, 1, t));
            planes.addSlice(film.getStack().getProcessor(t));
        }
        ImagePlus image = new ImagePlus("hyper", planes);
        image.setDimensions(1, 2, 3);
        image.setOpenAsHyperStack(true);
        image.setPosition(1, 2, 1);
        image.setRoi(new OvalRoi(24, 32, 16, 16));
        ResultsTable links =
                Isoline.regionSnake(image, "stack=track_frames links").getLinks();
        assertEquals(2, links.size());
        for (int i = 0; i < 2; i++) {
            assertEquals(1, links.getValue("Ch", i));
            assertEquals(2, links.getValue("Source slice", i));
            assertEquals(2, links.getValue("Target slice", i));
            assertEquals(i + 1, links.getValue("Source frame", i));
            assertEquals(i + 2, links.getValue("Target frame", i));
        }
    }

    @Test
    void targetsOfLaterStartsDoNotTakePixelsOfEarlierOnes() {
        // Two discs that overlap in the first two slices. The second one starts on the third.
        ImageStack stack = new ImageStack(120, 80);
        int[] apart = {22, 25, 32, 38};
        for (int z = 1; z <= 4; z++) {
            ImageProcessor left = plane(120, 80, 40, 40, 14, z);
            ImageProcessor right = plane(120, 80, 40 + apart[z - 1], 40, 14, 10 + z);
            for (int i = 0; i < left.getPixelCount(); i++) {
                left.set(i, Math.max(left.get(i), right.get(i)));
            }
            stack.addSlice(left);
        }
        Roi early = new OvalRoi(30, 32, 16, 16);
        early.setPosition(1);
        Roi late = new OvalRoi(64, 32, 16, 16);
        late.setPosition(3);
        Overlay starts = new Overlay(early);
        starts.add(late);
        ImagePlus labels = labels(new ImagePlus("discs", stack), from(starts) + " stack=track results_table");
        assertEquals(8, table().size());
        for (int i = 0; i < 8; i++) {
            int slice = (int) table().getValue("Slice", i);
            int target = (int) table().getValue("Target", i);
            int pixels = count(labels.getStack().getProcessor(slice), target);
            // The second one gets no pixel of the first: the row has the pixels of the label.
            assertEquals(pixels, table().getValue("Area", i), slice + " " + target);
            assertTrue(pixels > 0, slice + " " + target);
        }
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
        // The sliver contains no pixel's centre.
        image.setRoi(new PolygonRoi(new int[] {90, 91, 94}, new int[] {20, 20, 21}, 3, Roi.POLYGON));
        Outcome outcome = macro(image, call("stack=track results_table"));
        assertTrue(outcome.log.contains("after channel 2, slice 3, frame 2 nothing was"), outcome.log);
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
    void sliceOfAHyperstackIsTrackedThroughItsFrames() {
        ImagePlus film = moving(5, 8);
        ImageStack planes = new ImageStack(film.getWidth(), film.getHeight());
        for (int t = 1; t <= 5; t++) {
            for (int z = 1; z <= 3; z++) {
                planes.addSlice(z == 2 ? film.getStack().getProcessor(t) : plane(120, 80, 0, 0, 1, z));
            }
        }
        ImagePlus image = new ImagePlus("hyper", planes);
        image.setDimensions(1, 3, 5);
        image.setOpenAsHyperStack(true);
        image.setPosition(1, 2, 3);
        image.setRoi(new OvalRoi(40, 32, 16, 16));
        ImagePlus labels = labels(image, "stack=track_frames results_table");
        assertEquals(5, labels.getNFrames());
        assertEquals(1, labels.getNSlices());
        assertEquals(5, table().size());
        for (int t = 1; t <= 5; t++) {
            assertTrue(overlap(labels.getStack().getProcessor(t), 1, 22 + 8 * t, 40, 12) > 0.9, "frame " + t);
            assertEquals(2, table().getValue("Slice", t - 1));
            assertEquals(t, table().getValue("Frame", t - 1));
        }
        assertEquals("snake c1z2t3", table().getStringValue("Parent", 1));
        Outcome outcome = macro(moving(3, 0), call("stack=track_frames overlay start=rectangle"));
        assertOneSentence(outcome.log, "has one frame, so there is nothing to track through");
    }

    @Test
    void targetsThatVanishAreNotTrackedOn() {
        ImagePlus image = moving(4, 0);
        // The sliver contains no pixel's centre.
        Roi sliver = new PolygonRoi(new int[] {90, 91, 94}, new int[] {20, 20, 21}, 3, Roi.POLYGON);
        sliver.setName("sliver");
        Overlay starts = new Overlay(sliver);
        starts.add(new OvalRoi(24, 32, 16, 16));
        String track = "stack=track label_image overlay results_table ";
        Outcome outcome = macro(image, call(track + from(starts)));
        assertTrue(outcome.log.contains("1 target vanished"), outcome.log);
        assertTrue(outcome.log.contains("and nothing tracked on"), outcome.log);
        assertFalse(outcome.log.contains("nothing was left to track"), outcome.log);
        assertEquals(5, table().size());
        assertEquals("vanished", table().getStringValue("Status", 0));
        assertEquals("sliver s1", table().getStringValue("Name", 0));
        assertEquals(0, table().getValue("Area", 0));
        assertEquals(4, image.getOverlay().size());
        for (int z = 1; z <= 4; z++) {
            assertTrue(overlap(current().getStack().getProcessor(z), 2, 30, 40, 12) > 0.9);
        }
        table().reset();
        outcome = macro(image, call(track + from(new Overlay(sliver))));
        assertTrue(outcome.log.contains("after slice 1 nothing was left to track"), outcome.log);
        assertEquals(1, table().size());
    }
}
