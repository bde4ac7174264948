package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * Pixels in native memory: slices of one size and type, one after the other without gaps. The memory is a buffer of the
 * library, from which and to which a device of the context copies fastest; its contents are undefined until they are
 * written. It must be closed, also after the context.
 *
 * <p>Java arrays are copied in and out slice by slice. Handing them to JNA as arguments would copy each of them twice
 * per call, and no Java array can hold more than 2³¹ pixels. Several threads may copy different pixels at once.
 */
public final class PixelBuffer implements AutoCloseable {
    /** Pixel types of the C API, in the order of its numbers. */
    public enum Type {
        /** Unsigned 8 bits: {@code byte[]}. */
        U8(1),
        /** Unsigned 16 bits: {@code short[]}. */
        U16(2),
        /** 32-bit floating point: {@code float[]}. */
        F32(4);

        private final int bytes;

        Type(int bytes) {
            this.bytes = bytes;
        }

        /** Returns bytes of one pixel. */
        public int bytes() {
            return bytes;
        }
    }

    private final Type type;
    private final int width;
    private final int height;
    private final int capacity;
    /** Holds null when closed. */
    private Pointer memory;

    private final double[] spacing = {1, 1, 1};

    /**
     * Takes native memory, which a context may have kept since an earlier buffer was closed.
     *
     * @param context the one whose calls use the buffer; another one's may, too
     * @param type of every pixel
     * @param width in pixels, above 0
     * @param height in pixels, above 0
     * @param capacity the largest number of slices, above 0
     * @throws IsolineException if out of memory
     */
    public PixelBuffer(Context context, Type type, int width, int height, int capacity) throws IsolineException {
        if (width <= 0 || height <= 0 || capacity <= 0) {
            throw new IllegalArgumentException(
                    "a pixel buffer needs a size, got " + width + "x" + height + "x" + capacity);
        }
        this.type = type;
        this.width = width;
        this.height = height;
        this.capacity = capacity;
        long bytes = Math.multiplyExact(sliceBytes(), (long) capacity);
        PointerByReference out = new PointerByReference();
        int status = context.call(pointer -> IsolineLibrary.isoline_buffer_new(pointer, bytes, out));
        if (status == Status.OUT_OF_MEMORY) {
            throw new IsolineException(
                    Status.OUT_OF_MEMORY,
                    "Not enough memory outside Java: %s MB were needed for %s slice(s) of %s x %s pixels. Close "
                            + "other programs, or give Java less memory (Edit > Options > Memory & Threads).",
                    bytes >> 20,
                    capacity,
                    width,
                    height);
        }
        Status.check(status);
        memory = out.getValue();
    }

    /** Copies one slice in: {@code byte[]}, {@code short[]} or {@code float[]}, according to the type. */
    public void write(int slice, Object pixels) {
        write(slice, pixels, 0, width * height);
    }

    /** Copies some pixels of a slice in, from the one at an index on; the array is that of the whole slice. */
    public void write(int slice, Object pixels, int from, int count) {
        long offset = offset(slice, from, count);
        switch (type) {
            case U8:
                memory().write(offset, (byte[]) pixels, from, count);
                break;
            case U16:
                memory().write(offset, (short[]) pixels, from, count);
                break;
            default:
                memory().write(offset, (float[]) pixels, from, count);
                break;
        }
    }

    /** Copies some pixels of a slice of type U8 in, from the one at an index on; the array begins with that one. */
    public void write(int slice, int from, byte[] pixels, int count) {
        memory().write(offset(slice, from, count), pixels, 0, count);
    }

    /** Copies one slice out: {@code byte[]}, {@code short[]} or {@code float[]}, according to the type. */
    public void read(int slice, Object pixels) {
        read(slice, pixels, 0, width * height);
    }

    /** Returns a copy of the pixels of a slice, as an array of the type. */
    public Object plane(int slice) {
        int pixels = width * height;
        Object plane =
                type == Type.U8 ? new byte[pixels] : type == Type.U16 ? (Object) new short[pixels] : new float[pixels];
        read(slice, plane);
        return plane;
    }

    /** Copies some pixels of a slice out, from the one at an index on; the array is that of the whole slice. */
    public void read(int slice, Object pixels, int from, int count) {
        long offset = offset(slice, from, count);
        switch (type) {
            case U8:
                memory().read(offset, (byte[]) pixels, from, count);
                break;
            case U16:
                memory().read(offset, (short[]) pixels, from, count);
                break;
            default:
                memory().read(offset, (float[]) pixels, from, count);
                break;
        }
    }

    /** Sets the size of a pixel along x, y and z; 1 until it is set. The unit is the caller's. */
    public void setSpacing(double x, double y, double z) {
        spacing[0] = x;
        spacing[1] = y;
        spacing[2] = z;
    }

    /** Returns type of every pixel. */
    public Type type() {
        return type;
    }

    /** Frees the native memory; a second call does nothing. No thread may be copying. */
    @Override
    public synchronized void close() {
        if (memory != null) {
            IsolineLibrary.isoline_buffer_free(memory);
            memory = null;
        }
    }

    private Pointer memory() {
        Pointer pointer = memory;
        if (pointer == null) {
            throw new IllegalStateException("the pixel buffer is closed");
        }
        return pointer;
    }

    /** Returns the description of the first {@code depth} slices that the C API takes. */
    Structs.Image describe(int depth) throws IsolineException {
        if (depth <= 0 || depth > capacity) {
            throw new IllegalArgumentException("depth " + depth + " is not in 1.." + capacity);
        }
        Structs.Image image = Structs.init("image", new Structs.Image());
        image.type = type.ordinal();
        image.width = width;
        image.height = height;
        image.depth = depth;
        image.spacing = spacing.clone();
        image.data = memory();
        return image;
    }

    private long sliceBytes() {
        return (long) width * height * type.bytes;
    }

    private long offset(int slice, int from, int count) {
        if (from < 0 || count < 0 || count > width * height - from) {
            throw new IndexOutOfBoundsException("pixels " + from + " + " + count + " of " + width * height);
        }
        return offset(slice) + (long) from * type.bytes;
    }

    private long offset(int slice) {
        if (slice < 0 || slice >= capacity) {
            throw new IndexOutOfBoundsException("slice " + slice + " of " + capacity);
        }
        return sliceBytes() * slice;
    }
}
