package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;

/** {@code isoline_segment_arrays} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({
    "struct_size",
    "reserved",
    "count",
    "point_count",
    "points",
    "offsets",
    "flags",
    "slices",
    "mean_gradients"
})
public final class SegmentArraysStruct extends Structure {
    public int struct_size;
    public int reserved;
    public long count;
    public long point_count;
    public Pointer points;
    public Pointer offsets;
    public Pointer flags;
    public Pointer slices;
    public Pointer mean_gradients;
}
