/*
 * The operations on an image: edge strength, edge drawing, isolines, isosurface, objects and distance, with the segments, the polylines
 * and the surface that they return. A call that succeeds is repeated at times, also on another context or by the plain loops, which must give the
 * same bits.
 */
#include "fuzz.h"

using namespace fuzz;

namespace {

/* The parts of a call that every operation has, and what holds after it. */
class Stage {
public:
    Device device;
    Picture input;
    Told told;
    /* True if nothing is known for which the call must fail. */
    bool may_succeed;

    Stage(Bytes &bytes, unsigned side, unsigned slices) : device(bytes), input(bytes, side, slices), told(bytes) {
        may_succeed = input.readable();
        told.watch.inside = [this] { reenter(device.get()); };
    }

    Picture &output(Bytes &bytes, uint32_t type) {
        outputs.push_back(std::make_unique<Picture>(bytes, input, type));
        Picture &output = *outputs.back();
        if (bytes.rarely(64)) {
            output.share(bytes, outputs.size() > 1 && bytes.rarely(2) ? *outputs.front() : input);
        }
        may_succeed = may_succeed && output.writable();
        return output;
    }

    void check(isoline_status status) {
        MUST(status != ISOLINE_OK || may_succeed);
        MUST(status != ISOLINE_BUSY);
        told.check(status);
        MUST(input.untouched());
        for (auto &output : outputs) {
            MUST(output->as_promised(status));
        }
    }

private:
    std::vector<std::unique_ptr<Picture>> outputs;
};

/* An operation of one image to another, whose pixels have the property `holds`, given by the parameters, which also takes
   slices that callbacks read and write. */
template <class T, class F>
void to_image(Bytes &bytes, const char *name, isoline_status (*init)(T *, size_t),
              isoline_status (*operation)(isoline_context *, const isoline_image *, const T *, const isoline_progress *,
                                          const isoline_image *, isoline_report *),
              F holds) {
    Stage stage(bytes, 40, 4);
    Params<T> params(bytes, name, init, 40);
    Picture &output = stage.output(bytes, ISOLINE_F32);
    const bool again = bytes.rarely(4);
    const auto call = [&](isoline_context *context, const isoline_progress *progress, isoline_report *report) {
        return judge(name, [&] { return operation(context, stage.input.image(), params.get(), progress, output.image(), report); });
    };
    stage.may_succeed = stage.may_succeed && params.valid();
    const isoline_status status = call(stage.device.get(), stage.told.watch.get(), stage.told.report.get());
    stage.check(status);
    MUST(params.unchanged());
    if (status != ISOLINE_OK) {
        return;
    }
    MUST(output.all<float>([&](float value) { return holds(value, params.value()); }));
    if (again) {
        const auto first = output.packed();
        MUST(call(common(), nullptr, nullptr) == ISOLINE_OK);
        MUST(output.packed() == first);
        // The same comes from slices.
        Tape from(stage.input), to(output);
        const auto streamed = [&] {
            return judge(name, [&] { return operation(common(), from.image(), params.get(), nullptr, to.image(), nullptr); });
        };
        std::fill(to.pixels.begin(), to.pixels.end(), uint8_t(0x5A));
        MUST(streamed() == ISOLINE_OK);
        MUST(to.pixels == first);
        (bytes.rarely(2) ? from : to).failing = bytes.below(unsigned(stage.input.depth));
        MUST(streamed() == ISOLINE_CALLBACK_FAILED);
        MUST(std::strstr(isoline_last_error(), "the tape is torn") != nullptr);
    }
}

void strength(Bytes &bytes) {
    to_image(bytes, "edge_strength", isoline_edge_strength_params_init, isoline_edge_strength,
             [](float v, const isoline_edge_strength_params &) { return v >= 0 && v <= 1; });
}

void distance(Bytes &bytes) {
    to_image(bytes, "distance", isoline_distance_params_init, isoline_distance,
             [](float d, const isoline_distance_params &by) {
                 return !std::isnan(d) && (by.region == ISOLINE_DISTANCE_SIGNED || d >= 0);
             });
}

/* A pass along any axis of any image: the values of a pass before may be any, too. */
void distance_pass(Bytes &bytes) {
    Stage stage(bytes, 40, 4);
    Params<isoline_distance_params> params(bytes, "distance", isoline_distance_params_init, 40);
    Picture &output = stage.output(bytes, ISOLINE_F32);
    const uint32_t axis = bytes.rarely(16) ? bytes.byte() : bytes.below(3);
    const bool again = bytes.rarely(4);
    const auto call = [&](isoline_context *context, const isoline_progress *progress, isoline_report *report) {
        return CALL(isoline_distance_pass(context, stage.input.image(), axis, params.get(), progress, output.image(), report));
    };
    stage.may_succeed = stage.may_succeed && params.valid() && axis < params.value().dimensions;
    stage.may_succeed = stage.may_succeed && (axis == 0 || stage.input.type == ISOLINE_F32);
    const isoline_status status = call(stage.device.get(), stage.told.watch.get(), stage.told.report.get());
    stage.check(status);
    MUST(params.unchanged());
    if (status != ISOLINE_OK) {
        return;
    }
    if (axis == 0) {
        MUST(output.all<float>([](float value) { return std::fabs(value) >= 1; }));
    }
    if (again) {
        const auto first = output.packed();
        MUST(call(common(), nullptr, nullptr) == ISOLINE_OK);
        MUST(output.packed() == first);
    }
}

// ---------------------------------------------------------------------------------------------------------- isolines

/* Reads polylines, and checks what isoline.h says of them. Returns a copy of their arrays. */
std::pair<std::vector<isoline_polyline>, std::vector<isoline_polyline_point>>
read_polylines(Bytes &bytes, const isoline_polylines *polylines, const Picture &input, bool are_axes) {
    isoline_polyline_arrays all = defaults(isoline_polyline_arrays_init);
    GOOD(isoline_polylines_all(polylines, &all));
    MUST(all.reserved == 0 && (all.polylines == nullptr) == (all.count == 0) && (all.points == nullptr) == (all.point_count == 0));
    uint64_t end = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        const isoline_polyline &line = all.polylines[i];
        const bool is_point = line.flags >= ISOLINE_POLYLINE_ELLIPTIC;
        MUST(line.first == end && (is_point ? line.count == 1 : line.count >= 2) && line.count <= all.point_count - end);
        MUST((line.flags & (line.flags - 1)) == 0 && line.flags <= ISOLINE_POLYLINE_HYPERBOLIC && (line.flags > 1) == are_axes);
        MUST(line.slice < input.depth && line.length >= 0 && std::isfinite(line.level));
        MUST(line.parent >= -1 && line.parent < int64_t(all.count));
        if (line.flags != ISOLINE_POLYLINE_CLOSED) {
            MUST(line.parent == -1 && line.area == 0);
        }
        if (line.parent >= 0) {
            const isoline_polyline &outer = all.polylines[line.parent];
            MUST(outer.flags == ISOLINE_POLYLINE_CLOSED && outer.slice == line.slice && outer.level == line.level);
        }
        for (; end < line.first + line.count; end++) {
            const isoline_polyline_point &p = all.points[end];
            MUST(p.x >= 0 && p.x <= double(input.width - 1) && p.y >= 0 && p.y <= double(input.height - 1));
        }
    }
    MUST(end == all.point_count);
    REFUSED(isoline_polylines_all(nullptr, &all));
    Struct<isoline_polyline_arrays> odd(bytes, defaults(isoline_polyline_arrays_init));
    const isoline_status status = CALL(isoline_polylines_all(polylines, odd.get()));
    MUST((status == ISOLINE_OK) != odd.too_small());
    MUST(status == ISOLINE_OK ? odd.rest_unchanged() && odd.read().points == all.points : odd.unchanged());
    return {{all.polylines, all.polylines + all.count}, {all.points, all.points + all.point_count}};
}

