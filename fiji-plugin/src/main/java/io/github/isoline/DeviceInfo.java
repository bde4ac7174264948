package io.github.isoline;

import com.sun.jna.Native;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The library's description of one device: the CPU, or one CUDA device. */
public final class DeviceInfo {
    private static final int KIND_CUDA = 1;

    private final String id;
    private final String name;
    private final String reason;
    private final boolean usable;
    private final boolean cuda;
    private final int computeMajor;
    private final int computeMinor;
    private final int multiprocessors;
    private final int driverVersion;
    private final long totalMemory;
    private final long freeMemory;

    DeviceInfo(DeviceStruct s) {
        id = text(s.id);
        name = text(s.name);
        reason = text(s.reason);
        usable = s.usable != 0;
        cuda = s.kind == KIND_CUDA;
        computeMajor = s.compute_major;
        computeMinor = s.compute_minor;
        multiprocessors = s.multiprocessors;
        driverVersion = s.driver_version;
        totalMemory = s.total_memory;
        freeMemory = s.free_memory;
    }

    /** Returns all devices: the CPU first, then each CUDA device, usable or not. */
    public static List<DeviceInfo> list() throws IsolineException {
        NativeLoader.load();
        List<DeviceInfo> devices = new ArrayList<>();
        long count = IsolineLibrary.isoline_device_count();
        for (long i = 0; i < count; i++) {
            DeviceStruct struct = newStruct();
            Status.check(IsolineLibrary.isoline_device_info(i, struct));
            devices.add(new DeviceInfo(struct));
        }
        return Collections.unmodifiableList(devices);
    }

    static DeviceStruct newStruct() throws IsolineException {
        DeviceStruct struct = new DeviceStruct();
        Status.check(IsolineLibrary.isoline_device_init(struct, struct.size()));
        return struct;
    }

    /** Returns the text that opens a context on the device: "cpu", "cuda:0". */
    public String id() {
        return id;
    }

    /** Returns the manufacturer's name of the device; may be empty for an unusable device. */
    public String name() {
        return name;
    }

    /** Returns why the device cannot be used; for a context's device, why it was chosen. */
    public String reason() {
        return reason;
    }

    /** Returns true if a context can be opened on it now. */
    public boolean isUsable() {
        return usable;
    }

    /** Returns true for a CUDA device, false for the CPU. */
    public boolean isCuda() {
        return cuda;
    }

    /** Returns the CUDA compute capability such as "9.0"; "" for the CPU. */
    public String computeCapability() {
        return cuda && computeMajor > 0 ? computeMajor + "." + computeMinor : "";
    }

    /** Returns multiprocessors of a CUDA device, threads of the CPU. */
    public int multiprocessors() {
        return multiprocessors;
    }

    /** Returns the CUDA version of the driver such as "13.0"; "" where there is none. */
    public String driverVersion() {
        // The driver counts 1000 per major and 10 per minor version.
        return driverVersion > 0 ? driverVersion / 1000 + "." + driverVersion % 1000 / 10 : "";
    }

    /** Returns memory of the device in bytes. */
    public long totalMemory() {
        return totalMemory;
    }

    /** Returns the memory of the device that was free at the time of the query, in bytes. */
    public long freeMemory() {
        return freeMemory;
    }

    /** Returns "cuda:0 (NVIDIA H200)" or "cpu (...)". */
    @Override
    public String toString() {
        return name.isEmpty() ? id : id + " (" + name + ")";
    }

    private static String text(byte[] bytes) {
        return Native.toString(bytes, "UTF-8");
    }
}
