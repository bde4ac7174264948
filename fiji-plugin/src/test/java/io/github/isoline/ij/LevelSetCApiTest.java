package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import ij.ImageStack;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the macro's mask and φ with the C API's, pixel by pixel. */
class LevelSetCApiTest extends LevelSetTest {
    private static final int PARAMS_BYTES = 128;
    private static final int SPACING_OFFSET = 56;

    @ParameterizedTest
    @CsvSource({
        // The columns are bits, dimensions, iterations, T, epsilon, alpha, reinitialise.
        "8, 3, 40, 200, 25, 0.01, 20",
        "8, 2, 60, 200, 25, 0.02, 20",
        "16, 3, 30, 150, 60, 0.005, 0",
        "32, 3, 40, 200, 30, 0, 10",
        "32, 2, 25, 120, 50, 1, 50"
    })
    void macroGivesWhatTheCApiGives(
            int bits, int dimensions, int iterations, double target, double epsilon, double alpha, int reinitialise)
            throws IOException {
        ImagePlus brain = brain(bits);
        Memory params = CApi.struct("isoline_level_set_params_init", PARAMS_BYTES);
        params.setInt(4, dimensions);
        params.setInt(12, reinitialise);
        params.setDouble(24, target);
        params.setDouble(32, epsilon);
        params.setDouble(40, alpha);
        params.setDouble(64, 0);
        params.setDouble(72, 0);
        compare(
                brain,
                params,
                dimensions == 3,
                iterations,
                "range=values target="
                        + target
                        + " epsilon="
                        + epsilon
                        + " alpha="
                        + alpha
                        + " reinitialise_every="
                        + reinitialise);
    }

    @Test
    void whatIsAutomaticIsTheLibrarysToo() throws IOException {
        Memory params = CApi.struct("isoline_level_set_params_init", PARAMS_BYTES);
        params.setDouble(64, 0);
        params.setDouble(72, 0);
        compare(brain(8), params, true, 30, "");
    }

    private static ImagePlus brain(int bits) {
        ImagePlus whole = open("brain.tif");
        ImageStack part = new ImageStack(80, 90);
        for (int z = 5; z <= 14; z++) {
            whole.setSlice(z);
            whole.getProcessor().setRoi(60, 70, 80, 90);
            part.addSlice(whole.getProcessor().crop());
        }
        ImagePlus brain = new ImagePlus("brain", part);
        brain.setDimensions(1, 10, 1);
        brain.getCalibration().pixelWidth = 0.9;
        brain.getCalibration().pixelHeight = 1.1;
        brain.getCalibration().pixelDepth = 2;
        brain.getCalibration().setUnit("mm");
        convert(brain, bits);
        return brain;
    }

    private static void compare(ImagePlus brain, Memory params, boolean volume, int iterations, String options)
            throws IOException {
        int pixels = brain.getWidth() * brain.getHeight();
        int slices = brain.getStackSize();
        Memory box = new Memory((long) pixels * slices);
        box.clear();
        for (int z = 3; z <= 6; z++) {
            for (int y = 20; y <= 60; y++) {
                for (int x = 30; x <= 50; x++) {
                    box.setByte((long) z * pixels + y * brain.getWidth() + x, (byte) 1);
                }
            }
        }
        int type = brain.getBitDepth() == 8 ? CApi.TYPE_U8 : brain.getBitDepth() == 16 ? CApi.TYPE_U16 : CApi.TYPE_F32;
        Memory input = CApi.describe(brain, type, CApi.pixels(brain));
        input.setDouble(SPACING_OFFSET, 0.9);
        input.setDouble(SPACING_OFFSET + 8, 1.1);
        input.setDouble(SPACING_OFFSET + 16, volume ? 2 : 1);
        PointerByReference out = new PointerByReference();
        CApi.onCpu("isoline_level_set_new", input, CApi.describe(brain, CApi.TYPE_U8, box), params, out);
        Pointer surface = out.getValue();
        Memory mask = new Memory((long) pixels * slices);
        Memory phi = new Memory(4L * pixels * slices);
        assertEquals(0, call("isoline_level_set_step", surface, (long) iterations, null, null));
        assertEquals(0, call("isoline_level_set_read_mask", surface, CApi.describe(brain, CApi.TYPE_U8, mask)));
        assertEquals(0, call("isoline_level_set_read_phi", surface, CApi.describe(brain, CApi.TYPE_F32, phi)));
        CApi.function("isoline_level_set_free").invokeVoid(new Object[] {surface});

        String all = "device=cpu mode=iterations iterations="
                + iterations
                + (volume ? " stack=volume" : " stack=slices")
                + " start=box box_x=30-50 box_y=20-60 box_z=4-7 "
                + options;
        ImagePlus gotMask = run(LEVEL_SET, brain, all + " mask_stack");
        ImagePlus gotPhi = run(LEVEL_SET, brain, all + " phi");
        int inside = 0;
        for (int z = 0; z < slices; z++) {
            byte[] wanted = mask.getByteArray((long) z * pixels, pixels);
            for (byte pixel : wanted) {
                inside += pixel != 0 ? 1 : 0;
            }
            assertArrayEquals(wanted, (byte[]) gotMask.getStack().getPixels(z + 1));
            assertArrayEquals(phi.getFloatArray(4L * z * pixels, pixels), (float[])
                    gotPhi.getStack().getPixels(z + 1));
        }
        assertTrue(inside > 0, "nothing is left: nothing was compared");
    }

    private static int call(String name, Object... arguments) throws IOException {
        return CApi.function(name).invokeInt(arguments);
    }
}
