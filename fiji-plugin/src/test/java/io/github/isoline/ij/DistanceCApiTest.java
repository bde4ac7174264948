package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.jna.Memory;
import ij.ImagePlus;
import ij.WindowManager;
import ij.process.StackConverter;
import java.io.IOException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the macro's distances with the C API's for the same image, bit by bit. */
class DistanceCApiTest extends HeadlessTest {
    private static final int PARAMS_BYTES = 24;
    private static final int SPACING = 56;

    /** The plugin passes masks, this test the image itself and its threshold. */
    @ParameterizedTest
    @CsvSource({
        "horse.png,            8, 1, 0, 127, slices, 1,     1,    1",
        "camera.png,           8, 0, 1,  90, slices, 0.5,   0.25, 1",
        "cell.png,            16, 0, 2, 110, slices, 0.107, 0.107, 1",
        "microaneurysms.png,  32, 1, 0, 120, slices, 3,     7,    1",
        "brain.tif,            8, 0, 0, 100, slices, 0.9,   0.9,  5",
        "brain.tif,            8, 0, 0, 100, volume, 0.9,   0.9,  5",
        "brain.tif,           16, 1, 1, 100, volume, 1,     1,    1",
        "brain.tif,           32, 0, 2, 100, volume, 0.2,   0.3,  0.4"
    })
    void macroGivesWhatTheCApiGives(
            String name, int bits, int dark, int region, double threshold, String stack, double x, double y, double z)
            throws IOException {
        ImagePlus image = open(name);
        convert(image, bits);
        image.getCalibration().pixelWidth = x;
        image.getCalibration().pixelHeight = y;
        image.getCalibration().pixelDepth = z;
        String options = "device=cpu threshold="
                + threshold
                + (dark == 1 ? " inside=dark" : " inside=bright")
                + " region="
                + CApi.words("distance", "region")[region]
                + " stack="
                + stack;
        macro(image, "run(\"Signed Distance...\", \"" + options + "\");");
        ImagePlus result = WindowManager.getCurrentImage();

        Memory params = CApi.struct("isoline_distance_params_init", PARAMS_BYTES);
        params.setInt(4, stack.equals("volume") ? 3 : 2);
        params.setInt(8, dark);
        params.setInt(12, region);
        params.setDouble(16, threshold);
        int pixels = image.getWidth() * image.getHeight();
        Memory out = new Memory((long) pixels * image.getStackSize() * Float.BYTES);
        int type = bits == 8 ? CApi.TYPE_U8 : bits == 16 ? CApi.TYPE_U16 : CApi.TYPE_F32;
        Memory data = CApi.pixels(image);
        Memory in = CApi.describe(image, type, data);
        in.setDouble(SPACING, x);
        in.setDouble(SPACING + Double.BYTES, y);
        in.setDouble(SPACING + 2 * Double.BYTES, z);
        CApi.onCpu("isoline_distance", in, params, null, CApi.describe(image, CApi.TYPE_F32, out), null);
        float[] wanted = new float[pixels];
        for (int s = 0; s < image.getStackSize(); s++) {
            out.read((long) s * pixels * Float.BYTES, wanted, 0, pixels);
            float[] got = (float[]) result.getStack().getPixels(s + 1);
            for (int p = 0; p < pixels; p++) {
                if (Float.floatToRawIntBits(wanted[p]) != Float.floatToRawIntBits(got[p])) {
                    assertEquals(wanted[p], got[p], "slice " + s + ", pixel " + p);
                }
            }
        }
    }

    private static void convert(ImagePlus image, int bits) {
        if (bits == 8) {
            return;
        }
        if (image.getStackSize() == 1) {
            image.setProcessor(
                    bits == 16
                            ? image.getProcessor().convertToShort(false)
                            : image.getProcessor().convertToFloat());
        } else if (bits == 16) {
            new StackConverter(image).convertToGray16();
        } else {
            new StackConverter(image).convertToGray32();
        }
    }
}