/* A call that makes polylines. */
template <class T, class F>
void to_polylines(Bytes &bytes, Stage &stage, const Params<T> &params, bool are_axes, F call) {
    isoline_polylines *made = nullptr, *twin = nullptr;
    const bool again = bytes.rarely(4);
    const isoline_status status = call(stage.device.get(), stage.told.watch.get(), &made, stage.told.report.get());
    stage.check(status);
    MUST(params.unchanged() && (made != nullptr) == (status == ISOLINE_OK));
    if (status != ISOLINE_OK) {
        return;
    }
    stage.device.release();
    const auto found = read_polylines(bytes, made, stage.input, are_axes);
    if (again) {
        MUST(call(common(), nullptr, &twin, nullptr) == ISOLINE_OK);
        const auto other = read_polylines(bytes, twin, stage.input, are_axes);
        const auto same = [](const auto &a, const auto &b) {
            return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
        };
        MUST(same(found.first, other.first) && same(found.second, other.second));
    }
    isoline_polylines_free(made);
    isoline_polylines_free(twin);
}

/* Axes of any image of floats: those of an edge strength differ in nothing that matters here. */
void axes(Bytes &bytes) {
    Stage stage(bytes, 40, 4);
    Params<isoline_edge_strength_params> params(bytes, "edge_strength", isoline_edge_strength_params_init, 40);
    stage.may_succeed = stage.may_succeed && params.valid() && stage.input.type == ISOLINE_F32;
    to_polylines(bytes, stage, params, true, [&](isoline_context *context, const isoline_progress *progress, isoline_polylines **to, isoline_report *report) {
        return CALL(isoline_edge_strength_axes(context, stage.input.image(), params.get(), progress, to, report));
    });
}

