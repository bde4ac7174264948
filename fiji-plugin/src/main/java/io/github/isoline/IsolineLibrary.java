package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * The C functions, mapped directly: names and argument order are those of include/isoline.h.
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

    static native int isoline_device_init(DeviceStruct out, long structSize);

    static native int isoline_device_info(long index, DeviceStruct out);

    static native int isoline_context_new(String device, PointerByReference out);

    static native int isoline_context_device(Pointer context, DeviceStruct out);

    static native int isoline_context_trim(Pointer context);

    static native void isoline_context_free(Pointer context);

    static native int isoline_image_init(ImageStruct out, long structSize);

    static native int isoline_report_init(ReportStruct out, long structSize);

    static native long isoline_operation_count();

    static native int isoline_operation_init(Operation.Struct out, long structSize);

    static native int isoline_operation_info(long index, Operation.Struct out);

    static native int isoline_parameter_init(Parameter.Struct out, long structSize);

    static native int isoline_parameter_info(long operation, long index, Parameter.Struct out);

    static native int isoline_choice_init(Parameter.ChoiceStruct out, long structSize);

    static native int isoline_choice_info(long operation, long parameter, long index, Parameter.ChoiceStruct out);

    static native int isoline_parameter_check(long operation, long parameter, double value);

    static native int isoline_edge_strength(
            Pointer context,
            ImageStruct input,
            Pointer params,
            ProgressStruct progress,
            ImageStruct output,
            ReportStruct report);

    static native int isoline_edge_drawing(
            Pointer context,
            ImageStruct input,
            Pointer params,
            ProgressStruct progress,
            ImageStruct edges,
            PointerByReference segments,
            ReportStruct report);

    static native int isoline_distance(
            Pointer context,
            ImageStruct mask,
            Pointer params,
            ProgressStruct progress,
            ImageStruct output,
            ReportStruct report);

    static native int isoline_segment_arrays_init(SegmentArraysStruct out, long structSize);

    static native int isoline_segments_all(Pointer segments, SegmentArraysStruct arrays);

    static native void isoline_segments_free(Pointer segments);

    static native int isoline_level_set_state_init(LevelSetStateStruct out, long structSize);

    static native int isoline_level_set_new(
            Pointer context, ImageStruct input, ImageStruct initialMask, Pointer params, PointerByReference out);

    static native int isoline_level_set_step(
            Pointer levelSet, long iterations, ProgressStruct progress, ReportStruct report);

    static native int isoline_level_set_read_mask(Pointer levelSet, ImageStruct mask);

    static native int isoline_level_set_read_phi(Pointer levelSet, ImageStruct phi);

    static native int isoline_level_set_info(Pointer levelSet, LevelSetStateStruct out);

    static native void isoline_level_set_free(Pointer levelSet);

    static native int isoline_polygons_init(PolygonsStruct out, long structSize);

    static native int isoline_snake_new(
            Pointer context, ImageStruct input, PolygonsStruct initial, Pointer params, PointerByReference out);

    static native int isoline_snake_step(Pointer snake, long iterations, ProgressStruct progress, ReportStruct report);

    static native long isoline_snake_count(Pointer snake);

    static native int isoline_snake_polygons(Pointer snake, PolygonsStruct out);

    static native int isoline_snake_statistics(
            Pointer snake, long first, long count, Pointer out, LongByReference written);

    static native int isoline_snake_draw_labels(Pointer snake, ImageStruct labels);

    static native void isoline_snake_free(Pointer snake);

    static native int isoline_mask_fill_spheres(ImageStruct mask, double[] spheres, long count, byte value);

    static native int isoline_mask_fill_boxes(ImageStruct mask, double[] boxes, long count, byte value);
}
