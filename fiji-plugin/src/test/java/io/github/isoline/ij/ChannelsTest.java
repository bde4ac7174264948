package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.gui.PointRoi;
import ij.measure.ResultsTable;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import io.github.isoline.IsolineException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels that differ in brightness: with all of them each is processed as it is alone. */
class ChannelsTest extends HeadlessTest {
    private static final int SIDE = 56;
    private static final int CHANNELS = 2;
    private static final int SLICES = 4;
    private static final int FRAMES = 2;

    /** Returns a value of a channel: of discs on ground, or of a mask. */
    private static int value(int channel, int x, int y, int z, boolean mask) {
        int radius = 12 - Math.abs(z - 2);
        boolean in = (x - 26) * (x - 26) + (y - 28) * (y - 28) < radius * radius;
        if (mask) {
            return in ? 40 * channel + 1 : 40 * channel;
        }
        int shown = (in ? 60 : 20) + (x * 31 + y * 17 + z * 7) % 5;
        return channel == 0 ? shown : 500 + 40 * shown;
    }

    private static ImagePlus image(boolean mask, boolean floats, int only) {
        ImageStack stack = new ImageStack(SIDE, SIDE);
        for (int t = 0; t < FRAMES; t++) {
            for (int z = 0; z < SLICES; z++) {
                for (int c = Math.max(0, only); c < (only < 0 ? CHANNELS : only + 1); c++) {
                    ImageProcessor plane = floats ? new FloatProcessor(SIDE, SIDE) : new ShortProcessor(SIDE, SIDE);
                    for (int i = 0; i < SIDE * SIDE; i++) {
                        plane.setf(i, value(c, i % SIDE, i / SIDE, z, mask));
                    }
                    stack.addSlice(plane);
                }
            }
        }
        ImagePlus image = new ImagePlus("cells", stack);
        image.setDimensions(only < 0 ? CHANNELS : 1, SLICES, FRAMES);
        image.setOpenAsHyperStack(true);
        image.setPosition(1, 3, 1);
        image.setRoi(new OvalRoi(20, 22, 12, 12));
        return image;
    }

    /** Returns what the rows of a channel say, apart from numbers and times. */
    private static List<String> rows(ResultsTable table, int channel) {
        List<String> rows = new ArrayList<>();
        String[] columns = {"Slice", "Frame", "Level", "Length", "Area", "Volume", "Mean", "Outcome", "Mean gradient"};
        for (int row = 0; row < table.size(); row++) {
            if (table.getValue("Ch", row) == channel) {
                StringBuilder text = new StringBuilder();
                for (String column : columns) {
                    text.append(table.columnExists(column) ? table.getStringValue(column, row) : "")
                            .append(' ');
                }
                rows.add(text.toString());
            }
        }
        rows.sort(null);
        return rows;
    }

    /** The preview of an isosurface has the level that the command takes. */
    @Test
    void thePreviewLooksAtTheVolumeThatIsShown() throws Exception {
        ImagePlus image = image(false, false, -1);
        image.setPosition(2, 3, 2);
        // The frames differ, too.
        image.getProcessor().set(26, 28, 9000);
        ResultsTable table =
                Isoline.isosurface(image, "all_channels all_frames").getTable();
        String level = Setting.shortest(table.getValue("Level", 3));
        IsosurfaceSettings settings = new IsosurfaceSettings();
        settings.set(Settings.ALL_CHANNELS, true).set(Settings.ALL_FRAMES, true);
        String told = new IsosurfaceDialog.Preview(image, null).compute(settings, true);
        assertEquals("level " + level + " cuts this slice in 1 curve", told);
    }

    @ParameterizedTest
    @ValueSource(strings = {"slices", "volume"})
    void spheresOfALevelSetHaveTheChannelOfTheirPoint(String stack) throws Exception {
        ImagePlus image = image(false, false, -1);
        image.deleteRoi();
        PointRoi point = new PointRoi(26, 28);
        point.setPosition(2, 3, 1);
        Map<String, Object> options = new HashMap<>();
        options.put("rois", point);
        options.put("radius", 5);
        options.put("stack", stack);
        options.put("mask_stack", true);
        IsolineException refused = assertThrows(IsolineException.class, () -> Isoline.levelSet(image, options));
        assertTrue(refused.getMessage().contains("The starts lie on channel 2, slice 3"), refused.getMessage());
        options.put("all_channels", true);
        ImagePlus mask = Isoline.levelSet(image, options).getImage();
        for (int z = 1; z <= SLICES; z++) {
            assertEquals(
                    0, mask.getStack().getProcessor(mask.getStackIndex(1, z, 1)).getStatistics().max);
        }
        assertEquals(
                255, mask.getStack().getProcessor(mask.getStackIndex(2, 3, 1)).getStatistics().max);
    }

    @ParameterizedTest
    @CsvSource({
        "edge_drawing, false, false, ''",
        "edge_drawing, false, true, ''",
        "isolines, false, false, level_count=2",
        "isosurface, false, false, ''",
        "level_set, false, false, ''",
        "level_set, false, false, stack=volume",
        "level_set, false, false, range=roi deviations=4",
        "level_set, false, false, regions=chan_vese stack=volume",
        "level_set, false, false, all_frames follow",
        "edge_strength, false, false, mode=iterations start=image threshold=3000",
        "edge_strength, true, false, ''",
        "signed_distance, true, false, ''",
        "grow_objects, false, false, ''",
        "region_snake, false, false, start=detect",
    })
    void eachIsProcessedAsItIsAlone(String operation, boolean mask, boolean floats, String options) throws Exception {
        Isoline.Call<?> call = Isoline.OPERATIONS.get(operation);
        String all = options.contains("all_frames") ? options : options + " all_frames";
        Result both = call.on(image(mask, floats, -1), all + " all_channels");
        for (int c = 1; c <= CHANNELS; c++) {
            Result alone = call.on(image(mask, floats, c - 1), all);
            assertEquals(alone.getImages().size(), both.getImages().size());
            for (int i = 0; i < alone.getImages().size(); i++) {
                ImagePlus made = both.getImages().get(i);
                for (int t = 1; t <= FRAMES; t++) {
                    for (int z = 1; z <= alone.getImages().get(i).getNSlices(); z++) {
                        ImagePlus one = alone.getImages().get(i);
                        Object wanted = one.getStack().getPixels(one.getStackIndex(1, z, t));
                        Object got = made.getStack().getPixels(made.getStackIndex(c, z, t));
                        assertArrayEquals(new Object[] {wanted}, new Object[] {got}, "c" + c + " z" + z + " t" + t);
                    }
                }
            }
            if (both.getTable().size() > 0) {
                ResultsTable table = alone.getTable();
                assertTrue(table.size() > 0, operation);
                for (int row = 0; row < table.size(); row++) {
                    table.setValue("Ch", row, c);
                }
                assertEquals(rows(table, c), rows(both.getTable(), c));
            }
        }
    }
}
