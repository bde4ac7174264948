#include "other.hpp"

#include <span>

isoline::span<const isoline::point> longest(const isoline::segments &segments) {
    std::span<const isoline::point> found;
    for (std::size_t i = 0; i < segments.size(); i++) {
        const std::span<const isoline::point> points = segments.points(i);
        found = points.size() > found.size() ? points : found;
    }
    return found;
}

void refused(isoline::context &context, const isoline::any_image &image) {
    isoline::distance(context, image, {});
}
