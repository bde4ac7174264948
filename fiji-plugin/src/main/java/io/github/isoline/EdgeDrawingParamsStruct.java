package io.github.isoline;

import com.sun.jna.Structure;

/**
 * {@code isoline_edge_drawing_params} of the C API. Public only because JNA fills the fields by
 * reflection.
 */
@Structure.FieldOrder({
    "struct_size",
    "profile",
    "edge_operator",
    "scan_interval",
    "min_length",
    "follow_turns",
    "variant",
    "reserved",
    "gradient_threshold",
    "anchor_threshold",
    "range_min",
    "range_max"
})
public final class EdgeDrawingParamsStruct extends Structure {
    public int struct_size;
    public int profile;
    public int edge_operator;
    public int scan_interval;
    public int min_length;
    public int follow_turns;
    public int variant;
    public int reserved;
    public double gradient_threshold;
    public double anchor_threshold;
    public double range_min;
    public double range_max;
}
