#include "isoline.hpp"

/* Returns the points of the longest segment. */
isoline::span<const isoline::point> longest(const isoline::segments &segments);

/* Makes a call that the library refuses. */
void refused(isoline::context &context, const isoline::any_image &image);
