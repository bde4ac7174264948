package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.Structure;

/** {@code isoline_image} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({
    "struct_size",
    "type",
    "memory",
    "reserved",
    "width",
    "height",
    "depth",
    "row_stride",
    "slice_stride",
    "spacing",
    "data"
})
public final class ImageStruct extends Structure {
    public int struct_size;
    public int type;
    public int memory;
    public int reserved;
    public long width;
    public long height;
    public long depth;
    public long row_stride;
    public long slice_stride;
    public double[] spacing = new double[3];
    public Pointer data;
}
