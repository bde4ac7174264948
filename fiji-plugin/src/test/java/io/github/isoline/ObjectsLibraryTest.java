package io.github.isoline;

/** Tests the call of objects through the Java layer: its progress. ObjectsTest compares its results. */
class ObjectsLibraryTest implements OperationContract {
    private static final int SIDE = 64;

    @Override
    public void play(Progress progress) throws IsolineException {
        try (Context context = Context.open("cpu");
                PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, SIDE);
                PixelBuffer output = new PixelBuffer(context, PixelBuffer.Type.U16, SIDE, SIDE, SIDE)) {
            for (int z = 0; z < SIDE; z++) {
                byte[] slice = new byte[SIDE * SIDE];
                for (int i = 0; i < slice.length; i++) {
                    slice[i] = (byte) (i * 31 + z * 7 ^ i >> 3);
                }
                input.write(z, slice);
            }
            Params params = new Params(Objects.NAME).set("iterations", progress == null ? 10 : 100_000);
            Objects.run(context, params, input, null, output, SIDE, progress);
        }
    }
}
