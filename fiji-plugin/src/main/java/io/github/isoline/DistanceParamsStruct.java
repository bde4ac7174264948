package io.github.isoline;

import com.sun.jna.Structure;

/**
 * {@code isoline_distance_params} of the C API. Public only because JNA fills the fields by
 * reflection.
 */
@Structure.FieldOrder({"struct_size", "dimensions", "foreground", "region", "threshold"})
public final class DistanceParamsStruct extends Structure {
    public int struct_size;
    public int dimensions;
    public int foreground;
    public int region;
    public double threshold;
}