void isolines(Bytes &bytes) {
    Stage stage(bytes, 40, 4);
    Params<isoline_isolines_params> params(bytes, "isolines", isoline_isolines_params_init, 40);
    std::vector<double> levels(bytes.below(4));
    bool finite = true;
    for (double &level : levels) {
        level = bytes.rarely(8) ? bytes.pick<double>({NAN, INFINITY, -1e300}) : bytes.byte() / 3.0;
        finite = finite && std::isfinite(level);
    }
    stage.may_succeed = stage.may_succeed && params.valid() && finite;
    to_polylines(bytes, stage, params, false, [&](isoline_context *context, const isoline_progress *progress, isoline_polylines **to, isoline_report *report) {
        return CALL(isoline_isolines(context, stage.input.image(), levels.data(), levels.size(), params.get(), progress, to, report));
    });
}

// ----------------------------------------------------------------------------------------------------------- objects

void objects(Bytes &bytes) {
    Stage stage(bytes, 16, 5);
    Params<isoline_objects_params> params(bytes, "objects", isoline_objects_params_init, 16);
    const bool input_is_good = stage.may_succeed;
    Picture &labels = stage.output(bytes, ISOLINE_F32);
    isoline_object_list *made = nullptr;
    // The image itself is a label image, unless it has floats that are none.
    const isoline_image *starts = bytes.rarely(3) ? nullptr : stage.input.image();
    // Labels may have any type that holds the largest one.
    const bool same_size = labels.width == stage.input.width && labels.height == stage.input.height && labels.depth == stage.input.depth;
    stage.may_succeed = input_is_good && labels.readable() && same_size && params.valid();
    const isoline_status status = CALL(isoline_objects(stage.device.get(), stage.input.image(), starts, params.get(),
                                                       stage.told.watch.get(), labels.image(), &made, stage.told.report.get()));
    stage.check(status);
    MUST(params.unchanged() && (made != nullptr) == (status == ISOLINE_OK));
    if (status != ISOLINE_OK) {
        return;
    }
    stage.device.release();
    const isoline_object *all = nullptr;
    size_t count = 0;
    GOOD(isoline_object_list_all(made, &all, &count));
    MUST((count > 0) == (all != nullptr));
    for (size_t i = 0; i < count; i++) {
        MUST(all[i].label > (i > 0 ? all[i - 1].label : 0) && all[i].flags <= 3 && std::isfinite(all[i].mean));
        MUST((all[i].voxels > 0) == std::isfinite(all[i].centre[0]));
    }
    REFUSED(isoline_object_list_all(nullptr, &all, &count));
    REFUSED(isoline_object_list_all(made, nullptr, &count));
    REFUSED(isoline_object_list_all(made, &all, nullptr));
    isoline_object_list_free(made);
}

// -------------------------------------------------------------------------------------------------------- isosurface

/* Reads a surface, and checks what isoline.h says of it. */
isoline_surface_arrays read_surface(Bytes &bytes, const isoline_surface *surface) {
    isoline_surface_arrays all = defaults(isoline_surface_arrays_init);
    GOOD(isoline_surface_all(surface, &all));
    MUST((all.vertices == nullptr) == (all.vertex_count == 0) && (all.normals == nullptr) == (all.vertex_count == 0));
    MUST((all.triangles == nullptr) == (all.triangle_count == 0) && all.piece_count <= all.vertex_count);
    MUST(all.closed == (all.border_edge_count == 0) && (all.closed == 1) == (all.volume == all.volume));
    MUST(std::isfinite(all.level) && all.area >= 0 && (all.area > 0) == (all.mean_curvature == all.mean_curvature));
    for (uint64_t i = 0; i < 3 * all.vertex_count; i++) {
        MUST(std::isfinite(all.vertices[i]) && std::fabs(all.normals[i]) <= 1.0001F);
    }
    for (uint64_t i = 0; i < 3 * all.triangle_count; i++) {
        MUST(all.triangles[i] < all.vertex_count && all.triangles[i] != all.triangles[i % 3 == 2 ? i - 2 : i + 1]);
    }
    REFUSED(isoline_surface_all(nullptr, &all));
    Struct<isoline_surface_arrays> odd(bytes, defaults(isoline_surface_arrays_init));
    const isoline_status status = CALL(isoline_surface_all(surface, odd.get()));
    MUST((status == ISOLINE_OK) != odd.too_small());
    MUST(status == ISOLINE_OK ? odd.rest_unchanged() && odd.read().vertices == all.vertices : odd.unchanged());
    return all;
}

