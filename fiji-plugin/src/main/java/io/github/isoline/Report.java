package io.github.isoline;

import com.sun.jna.Native;

/** What an operation did, where, and how long it took. */
public final class Report {
    private static final int KIND_CUDA = 1;

    private final ReportStruct struct;

    Report(ReportStruct struct) {
        this.struct = struct;
    }

    /** The device that did the work: "cpu" or "cuda:N", with its name. */
    public String device() {
        String id = struct.device_kind == KIND_CUDA ? "cuda:" + struct.device_index : "cpu";
        String name = Native.toString(struct.device_name, "UTF-8");
        return name.isEmpty() ? id : id + " (" + name + ")";
    }

    /** Iterations, or cycles in converged mode. */
    public long iterations() {
        return struct.iterations;
    }

    /** True unless a wanted tolerance was not reached. */
    public boolean converged() {
        return struct.converged != 0;
    }

    /** What is left of the equation after the last cycle; converged mode only. */
    public double residual() {
        return struct.residual;
    }

    /** Wall time of the whole call in seconds. */
    public double seconds() {
        return struct.seconds_total;
    }

    /** Most device memory in use at any time, in bytes. */
    public long peakDeviceBytes() {
        return struct.peak_device_bytes;
    }
}
