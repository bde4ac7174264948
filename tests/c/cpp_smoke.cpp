// The header from C++: types, linkage, and how a careful C++ program would wrap it.
#include "edges.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Layouts must not depend on the language: an enum takes 32 bits in a struct, in a call and in C++ by itself.
static_assert(sizeof(isoline_status) == sizeof(uint32_t), "statuses are 32-bit");
static_assert(std::is_same<std::underlying_type<isoline_status>::type, uint32_t>::value, "statuses are unsigned");
static_assert(std::is_same<std::underlying_type<isoline_edge_strength_variant>::type, uint32_t>::value, "variants are unsigned");
static_assert(std::is_standard_layout<isoline_image>::value && std::is_trivial<isoline_image>::value, "a C struct");
static_assert(std::is_standard_layout<isoline_report>::value && std::is_trivial<isoline_report>::value, "a C struct");
static_assert(offsetof(isoline_image, struct_size) == 0 && offsetof(isoline_report, struct_size) == 0, "size first");
static_assert(offsetof(isoline_edge_strength_params, struct_size) == 0, "size first");
static_assert(offsetof(isoline_edge_drawing_params, struct_size) == 0, "size first");
static_assert(std::is_same<std::underlying_type<isoline_segment_flags>::type, uint32_t>::value, "flags are unsigned");
static_assert(std::is_standard_layout<isoline_segment_arrays>::value && sizeof(isoline_point) == 8, "C structs");
static_assert(sizeof(isoline_sphere) == 32 && sizeof(isoline_box) == 48, "what comes in arrays is frozen");
static_assert(sizeof(isoline_iteration_statistics) == 40, "what comes in arrays is frozen");

namespace {

struct free_context {
    void operator()(isoline_context *context) const { isoline_context_free(context); }
};
using context_pointer = std::unique_ptr<isoline_context, free_context>;

struct free_segments {
    void operator()(isoline_segments *segments) const { isoline_segments_free(segments); }
};
using segments_pointer = std::unique_ptr<isoline_segments, free_segments>;

struct free_level_set {
    void operator()(isoline_level_set *level_set) const { isoline_level_set_free(level_set); }
};
using level_set_pointer = std::unique_ptr<isoline_level_set, free_level_set>;

struct free_snake {
    void operator()(isoline_snake *snake) const { isoline_snake_free(snake); }
};
using snake_pointer = std::unique_ptr<isoline_snake, free_snake>;

context_pointer make_context(const std::string &device) { return context_pointer(open_context(device.c_str())); }

std::vector<float> strength_of(isoline_context *context, std::vector<uint8_t> &pixels, uint64_t width, uint64_t height,
                               const isoline_progress *progress = nullptr, isoline_report *report = nullptr) {
    std::vector<float> strength(pixels.size(), UNWRITTEN);
    const isoline_image input = describe(ISOLINE_U8, width, height, 1, pixels.data());
    const isoline_image output = describe(ISOLINE_F32, width, height, 1, strength.data());
    const isoline_edge_strength_params params = for_drawing(25);
    GOOD(isoline_edge_strength(context, &input, &params, progress, &output, report));
    return strength;
}

std::vector<uint8_t> drawn(size_t width, size_t height, uint32_t seed) {
    uint8_t *pixels = drawing(width, height, 1, seed);
    std::vector<uint8_t> copy(pixels, pixels + width * height);
    std::free(pixels);
    return copy;
}

void a_unique_pointer_owns_a_context(const char *device) {
    context_pointer context = make_context(device);
    context_pointer moved = std::move(context);
    isoline_context_free(context.get()); // NULL
    std::vector<uint8_t> pixels = drawn(60, 40, 3);
    isoline_report report;
    GOOD(isoline_report_init(&report, sizeof report));
    const std::vector<float> strength = strength_of(moved.get(), pixels, 60, 40, nullptr, &report);
    CHECK_NUMBER(report.iterations, 25);
    const isoline_edge_strength_params params = for_drawing(25);
    double *exact = exact_edge_strength(pixels.data(), 60, 40, 1, &params);
    CHECK(largest_error(strength.data(), exact, strength.size()) <= TOLERANCE_EXACT);
    std::free(exact);
}

void a_lambda_is_a_callback(const char *device) {
    context_pointer context = make_context(device);
    std::vector<uint8_t> pixels = drawn(60, 40, 4);
    std::vector<std::pair<double, std::string>> told;
    isoline_progress progress;
    GOOD(isoline_progress_init(&progress, sizeof progress));
    progress.user = &told;
    progress.callback = [](void *user, double fraction, const char *stage) -> int {
        static_cast<std::vector<std::pair<double, std::string>> *>(user)->emplace_back(fraction, stage);
        return 0;
    };
    strength_of(context.get(), pixels, 60, 40, &progress);
    CHECK(!told.empty() && !told.front().second.empty());
}

void enumerators_and_numbers_mix(const char *device) {
    const isoline_status status = isoline_context_trim(nullptr);
    CHECK(status == ISOLINE_NULL_POINTER);
    CHECK(std::string(isoline_status_name(status)) == "ISOLINE_NULL_POINTER");
    switch (status) {
    case ISOLINE_OK:
        CHECK(false);
        break;
    default:
        break;
    }
    context_pointer context = make_context(device);
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_context_device(context.get(), &entry));
    CHECK(std::string(entry.id) == device);
    CHECK(entry.kind == (std::string(device) == "cpu" ? ISOLINE_DEVICE_CPU : ISOLINE_DEVICE_CUDA));
}