void isosurface(Bytes &bytes) {
    Stage stage(bytes, 20, 6);
    Params<isoline_isosurface_params> params(bytes, "isosurface", isoline_isosurface_params_init, 16);
    isoline_surface *made = nullptr, *twin = nullptr;
    const bool again = bytes.rarely(4);
    const auto call = [&](isoline_context *context, const isoline_progress *progress, isoline_surface **to, isoline_report *report) {
        return CALL(isoline_isosurface(context, stage.input.image(), params.get(), progress, to, report));
    };
    stage.may_succeed = stage.may_succeed && params.valid();
    const isoline_status status = call(stage.device.get(), stage.told.watch.get(), &made, stage.told.report.get());
    stage.check(status);
    MUST(params.unchanged() && (made != nullptr) == (status == ISOLINE_OK));
    if (status != ISOLINE_OK) {
        return;
    }
    stage.device.release();
    const isoline_surface_arrays found = read_surface(bytes, made);
    if (again) {
        MUST(call(common(), nullptr, &twin, nullptr) == ISOLINE_OK);
        const isoline_surface_arrays other = read_surface(bytes, twin);
        MUST(found.vertex_count == other.vertex_count && found.triangle_count == other.triangle_count);
        const auto same = [](const void *a, const void *b, uint64_t size) { return size == 0 || std::memcmp(a, b, size) == 0; };
        MUST(same(found.vertices, other.vertices, 12 * found.vertex_count) && same(found.normals, other.normals, 12 * found.vertex_count));
        MUST(same(found.triangles, other.triangles, 12 * found.triangle_count) && same(&found.area, &other.area, sizeof found.area));
    }
    isoline_surface_free(twin);
    // The same mesh, in which one index, or one coordinate, may be another.
    std::vector<float> vertices(found.vertices, found.vertices + 3 * found.vertex_count);
    std::vector<uint32_t> triangles(found.triangles, found.triangles + 3 * found.triangle_count);
    const bool spoilt = bytes.rarely(2) && !triangles.empty();
    if (spoilt) {
        triangles[bytes.below(unsigned(triangles.size()))] = bytes.below(65536);
        vertices[bytes.below(unsigned(vertices.size()))] = bytes.rarely(4) ? NAN : float(bytes.below(65536));
    }
    twin = nullptr;
    const isoline_status joined = CALL(isoline_surface_new(stage.device.get(), vertices.data(), found.vertex_count, triangles.data(),
                                                           found.triangle_count, params.value().foreground, nullptr, &twin, nullptr));
    MUST(joined == ISOLINE_OK || (spoilt && joined == ISOLINE_INVALID_ARGUMENT));
    if (!spoilt) {
        isoline_surface_arrays other = defaults(isoline_surface_arrays_init);
        GOOD(isoline_surface_all(twin, &other));
        MUST(other.area == found.area && other.euler == found.euler && other.level != other.level);
    }
    isoline_surface_free(made);
    isoline_surface_free(twin);
}

// ------------------------------------------------------------------------------------------------------ edge drawing

