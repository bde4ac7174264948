package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.OvalRoi;
import ij.process.ByteProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import io.github.isoline.IsolineException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Images that commands start from: masks and labels. */
class StartImageTest extends HeadlessTest {
    private static final int SIDE = 80;

    /** Returns two bright discs on dark ground. */
    private static ImagePlus discs() {
        ByteProcessor pixels = new ByteProcessor(SIDE, SIDE);
        for (int i = 0; i < SIDE * SIDE; i++) {
            pixels.set(i, 20 + i * 7919 % 13);
        }
        pixels.setValue(200);
        pixels.fill(new OvalRoi(8, 8, 24, 24));
        pixels.fill(new OvalRoi(48, 40, 24, 24));
        return new ImagePlus("discs", pixels);
    }

    /** Returns smaller discs in these, with two values on 0. */
    private static ImagePlus inside(int first, int second) {
        ByteProcessor pixels = new ByteProcessor(SIDE, SIDE);
        pixels.setValue(first);
        pixels.fill(new OvalRoi(12, 12, 14, 14));
        pixels.setValue(second);
        pixels.fill(new OvalRoi(52, 44, 14, 14));
        return new ImagePlus("inside", pixels);
    }

    private static Result run(String operation, ImagePlus image, ImagePlus start) throws IsolineException {
        boolean mask = operation.equals("level_set");
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("start", mask ? "mask" : "labels");
        options.put(mask ? "mask_image" : "start_image", start);
        options.put(mask ? "mask_stack" : "label_image", true);
        options.put("results_table", true);
        return Isoline.OPERATIONS.get(operation).on(image, options);
    }

    @Test
    void imagesOfOneTitleAreToldApart() throws Exception {
        ImagePlus image = discs();
        ImagePlus first = inside(1, 2);
        ImagePlus second = inside(3, 4);
        List<ImagePlus> open = Arrays.asList(image, first, second);
        BadInput refused = assertThrows(BadInput.class, () -> find(image, open, "inside"));
        assertTrue(refused.getMessage().startsWith("2 open images have the title \"inside\""), refused.getMessage());
        assertTrue(refused.getMessage().contains("start_image=" + first.getID()), refused.getMessage());
        assertSame(second, find(image, open, Integer.toString(second.getID())));
        // In the dialog they are different entries.
        Map<String, String> entries = MaskChoice.entries(image, open);
        assertEquals(2, entries.size());
        Set<ImagePlus> found = new HashSet<>();
        for (String value : entries.values()) {
            found.add(find(image, open, value));
        }
        assertEquals(new HashSet<>(Arrays.asList(first, second)), found);
        second.setTitle("other");
        assertSame(first, find(image, open, "inside"));
        assertEquals("[inside, other]", MaskChoice.entries(image, open).values().toString());
        // A label image often has the name of the image whose labels it has.
        second.setTitle(image.getTitle());
        assertSame(second, find(image, open, image.getTitle()));
    }

    @Test
    void particlesOfAMaskAreObjectsOfTheirOwn() throws Exception {
        Result snakes = run("region_snake", discs(), inside(255, 255));
        assertEquals(2, snakes.getTable().size());
        Result grown = run("grow_objects", discs(), inside(255, 255));
        assertEquals(2, grown.getTable().size());
        assertEquals(1, grown.getImage().getProcessor().get(20, 20));
        assertEquals(2, grown.getImage().getProcessor().get(60, 52));
        // A label image of one object keeps its label in any other type or value.
        assertEquals(1, run("grow_objects", discs(), inside(7, 7)).getTable().size());
        // The particles of a volume are connected through its slices.
        ImageStack slices = new ImageStack(SIDE, SIDE);
        ImageStack masks = new ImageStack(SIDE, SIDE);
        for (int z = 0; z < 3; z++) {
            slices.addSlice(discs().getProcessor());
            masks.addSlice(inside(255, 255).getProcessor());
        }
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("start", "labels");
        options.put("stack", "volume");
        options.put("start_image", new ImagePlus("masks", masks));
        assertEquals(
                2,
                Isoline.growObjects(new ImagePlus("volume", slices), options)
                        .getTable()
                        .size());
    }

