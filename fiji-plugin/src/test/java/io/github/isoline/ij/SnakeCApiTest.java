package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import ij.gui.PolygonRoi;
import ij.gui.Roi;
import ij.process.ImageConverter;
import java.awt.Polygon;
import java.io.IOException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the macro's labels, outlines and numbers with the C API's own. */
class SnakeCApiTest extends SnakeTest {
    private static final int PARAMS_BYTES = 88;
    private static final int POLYGONS_BYTES = 48;
    private static final int STATISTICS_BYTES = 80;

    @ParameterizedTest
    @CsvSource({
        // The columns are image, bits, noise, schedule, background, margin, step, spacing, cost,
        // corners of the start. A step of 0 is automatic.
        "cell.png,   8, 0, 0, 0, 0.5,  0, 16, 0,   '380 320 480 320 480 430 380 430'",
        "cell.png,  16, 1, 0, 1, 0.75, 32, 8, 1,   '370 300 500 310 490 440 400 450'",
        "coins.png,  8, 2, 1, 1, 0.5,  4, 12, 0,   '300 10 370 20 350 80'",
        "coins.png, 32, 3, 0, 1, 1,    2, 16, 0.5, '20 30 70 30 70 75 20 75'",
        "horse.png,  8, 4, 0, 0, 0.5, 32, 10, 0,   '-20 20 330 20 330 290 -20 290'"
    })
    void macroGivesWhatTheCApiGives(
            String name,
            int bits,
            int noise,
            int schedule,
            int background,
            double margin,
            int step,
            double spacing,
            double cost,
            String corners)
            throws IOException {
        ImagePlus image = open(name);
        if (bits == 16) {
            new ImageConverter(image).convertToGray16();
            image.getProcessor().multiply(137);
        } else if (bits == 32) {
            new ImageConverter(image).convertToGray32();
            image.getProcessor().multiply(0.01);
        }
        int[] nodes = numbers(corners);
        Memory params = CApi.struct("isoline_snake_params_init", PARAMS_BYTES);
        params.setInt(4, noise);
        params.setInt(8, schedule);
        params.setInt(12, background);
        params.setInt(20, step);
        params.setDouble(40, noise == 2 ? 2.5 : 1);
        params.setDouble(48, margin);
        params.setDouble(56, spacing);
        params.setDouble(64, cost);
        Wanted wanted = wanted(image, nodes, params);

        boolean inside = nodes[0] >= 0;
        if (inside) {
            image.setRoi(new PolygonRoi(polygon(nodes), Roi.POLYGON));
        } else {
            // The part beyond the border is clipped.
            image.setRoi(new Roi(-20, 20, 350, 270));
        }
        String options = "device=cpu noise="
                + CApi.words("snake", "noise")[noise]
                + (noise == 2 ? " looks=2.5" : "")
                + " schedule="
                + CApi.words("snake", "schedule")[schedule]
                + " background="
                + CApi.words("snake", "background")[background]
                + (background == 1 ? " margin=" + margin : "")
                + " largest_step="
                + (step == 0 ? "auto" : Integer.toString(step))
                + " node_spacing="
                + spacing
                + " node_cost="
                + cost;
        ImagePlus labels = run(SNAKE, image, options + " label_image overlay results_table");
        assertArrayEquals(wanted.labels, (short[]) labels.getProcessor().getPixels());
        int pixels = 0;
        for (short label : wanted.labels) {
            pixels += label;
        }
        assertTrue(pixels > 500, "hardly anything was compared: " + pixels + " pixels");

        Polygon outline = image.getOverlay().get(0).getPolygon();
        assertEquals(wanted.nodes.length / 2, outline.npoints);
        for (int i = 0; i < outline.npoints; i++) {
            assertEquals(wanted.nodes[2 * i], outline.xpoints[i]);
            assertEquals(wanted.nodes[2 * i + 1], outline.ypoints[i]);
        }
        assertEquals(wanted.statistics.getLong(24), table().getValue("Area", 0));
        assertEquals(wanted.statistics.getLong(8), table().getValue("Iterations", 0));
        assertEquals(wanted.statistics.getLong(16), table().getValue("Nodes", 0));
        String[] numbers = {"Mean", "SD inside", "Mean outside", "SD outside", "Criterion"};
        for (int i = 0; i < numbers.length; i++) {
            assertEquals(wanted.statistics.getDouble(40 + 8L * i), table().getValue(numbers[i], 0), numbers[i]);
        }
    }

    /** The results of the C API. */
    private static final class Wanted {
        short[] labels;
        int[] nodes;
        Memory statistics;
    }

    private static Wanted wanted(ImagePlus image, int[] corners, Memory params) throws IOException {
        int type = image.getBitDepth() == 8 ? CApi.TYPE_U8 : image.getBitDepth() == 16 ? CApi.TYPE_U16 : CApi.TYPE_F32;
        Memory start = new Memory(4L * corners.length);
        start.write(0, corners, 0, corners.length);
        Memory offsets = new Memory(16);
        offsets.setLong(0, 0);
        offsets.setLong(8, corners.length / 2);
        Memory polygons = CApi.struct("isoline_polygons_init", POLYGONS_BYTES);
        polygons.setLong(8, 1);
        polygons.setLong(16, corners.length / 2);
        polygons.setPointer(24, start);
        polygons.setPointer(32, offsets);
        PointerByReference out = new PointerByReference();
        CApi.onCpu("isoline_snake_new", CApi.describe(image, type, CApi.pixels(image)), polygons, params, out);
        Pointer snake = out.getValue();
        assertEquals(0, call("isoline_snake_step", snake, -1L, null, null));
        Wanted wanted = new Wanted();
        wanted.statistics = new Memory(STATISTICS_BYTES);
        LongByReference written = new LongByReference();
        assertEquals(0, call("isoline_snake_statistics", snake, 0L, 1L, wanted.statistics, written));
        assertEquals(1, written.getValue());
        int pixels = image.getWidth() * image.getHeight();
        Memory labels = new Memory(2L * pixels);
        assertEquals(0, call("isoline_snake_draw_labels", snake, CApi.describe(image, CApi.TYPE_U16, labels)));
        wanted.labels = labels.getShortArray(0, pixels);
        assertEquals(0, call("isoline_snake_polygons", snake, polygons));
        wanted.nodes = polygons.getPointer(24).getIntArray(0, 2 * (int) polygons.getLong(16));
        CApi.function("isoline_snake_free").invokeVoid(new Object[] {snake});
        return wanted;
    }

    private static int[] numbers(String text) {
        String[] words = text.split(" ");
        int[] numbers = new int[words.length];
        for (int i = 0; i < words.length; i++) {
            numbers[i] = Integer.parseInt(words[i]);
        }
        return numbers;
    }

    private static Polygon polygon(int... nodes) {
        Polygon polygon = new Polygon();
        for (int i = 0; i < nodes.length; i += 2) {
            polygon.addPoint(nodes[i], nodes[i + 1]);
        }
        return polygon;
    }

    private static int call(String name, Object... arguments) throws IOException {
        return CApi.function(name).invokeInt(arguments);
    }
}