/* Reads segments by every function, and checks what isoline.h says of them. */
void read_segments(Bytes &bytes, const isoline_segments *segments, const Picture &input, uint32_t min_length) {
    isoline_segment_arrays all = defaults(isoline_segment_arrays_init);
    GOOD(isoline_segments_all(segments, &all));
    const size_t count = isoline_segments_count(segments);
    MUST(all.count == count && all.reserved == 0 && all.offsets != nullptr && all.offsets[0] == 0);
    MUST(all.offsets[count] == all.point_count && (all.points == nullptr) == (all.point_count == 0));
    MUST((all.flags == nullptr) == (count == 0) && (all.slices == nullptr) == (count == 0) && (all.mean_gradients == nullptr) == (count == 0));
    for (size_t i = 0; i < count; i++) {
        const isoline_point *points = nullptr;
        size_t length = 0;
        uint32_t flags = 0xFFFFFFFF;
        uint64_t slice = UINT64_MAX;
        double gradient = -1;
        GOOD(isoline_segments_points(segments, i, &points, &length));
        GOOD(isoline_segments_flags(segments, i, &flags));
        GOOD(isoline_segments_slice(segments, i, &slice));
        GOOD(isoline_segments_gradient(segments, i, &gradient));
        MUST(length >= 1 && length >= min_length && points == all.points + all.offsets[i] && length == all.offsets[i + 1] - all.offsets[i]);
        MUST(flags <= ISOLINE_SEGMENT_CLOSED && flags == all.flags[i]);
        MUST(slice < input.depth && slice == all.slices[i]);
        MUST(gradient >= 0 && float(gradient) == all.mean_gradients[i]);
        for (size_t j = 0; j < length; j++) {
            MUST(points[j].x < input.width && points[j].y < input.height);
            const isoline_point before = points[j > 0 ? j - 1 : flags != 0 ? length - 1 : 0];
            const int64_t dx = int64_t(points[j].x) - before.x, dy = int64_t(points[j].y) - before.y;
            MUST(dx * dx <= 1 && dy * dy <= 1 && (dx != 0 || dy != 0 || j == 0));
        }
    }
    // These calls must be refused, and then write nothing.
    const size_t beyond = bytes.pick<size_t>({count, SIZE_MAX, count + 1, SIZE_MAX / 16});
    const isoline_point *points = nullptr;
    size_t length = 77;
    uint32_t flags = 77;
    uint64_t slice = 77;
    double gradient = 77;
    REFUSED(isoline_segments_points(segments, beyond, &points, &length));
    REFUSED(isoline_segments_flags(segments, beyond, &flags));
    REFUSED(isoline_segments_slice(segments, beyond, &slice));
    REFUSED(isoline_segments_gradient(segments, beyond, &gradient));
    REFUSED(isoline_segments_points(nullptr, 0, &points, &length));
    REFUSED(isoline_segments_points(segments, 0, nullptr, &length));
    REFUSED(isoline_segments_points(segments, 0, &points, nullptr));
    REFUSED(isoline_segments_flags(segments, 0, nullptr));
    REFUSED(isoline_segments_slice(nullptr, 0, &slice));
    REFUSED(isoline_segments_gradient(segments, 0, nullptr));
    REFUSED(isoline_segments_all(nullptr, &all));
    MUST(points == nullptr && length == 77 && flags == 77 && slice == 77 && gradient == 77 && isoline_segments_count(nullptr) == 0);
    Struct<isoline_segment_arrays> odd(bytes, defaults(isoline_segment_arrays_init));
    const isoline_status status = CALL(isoline_segments_all(segments, odd.get()));
    MUST((status == ISOLINE_OK) != odd.too_small());
    MUST(status == ISOLINE_OK ? odd.rest_unchanged() && odd.read().points == all.points : odd.unchanged());
}

bool same(const isoline_segments *one, const isoline_segments *other) {
    isoline_segment_arrays a = defaults(isoline_segment_arrays_init), b = a;
    GOOD(isoline_segments_all(one, &a));
    GOOD(isoline_segments_all(other, &b));
    const auto equal = [](const auto *left, const auto *right, uint64_t count) {
        return count == 0 || std::memcmp(left, right, size_t(count) * sizeof *left) == 0;
    };
    return a.count == b.count && a.point_count == b.point_count && equal(a.points, b.points, a.point_count) &&
           equal(a.offsets, b.offsets, a.count + 1) && equal(a.flags, b.flags, a.count) && equal(a.slices, b.slices, a.count) &&
           equal(a.mean_gradients, b.mean_gradients, a.count);
}

/* Finds lines along segments that were drawn in an image, and checks what isoline.h says of them. */
void find_lines(const isoline_segments *segments, const Picture &input, const isoline_edge_drawing_params &drawn_by) {
    isoline_edge_drawing_params params = drawn_by;
    params.struct_size = sizeof params;
    isoline_lines *lines = nullptr;
    GOOD(isoline_edge_drawing_lines(common(), input.image(), segments, &params, nullptr, &lines, nullptr));
    const isoline_line *all = nullptr;
    size_t count = 77;
    GOOD(isoline_lines_all(lines, &all, &count));
    MUST((all == nullptr) == (count == 0));
    const size_t segment_count = isoline_segments_count(segments);
    for (size_t i = 0; i < count; i++) {
        const isoline_line &line = all[i];
        MUST(line.segment < segment_count && line.slice < input.depth && line.points >= 2 && line.rms >= 0);
        MUST(std::isfinite(line.x0) && std::isfinite(line.y0) && std::isfinite(line.x1) && std::isfinite(line.y1));
        MUST(params.line_validation == 0 || line.log_false_alarms <= 0);
        MUST(i == 0 || all[i - 1].segment <= line.segment);
    }
    REFUSED(isoline_lines_all(lines, nullptr, &count));
    REFUSED(isoline_lines_all(lines, &all, nullptr));
    REFUSED(isoline_lines_all(nullptr, &all, &count));
    isoline_lines *other = nullptr;
    params.line_gap = -1;
    REFUSED(isoline_edge_drawing_lines(common(), input.image(), segments, &params, nullptr, &other, nullptr));
    REFUSED(isoline_edge_drawing_lines(common(), input.image(), nullptr, nullptr, nullptr, &other, nullptr));
    REFUSED(isoline_edge_drawing_lines(common(), nullptr, segments, nullptr, nullptr, &other, nullptr));
    MUST(other == nullptr);
    isoline_lines_free(lines);
    isoline_lines_free(nullptr);
}

