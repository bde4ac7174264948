// Edge strength of a stack in C++: two slices, 3D, with a progress line, and ownership by std::unique_ptr.
#include "isoline.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(isoline_status status) {
    if (status != ISOLINE_OK) {
        throw std::runtime_error(std::string(isoline_status_name(status)) + ": " + isoline_last_error());
    }
}

struct FreeContext {
    void operator()(isoline_context *context) const { isoline_context_free(context); }
};
using Context = std::unique_ptr<isoline_context, FreeContext>;

Context make_context(const char *device) {
    isoline_context *context = nullptr;
    check(isoline_context_new(device, &context));
    return Context(context);
}

template <typename Pixel>
isoline_image describe(std::vector<Pixel> &pixels, uint32_t type, uint64_t width, uint64_t height, uint64_t depth) {
    isoline_image image;
    check(isoline_image_init(&image, sizeof image));
    image.type = type;
    image.width = width;
    image.height = height;
    image.depth = depth;
    image.data = pixels.data();
    return image;
}

// No exception may leave a callback: it is called from C. Nonzero would cancel.
int show(void *, double fraction, const char *stage) {
    std::fprintf(stderr, "\r%s %3.0f %%", stage, fraction * 100);
    return 0;
}

} // namespace

int main(int argc, char **argv) try {
    const uint64_t width = 64, height = 48, depth = 8;
    std::vector<uint16_t> input(width * height * depth, 0);
    input[(4 * height + 24) * width + 32] = 1000; // one bright voxel in slice 4
    std::vector<float> field(input.size());

    const Context context = make_context(argc > 1 ? argv[1] : "auto");
    isoline_edge_strength_params params;
    check(isoline_edge_strength_params_init(&params, sizeof params));
    params.dimensions = 3;
    params.rho = 4;
    isoline_progress progress = {sizeof progress, 0, show, nullptr};
    const isoline_image in = describe(input, ISOLINE_U16, width, height, depth);
    const isoline_image out = describe(field, ISOLINE_F32, width, height, depth);
    check(isoline_edge_strength(context.get(), &in, &params, &progress, &out, nullptr));

    std::printf("\nalong x from the voxel:");
    for (uint64_t x = 32; x < 38; x++) {
        std::printf(" %.4f", static_cast<double>(field[(4 * height + 24) * width + x]));
    }
    std::printf("\n");
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "stack: %s\n", error.what());
    return 1;
}
