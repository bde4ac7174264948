package io.github.isoline;

import com.sun.jna.Native;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The library's description of one device: the CPU, or one CUDA device. */
public final class DeviceInfo {
    private static final int KIND_CUDA = 1;

    private final Structs.Device struct;

    DeviceInfo(Structs.Device struct) {
        this.struct = struct;
    }

    /** Returns all devices: the CPU first, then each CUDA device, usable or not. */
    public static List<DeviceInfo> list() throws IsolineException {
        NativeLoader.load();
        List<DeviceInfo> devices = new ArrayList<>();
        long count = IsolineLibrary.isoline_device_count();
        for (long i = 0; i < count; i++) {
            Structs.Device struct = Structs.init("device", new Structs.Device());
            Status.check(IsolineLibrary.isoline_device_info(i, struct));
            devices.add(new DeviceInfo(struct));
        }
        return Collections.unmodifiableList(devices);
    }

    /** Returns the text that opens a context on the device: "cpu", "cuda:0". */
    public String id() {
        return text(struct.id);
    }

    /** Returns the manufacturer's name of the device; may be empty for an unusable device. */
    public String name() {
        return text(struct.name);
    }

    /** Returns why the device cannot be used; for a context's device, why it was chosen. */
    public String reason() {
        return text(struct.reason);
    }

    /** Returns true if a context can be opened on it now. */
    public boolean isUsable() {
        return struct.usable != 0;
    }

    /** Returns true for a CUDA device, false for the CPU. */
    public boolean isCuda() {
        return struct.kind == KIND_CUDA;
    }

    /** Returns the CUDA compute capability such as "9.0"; "" for the CPU. */
    public String computeCapability() {
        return isCuda() && struct.compute_major > 0 ? struct.compute_major + "." + struct.compute_minor : "";
    }

    /** Returns multiprocessors of a CUDA device, threads of the CPU. */
    public int multiprocessors() {
        return struct.multiprocessors;
    }

    /** Returns the CUDA version of the driver such as "13.0"; "" where there is none. */
    public String driverVersion() {
        // The driver counts 1000 per major and 10 per minor version.
        int version = struct.driver_version;
        return version > 0 ? version / 1000 + "." + version % 1000 / 10 : "";
    }

    /** Returns memory of the device in bytes. */
    public long totalMemory() {
        return struct.total_memory;
    }

    /** Returns the memory of the device that was free at the time of the query, in bytes. */
    public long freeMemory() {
        return struct.free_memory;
    }

    /** Returns "cuda:0 (NVIDIA H200)" or "cpu (...)". */
    @Override
    public String toString() {
        return name().isEmpty() ? id() : id() + " (" + name() + ")";
    }

    private static String text(byte[] bytes) {
        return Native.toString(bytes, "UTF-8");
    }
}
