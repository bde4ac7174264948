package io.github.isoline;

import com.sun.jna.Structure;

/** {@code isoline_report} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({
    "struct_size",
    "device_kind",
    "device_index",
    "converged",
    "iterations",
    "slices_done",
    "seconds_total",
    "seconds_upload",
    "seconds_compute",
    "seconds_download",
    "residual",
    "peak_device_bytes",
    "device_name"
})
public final class ReportStruct extends Structure {
    public int struct_size;
    public int device_kind;
    public int device_index;
    public int converged;
    public long iterations;
    public long slices_done;
    public double seconds_total;
    public double seconds_upload;
    public double seconds_compute;
    public double seconds_download;
    public double residual;
    public long peak_device_bytes;
    public byte[] device_name = new byte[128];
}
