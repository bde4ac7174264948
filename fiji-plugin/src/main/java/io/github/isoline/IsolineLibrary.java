package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.DoubleByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * The C functions, mapped directly: names and argument order are those of include/isoline.h. {@link Operation},
 * {@link Structs} and {@link Records} call the others by name: operations from one image to another or to an object,
 * the initialisation of structs, and lists.
 *
 * <p>Nothing is bound until {@link NativeLoader#load()} has found a library of the right version, so that a bad library
 * is a message and not a class that can never be loaded again. {@code size_t} is a Java {@code long}: only 64-bit
 * platforms are supported.
 */
final class IsolineLibrary {
    private IsolineLibrary() {}

    static native int isoline_version();

    static native String isoline_version_string();

    static native String isoline_status_name(int status);

    static native String isoline_last_error();

    static native long isoline_device_count();

    static native int isoline_device_info(long index, Structs.Device out);

    static native int isoline_context_new(String device, PointerByReference out);

    static native int isoline_context_device(Pointer context, Structs.Device out);

    static native int isoline_context_trim(Pointer context);

    static native void isoline_context_free(Pointer context);

    static native int isoline_buffer_new(Pointer context, long bytes, PointerByReference out);

    static native void isoline_buffer_free(Pointer buffer);

    static native int isoline_set_cancel_flag(Pointer flag);

    static native int isoline_set_logger(LibraryLog.Function function, Pointer user, int max);

    static native long isoline_operation_count();

    static native int isoline_operation_info(long index, Structs.Operation out);

    static native int isoline_parameter_info(long operation, long index, Structs.Parameter out);

    static native int isoline_choice_info(long operation, long parameter, long index, Structs.Choice out);

    static native int isoline_parameter_check(long operation, long parameter, double value);

    static native int isoline_edge_drawing(
            Pointer context,
            Structs.Image input,
            Pointer params,
            Structs.Progress progress,
            Structs.Image edges,
            PointerByReference segments,
            Structs.Report report);

    static native int isoline_edge_drawing_threshold(
            Pointer context, Structs.Image input, Pointer params, DoubleByReference threshold);

    static native int isoline_segments_all(Pointer segments, Structs.SegmentArrays arrays);

    static native void isoline_segments_free(Pointer segments);

    static native int isoline_objects(
            Pointer context,
            Structs.Image input,
            Structs.Image starts,
            Pointer params,
            Structs.Progress progress,
            Structs.Image labels,
            PointerByReference objects,
            Structs.Report report);

    static native void isoline_object_list_free(Pointer objects);

    static native int isoline_level_set_new(
            Pointer context, Structs.Image input, Structs.Image initialMask, Pointer params, PointerByReference out);

    static native int isoline_level_set_step(
            Pointer levelSet, long iterations, Structs.Progress progress, Structs.Report report);

    static native int isoline_level_set_read_mask(Pointer levelSet, Structs.Image mask);

    static native int isoline_level_set_read_phi(Pointer levelSet, Structs.Image phi);

    static native int isoline_level_set_info(Pointer levelSet, Structs.LevelSetState out);

    static native void isoline_level_set_free(Pointer levelSet);

    static native int isoline_polygons_smooth(
            Structs.Polygons polygons,
            double longestEdge,
            int pointsPerEdge,
            long capacity,
            Pointer offsets,
            Pointer points);

    static native int isoline_snake_new(
            Pointer context, Structs.Image input, Structs.Polygons initial, Pointer params, PointerByReference out);

    static native int isoline_snake_step(
            Pointer snake, long iterations, Structs.Progress progress, Structs.Report report);

    static native long isoline_snake_count(Pointer snake);

    static native int isoline_snake_polygons(Pointer snake, Structs.Polygons out);

    static native int isoline_snake_statistics(
            Pointer snake, long first, long count, Pointer out, LongByReference written);

    static native int isoline_snake_draw_labels(Pointer snake, Structs.Image labels);

    static native void isoline_snake_free(Pointer snake);

    static native int isoline_mask_fill_spheres(Structs.Image mask, double[] spheres, long count, byte value);

    static native int isoline_mask_fill_boxes(Structs.Image mask, double[] boxes, long count, byte value);
}