void threads_work_side_by_side(const char *device) {
    std::vector<uint8_t> pixels = drawn(64, 64, 5);
    const std::vector<float> wanted = strength_of(make_context(device).get(), pixels, 64, 64);
    std::vector<int> same(4, 0);
    std::vector<std::thread> threads;
    context_pointer shared = make_context(device);
    for (size_t i = 0; i < same.size(); i++) {
        threads.emplace_back([&, i] {
            std::vector<uint8_t> own = pixels;
            context_pointer mine = i < 2 ? make_context(device) : nullptr;
            same[i] = strength_of(mine ? mine.get() : shared.get(), own, 64, 64) == wanted;
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(same == std::vector<int>(4, 1));
}

void a_unique_pointer_owns_segments(const char *device) {
    // A bright square on black: one edge runs round it, or several that meet.
    std::vector<uint8_t> pixels(64 * 64, 0), map(64 * 64, NOT_WRITTEN);
    for (size_t i = 0; i < pixels.size(); i++) {
        pixels[i] = i % 64 >= 20 && i % 64 < 44 && i / 64 >= 20 && i / 64 < 44 ? 200 : 0;
    }
    isoline_edge_drawing_params params = edge_defaults();
    params.min_length = 1;
    isoline_segments *made = nullptr;
    {
        context_pointer context = make_context(device);
        const isoline_image input = describe(ISOLINE_U8, 64, 64, 1, pixels.data());
        const isoline_image edges = describe(ISOLINE_U8, 64, 64, 1, map.data());
        GOOD(isoline_edge_drawing(context.get(), &input, &params, nullptr, &edges, &made, nullptr));
    }
    segments_pointer segments(made);
    size_t drawn = 0;
    for (size_t i = 0; i < isoline_segments_count(segments.get()); i++) {
        const isoline_point *points = nullptr;
        size_t count = 0;
        GOOD(isoline_segments_points(segments.get(), i, &points, &count));
        for (const isoline_point *point = points; point != points + count; ++point) {
            CHECK_NUMBER(map[point->y * 64 + point->x], 255);
            drawn++;
            const int from_centre = std::max(std::abs(int(point->x) - 32), std::abs(int(point->y) - 32));
            CHECK(from_centre >= 9 && from_centre <= 15);
        }
    }
    // All the way round, as one line.
    CHECK(drawn >= 4 * 20 && drawn <= 4 * 26);
    CHECK(isoline_segments_count(segments.get()) >= 1);
}

void a_unique_pointer_owns_a_level_set(const char *device) {
    // A bright disc on black, found from a box in it. The level set outlives its context.
    constexpr size_t side = 40;
    std::vector<uint8_t> pixels(side * side, 0), disc(side * side, 0), mask(side * side, 0);
    const isoline_image input = describe(ISOLINE_U8, side, side, 1, pixels.data());
    const isoline_image found = describe(ISOLINE_U8, side, side, 1, disc.data());
    const isoline_image start = describe(ISOLINE_U8, side, side, 1, mask.data());
    const isoline_sphere ball = {{20, 19, 0}, 11.3};
    const isoline_box box = {{16, 16, 0}, {23, 22, 0}};
    GOOD(isoline_mask_fill_spheres(&input, &ball, 1, 200));
    GOOD(isoline_mask_fill_boxes(&start, &box, 1, 1));
    isoline_level_set *made = nullptr;
    {
        context_pointer context = make_context(device);
        isoline_level_set_params params;
        GOOD(isoline_level_set_params_init(&params, sizeof params));
        params.target = 200;
        params.epsilon = 50;
        params.alpha = 0.5;
        GOOD(isoline_level_set_new(context.get(), &input, &start, &params, &made));
    }
    level_set_pointer level_set(made);
    std::vector<isoline_iteration_statistics> curve(1000);
    size_t written = 0;
    GOOD(isoline_level_set_step(level_set.get(), curve.size(), nullptr, nullptr));
    GOOD(isoline_level_set_statistics(level_set.get(), 1, curve.size(), curve.data(), &written));
    GOOD(isoline_level_set_read_mask(level_set.get(), &found));
    curve.resize(written);
    const auto bright = static_cast<size_t>(std::count(pixels.begin(), pixels.end(), 200));
    const auto inside = static_cast<size_t>(std::count(disc.begin(), disc.end(), 255));
    CHECK(written >= 10 && curve.back().inside == inside);
    CHECK(inside >= bright * 97 / 100 && inside <= bright * 103 / 100);
}

void a_unique_pointer_owns_a_snake(const char *device) {
    // A bright disc on black, outlined from a square in it. The snake outlives its context.
    constexpr size_t side = 60;
    std::vector<uint8_t> pixels(side * side, 20);
    std::vector<uint16_t> labels(side * side, 9);
    const isoline_image input = describe(ISOLINE_U8, side, side, 1, pixels.data());
    const isoline_image drawn = describe(ISOLINE_U16, side, side, 1, labels.data());
    const isoline_sphere ball = {{30, 29, 0}, 17.3};
    GOOD(isoline_mask_fill_spheres(&input, &ball, 1, 200));
    const std::vector<isoline_node> nodes = {{22, 22}, {38, 22}, {38, 37}, {22, 37}};
    const std::vector<uint64_t> offsets = {0, nodes.size()};
    isoline_polygons start;
    GOOD(isoline_polygons_init(&start, sizeof start));
    start.count = offsets.size() - 1;
    start.node_count = nodes.size();
    start.nodes = nodes.data();
    start.offsets = offsets.data();
    isoline_snake *made = nullptr;
    {
        context_pointer context = make_context(device);
        isoline_snake_params params;
        GOOD(isoline_snake_params_init(&params, sizeof params));
        params.node_spacing = 6;
        GOOD(isoline_snake_new(context.get(), &input, &start, &params, &made));
    }
    snake_pointer snake(made);
    std::vector<isoline_target_statistics> told(2);
    size_t written = 0;
    GOOD(isoline_snake_step(snake.get(), UINT64_MAX, nullptr, nullptr));
    GOOD(isoline_snake_statistics(snake.get(), 0, told.size(), told.data(), &written));
    GOOD(isoline_snake_draw_labels(snake.get(), &drawn));
    const auto bright = static_cast<size_t>(std::count(pixels.begin(), pixels.end(), 200));
    const auto inside = static_cast<size_t>(std::count(labels.begin(), labels.end(), 1));
    CHECK(written == 1 && told[0].status == ISOLINE_TARGET_CONVERGED && told[0].pixels == inside);
    CHECK(inside >= bright * 9 / 10 && inside <= bright * 11 / 10);
}

void errors_do_not_throw(const char *device) {
    context_pointer context = make_context(device);
    bool thrown = false;
    try {
        isoline_edge_strength_params params = for_drawing(1);
        params.rho = -1;
        float pixel = 0, strength = UNWRITTEN;
        const isoline_image input = describe(ISOLINE_F32, 1, 1, 1, &pixel);
        const isoline_image output = describe(ISOLINE_F32, 1, 1, 1, &strength);
        REFUSED(isoline_edge_strength(context.get(), &input, &params, nullptr, &output, nullptr),
                ISOLINE_INVALID_ARGUMENT, "rho");
    } catch (...) {
        thrown = true;
    }
    CHECK(!thrown);
}

} // namespace

int main() {
    RUN_ON_EACH(a_unique_pointer_owns_a_context);
    RUN_ON_EACH(a_lambda_is_a_callback);
    RUN_ON_EACH(enumerators_and_numbers_mix);
    RUN_ON_EACH(threads_work_side_by_side);
    RUN_ON_EACH(a_unique_pointer_owns_segments);
    RUN_ON_EACH(a_unique_pointer_owns_a_level_set);
    RUN_ON_EACH(a_unique_pointer_owns_a_snake);
    RUN_ON_EACH(errors_do_not_throw);
    return summary();
}
