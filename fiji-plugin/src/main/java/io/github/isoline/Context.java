package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.ToIntFunction;

/**
 * An open device. Opening a CUDA context takes a while, so keep it for several calls; {@link #trim()} frees the memory
 * that it holds between them.
 */
public final class Context implements AutoCloseable {
    private final DeviceInfo device;

    /** Calls hold the reading lock, so that the context is closed only between them; the library runs one at a time. */
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

    private volatile Pointer pointer;

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
    public void trim() throws IsolineException {
        Status.check(call(IsolineLibrary::isoline_context_trim));
    }

    /**
     * Frees the context when the running calls have ended; a second call does nothing.
     *
     * @throws IllegalStateException in a progress callback of a call with it, which would wait for itself
     */
    @Override
    public void close() {
        if (lock.getReadHoldCount() > 0) {
            throw new IllegalStateException("The device cannot be closed during a call with it; close it afterwards.");
        }
        lock.writeLock().lock();
        try {
            if (pointer != null) {
                IsolineLibrary.isoline_context_free(pointer);
                pointer = null;
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** Makes a call, during which no other thread can close the context; returns its status. */
    int call(ToIntFunction<Pointer> call) throws IsolineException {
        lock.readLock().lock();
        try {
            if (pointer == null) {
                // Another command may have closed the context after a device failure.
                throw new IsolineException(
                        Status.DEVICE_FAILED,
                        "The device " + device + " was closed in the meantime; run the command again.");
            }
            return call.applyAsInt(pointer);
        } finally {
            lock.readLock().unlock();
        }
    }
}
