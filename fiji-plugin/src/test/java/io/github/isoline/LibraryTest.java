package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Function;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The Java layer without ImageJ: structs, devices, contexts, progress. */
class LibraryTest implements OperationContract {
    private static final int SIDE = 32;

    /** The largest number that the library takes: far more than a test waits for. */
    private static final long ENDLESS = 10_000_000;

    @BeforeAll
    static void load() throws IsolineException {
        NativeLoader.load();
    }

    @Override
    public void play(Progress progress) throws IsolineException {
        run(progress == null ? 5 : ENDLESS, progress);
    }

    @Test
    void structsAreAsLargeAsTheLibrarySays() throws IsolineException {
        Map<String, Structure> structs = new TreeMap<>();
        structs.put("choice", new Structs.Choice());
        structs.put("device", new Structs.Device());
        structs.put("image", new Structs.Image());
        structs.put("level_set_state", new Structs.LevelSetState());
        structs.put("operation", new Structs.Operation());
        structs.put("parameter", new Structs.Parameter());
        structs.put("polygons", new Structs.Polygons());
        structs.put("polyline_arrays", new Structs.PolylineArrays());
        structs.put("report", new Structs.Report());
        structs.put("segment_arrays", new Structs.SegmentArrays());
        structs.put("surface_arrays", new Structs.SurfaceArrays());
        for (Map.Entry<String, Structure> each : structs.entrySet()) {
            int size = each.getValue().size();
            Structure struct = Structs.init(each.getKey(), each.getValue());
            assertEquals(size, struct.readField("struct_size"), each.getKey());
            // A struct smaller than that of the first release is refused, so these sizes are exact.
            Function init = NativeLoader.function("isoline_" + each.getKey() + "_init");
            assertNotEquals(Status.OK, init.invokeInt(new Object[] {struct, size - 8L}), each.getKey());
        }
        assertEquals(1.0, ((Structs.Image) structs.get("image")).spacing[2], "the last field before the pointer");
        assertEquals(80, new Structs.TargetStatistics().size());
    }

    @Test
    void cpuIsFirstAndUsable() throws IsolineException {
        List<DeviceInfo> devices = DeviceInfo.list();
        assertEquals("cpu", devices.get(0).id());
        assertTrue(devices.get(0).isUsable());
        assertTrue(devices.get(0).multiprocessors() > 0);
        assertTrue(devices.get(0).totalMemory() > 0);
        for (DeviceInfo device : devices) {
            assertTrue(device.isUsable() || !device.reason().isEmpty(), device + " says no reason");
        }
    }

    @Test
    void versionsOfPluginAndLibraryAgree() throws IsolineException {
        assertEquals(NativeLoader.pluginVersion(), NativeLoader.libraryVersion());
        assertEquals("the plugin's jar", NativeLoader.libraryOrigin());
        assertTrue(NativeLoader.jnaVersion().startsWith("5."), NativeLoader.jnaVersion());
    }

    @Test
    void onlyMajorAndMinorVersionMustAgree() {
        assertNull(NativeLoader.versionMismatch("0.1.0", 0x000100));
        assertNull(NativeLoader.versionMismatch("0.1.0", 0x000107));
        assertNull(NativeLoader.versionMismatch("2.10.3-SNAPSHOT", 0x020a00));
        assertTrue(NativeLoader.versionMismatch("0.1.0", 0x000203).contains("0.2.3"));
        assertNotNull(NativeLoader.versionMismatch("0.1.0", 0x010100));
        assertNotNull(NativeLoader.versionMismatch("unknown", 0x000100));
    }

    @Test
    void unknownDeviceIsRefusedByName() {
        IsolineException e = assertThrows(
                IsolineException.class, () -> Context.open("cuda:99").close());
        assertTrue(e.getMessage().contains("cuda:99"), e.getMessage());
        assertThrows(IsolineException.class, () -> Context.open("abacus").close());
    }

    @Test
    void closedContextIsRefusedInJava() throws IsolineException {
        Context context = Context.open("cpu");
        context.close();
        context.close();
        assertThrows(IsolineException.class, context::trim);
    }

    @Test
    void contextCannotBeClosedDuringACallWithIt() throws IsolineException {
        Context context = Context.open("cpu");
        assertThrows(
                IllegalStateException.class,
                () -> run(context, ENDLESS, (fraction, stage) -> {
                    context.close();
                    return true;
                }));
        assertEquals(5, run(context, 5, null).iterations());
        context.close();
    }

