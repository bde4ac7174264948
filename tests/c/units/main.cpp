// One of two files of a program: this one is C++17, other.cpp C++20. Objects, views and exceptions pass between them.
#include "other.hpp"

#include <vector>

int main() {
    std::vector<std::uint8_t> pixels(64 * 64, 0);
    const isoline::image image(pixels.data(), 64, 64);
    const isoline::box box = {{20, 20, 0}, {43, 43, 0}};
    isoline::mask_fill_boxes(image, {&box, 1});
    isoline::context context("cpu");
    isoline::segments segments;
    isoline::edge_drawing(context, image, segments);
    const isoline::span<const isoline::point> points = longest(segments);
    bool caught = false;
    try {
        refused(context, image);
    } catch (const isoline::error &error) {
        caught = error.status() == ISOLINE_NULL_POINTER;
    }
    return caught && points.size() > 20 && points.data() == segments.points(0).data() ? 0 : 1;
}
