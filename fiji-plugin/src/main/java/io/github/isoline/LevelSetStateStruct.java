package io.github.isoline;

import com.sun.jna.Structure;

/** {@code isoline_level_set_state} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({
    "struct_size",
    "converged",
    "check_interval",
    "reserved",
    "iterations",
    "inside",
    "active_tiles",
    "tiles",
    "target",
    "epsilon",
    "alpha",
    "time_step",
    "time_step_limit"
})
public final class LevelSetStateStruct extends Structure {
    public int struct_size;
    public int converged;
    public int check_interval;
    public int reserved;
    public long iterations;
    public long inside;
    public long active_tiles;
    public long tiles;
    public double target;
    public double epsilon;
    public double alpha;
    public double time_step;
    public double time_step_limit;
}
