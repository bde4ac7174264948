package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;

/** {@code isoline_target_statistics} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({
    "status",
    "reserved",
    "iterations",
    "nodes",
    "pixels",
    "background_pixels",
    "mean",
    "deviation",
    "background_mean",
    "background_deviation",
    "criterion"
})
public final class TargetStatisticsStruct extends Structure {
    public int status;
    public int reserved;
    public long iterations;
    public long nodes;
    public long pixels;
    public long background_pixels;
    public double mean;
    public double deviation;
    public double background_mean;
    public double background_deviation;
    public double criterion;

    public TargetStatisticsStruct() {}

    /** Reads the struct at an address. */
    TargetStatisticsStruct(Pointer memory) {
        super(memory);
        read();
    }
}
