package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import com.sun.jna.ptr.PointerByReference;
import ij.ImagePlus;
import io.github.isoline.IsolineException;
import io.github.isoline.Operation;
import java.io.IOException;

/** The C API called with structs laid out byte by byte as in the header, without the plugin's own Java. */
final class CApi {
    static final int TYPE_U8 = 0;
    static final int TYPE_U16 = 1;
    static final int TYPE_F32 = 2;

    private static final int IMAGE_BYTES = 112;

    private CApi() {}

    /** Returns the words of a choice, in the order of their numbers. */
    static String[] words(String operation, String parameter) {
        try {
            return Operation.of(operation).parameter(parameter).words();
        } catch (IsolineException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns an isoline_image of a stack's size, with the header's offsets. */
    static Memory describe(ImagePlus image, int type, Memory data) throws IOException {
        Memory struct = struct("isoline_image_init", IMAGE_BYTES);
        struct.setInt(4, type);
        struct.setLong(16, image.getWidth());
        struct.setLong(24, image.getHeight());
        struct.setLong(32, image.getStackSize());
        struct.setPointer(80, data);
        return struct;
    }

    /** Returns all slices of a stack, one after the other. */
    static Memory pixels(ImagePlus image) {
        int pixels = image.getWidth() * image.getHeight();
        int bytes = image.getBitDepth() / 8;
        Memory memory = new Memory((long) pixels * bytes * image.getStackSize());
        for (int z = 0; z < image.getStackSize(); z++) {
            long offset = (long) z * pixels * bytes;
            Object slice = image.getStack().getPixels(z + 1);
            if (slice instanceof byte[]) {
                memory.write(offset, (byte[]) slice, 0, pixels);
            } else if (slice instanceof short[]) {
                memory.write(offset, (short[]) slice, 0, pixels);
            } else {
                memory.write(offset, (float[]) slice, 0, pixels);
            }
        }
        return memory;
    }

    /** Asserts that an image has these pixels, slice after slice, bit by bit. */
    static void assertSameBits(Memory wanted, ImagePlus got) {
        int pixels = got.getWidth() * got.getHeight();
        for (int z = 0; z < got.getStackSize(); z++) {
            assertArrayEquals(
                    wanted.getFloatArray((long) z * pixels * Float.BYTES, pixels),
                    (float[]) got.getStack().getPixels(z + 1),
                    "slice " + z);
        }
    }

    /** Returns a struct after its own init function. */
    static Memory struct(String init, long bytes) throws IOException {
        Memory struct = new Memory(bytes);
        assertEquals(0, function(init).invokeInt(new Object[] {struct, bytes}));
        return struct;
    }

    /** Calls a function that must succeed with a context of the CPU as its first argument. */
    static void onCpu(String name, Object... arguments) throws IOException {
        PointerByReference context = new PointerByReference();
        assertEquals(0, function("isoline_context_new").invokeInt(new Object[] {"cpu", context}));
        Object[] all = new Object[arguments.length + 1];
        all[0] = context.getValue();
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        int status = function(name).invokeInt(all);
        assertEquals(0, status, () -> lastError());
        function("isoline_context_free").invokeVoid(new Object[] {context.getValue()});
    }

    static Function function(String name) throws IOException {
        String resource = "/" + Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("isoline");
        return NativeLibrary.getInstance(Native.extractFromResourcePath(resource, CApi.class.getClassLoader())
                        .getPath())
                .getFunction(name);
    }

    private static String lastError() {
        try {
            return function("isoline_last_error").invokeString(new Object[0], false);
        } catch (IOException e) {
            return e.getMessage();
        }
    }
}
