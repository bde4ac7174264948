package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * An open device. Opening a CUDA context takes a while, so keep it for several calls; {@link #trim()} frees the memory
 * that it holds between them.
 */
public final class Context implements AutoCloseable {
    private Pointer pointer;
    private final DeviceInfo device;

    private Context(Pointer pointer, DeviceInfo device) {
        this.pointer = pointer;
        this.device = device;
    }

    /**
     * Opens a device.
     *
     * @param device "auto", "cpu", "cuda", "cuda:N", a list such as "cuda:0,2" or "cuda:all"; only "auto" may fall back
     *     to the CPU
     * @throws IsolineException if there is no such device or it cannot be used; the message says why
     */
    public static Context open(String device) throws IsolineException {
        NativeLoader.load();
        PointerByReference out = new PointerByReference();
        Status.check(IsolineLibrary.isoline_context_new(device, out));
        Pointer pointer = out.getValue();
        try {
            Structs.Device struct = Structs.init("device", new Structs.Device());
            Status.check(IsolineLibrary.isoline_context_device(pointer, struct));
            return new Context(pointer, new DeviceInfo(struct));
        } catch (IsolineException | RuntimeException e) {
            IsolineLibrary.isoline_context_free(pointer);
            throw e;
        }
    }

    /** Returns the device of this context; its reason says why it was chosen. */
    public DeviceInfo device() {
        return device;
    }

    /** Returns pooled device memory, and the memory of closed pixel buffers, to the system for other programs. */
    public synchronized void trim() throws IsolineException {
        Status.check(IsolineLibrary.isoline_context_trim(pointer()));
    }

    /** Frees the context; a second call does nothing. */
    @Override
    public synchronized void close() {
        if (pointer != null) {
            IsolineLibrary.isoline_context_free(pointer);
            pointer = null;
        }
    }

    synchronized Pointer pointer() throws IsolineException {
        if (pointer == null) {
            // Another command may have closed the context after a device failure.
            throw new IsolineException(
                    Status.DEVICE_FAILED,
                    "The device " + device + " was closed in the meantime; run the command again.");
        }
        return pointer;
    }
}
