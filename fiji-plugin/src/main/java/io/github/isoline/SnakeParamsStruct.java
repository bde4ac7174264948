package io.github.isoline;

import com.sun.jna.Structure;

/**
 * {@code isoline_snake_params} of the C API. Public only because JNA fills the fields by
 * reflection.
 */
@Structure.FieldOrder({
    "struct_size",
    "noise",
    "schedule",
    "background",
    "largest_step",
    "max_nodes",
    "max_iterations",
    "looks",
    "margin",
    "node_spacing",
    "node_cost",
    "range_min",
    "range_max"
})
public final class SnakeParamsStruct extends Structure {
    public int struct_size;
    public int noise;
    public int schedule;
    public int background;
    public int largest_step;
    public int max_nodes;
    public long max_iterations;
    public double looks;
    public double margin;
    public double node_spacing;
    public double node_cost;
    public double range_min;
    public double range_max;
}
