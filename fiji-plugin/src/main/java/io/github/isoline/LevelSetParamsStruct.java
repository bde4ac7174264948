package io.github.isoline;

import com.sun.jna.Structure;

/**
 * {@code isoline_level_set_params} of the C API. Public only because JNA fills the fields by
 * reflection.
 */
@Structure.FieldOrder({
    "struct_size",
    "dimensions",
    "variant",
    "reinitialise_every",
    "check_interval",
    "reserved",
    "target",
    "epsilon",
    "alpha",
    "time_step",
    "cfl",
    "change_tolerance",
    "rms_tolerance",
    "iterations"
})
public final class LevelSetParamsStruct extends Structure {
    public int struct_size;
    public int dimensions;
    public int variant;
    public int reinitialise_every;
    public int check_interval;
    public int reserved;
    public double target;
    public double epsilon;
    public double alpha;
    public double time_step;
    public double cfl;
    public double change_tolerance;
    public double rms_tolerance;
    public long iterations;
}
