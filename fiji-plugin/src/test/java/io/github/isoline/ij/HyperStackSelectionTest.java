package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.gui.NewImage;
import ij.gui.Overlay;
import ij.gui.PointRoi;
import ij.gui.Roi;
import org.junit.jupiter.api.Test;

/** Tests the planes that are taken, their order, and their positions in the result. */
class HyperStackSelectionTest {
    private static final int CHANNELS = 2;
    private static final int SLICES = 3;
    private static final int FRAMES = 4;

    @Test
    void currentChannelAndFrameAreTheDefault() {
        ImagePlus image = hyperstack(2, 3, 4);
        HyperStackSelection planes = select(image, false, false);
        assertEquals("1 3 1", sizes(planes));
        int[] wanted = new int[SLICES];
        for (int z = 1; z <= SLICES; z++) {
            wanted[z - 1] = image.getStackIndex(2, z, 4);
        }
        assertArrayEquals(wanted, planes.indices());
        assertEquals(1, planes.volumes().size());
        assertArrayEquals(wanted, planes.volumes().get(0));
        assertEquals("channel 2 of 2, frame 4 of 4", planes.describe());
    }

    @Test
    void everyCombinationIsInTheOrderOfTheStack() {
        ImagePlus image = hyperstack(2, 2, 3);
        for (int bits = 0; bits < 8; bits++) {
            boolean channels = (bits & 1) != 0;
            boolean frames = (bits & 2) != 0;
            boolean one = (bits & 4) != 0;
            HyperStackSelection planes = new HyperStackSelection(image, channels, frames, one);
            int[] indices = planes.indices();
            assertEquals(planes.size(), indices.length);
            for (int place = 0; place < indices.length; place++) {
                assertTrue(place == 0 || indices[place] > indices[place - 1], "ascending");
                assertEquals(place, planes.place(indices[place]));
                assertArrayEquals(image.convertIndexToPosition(indices[place]), planes.position(indices[place]));
                int[] position = planes.position(indices[place]);
                assertTrue(channels || position[0] == 2);
                assertTrue(!one || position[1] == 2);
                assertTrue(frames || position[2] == 3);
            }
            int wanted = (channels ? CHANNELS : 1) * (one ? 1 : SLICES) * (frames ? FRAMES : 1);
            assertEquals(wanted, indices.length);
            int inVolumes = 0;
            for (int[] volume : planes.volumes()) {
                int[] first = planes.position(volume[0]);
                for (int index : volume) {
                    assertEquals(first[0], planes.position(index)[0], "one channel");
                    assertEquals(first[2], planes.position(index)[2], "one frame");
                }
                inVolumes += volume.length;
            }
            assertEquals(indices.length, inVolumes);
        }
    }

    @Test
    void planesThatAreNotTakenHaveNoPlace() {
        ImagePlus image = hyperstack(1, 1, 2);
        HyperStackSelection planes = select(image, true, false);
        assertEquals(-1, planes.place(image.getStackIndex(1, 1, 1)));
        assertEquals(-1, planes.place(image.getStackIndex(2, 3, 3)));
        assertEquals(1, planes.place(image.getStackIndex(2, 1, 2)));
        assertArrayEquals(new int[] {2, 3, 1}, planes.moved(2, 3, 2));
        assertArrayEquals(new int[] {0, 3, 0}, planes.moved(0, 3, 0), "0 is all");
        assertNull(planes.moved(1, 1, 1));
        assertNull(planes.moved(1, 1, 3));
    }

    @Test
    void selectionIsFixedWhenItIsMade() {
        ImagePlus image = hyperstack(1, 1, 2);
        HyperStackSelection planes = select(image, false, false);
        int[] before = planes.indices();
        image.setPosition(2, 3, 4);
        assertArrayEquals(before, planes.indices());
    }

    @Test
    void wordsAreForAxesOnly() {
        ImagePlus stack = NewImage.createByteImage("stack", 4, 4, 5, NewImage.FILL_BLACK);
        assertEquals("", select(stack, false, false).describe());
        assertEquals(5, select(stack, false, false).size());
        ImagePlus film = NewImage.createByteImage("film", 4, 4, 5, NewImage.FILL_BLACK);
        film.setDimensions(1, 1, 5);
        film.setSlice(3);
        assertEquals("frame 3 of 5", select(film, true, false).describe());
        assertArrayEquals(new int[] {3}, select(film, true, false).indices());
        assertEquals("all 5 frames", select(film, false, true).describe());
        assertEquals(
                "all 2 channels, frame 1 of 4",
                select(hyperstack(1, 1, 1), true, false).describe());
    }