/* Finds circles and ellipses along segments that were drawn in an image, and checks what isoline.h says of them. */
void find_ellipses(const isoline_segments *segments, const Picture &input, const isoline_edge_drawing_params &drawn_by) {
    isoline_edge_drawing_params params = drawn_by;
    params.struct_size = sizeof params;
    isoline_ellipses *ellipses = nullptr;
    GOOD(isoline_edge_drawing_ellipses(common(), input.image(), segments, &params, nullptr, &ellipses, nullptr));
    const isoline_ellipse *all = nullptr;
    size_t count = 77;
    GOOD(isoline_ellipses_all(ellipses, &all, &count));
    MUST((all == nullptr) == (count == 0));
    const size_t segment_count = isoline_segments_count(segments);
    for (size_t i = 0; i < count; i++) {
        const isoline_ellipse &one = all[i];
        MUST(one.segment < segment_count && one.slice < input.depth && one.points >= 1 && one.arcs >= 1 && one.flags <= 3);
        MUST(std::isfinite(one.x) && std::isfinite(one.y) && one.semi_minor >= params.ellipse_min_radius);
        MUST(one.semi_major >= one.semi_minor && one.semi_major <= double(std::max(input.width, input.height)));
        MUST(one.angle >= 0 && one.angle < 3.1415926535897936 && one.rms <= params.ellipse_tolerance);
        MUST(one.coverage >= params.ellipse_coverage && one.coverage <= 1);
        MUST(((one.flags & ISOLINE_ELLIPSE_CIRCLE) != 0) == (one.semi_major == one.semi_minor));
        MUST(params.ellipse_validation == 0 || one.log_false_alarms <= 0);
        MUST(i == 0 || all[i - 1].segment <= one.segment);
    }
    REFUSED(isoline_ellipses_all(ellipses, nullptr, &count));
    REFUSED(isoline_ellipses_all(ellipses, &all, nullptr));
    REFUSED(isoline_ellipses_all(nullptr, &all, &count));
    isoline_ellipses *other = nullptr;
    params.ellipse_coverage = 2;
    REFUSED(isoline_edge_drawing_ellipses(common(), input.image(), segments, &params, nullptr, &other, nullptr));
    REFUSED(isoline_edge_drawing_ellipses(common(), input.image(), nullptr, nullptr, nullptr, &other, nullptr));
    REFUSED(isoline_edge_drawing_ellipses(common(), nullptr, segments, nullptr, nullptr, &other, nullptr));
    MUST(other == nullptr);
    isoline_ellipses_free(ellipses);
    isoline_ellipses_free(nullptr);
}

