package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.PointRoi;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import ij.process.FloatPolygon;
import ij.process.ImageProcessor;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compares the macro's edge map with the C API's pixel by pixel, its selections and its table point by point and number
 * by number.
 */
class EdgeDrawingCApiTest extends EdgeDrawingTest {
    private static final int PARAMS_BYTES = 128;
    private static final int ARRAYS_BYTES = 64;

    /** The tolerance for the table: ImageJ keeps doubles, the C API gives floats. */
    private static final double EXACT = 1e-9;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "camera.png,          8, 0, 0,  -1, 0, 1, 10, 0",
        "camera.png,          8, 0, 2, 120, 8, 2,  1, 1",
        "horse.png,           8, 0, 1,  30, 0, 1,  3, 1",
        "coins.png,           8, 1, 0,  36, 4, 1, 10, 0",
        "cell.png,            8, 1, 1,  -1, 0, 3, 20, 0",
        "page.png,           16, 0, 0,  -1, 0, 1, 10, 0",
        "microaneurysms.png, 16, 1, 2,  40, 0, 1, 15, 0",
        "coins.png,          32, 0, 0,  -1, 0, 1, 10, 1",
        "camera.png,         32, 1, 0,  -1, 2, 1, 10, 0",
        "brain.tif,           8, 0, 0,  -1, 0, 1, 10, 0",
        "brain.tif,          16, 0, 0,  -1, 0, 1,  5, 0",
        "brain.tif,          32, 1, 0,  25, 0, 1, 10, 0"
    })
    void macroGivesWhatTheCApiGives(
            String name,
            int bits,
            int profile,
            int operator,
            double gradient,
            double anchor,
            int scan,
            int minLength,
            int turns)
            throws Exception {
        ImagePlus image = open(name);
        image = new ImagePlus(image.getTitle(), convert(image.getStack(), bits));
        Memory params = CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES);
        params.setInt(4, profile);
        params.setInt(8, operator);
        params.setInt(12, scan);
        params.setInt(16, minLength);
        params.setInt(20, turns);
        if (gradient >= 0) {
            // Otherwise the threshold is automatic, as the init function left it.
            params.setDouble(32, gradient);
        }
        params.setDouble(40, anchor);
        String options = "device=cpu profile="
                + CApi.words("edge_drawing", "profile")[profile]
                + " gradient_operator="
                + CApi.words("edge_drawing", "gradient_operator")[operator]
                + (gradient < 0 ? "" : " gradient_threshold=" + gradient)
                + " anchor_threshold="
                + anchor
                + " scan_interval="
                + scan
                + " min_length="
                + minLength
                + (turns == 1 ? " follow_turns" : "");
        assertTrue(compare(image, params, options) > 0, "no segments: nothing was compared");
    }

    @ParameterizedTest
    @CsvSource({"reference, 0.5", "reference, 2.5", "paper, 0", "paper, 3"})
    void sigmaIsTheLibrarys(String profile, double sigma) throws Exception {
        Memory params = CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES);
        params.setInt(4, CApi.words("edge_drawing", "profile")[0].equals(profile) ? 0 : 1);
        params.setDouble(64, sigma);
        assertTrue(compare(open("coins.png"), params, "device=cpu profile=" + profile + " sigma=" + sigma) > 0);
    }

    @ParameterizedTest
    @CsvSource({"camera.png, paper, -1", "camera.png, reference, -1", "coins.png, reference, 20", "brain.tif, paper, -1"
    })
    void validationIsTheLibrarys(String name, String profile, double threshold) throws Exception {
        Memory params = CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES);
        params.setInt(4, CApi.words("edge_drawing", "profile")[0].equals(profile) ? 0 : 1);
        params.setInt(28, 1);
        String options = "device=cpu profile=" + profile + " validation=false_alarms";
        if (threshold >= 0) {
            params.setDouble(32, threshold);
            options += " gradient_threshold=" + threshold;
        }
        int validated = compare(open(name), params, options);
        params.setInt(28, 0);
        int all = compare(open(name), params, options.replace("false_alarms", "none"));
        assertTrue(validated > 0 && validated < all, validated + " of " + all);
    }

    @Test
    void rangeOfFloatImages() throws Exception {
        ImagePlus image = open("camera.png");
        ImageProcessor pixels = image.getProcessor().convertToFloat();
        pixels.multiply(1e-3);
        pixels.setf(7, 9, Float.NaN);
        pixels.setf(99, 80, Float.POSITIVE_INFINITY);
        ImagePlus floats = new ImagePlus("floats", pixels);
        Memory params = CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES);
        params.setDouble(48, 0.05);
        params.setDouble(56, 0.2);
        params.setDouble(32, 0.03);
        String options = "device=cpu profile=paper gradient_threshold=0.03 range_min=0.05 range_max=0.2";
        assertTrue(compare(floats, params, options) > 0);
        // Without a range, NaN and infinity must not become one.
        assertTrue(compare(
                        floats,
                        CApi.struct("isoline_edge_drawing_params_init", PARAMS_BYTES),
                        "device=cpu profile=paper")
                > 0);
    }

    /** Compares everything, and returns the number of segments. */
    private int compare(ImagePlus image, Memory params, String options) throws Exception {
        int slices = image.getStackSize();
        int pixels = image.getWidth() * image.getHeight();
        int type = image.getBitDepth() == 8 ? CApi.TYPE_U8 : image.getBitDepth() == 16 ? CApi.TYPE_U16 : CApi.TYPE_F32;
        Memory out = new Memory((long) pixels * slices);
        PointerByReference found = new PointerByReference();
        CApi.onCpu(
                "isoline_edge_drawing",
                CApi.describe(image, type, CApi.pixels(image)),
                params,
                null,
                CApi.describe(image, CApi.TYPE_U8, out),
                found,
                null);
        Memory arrays = CApi.struct("isoline_segment_arrays_init", ARRAYS_BYTES);
        int status = CApi.function("isoline_segments_all").invokeInt(new Object[] {found.getValue(), arrays});
        assertEquals(0, status);

        ResultsTable.getResultsTable().reset();
        Path file = folder.resolve("segments.zip");
        Outcome outcome = macro(
                image,
                call(options + " edge_map overlay results_table most_rois=2000000" + " roi_file=[" + file + "]"));
        assertEquals(1, outcome.log.trim().split("\n").length, outcome.log);
        ImagePlus result = WindowManager.getCurrentImage();
        assertEquals("Edges of " + image.getTitle(), result.getTitle());
        for (int z = 0; z < slices; z++) {
            byte[] wanted = out.getByteArray((long) z * pixels, pixels);
            assertArrayEquals(wanted, (byte[]) result.getStack().getPixels(z + 1), "slice " + z);
        }
        compareSegments(arrays, RoiFile.read(file.toString(), "segments"), image);
        int count = (int) arrays.getLong(8);
        CApi.function("isoline_segments_free").invokeVoid(new Object[] {found.getValue()});
        return count;
    }

    private static void compareSegments(Memory arrays, List<Roi> rois, ImagePlus image) {
        int count = (int) arrays.getLong(8);
        Pointer points = arrays.getPointer(24);
        Pointer offsets = arrays.getPointer(32);
        Pointer flags = arrays.getPointer(40);
        Pointer inSlice = arrays.getPointer(48);
        Pointer gradients = arrays.getPointer(56);
        assertEquals(count, rois.size());
        assertEquals(count, image.getOverlay() == null ? 0 : image.getOverlay().size());
        ResultsTable table = ResultsTable.getResultsTable();
        assertEquals(count, table.size());
        for (int i = 0; i < count; i++) {
            long first = offsets.getLong(8L * i);
            int n = (int) (offsets.getLong(8L * (i + 1)) - first);
            boolean closed = (flags.getInt(4L * i) & 1) != 0;
            int slice = inSlice.getInt(4L * i) + 1;
            double length = 0;
            for (int p = closed ? 0 : 1; p < n; p++) {
                long here = 8 * (first + p);
                long before = 8 * (first + (p + n - 1) % n);
                length += Math.hypot(
                        points.getInt(here) - points.getInt(before),
                        points.getInt(here + 4) - points.getInt(before + 4));
            }
            Roi overlaid = image.getOverlay().get(i);
            for (Roi roi : new Roi[] {rois.get(i), overlaid}) {
                // An area's coordinates count from the pixels' corners, a line's from their
                // centres.
                float centre = closed && n > 2 ? 0.5f : 0;
                assertEquals(n == 1, roi instanceof PointRoi);
                assertEquals(closed && n > 2, roi.isArea(), "segment " + i);
                FloatPolygon polygon = roi.getFloatPolygon();
                assertEquals(n, polygon.npoints, "segment " + i);
                for (int p = 0; p < n; p++) {
                    long here = 8 * (first + p);
                    assertEquals(points.getInt(here) + centre, polygon.xpoints[p]);
                    assertEquals(points.getInt(here + 4) + centre, polygon.ypoints[p]);
                }
                assertEquals(image.getStackSize() > 1 ? slice : 0, roi.getPosition());
            }
            assertEquals(i + 1, table.getValue("Segment", i));
            assertEquals(slice, table.getValue("Slice", i));
            assertEquals(length, table.getValue("Length", i), EXACT * length);
            assertEquals(n, table.getValue("Points", i));
            assertEquals(gradients.getFloat(4L * i), table.getValue("Mean gradient", i));
            assertEquals(closed ? 1 : 0, table.getValue("Closed", i));
            assertEquals(image.getTitle(), table.getLabel(i));
        }
    }

    private static ImageStack convert(ImageStack from, int bits) {
        ImageStack to = new ImageStack(from.getWidth(), from.getHeight());
        for (int z = 1; z <= from.size(); z++) {
            ImageProcessor slice = from.getProcessor(z);
            to.addSlice(bits == 8 ? slice : bits == 16 ? slice.convertToShort(false) : slice.convertToFloat());
        }
        return to;
    }
}
