package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import ij.WindowManager;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The macro's result against the C API's own, bit by bit. The C API is called here with structs
 * laid out by hand, byte by byte as the header has them: nothing of the plugin's own Java is in
 * between.
 */
class CApiTest extends HeadlessTest {
    private static final int IMAGE_BYTES = 88;
    private static final int PARAMS_BYTES = 88;
    private static final int TYPE_F32 = 2;

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
            String name,
            double rho,
            long iterations,
            int below,
            double threshold,
            int fromInput,
            int converged)
            throws IOException {
        ImagePlus image = open(name);
        String options =
                "device=cpu rho="
                        + rho
                        + " iterations="
                        + iterations
                        + (below == 1 ? " foreground=below" : " foreground=above")
                        + " threshold="
                        + threshold
                        + (fromInput == 1 ? " start=image" : " start=mask")
                        + (converged == 1 ? " mode=converged tolerance=1e-4" : "");
        macro(image, "run(\"" + COMMAND + "\", \"" + options + "\");");
        ImagePlus result = WindowManager.getCurrentImage();
        assertEquals("ESF of " + name, result.getTitle());

        Memory params = new Memory(PARAMS_BYTES);
        init("isoline_edge_strength_params_init", params, PARAMS_BYTES);
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
                "run(\""
                        + COMMAND
                        + "\", \"device=cpu rho=8 iterations=9 threshold=200 stack=volume\");");
        Memory params = new Memory(PARAMS_BYTES);
        init("isoline_edge_strength_params_init", params, PARAMS_BYTES);
        params.setInt(4, 3);
        params.setLong(24, 9);
        params.setDouble(40, 8);
        params.setDouble(56, 200);
        compare(image, params, WindowManager.getCurrentImage());
    }

    private static void compare(ImagePlus image, Memory params, ImagePlus result)
            throws IOException {
        int slices = image.getStackSize();
        int pixels = image.getWidth() * image.getHeight();
        Memory in = new Memory((long) pixels * slices);
        Memory out = new Memory((long) pixels * slices * Float.BYTES);
        for (int z = 0; z < slices; z++) {
            in.write((long) z * pixels, (byte[]) image.getStack().getPixels(z + 1), 0, pixels);
        }
        PointerByReference context = new PointerByReference();
        assertEquals(0, c("isoline_context_new").invokeInt(new Object[] {"cpu", context}));
        int status =
                c("isoline_edge_strength")
                        .invokeInt(
                                new Object[] {
                                    context.getValue(),
                                    describe(image, 0, in),
                                    params,
                                    null,
                                    describe(image, TYPE_F32, out),
                                    null
                                });
        assertEquals(0, status, () -> lastError());
        c("isoline_context_free").invokeVoid(new Object[] {context.getValue()});
        float[] wanted = new float[pixels];
        for (int z = 0; z < slices; z++) {
            out.read((long) z * pixels * Float.BYTES, wanted, 0, pixels);
            float[] got = (float[]) result.getStack().getPixels(z + 1);
            for (int p = 0; p < pixels; p++) {
                if (Float.floatToRawIntBits(wanted[p]) != Float.floatToRawIntBits(got[p])) {
                    assertEquals(wanted[p], got[p], "slice " + z + ", pixel " + p);
                }
            }
        }
    }

    /** An isoline_image with the header's offsets. */
    private static Memory describe(ImagePlus image, int type, Memory data) throws IOException {
        Memory struct = new Memory(IMAGE_BYTES);
        init("isoline_image_init", struct, IMAGE_BYTES);
        struct.setInt(4, type);
        struct.setLong(16, image.getWidth());
        struct.setLong(24, image.getHeight());
        struct.setLong(32, image.getStackSize());
        struct.setPointer(80, data);
        return struct;
    }

    private static void init(String function, Memory struct, long bytes) throws IOException {
        assertEquals(0, c(function).invokeInt(new Object[] {struct, bytes}));
    }

    private static String lastError() {
        try {
            return c("isoline_last_error").invokeString(new Object[0], false);
        } catch (IOException e) {
            return e.getMessage();
        }
    }

    private static Function c(String name) throws IOException {
        String resource = "/" + Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("isoline");
        return NativeLibrary.getInstance(
                        Native.extractFromResourcePath(resource, CApiTest.class.getClassLoader())
                                .getPath())
                .getFunction(name);
    }
}
