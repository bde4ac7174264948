package io.github.isoline;

import com.sun.jna.Callback;
import com.sun.jna.Function;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;

/** The structs of the C API. They are public only because JNA fills their fields by reflection. */
final class Structs {
    private Structs() {}

    /** Returns a struct after the library's own function for it, isoline_NAME_init, which refuses a wrong size. */
    static <S extends Structure> S init(String name, S struct) throws IsolineException {
        Function init = NativeLoader.function("isoline_" + name + "_init");
        Status.check(init.invokeInt(new Object[] {struct, (long) struct.size()}));
        return struct;
    }

    /** {@code isoline_image}. */
    @FieldOrder({
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
        "data",
        "user",
        "read_slice",
        "write_slice"
    })
    public static final class Image extends Structure {
        public int struct_size, type, memory, reserved;
        public long width, height, depth, row_stride, slice_stride;
        public double[] spacing = new double[3];
        public Pointer data, user, read_slice, write_slice;
    }

    /** {@code isoline_device}. */
    @FieldOrder({
        "struct_size", "kind", "index", "usable", "compute_major",
        "compute_minor", "multiprocessors", "driver_version", "total_memory", "free_memory",
        "id", "name", "reason"
    })
    public static final class Device extends Structure {
        public int struct_size, kind, index, usable, compute_major, compute_minor, multiprocessors, driver_version;
        public long total_memory, free_memory;
        public byte[] id = new byte[16];
        public byte[] name = new byte[128];
        public byte[] reason = new byte[512];
    }

    /** {@code isoline_report}. */
    @FieldOrder({
        "struct_size", "device_kind", "device_index", "converged", "iterations",
        "slices_done", "seconds_total", "seconds_upload", "seconds_compute", "seconds_download",
        "residual", "peak_device_bytes", "device_name", "outcome", "device_count",
        "part_count"
    })
    public static final class Report extends Structure {
        public int struct_size, device_kind, device_index, converged;
        public long iterations, slices_done;
        public double seconds_total, seconds_upload, seconds_compute, seconds_download, residual;
        public long peak_device_bytes;
        public byte[] device_name = new byte[128];
        public int outcome, device_count;
        public long part_count;
    }

    /** {@code isoline_progress}. */
    @FieldOrder({"struct_size", "reserved", "callback", "user"})
    public static final class Progress extends Structure {
        /** {@code isoline_progress_fn}: any result but 0 cancels the call. */
        public interface Function extends Callback {
            /** Is called on the thread that called the operation. */
            int invoke(Pointer user, double fraction, String stage);
        }

        public int struct_size, reserved;
        public Function callback;
        public Pointer user;
    }

    /** {@code isoline_operation}. */
    @FieldOrder({"struct_size", "parameter_count", "params_size", "name", "title", "help"})
    public static final class Operation extends Structure {
        public int struct_size, parameter_count;
        public long params_size;
        public Pointer name, title, help;
    }

    /** {@code isoline_parameter}. */
    @FieldOrder({
        "struct_size", "type", "level", "storage", "offset", "name",
        "title", "help", "unit", "automatic", "automatic_value", "default_value",
        "minimum", "maximum", "minimum_excluded", "maximum_excluded", "power_of_two", "choice_count"
    })
    public static final class Parameter extends Structure {
        public int struct_size, type, level, storage;
        public long offset;
        public Pointer name, title, help, unit, automatic;
        public double automatic_value, default_value, minimum, maximum;
        public int minimum_excluded, maximum_excluded, power_of_two, choice_count;
    }

    /** {@code isoline_choice}. */
    @FieldOrder({"struct_size", "value", "name", "title", "help"})
    public static final class Choice extends Structure {
        public int struct_size, value;
        public Pointer name, title, help;
    }

    /** {@code isoline_segment_arrays}. */
    @FieldOrder({
        "struct_size", "reserved", "count",
        "point_count", "points", "offsets",
        "flags", "slices", "mean_gradients"
    })
    public static final class SegmentArrays extends Structure {
        public int struct_size, reserved;
        public long count, point_count;
        public Pointer points, offsets, flags, slices, mean_gradients;
    }

    /** {@code isoline_polyline_arrays}. */
    @FieldOrder({"struct_size", "reserved", "count", "point_count", "polylines", "points"})
    public static final class PolylineArrays extends Structure {
        public int struct_size, reserved;
        public long count, point_count;
        public Pointer polylines, points;
    }

    /** {@code isoline_surface_arrays}. */
    @FieldOrder({
        "struct_size", "closed", "vertex_count", "triangle_count", "vertices", "normals", "triangles",
        "level", "area", "volume", "mean_curvature", "border_edge_count", "piece_count", "euler"
    })
    public static final class SurfaceArrays extends Structure {
        public int struct_size, closed;
        public long vertex_count, triangle_count;
        public Pointer vertices, normals, triangles;
        public double level, area, volume, mean_curvature;
        public long border_edge_count, piece_count, euler;
    }

    /** {@code isoline_level_set_state}. */
    @FieldOrder({
        "struct_size",
        "converged",
        "check_interval",
        "side",
        "iterations",
        "inside",
        "active_tiles",
        "tiles",
        "target",
        "epsilon",
        "alpha",
        "time_step",
        "time_step_limit",
        "expected_iterations",
        "limit_share",
        "outcome",
        "coarse_iterations",
        "edge_contrast",
        "stored_tiles"
    })
    public static final class LevelSetState extends Structure {
        public int struct_size, converged, check_interval, side;
        public long iterations, inside, active_tiles, tiles;
        public double target, epsilon, alpha, time_step, time_step_limit;
        public long expected_iterations;
        public double limit_share;
        public int outcome, coarse_iterations;
        public double edge_contrast;
        public long stored_tiles;
    }

    /** {@code isoline_polygons}. */
    @FieldOrder({"struct_size", "reserved", "count", "node_count", "nodes", "offsets", "slices"})
    public static final class Polygons extends Structure {
        public int struct_size, reserved;
        public long count, node_count;
        public Pointer nodes, offsets, slices;
    }

    /** {@code isoline_target_statistics}. */
    @FieldOrder({
        "status", "flags", "iterations", "nodes",
        "pixels", "background_pixels", "mean", "deviation",
        "background_mean", "background_deviation", "criterion"
    })
    public static final class TargetStatistics extends Structure {
        public int status, flags;
        public long iterations, nodes, pixels, background_pixels;
        public double mean, deviation, background_mean, background_deviation, criterion;

        public TargetStatistics() {}

        /** Reads the struct at an address. */
        TargetStatistics(Pointer memory) {
            super(memory);
            read();
        }
    }
}
