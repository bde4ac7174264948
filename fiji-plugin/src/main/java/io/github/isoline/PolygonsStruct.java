package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;

/** {@code isoline_polygons} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({"struct_size", "reserved", "count", "node_count", "nodes", "offsets"})
public final class PolygonsStruct extends Structure {
    public int struct_size;
    public int reserved;
    public long count;
    public long node_count;
    public Pointer nodes;
    public Pointer offsets;
}
