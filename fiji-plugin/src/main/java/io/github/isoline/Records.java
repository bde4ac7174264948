package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A list of the library's structs: a copy in Java's own memory, which never changes. */
abstract class Records {
    private final int size;
    private final ByteBuffer bytes;

    /**
     * Copies the library's list; the caller frees the library's.
     *
     * @param noun the name of the list in its functions, such as "lines" in isoline_lines_all
     * @param size of one struct, in bytes
     * @param advice a sentence that says how to get fewer
     * @throws IsolineException if there are more than a Java array holds
     */
    Records(Pointer list, String noun, int size, String advice) throws IsolineException {
        this.size = size;
        PointerByReference all = new PointerByReference();
        LongByReference count = new LongByReference();
        Status.check(NativeLoader.function("isoline_" + noun + "_all").invokeInt(new Object[] {list, all, count}));
        bytes = copyOf(all.getValue(), count.getValue(), noun, size, advice);
    }

    /** Copies {@code found} structs from {@code first} on; the caller frees them. */
    Records(Pointer first, long found, String noun, int size, String advice) throws IsolineException {
        this.size = size;
        bytes = copyOf(first, found, noun, size, advice);
    }

    private static ByteBuffer copyOf(Pointer first, long found, String noun, int size, String advice)
            throws IsolineException {
        Status.checkRoom(found, Integer.MAX_VALUE / size, "There are " + found + " " + noun, advice);
        byte[] copy = found == 0 ? new byte[0] : first.getByteArray(0, (int) found * size);
        return ByteBuffer.wrap(copy).order(ByteOrder.nativeOrder());
    }

    /** Returns the number of elements. */
    public final int count() {
        return bytes.capacity() / size;
    }

    /** Returns the double of a struct at an offset in bytes. */
    final double number(int index, int offset) {
        return bytes.getDouble(index * size + offset);
    }

    /** Returns the 64-bit integer of a struct at an offset in bytes. */
    final long large(int index, int offset) {
        return bytes.getLong(index * size + offset);
    }

    /** Returns the 32-bit integer of a struct at an offset in bytes. */
    final int whole(int index, int offset) {
        return bytes.getInt(index * size + offset);
    }
}
