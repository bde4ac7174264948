package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The distance through the Java layer, without ImageJ. */
class DistanceLibraryTest implements OperationContract {
    private static final int SIDE = 64;

    @Override
    public String name() {
        return Distance.NAME;
    }

    @Override
    public void play(Progress progress) throws IsolineException {
        run(new Params(Distance.NAME), progress == null ? 1 : 500, progress);
    }

    @Test
    void spacingIsThePixelsSize() throws IsolineException {
        Params params = new Params(Distance.NAME);
        float[] signed = run(params, 3, null);
        // Pixels are inside from column 20 on, in every slice; columns are half a unit wide.
        assertEquals(0.25f, signed[19]);
        assertEquals(-0.25f, signed[20]);
        assertEquals(9.75f, signed[0]);
        params.set("region", "inside");
        assertEquals(0.25f, run(params, 3, null)[20]);
        params.set("region", "outside").set("foreground", "below");
        assertEquals(0.25f, run(params, 3, null)[20]);
        params.set("threshold", 7);
        assertEquals(0f, run(params, 3, null)[20], "all is inside, nothing outside");
    }

    @Test
    void wrongSpacingIsRefusedByName() throws IsolineException {
        try (Context context = Context.open("cpu");
                PixelBuffer mask = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 1);
                PixelBuffer output = new PixelBuffer(context, PixelBuffer.Type.F32, SIDE, SIDE, 1)) {
            mask.setSpacing(1, -2, 1);
            IsolineException e = assertThrows(
                    IsolineException.class,
                    () -> Distance.run(context, new Params(Distance.NAME), mask, output, 1, null));
            assertTrue(e.getMessage().contains("spacing"), e.getMessage());
        }
    }

    /** Returns the first slice's distances. */
    private static float[] run(Params params, int slices, Progress progress) throws IsolineException {
        byte[] pixels = new byte[SIDE * SIDE];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = (byte) (i % SIDE < 20 ? 0 : 7);
        }
        try (Context context = Context.open("cpu");
                PixelBuffer mask = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, slices);
                PixelBuffer output = new PixelBuffer(context, PixelBuffer.Type.F32, SIDE, SIDE, slices)) {
            for (int z = 0; z < slices; z++) {
                mask.write(z, pixels);
            }
            mask.setSpacing(0.5, 2, 3);
            Distance.run(context, params, mask, output, slices, progress);
            float[] distances = new float[pixels.length];
            output.read(0, distances);
            return distances;
        }
    }
}