void drawing(Bytes &bytes) {
    Stage stage(bytes, 40, 4);
    Params<isoline_edge_drawing_params> params(bytes, "edge_drawing", isoline_edge_drawing_params_init, 40);
    const unsigned wanted = bytes.below(8); // 7: nothing
    Picture *edges = wanted % 3 != 1 && wanted != 7 ? &stage.output(bytes, ISOLINE_U8) : nullptr;
    isoline_segments *segments = nullptr, *twin = nullptr;
    isoline_segments **out = wanted % 3 != 2 && wanted != 7 ? &segments : nullptr;
    const bool again = bytes.rarely(2);
    const auto call = [&](isoline_context *context, const isoline_edge_drawing_params *by, const isoline_progress *progress,
                          isoline_segments **to, isoline_report *report) {
        const isoline_image *image = edges != nullptr ? edges->image() : nullptr;
        return CALL(isoline_edge_drawing(context, stage.input.image(), by, progress, image, to, report));
    };
    stage.may_succeed = stage.may_succeed && params.valid() && (edges != nullptr || out != nullptr);
    const isoline_status status = call(stage.device.get(), params.get(), stage.told.watch.get(), out, stage.told.report.get());
    stage.check(status);
    MUST(params.unchanged());
    MUST((segments != nullptr) == (out != nullptr && status == ISOLINE_OK));
    if (status != ISOLINE_OK) {
        return;
    }
    stage.device.release();
    if (edges != nullptr) {
        MUST(edges->all<uint8_t>([](uint8_t value) { return value == 0 || value == 255; }));
    }
    isoline_edge_drawing_params by = params.value();
    if (segments != nullptr) {
        // The reference profile, as OpenCV, measures a whole trace, of which it may keep shorter side chains.
        read_segments(bytes, segments, stage.input, by.profile == ISOLINE_EDGE_DRAWING_PAPER ? by.min_length : 0);
        find_lines(segments, stage.input, by);
        find_ellipses(segments, stage.input, by);
    }
    if (again) {
        // By the plain loops where there are some, and with the automatic threshold given.
        const auto first = edges != nullptr ? edges->packed() : std::vector<unsigned char>();
        by.struct_size = sizeof by;
        by.variant = by.profile == ISOLINE_EDGE_DRAWING_PAPER ? ISOLINE_EDGE_DRAWING_SCALAR : ISOLINE_EDGE_DRAWING_DEFAULT;
        double threshold = -1;
        GOOD(isoline_edge_drawing_threshold(common(), stage.input.image(), &by, &threshold));
        MUST(threshold >= 0);
        if (by.gradient_threshold == ISOLINE_AUTOMATIC) {
            by.gradient_threshold = threshold;
        }
        MUST(call(common(), &by, nullptr, out != nullptr ? &twin : nullptr, nullptr) == ISOLINE_OK);
        MUST(edges == nullptr || edges->packed() == first);
        MUST(segments == nullptr || same(segments, twin));
    }
    isoline_segments_free(segments);
    isoline_segments_free(twin);
}

void maps(Bytes &bytes) {
    Stage stage(bytes, 40, 4);
    Params<isoline_edge_drawing_params> params(bytes, "edge_drawing", isoline_edge_drawing_params_init, 40);
    const unsigned left_out = bytes.byte();
    const uint32_t types[] = {stage.input.type, ISOLINE_F32, ISOLINE_U8, ISOLINE_U8};
    Picture *outputs[4];
    const isoline_image *images[4];
    for (unsigned i = 0; i < 4; i++) {
        outputs[i] = (left_out >> i & 1) != 0 ? nullptr : &stage.output(bytes, types[i]);
        images[i] = outputs[i] != nullptr ? outputs[i]->image() : nullptr;
    }
    stage.may_succeed = stage.may_succeed && params.valid() && (left_out & 15) != 15;
    const isoline_status status = CALL(isoline_edge_drawing_maps(stage.device.get(), stage.input.image(), params.get(), stage.told.watch.get(),
                                                                 images[0], images[1], images[2], images[3], stage.told.report.get()));
    stage.check(status);
    MUST(params.unchanged());
    if (status != ISOLINE_OK) {
        return;
    }
    if (outputs[0] != nullptr && stage.input.type == ISOLINE_F32) {
        MUST(outputs[0]->all<float>([](float value) { return std::isfinite(value); }));
    }
    if (outputs[1] != nullptr) {
        MUST(outputs[1]->all<float>([](float value) { return value >= 0; }));
    }
    if (outputs[2] != nullptr) {
        MUST(outputs[2]->all<uint8_t>([](uint8_t value) { return value <= 2; }));
    }
    if (outputs[3] != nullptr) {
        MUST(outputs[3]->all<uint8_t>([](uint8_t value) { return value == 0 || value == 255; }));
    }
}

void threshold(Bytes &bytes) {
    Device device(bytes);
    Picture input(bytes, 40, 4);
    Params<isoline_edge_drawing_params> params(bytes, "edge_drawing", isoline_edge_drawing_params_init, 40);
    double threshold = -77;
    double *out = bytes.rarely(32) ? nullptr : &threshold;
    const isoline_status status = CALL(isoline_edge_drawing_threshold(device.get(), input.image(), params.get(), out));
    MUST(status != ISOLINE_OK || (input.readable() && params.valid() && out != nullptr));
    MUST(status == ISOLINE_OK ? threshold >= 0 && std::isfinite(threshold) : threshold == -77);
    MUST(input.untouched() && params.unchanged());
}

