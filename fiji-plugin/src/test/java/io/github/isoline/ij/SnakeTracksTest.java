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