    @Test
    void macroOptionsRepeatTheChoice() throws Exception {
        for (int bits = 0; bits < 4; bits++) {
            boolean channels = (bits & 1) != 0;
            boolean frames = (bits & 2) != 0;
            String options = (channels ? "all_channels " : "") + (frames ? "all_frames" : "");
            HyperStackSelection read =
                    Settings.fromMacro(new DistanceSettings(), options).planes(hyperstack(1, 1, 1));
            assertEquals(channels ? CHANNELS : 1, read.channels());
            assertEquals(frames ? FRAMES : 1, read.frames());
        }
    }

    @Test
    void selectionsGoWhereTheImageLooksForThem() {
        Roi roi = new Roi(0, 0, 2, 2);
        ImagePlus stack = NewImage.createByteImage("stack", 4, 4, 5, NewImage.FILL_BLACK);
        ResultImage.setPosition(roi, stack, 1, 4, 1);
        assertEquals(4, roi.getPosition());
        ResultImage.setPosition(roi, stack, 0, 0, 0);
        assertEquals(0, roi.getPosition());
        ImagePlus film = NewImage.createByteImage("film", 4, 4, 5, NewImage.FILL_BLACK);
        film.setDimensions(1, 1, 5);
        ResultImage.setPosition(roi, film, 1, 1, 3);
        assertEquals(3, roi.getPosition());
        ImagePlus single = NewImage.createByteImage("single", 4, 4, 1, NewImage.FILL_BLACK);
        ResultImage.setPosition(roi, single, 1, 1, 1);
        assertEquals(0, roi.getPosition());
        ResultImage.setPosition(roi, hyperstack(1, 1, 1), 2, 0, 3);
        assertEquals(2, roi.getCPosition());
        assertEquals(0, roi.getZPosition());
        assertEquals(3, roi.getTPosition());
    }

    @Test
    void pointsGoWithTheirSlices() {
        ImagePlus image = hyperstack(2, 1, 3);
        PointRoi points = new PointRoi(new float[] {0, 1, 2, 3}, new float[] {3, 2, 1, 0}, 4);
        int here = image.getStackIndex(2, 3, 3);
        int elsewhere = image.getStackIndex(1, 3, 3);
        points.setCounters(new int[] {elsewhere << 8, here << 8 | 5, 0, image.getStackIndex(2, 1, 3) << 8});
        points.setName("cells");
        assertEquals(PointRoi.POINTWISE_POSITION, points.getPosition());
        image.setOverlay(new Overlay(points));
        ImagePlus made = NewImage.createByteImage("made", 4, 4, 3, NewImage.FILL_BLACK);
        Overlay moved = MovedOverlay.of(select(image, false, false), made);
        PointRoi kept = (PointRoi) moved.get(0);
        assertEquals(3, kept.getNCoordinates());
        assertEquals(3, kept.getPointPosition(0));
        assertEquals(5, kept.getCounter(0));
        assertEquals(0, kept.getPointPosition(1), "in every slice");
        assertEquals(1, kept.getPointPosition(2));
        assertEquals(1, kept.getFloatPolygon().xpoints[0]);
        assertEquals("cells", kept.getName());
        Overlay all = MovedOverlay.of(HyperStackSelection.everything(image), image);
        for (int i = 0; i < 4; i++) {
            assertEquals(points.getPointPosition(i), ((PointRoi) all.get(0)).getPointPosition(i));
        }
        image.setPosition(1, 1, 1);
        points.setCounters(new int[] {here << 8, here << 8, here << 8, elsewhere << 8});
        assertEquals(0, MovedOverlay.of(select(image, false, false), made).size());
    }

    private static HyperStackSelection select(ImagePlus image, boolean allChannels, boolean allFrames) {
        return new HyperStackSelection(image, allChannels, allFrames, false);
    }

    private static String sizes(HyperStackSelection planes) {
        return planes.channels() + " " + planes.slices() + " " + planes.frames();
    }

    private static ImagePlus hyperstack(int c, int z, int t) {
        ImagePlus image = NewImage.createByteImage("hyper", 4, 4, CHANNELS * SLICES * FRAMES, NewImage.FILL_BLACK);
        image.setDimensions(CHANNELS, SLICES, FRAMES);
        image.setOpenAsHyperStack(true);
        image.setPosition(c, z, t);
        return image;
    }
}
