// The header of the C API from C++: types, linkage, and how a program that does without isoline.hpp would wrap it.
#include "images.h"

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
    RUN_ON_EACH(errors_do_not_throw);
    return summary();
}