/* NULL for each pointer that must not be NULL. */
void without(Bytes &bytes) {
    const Picture input(bytes, 8, 1), output(bytes, input, ISOLINE_F32), edges(bytes, input, ISOLINE_U8);
    isoline_segments *segments = nullptr;
    double threshold;
    REFUSED(isoline_edge_strength(nullptr, input.image(), nullptr, nullptr, output.image(), nullptr));
    REFUSED(isoline_edge_strength(common(), nullptr, nullptr, nullptr, output.image(), nullptr));
    REFUSED(isoline_edge_strength(common(), input.image(), nullptr, nullptr, nullptr, nullptr));
    REFUSED(isoline_distance(nullptr, input.image(), nullptr, nullptr, output.image(), nullptr));
    REFUSED(isoline_distance(common(), nullptr, nullptr, nullptr, output.image(), nullptr));
    REFUSED(isoline_distance(common(), input.image(), nullptr, nullptr, nullptr, nullptr));
    REFUSED(isoline_distance_pass(nullptr, input.image(), 0, nullptr, nullptr, output.image(), nullptr));
    REFUSED(isoline_distance_pass(common(), nullptr, 0, nullptr, nullptr, output.image(), nullptr));
    REFUSED(isoline_distance_pass(common(), input.image(), 0, nullptr, nullptr, nullptr, nullptr));
    REFUSED(isoline_edge_drawing(nullptr, input.image(), nullptr, nullptr, edges.image(), &segments, nullptr));
    REFUSED(isoline_edge_drawing(common(), nullptr, nullptr, nullptr, edges.image(), &segments, nullptr));
    REFUSED(isoline_edge_drawing_maps(nullptr, input.image(), nullptr, nullptr, nullptr, output.image(), nullptr, nullptr, nullptr));
    REFUSED(isoline_edge_drawing_maps(common(), nullptr, nullptr, nullptr, nullptr, output.image(), nullptr, nullptr, nullptr));
    REFUSED(isoline_edge_drawing_threshold(nullptr, input.image(), nullptr, &threshold));
    REFUSED(isoline_edge_drawing_threshold(common(), nullptr, nullptr, &threshold));
    MUST(segments == nullptr && input.untouched() && output.untouched() && edges.untouched());
    isoline_segments_free(nullptr);
    isoline_polylines *polylines = nullptr;
    REFUSED(isoline_isolines(nullptr, input.image(), nullptr, 0, nullptr, nullptr, &polylines, nullptr));
    REFUSED(isoline_isolines(common(), nullptr, nullptr, 0, nullptr, nullptr, &polylines, nullptr));
    REFUSED(isoline_isolines(common(), input.image(), nullptr, 2, nullptr, nullptr, &polylines, nullptr));
    REFUSED(isoline_isolines(common(), input.image(), nullptr, 0, nullptr, nullptr, nullptr, nullptr));
    REFUSED(isoline_edge_strength_axes(nullptr, output.image(), nullptr, nullptr, &polylines, nullptr));
    REFUSED(isoline_edge_strength_axes(common(), nullptr, nullptr, nullptr, &polylines, nullptr));
    REFUSED(isoline_edge_strength_axes(common(), output.image(), nullptr, nullptr, nullptr, nullptr));
    MUST(polylines == nullptr);
    isoline_polylines_free(nullptr);
    isoline_object_list *list = nullptr;
    REFUSED(isoline_objects(nullptr, input.image(), nullptr, nullptr, nullptr, input.image(), &list, nullptr));
    REFUSED(isoline_objects(common(), nullptr, nullptr, nullptr, nullptr, input.image(), &list, nullptr));
    REFUSED(isoline_objects(common(), input.image(), nullptr, nullptr, nullptr, nullptr, &list, nullptr));
    MUST(list == nullptr);
    isoline_object_list_free(nullptr);
    isoline_surface *surface = nullptr;
    REFUSED(isoline_isosurface(nullptr, input.image(), nullptr, nullptr, &surface, nullptr));
    REFUSED(isoline_isosurface(common(), nullptr, nullptr, nullptr, &surface, nullptr));
    REFUSED(isoline_isosurface(common(), input.image(), nullptr, nullptr, nullptr, nullptr));
    MUST(surface == nullptr);
    isoline_surface_free(nullptr);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    switch (bytes.below(19)) {
    case 0:
    case 1:
    case 2:
    case 3: drawing(bytes); break;
    case 4:
    case 5: maps(bytes); break;
    case 6: threshold(bytes); break;
    case 7: without(bytes); break;
    case 8:
    case 9:
    case 10:
    case 11: strength(bytes); break;
    case 12:
    case 13: isolines(bytes); break;
    case 14:
    case 15: isosurface(bytes); break;
    case 17: objects(bytes); break;
    case 18: axes(bytes); break;
    default: bytes.rarely(3) ? distance_pass(bytes) : distance(bytes); break;
    }
    return 0;
}
