package io.github.isoline;

import com.sun.jna.Structure;

/** {@code isoline_device} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({
    "struct_size",
    "kind",
    "index",
    "usable",
    "compute_major",
    "compute_minor",
    "multiprocessors",
    "driver_version",
    "total_memory",
    "free_memory",
    "id",
    "name",
    "reason"
})
public final class DeviceStruct extends Structure {
    public int struct_size;
    public int kind;
    public int index;
    public int usable;
    public int compute_major;
    public int compute_minor;
    public int multiprocessors;
    public int driver_version;
    public long total_memory;
    public long free_memory;
    public byte[] id = new byte[16];
    public byte[] name = new byte[128];
    public byte[] reason = new byte[512];
}
