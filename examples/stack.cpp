// Edge strength of a stack in C++: eight slices as one volume, with a progress line.
#include "isoline.hpp"

#include <cstdio>
#include <vector>

int main(int argc, char **argv) try {
    const std::size_t width = 64, height = 48, depth = 8;
    std::vector<std::uint16_t> voxels(width * height * depth, 0);
    voxels[(4 * height + 24) * width + 32] = 1000; // one bright voxel in slice 4
    std::vector<float> field(voxels.size());

    isoline::context context(argc > 1 ? argv[1] : "auto");
    isoline::edge_strength_params params;
    params.dimensions = 3;
    params.rho = 4;
    const auto show = [](double fraction, const char *stage) {
        std::fprintf(stderr, "\r%s %3.0f %%", stage, fraction * 100);
    };
    isoline::edge_strength(context, isoline::image(voxels.data(), width, height, depth),
                           isoline::image(field.data(), width, height, depth), params, show);

    std::printf("\nalong x from the voxel:");
    for (std::size_t x = 32; x < 38; x++) {
        std::printf(" %.4f", static_cast<double>(field[(4 * height + 24) * width + x]));
    }
    std::printf("\n");
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "stack: %s\n", error.what());
    return 1;
}
