package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.jna.Memory;
import ij.ImagePlus;
import ij.WindowManager;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the macro's result with the C API's own, bit by bit. */
class CApiTest extends HeadlessTest {
    private static final int PARAMS_BYTES = 104;

    /** The offset of the spacing along z in an isoline_image. */
    private static final int SPACING_Z = 72;

    @ParameterizedTest
    @CsvSource({
        "horse.png,    16, 40, 1, 127, 0, 0",
        "camera.png,   64, 25, 0, 180, 1, 0",
        "cell.png,      8, 30, 0, 110, 0, 0",
        "pattern.png,  32, 20, 1,  40, 1, 0",
        "page.png,      8,  1, 1,  90, 0, 1",
        "brain.tif,     8, 15, 0, 200, 0, 0"
    })
    void macroGivesThePixelsOfTheCApi(
            String name, double rho, long iterations, int below, double threshold, int fromInput, int converged)
            throws IOException {
        ImagePlus image = open(name);
        String options = "device=cpu rho="
                + rho
                + (below == 1 ? " foreground=below" : " foreground=above")
                + " threshold="
                + threshold
                + (converged == 1
                        ? " mode=converged tolerance=1e-4"
                        : " mode=iterations iterations=" + iterations
                                + (fromInput == 1 ? " start=image" : " start=mask"));
        macro(image, "run(\"" + COMMAND + "\", \"" + options + "\");");
        ImagePlus result = WindowManager.getCurrentImage();
        assertEquals("ESF of " + name, result.getTitle());

        Memory params = CApi.struct("isoline_edge_strength_params_init", PARAMS_BYTES);
        params.setInt(8, converged);
        params.setInt(12, below);
        params.setInt(16, fromInput);
        params.setLong(24, iterations);
        params.setDouble(40, rho);
        params.setDouble(56, threshold);
        if (converged == 1) {
            params.setDouble(80, 1e-4);
        }
        compare(image, params, result);
    }

    @Test
    void volumeGivesThePixelsOfTheCApi() throws IOException {
        ImagePlus image = open("brain.tif");
        macro(
                image,
                "run(\"" + COMMAND
                        + "\", \"device=cpu rho=8 mode=iterations iterations=9 threshold=200 stack=volume\");");
        Memory params = CApi.struct("isoline_edge_strength_params_init", PARAMS_BYTES);
        params.setInt(4, 3);
        params.setLong(24, 9);
        params.setDouble(40, 8);
        params.setDouble(56, 200);
        // The slices of this image are twice as far apart as its pixels; the decay length is in pixels.
        assertEquals(2, image.getCalibration().pixelDepth / image.getCalibration().pixelWidth);
        compare(image, params, WindowManager.getCurrentImage());
    }

    private static void compare(ImagePlus image, Memory params, ImagePlus result) throws IOException {
        Memory in = CApi.describe(image, CApi.TYPE_U8, CApi.pixels(image));
        in.setDouble(SPACING_Z, image.getCalibration().pixelDepth / image.getCalibration().pixelWidth);
        Memory out = new Memory((long) image.getWidth() * image.getHeight() * image.getStackSize() * Float.BYTES);
        CApi.onCpu("isoline_edge_strength", in, params, null, CApi.describe(image, CApi.TYPE_F32, out), null);
        CApi.assertSameBits(out, result);
    }
}