    @Test
    void progressRisesToOneOnTheCallersThread() throws IsolineException {
        Thread caller = Thread.currentThread();
        double[] last = {-1};
        Report report = run(100000, (fraction, stage) -> {
            assertSame(caller, Thread.currentThread());
            assertTrue(fraction >= last[0] && fraction <= 1, "fraction " + fraction);
            assertFalse(stage.isEmpty());
            last[0] = fraction;
            return true;
        });
        assertEquals(100000, report.iterations());
        assertTrue(report.device().startsWith("cpu"), report.device());
        assertTrue(report.seconds() > 0);
        assertTrue(last[0] > 0.5, "it came to " + last[0]);
    }

    @Test
    void garbageCollectionDuringACallDoesNotTakeTheCallback() throws IsolineException {
        AtomicInteger calls = new AtomicInteger();
        run(300000, (f, s) -> {
            System.gc();
            calls.incrementAndGet();
            return true;
        });
        assertTrue(calls.get() > 1, calls + " calls");
    }

    @Test
    void buffersCheckTheirBounds() throws IsolineException {
        try (Context context = Context.open("cpu");
                PixelBuffer buffer = new PixelBuffer(context, PixelBuffer.Type.U16, 3, 2, 2)) {
            assertThrows(IndexOutOfBoundsException.class, () -> buffer.write(2, new short[6]));
            assertThrows(IllegalArgumentException.class, () -> buffer.describe(3));
            assertThrows(ClassCastException.class, () -> buffer.read(0, new float[6]));
            assertThrows(ClassCastException.class, () -> buffer.write(0, new byte[6]));
            assertThrows(IndexOutOfBoundsException.class, () -> buffer.write(0, new short[5]));
            assertThrows(IllegalArgumentException.class, () -> new PixelBuffer(context, PixelBuffer.Type.U8, 0, 1, 1)
                    .close());
        }
    }

    @Test
    void closedBuffersAreRefusedInJavaAndGiveTheirMemoryToTheNext() throws IsolineException {
        try (Context context = Context.open("cpu")) {
            PixelBuffer buffer = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 3);
            buffer.write(2, new byte[SIDE * SIDE]);
            Pointer first = buffer.describe(3).data;
            buffer.close();
            buffer.close();
            assertThrows(IllegalStateException.class, () -> buffer.write(0, new byte[SIDE * SIDE]));
            assertThrows(IllegalStateException.class, () -> buffer.read(0, new byte[SIDE * SIDE]));
            assertThrows(IllegalStateException.class, () -> buffer.describe(1));
            try (PixelBuffer next = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 3)) {
                assertEquals(first, next.describe(1).data);
                try (PixelBuffer other = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 3)) {
                    assertNotEquals(first, other.describe(1).data);
                }
            }
            context.trim();
        }
    }

    @Test
    void buffersOutliveTheirContext() throws IsolineException {
        Context context = Context.open("cpu");
        try (PixelBuffer buffer = new PixelBuffer(context, PixelBuffer.Type.F32, SIDE, SIDE, 1)) {
            context.close();
            float[] pixels = new float[SIDE * SIDE];
            pixels[7] = 0.5f;
            buffer.write(0, pixels);
            float[] back = new float[SIDE * SIDE];
            buffer.read(0, back);
            assertArrayEquals(pixels, back);
            assertThrows(IsolineException.class, () -> new PixelBuffer(context, PixelBuffer.Type.F32, SIDE, SIDE, 1)
                    .close());
        }
    }

    @Test
    void memoryThatIsNotThereIsSaidWithItsSize() throws IsolineException {
        try (Context context = Context.open("cpu")) {
            // The size is 512 TB, more than the address space of any test machine.
            IsolineException e = assertThrows(
                    IsolineException.class,
                    () -> new PixelBuffer(context, PixelBuffer.Type.F32, 1 << 16, 1 << 15, 1 << 16).close());
            assertTrue(e.getMessage().contains("MB were needed"), e.getMessage());
        }
    }

    private static Report run(long iterations, Progress progress) throws IsolineException {
        try (Context context = Context.open("cpu")) {
            return run(context, iterations, progress);
        }
    }

    private static Report run(Context context, long iterations, Progress progress) throws IsolineException {
        try (PixelBuffer input = new PixelBuffer(context, PixelBuffer.Type.U8, SIDE, SIDE, 1);
                PixelBuffer output = new PixelBuffer(context, PixelBuffer.Type.F32, SIDE, SIDE, 1)) {
            byte[] pixels = new byte[SIDE * SIDE];
            pixels[SIDE] = 1;
            input.write(0, pixels);
            Params params = new Params(EdgeStrength.NAME).set("iterations", iterations);
            return EdgeStrength.run(context, params, input, output, 1, progress);
        }
    }
}
