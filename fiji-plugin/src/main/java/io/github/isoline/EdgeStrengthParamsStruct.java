package io.github.isoline;

import com.sun.jna.Structure;

/**
 * {@code isoline_edge_strength_params} of the C API. Public only because JNA fills the fields by
 * reflection.
 */
@Structure.FieldOrder({
    "struct_size",
    "dimensions",
    "mode",
    "foreground",
    "start",
    "variant",
    "iterations",
    "max_cycles",
    "rho",
    "time_step",
    "threshold",
    "start_min",
    "start_max",
    "tolerance"
})
public final class EdgeStrengthParamsStruct extends Structure {
    public int struct_size;
    public int dimensions;
    public int mode;
    public int foreground;
    public int start;
    public int variant;
    public long iterations;
    public long max_cycles;
    public double rho;
    public double time_step;
    public double threshold;
    public double start_min;
    public double start_max;
    public double tolerance;
}