    /** Returns planes of which each has its number in the stack. */
    private static ImagePlus numbered(int c, int z, int t) {
        ImageStack stack = new ImageStack(4, 4);
        for (int i = 1; i <= c * z * t; i++) {
            ByteProcessor plane = new ByteProcessor(4, 4);
            plane.add(i);
            stack.addSlice(plane);
        }
        ImagePlus image = new ImagePlus(c + " " + z + " " + t, stack);
        image.setDimensions(c, z, t);
        return image;
    }

    /** Axes are compared, and not numbers of planes; the last column is the plane for the last one of the image. */
    @ParameterizedTest
    @CsvSource({
        "2 5 5, 1 1 5, 5",
        "1 5 5, 1 5 1, 5",
        "1 5 5, 1 5 5, 25",
        "3 1 4, 1 1 4, 4",
        "3 4 2, 1 4 2, 8",
        "3 4 2, 3 4 1, 12",
        "3 4 2, 1 1 1, 1",
        "3 4 2, 3 1 1, 3",
        "2 3 4, 1 24 1, 0",
        "2 3 4, 4 3 2, 0",
        "1 3 5, 1 5 1, 0",
        "5 1 1, 1 5 1, 0",
        "1 1 5, 5 1 1, 0",
        // These are films that ImageJ takes for slices.
        "1 1 5, 1 5 1, 5",
        "1 5 1, 1 1 5, 5",
    })
    void axesAreCompared(String image, String start, int last) throws Exception {
        int[][] sizes = new int[2][];
        for (int i = 0; i < 2; i++) {
            sizes[i] = Arrays.stream((i == 0 ? image : start).split(" "))
                    .mapToInt(Integer::parseInt)
                    .toArray();
        }
        ImagePlus whole = numbered(sizes[0][0], sizes[0][1], sizes[0][2]);
        ImagePlus labels = numbered(sizes[1][0], sizes[1][1], sizes[1][2]);
        List<ImagePlus> open = Arrays.asList(whole, labels);
        if (last == 0) {
            BadInput refused = assertThrows(BadInput.class, () -> find(whole, open, start));
            assertTrue(refused.getMessage().contains("They must have the same size"), refused.getMessage());
            return;
        }
        ImagePlus found = find(whole, open, start);
        HyperStackSelection planes = HyperStackSelection.everything(whole);
        assertEquals(last, MaskChoice.at(found, planes, whole.getStackSize()));
        assertEquals(1, MaskChoice.at(found, planes, 1));
        // A volume does not start from one slice on all of its slices.
        boolean flat = sizes[1][1] < sizes[0][1] && whole.getStackSize() != labels.getStackSize();
        if (flat) {
            assertThrows(
                    BadInput.class, () -> MaskChoice.find(whole, open, start, false, "start image", "start_image"));
        } else {
            MaskChoice.find(whole, open, start, false, "start image", "start_image");
        }
    }

    private static ImagePlus find(ImagePlus image, List<ImagePlus> open, String name) throws BadInput {
        return MaskChoice.find(image, open, name, true, "start image", "start_image");
    }

    @ParameterizedTest
    @ValueSource(strings = {"level_set", "region_snake", "grow_objects"})
    void signedPixelsCountAsImageJShowsThem(String operation) throws Exception {
        ImagePlus plain = inside(1, 2);
        ShortProcessor shifted = (ShortProcessor) plain.getProcessor().convertToShort(false);
        shifted.add(32768);
        ImagePlus signed = new ImagePlus("signed", shifted);
        signed.getCalibration().setSigned16BitCalibration();
        ImageProcessor wanted = run(operation, discs(), plain).getImage().getProcessor();
        ImageProcessor got = run(operation, discs(), signed).getImage().getProcessor();
        assertEquals(0, wanted.getf(0));
        assertArrayEquals((float[]) wanted.convertToFloat().getPixels(), (float[])
                got.convertToFloat().getPixels());
    }
}
