/*
 * Region snakes: polygons of all kinds, steps, restarts, results by every function, and objects freed in any order. In
 * the end a second snake that makes all iterations in one step must have the same bits.
 */
#include "fuzz.h"

using namespace fuzz;

namespace {

const unsigned SIDE = 32, MOST = 24;
/* More slices than a picture has. */
const uint64_t MAX_SLICES = UINT32_MAX;

/* Polygons in arrays of their exact sizes. */
class Outlines {
public:
    /* True if the description itself is wrong, so that every call must refuse it. */
    bool broken = false;
    /* The slice of each polygon; none if all are on slice 0. */
    std::vector<uint32_t> slices;

    Outlines(Bytes &bytes, const Picture &image) {
        std::vector<isoline_node> nodes;
        std::vector<uint64_t> offsets(1, 0);
        for (unsigned count = (bytes.below(5) + 1) % 5; count > 0; count--) {
            add(bytes, image, nodes);
            offsets.push_back(nodes.size());
        }
        isoline_polygons value = defaults(isoline_polygons_init);
        value.count = offsets.size() - 1;
        value.node_count = nodes.size();
        if (bytes.rarely(32)) {
            spoil(bytes, value, offsets);
        }
        node_memory = Memory(nodes.size() * sizeof(isoline_node));
        offset_memory = Memory(offsets.size() * sizeof(uint64_t));
        std::copy(nodes.begin(), nodes.end(), reinterpret_cast<isoline_node *>(node_memory.data()));
        std::copy(offsets.begin(), offsets.end(), reinterpret_cast<uint64_t *>(offset_memory.data()));
        node_memory.save();
        offset_memory.save();
        value.nodes = nodes.empty() || without_nodes ? nullptr : reinterpret_cast<isoline_node *>(node_memory.data());
        value.offsets = without_offsets ? nullptr : reinterpret_cast<uint64_t *>(offset_memory.data());
        if (image.depth > 1 && !broken && !bytes.rarely(8)) {
            for (uint64_t i = 0; i < value.count; i++) {
                slices.push_back(bytes.rarely(64) ? uint32_t(bytes.number(4)) : bytes.below(unsigned(image.depth)));
                outside = outside || slices.back() >= image.depth;
            }
            slice_memory = Memory(slices.size() * sizeof(uint32_t));
            std::copy(slices.begin(), slices.end(), reinterpret_cast<uint32_t *>(slice_memory.data()));
            slice_memory.save();
            value.slices = slices.empty() ? nullptr : reinterpret_cast<uint32_t *>(slice_memory.data());
        }
        count = value.count;
        is_null = bytes.rarely(8);
        memory = std::make_unique<Struct<isoline_polygons>>(bytes, value);
    }

    const isoline_polygons *get() const { return memory->get(); }
    const isoline_polygons *optional() const { return is_null ? nullptr : memory->get(); }
    bool valid() const { return !broken && !memory->unreadable(); }
    bool optional_valid() const { return is_null || (valid() && !outside); }
    size_t size() const { return size_t(count); }
    bool untouched() const { return memory->unchanged() && node_memory.unchanged() && offset_memory.unchanged() && slice_memory.unchanged(); }

private:
    Memory node_memory, offset_memory, slice_memory;
    std::unique_ptr<Struct<isoline_polygons>> memory;
    uint64_t count = 0;
    bool is_null = false, without_nodes = false, without_offsets = false, outside = false;

    static void add(Bytes &bytes, const Picture &image, std::vector<isoline_node> &nodes) {
        const int width = int(image.width), height = int(image.height);
        const size_t first = nodes.size();
        const int cx = int(bytes.below(unsigned(width) + 1)), cy = int(bytes.below(unsigned(height) + 1));
        const int rx = int(bytes.from(1, unsigned(width) / 2 + 2)), ry = int(bytes.from(1, unsigned(height) / 2 + 2));
        switch (bytes.below(6)) {
        case 0:
        case 1:
            nodes.insert(nodes.end(), {{cx - rx, cy - ry}, {cx + rx, cy - ry}, {cx + rx, cy + ry}, {cx - rx, cy + ry}});
            break;
        case 2: { // around a centre
            const unsigned corners = bytes.from(3, 14);
            for (unsigned i = 0; i < corners; i++) {
                const double angle = 6.283185307179586 * i / corners, radius = bytes.from(128, 255) / 255.0;
                nodes.push_back({cx + int(std::lround(rx * radius * std::cos(angle))), cy + int(std::lround(ry * radius * std::sin(angle)))});
            }
            break;
        }
        case 3: // any nodes
            for (unsigned i = bytes.below(9); i > 0; i--) {
                nodes.push_back({int(bytes.below(unsigned(width) + 9)) - 4, int(bytes.below(unsigned(height) + 9)) - 4});
            }
            break;
        case 4: // far away
            for (unsigned i = bytes.from(3, 5); i > 0; i--) {
                const auto far = [&] {
                    return bytes.pick<int32_t>({0, 1, 268435456, -268435456, 268435457, -268435457, INT32_MAX, INT32_MIN, width, height,
                                                int(bytes.number(2)), 65536, -65536, 268435455});
                };
                const int32_t x = far();
                nodes.push_back({x, far()});
            }
            break;
        default: // a comb
            for (unsigned i = 0, teeth = bytes.from(1, 6); i < teeth; i++) {
                nodes.insert(nodes.end(), {{cx + 2 * int(i), cy}, {cx + 2 * int(i) + 1, cy + ry}});
            }
            nodes.push_back({cx, cy + ry + 1});
            break;
        }
        if (bytes.rarely(4)) {
            std::reverse(nodes.begin() + long(first), nodes.end());
        }
        if (bytes.rarely(16) && nodes.size() > first) {
            nodes.push_back(nodes[first + bytes.below(unsigned(nodes.size() - first))]);
        }
    }

    void spoil(Bytes &bytes, isoline_polygons &value, std::vector<uint64_t> &offsets) {
        broken = true;
        const bool any = value.count > 0 && value.node_count > 0;
        switch (bytes.below(7)) {
        case 0: value.reserved = 1; break;
        case 1: offsets[0] = bytes.from(1, 9); break;
        case 2: offsets.back() += bytes.from(1, 9); break;
        case 3: offsets[bytes.below(unsigned(offsets.size()))] = bytes.pick<uint64_t>({UINT64_MAX, uint64_t(1) << 63, 1000}); break;
        case 4: value.count = bytes.pick<uint64_t>({UINT64_MAX, uint64_t(1) << 61, UINT64_MAX / 2}); break;
        case 5: value.node_count = bytes.pick<uint64_t>({UINT64_MAX, uint64_t(1) << 61, UINT64_MAX / 2}); break;
        default:
            (bytes.rarely(2) ? without_nodes : without_offsets) = any;
            broken = any;
            break;
        }
    }
};

class Snake : Subject<isoline_snake, isoline_snake_free> {
public:
    explicit Snake(Bytes &given) : Subject(given, SIDE, [&] { return given.rarely(32) ? 3 : 1; }), start(given, input),
                                   params(given, "snake", isoline_snake_params_init, MOST) {}

    void run() {
        Told told(bytes);
        Picture labels(bytes, input, bytes.pick<uint32_t>({ISOLINE_U16, ISOLINE_F32}));
        const unsigned wanted = bytes.below(8);
        const bool drawn = wanted % 3 != 1 && wanted != 7, kept = wanted % 3 != 2 && wanted != 7;
        if (bytes.rarely(64)) {
            labels.share(bytes, input);
        }
        told.watch.inside = [this] { reenter(device.get()); };
        const isoline_status status = CALL(isoline_snake_run(device.get(), input.image(), start.optional(), params.get(), told.watch.get(),
                                                             drawn ? labels.image() : nullptr, kept ? &solver : nullptr, told.report.get()));
        // Labels may have either of two types.
        const bool fits = labels.writable() || (labels.readable() && labels.type != ISOLINE_U8 && same_size(labels));
        check(status, told.valid() && (drawn || kept) && (!drawn || fits), MAX_SLICES);
        told.check(status);
        MUST((solver != nullptr) == (kept && status == ISOLINE_OK));
        MUST(drawn ? labels.as_promised(status) : labels.untouched());
        if (solver != nullptr) {
            results();
        }
        if (status == ISOLINE_OK && drawn && input.depth > 1) {
            stream(labels);
        }
    }

    void search() {
        const isoline_status status = CALL(isoline_snake_new(device.get(), input.image(), start.optional(), params.get(), &solver));
        check(status, true, 1);
        MUST((solver != nullptr) == (status == ISOLINE_OK));
        if (solver == nullptr) {
            return;
        }
        MUST(isoline_snake_count(solver) == (start.optional() == nullptr ? 1 : start.size()));
        for (unsigned actions = bytes.from(1, 7); actions > 0; actions--) {
            switch (bytes.below(8)) {
            case 0:
            case 1: step(); break;
            case 2: results(); break;
            case 3: sums(); break;
            case 4: draw(); break;
            case 5: restart(); break;
            case 6: refuse(); break;
            default: device.release(); break;
            }
        }
        compare();
    }

private:
    Outlines start;
    Params<isoline_snake_params> params;
    uint64_t total = 0;
    bool changed = false;

    bool same_size(const Picture &other) const {
        return other.width == input.width && other.height == input.height && other.depth == input.depth;
    }

    void check(isoline_status status, bool others, uint64_t most_slices) const {
        MUST(status != ISOLINE_OK ||
             (others && input.readable() && input.depth <= most_slices && start.optional_valid() && params.valid()));
        MUST(status != ISOLINE_BUSY);
        MUST(input.untouched() && start.untouched() && params.unchanged());
    }

    /* A run whose slices callbacks read and write gives the same labels. */
    void stream(const Picture &labels) {
        Tape from(input), to(labels);
        isoline_snake *twin = nullptr;
        const auto streamed = [&] {
            return CALL(isoline_snake_run(common(), from.image(), start.optional(), params.get(), nullptr, to.image(), &twin, nullptr));
        };
        std::fill(to.pixels.begin(), to.pixels.end(), uint8_t(0x5A));
        MUST(streamed() == ISOLINE_OK);
        MUST(to.pixels == labels.packed());
        isoline_snake_free(twin);
        twin = nullptr;
        to.failing = bytes.below(unsigned(input.depth));
        MUST(streamed() == ISOLINE_CALLBACK_FAILED && twin == nullptr);
        MUST(std::strstr(isoline_last_error(), "the tape is torn") != nullptr);
    }

    void step() {
        Told told(bytes);
        told.watch.inside = [&] {
            const isoline_node *nodes = nullptr;
            isoline_polygons polygons = defaults(isoline_polygons_init);
            isoline_target_statistics element;
            size_t count = 77;
            MUST(CALL(isoline_snake_step(solver, 1, nullptr, nullptr)) == ISOLINE_BUSY);
            MUST(CALL(isoline_snake_polygons(solver, &polygons)) == ISOLINE_BUSY);
            MUST(CALL(isoline_snake_polygon(solver, 0, &nodes, &count)) == ISOLINE_BUSY);
            MUST(CALL(isoline_snake_statistics(solver, 0, 1, &element, &count)) == ISOLINE_BUSY);
            MUST(CALL(isoline_snake_restart(solver, nullptr, nullptr)) == ISOLINE_BUSY);
            MUST(nodes == nullptr && count == 77 && polygons.offsets == nullptr);
            (void)isoline_snake_count(solver);
        };
        const uint64_t iterations = bytes.rarely(4) ? UINT64_MAX : bytes.below(MOST);
        const isoline_status status = CALL(isoline_snake_step(solver, iterations, told.watch.get(), told.report.get()));
        told.check(status);
        if (status == ISOLINE_OK) {
            total = iterations > UINT64_MAX - total ? UINT64_MAX : total + iterations;
        }
        changed = changed || status == ISOLINE_CANCELLED;
    }

    std::vector<isoline_target_statistics> all_statistics() const {
        std::vector<isoline_target_statistics> all(isoline_snake_count(solver));
        size_t given = 0;
        GOOD(isoline_snake_statistics(solver, 0, all.size(), all.data(), &given));
        MUST(given == all.size());
        return all;
    }

    void results() {
        const size_t count = isoline_snake_count(solver);
        Struct<isoline_polygons> odd(bytes, defaults(isoline_polygons_init));
        const isoline_status status = CALL(isoline_snake_polygons(solver, odd.get()));
        MUST((status == ISOLINE_OK) != odd.too_small());
        MUST(status == ISOLINE_OK ? odd.rest_unchanged() : odd.unchanged());
        isoline_polygons polygons = defaults(isoline_polygons_init);
        GOOD(isoline_snake_polygons(solver, &polygons));
        MUST(polygons.count == count && polygons.reserved == 0 && polygons.offsets != nullptr && polygons.offsets[0] == 0);
        MUST(polygons.offsets[count] == polygons.node_count && (polygons.nodes == nullptr) == (polygons.node_count == 0));
        const auto all = all_statistics();
        const uint64_t area = input.width * input.height;
        const isoline_snake_params by = params.value();
        for (size_t i = 0; i < count; i++) {
            const isoline_node *nodes = nullptr;
            size_t length = 0;
            GOOD(isoline_snake_polygon(solver, i, &nodes, &length));
            MUST(length >= 3 && nodes == polygons.nodes + polygons.offsets[i] && length == polygons.offsets[i + 1] - polygons.offsets[i]);
            const isoline_target_statistics &one = all[i];
            MUST(one.status <= ISOLINE_TARGET_ITERATION_LIMIT && one.flags <= 15 && one.nodes == length);
            MUST(one.pixels + one.background_pixels <= area);
            MUST(one.pixels > 0 ? one.deviation >= 0 && std::isfinite(one.mean) : std::isnan(one.mean) && std::isnan(one.deviation));
            MUST(one.status == ISOLINE_TARGET_LEFT_IMAGE || std::all_of(nodes, nodes + length, [&](const isoline_node &node) {
                     return node.x >= 0 && node.y >= 0 && uint64_t(node.x) <= input.width && uint64_t(node.y) <= input.height;
                 }));
        }
        for (size_t i = 0; i < count; i++) {
            // Without polygons each slice has one.
            const uint64_t wanted = start.optional() == nullptr ? i : start.slices.empty() ? 0 : start.slices[i];
            MUST(changed || polygons.slices[i] == wanted);
        }
        // The polygons of the library are polygons that it accepts, and their sums are the targets'.
        std::vector<isoline_region_sum> sums(count);
        if (input.depth > 1) {
            REFUSED(isoline_snake_region_sums(solver, &polygons, sums.data()));
            REFUSED(isoline_snake_restart(solver, nullptr, params.get()));
            return;
        }
        GOOD(isoline_snake_region_sums(solver, &polygons, sums.data()));
        for (size_t i = 0; i < count && !changed && by.overlap == ISOLINE_SNAKE_OVERLAP_ALLOWED; i++) {
            // A polygon that is clamped to nothing stays as it was given, and may reach into the image.
            MUST(all[i].status == ISOLINE_TARGET_LEFT_IMAGE || sums[i].pixels == all[i].pixels);
            MUST(all[i].status == ISOLINE_TARGET_LEFT_IMAGE || (sums[i].pixels == 0 || sums[i].mean == all[i].mean));
        }
    }

    void sums() {
        const Outlines outlines(bytes, input);
        const size_t count = outlines.valid() ? outlines.size() : 0;
        Memory memory(count * sizeof(isoline_region_sum), 0xA5);
        auto *out = reinterpret_cast<isoline_region_sum *>(memory.data());
        const isoline_status status = CALL(isoline_snake_region_sums(solver, outlines.get(), out));
        MUST(outlines.untouched());
        if (status != ISOLINE_OK) {
            MUST(memory.unchanged());
            return;
        }
        MUST(outlines.valid());
        for (size_t i = 0; i < count; i++) {
            MUST(out[i].pixels <= input.width * input.height);
            MUST(out[i].pixels > 0 ? std::isfinite(out[i].mean) && out[i].deviation >= 0
                                   : std::isnan(out[i].mean) && out[i].sum == 0 && out[i].sum_of_squares == 0);
        }
    }

    void draw() {
        Picture mask(bytes, input, ISOLINE_U8), labels(bytes, input, bytes.pick<uint32_t>({ISOLINE_U16, ISOLINE_F32}));
        const isoline_status one = CALL(isoline_snake_draw_mask(solver, mask.image()));
        const isoline_status other = CALL(isoline_snake_draw_labels(solver, labels.image()));
        MUST((one == ISOLINE_OK) == mask.writable());
        MUST((other == ISOLINE_OK) == (labels.readable() && labels.type != ISOLINE_U8 && same_size(labels)));
        MUST(one == ISOLINE_OK ? mask.only_pixels_written() : mask.untouched());
        MUST(other == ISOLINE_OK ? labels.only_pixels_written() : labels.untouched());
        MUST(one != ISOLINE_OK || mask.all<uint8_t>([](uint8_t value) { return value == 0 || value == 255; }));
        for (uint64_t i = 0; other == ISOLINE_OK && i < input.width * input.height; i++) {
            const uint64_t x = i % input.width, y = i / input.width;
            const double label = labels.type == ISOLINE_F32 ? double(labels.at<float>(x, y, 0)) : labels.at<uint16_t>(x, y, 0);
            MUST(label >= 0 && label <= double(isoline_snake_count(solver)) && label == std::floor(label));
            MUST(one != ISOLINE_OK || (mask.at<uint8_t>(x, y, 0) == 255) == (label > 0));
        }
    }

    void restart() {
        const Outlines outlines(bytes, input);
        const Params<isoline_snake_params> others(bytes, "snake", isoline_snake_params_init, MOST);
        const bool keep = bytes.rarely(2);
        const auto before = all_statistics();
        const isoline_status status = CALL(isoline_snake_restart(solver, outlines.optional(), keep ? params.get() : others.get()));
        MUST(outlines.untouched() && others.unchanged());
        MUST(status != ISOLINE_OK || (outlines.optional_valid() && (keep || others.valid())));
        if (status == ISOLINE_OK) {
            changed = true;
            MUST(isoline_snake_count(solver) == (outlines.optional() == nullptr ? 1 : outlines.size()));
        } else {
            const auto after = all_statistics();
            MUST(after.size() == before.size() &&
                 (before.empty() || std::memcmp(after.data(), before.data(), before.size() * sizeof before[0]) == 0));
        }
    }

    void refuse() {
        const size_t count = isoline_snake_count(solver);
        const isoline_node *nodes = nullptr;
        size_t length = 77;
        REFUSED(isoline_snake_polygon(solver, bytes.pick<size_t>({count, SIZE_MAX, count + 1}), &nodes, &length));
        REFUSED(isoline_snake_polygon(solver, 0, nullptr, &length));
        REFUSED(isoline_snake_polygon(solver, 0, &nodes, nullptr));
        REFUSED(isoline_snake_polygons(solver, nullptr));
        REFUSED(isoline_snake_region_sums(solver, nullptr, nullptr));
        REFUSED(isoline_snake_draw_mask(solver, nullptr));
        REFUSED(isoline_snake_draw_labels(solver, nullptr));
        REFUSED(isoline_snake_statistics(solver, 0, 1, nullptr, &length));
        REFUSED(isoline_snake_statistics(solver, 0, 0, nullptr, nullptr));
        MUST(nodes == nullptr && length == 77);
        const size_t wanted = bytes.below(6), first = bytes.pick<size_t>({0, 1, count, SIZE_MAX, count + 1});
        Memory memory(wanted * sizeof(isoline_target_statistics), 0xA5);
        auto *out = reinterpret_cast<isoline_target_statistics *>(memory.data());
        GOOD(isoline_snake_statistics(solver, first, wanted, out, &length));
        MUST(length == std::min(wanted, first < count ? count - first : 0));
        std::memcpy(memory.saved(), memory.data(), length * sizeof *out);
        MUST(memory.unchanged());
    }

    /* All iterations in one step, in a solver of its own, give the same bits. */
    void compare() {
        if (changed) {
            return;
        }
        isoline_snake *twin = nullptr;
        GOOD(isoline_snake_new(common(), input.image(), start.optional(), params.get(), &twin));
        GOOD(isoline_snake_step(twin, total, nullptr, nullptr));
        const auto mine = all_statistics();
        isoline_polygons one = defaults(isoline_polygons_init), other = one;
        GOOD(isoline_snake_polygons(solver, &one));
        GOOD(isoline_snake_polygons(twin, &other));
        std::swap(solver, twin);
        const auto theirs = all_statistics();
        std::swap(solver, twin);
        MUST(one.count == other.count && one.node_count == other.node_count && mine.size() == theirs.size());
        MUST(std::memcmp(one.offsets, other.offsets, size_t(one.count + 1) * sizeof *one.offsets) == 0);
        MUST(one.node_count == 0 || std::memcmp(one.nodes, other.nodes, size_t(one.node_count) * sizeof *one.nodes) == 0);
        MUST(mine.empty() || std::memcmp(mine.data(), theirs.data(), mine.size() * sizeof mine[0]) == 0);
        isoline_snake_free(twin);
    }
};

/* Smooth curves along any polygons: the offsets first, then the points if there are not too many. */
void smooth(Bytes &bytes) {
    const Picture frame(bytes, SIDE, 1);
    const Outlines outlines(bytes, frame);
    const double longest = bytes.rarely(2) ? bytes.real() : bytes.rarely(2) ? ISOLINE_AUTOMATIC : (1 + bytes.byte()) / 8.0;
    const uint32_t each = bytes.rarely(16) ? uint32_t(bytes.number(4)) : bytes.from(1, 16);
    const size_t count = outlines.valid() ? outlines.size() : 0;
    Memory first((count + 1) * sizeof(uint64_t), 0xA5), second((count + 1) * sizeof(uint64_t), 0xA5);
    auto *offsets = reinterpret_cast<uint64_t *>(first.data()), *again = reinterpret_cast<uint64_t *>(second.data());
    const isoline_status status = CALL(isoline_polygons_smooth(outlines.get(), longest, each, 0, offsets, nullptr));
    MUST(outlines.untouched());
    REFUSED(isoline_polygons_smooth(outlines.get(), longest, each, 0, nullptr, nullptr));
    REFUSED(isoline_polygons_smooth(outlines.get(), longest, each, 1, again, nullptr));
    if (status != ISOLINE_OK) {
        MUST(first.unchanged() && second.unchanged());
        return;
    }
    MUST(outlines.valid() && (longest == ISOLINE_AUTOMATIC || (longest > 0 && std::isfinite(longest))) && each >= 1 && each <= 1024);
    MUST(offsets[0] == 0 && std::is_sorted(offsets, offsets + count + 1));
    const bool many = offsets[count] > 20000;
    const size_t total = many ? 0 : size_t(offsets[count]);
    Memory memory(total * sizeof(isoline_curve_point), 0xA5);
    auto *points = reinterpret_cast<isoline_curve_point *>(memory.data());
    if (offsets[count] > 0) {
        REFUSED(isoline_polygons_smooth(outlines.get(), longest, each, many ? 0 : total - 1, again, points));
    }
    MUST(memory.unchanged() && second.unchanged());
    if (many) {
        return;
    }
    GOOD(isoline_polygons_smooth(outlines.get(), longest, each, total, again, points));
    MUST(std::memcmp(offsets, again, first.size()) == 0);
    // The curve is within a quarter of the longest edge of the polygon, so of the box around it, too.
    const isoline_polygons &given = *outlines.get();
    for (size_t i = 0; i < count; i++) {
        const isoline_node *begin = given.nodes + given.offsets[i], *end = given.nodes + given.offsets[i + 1];
        const auto by_x = [](const isoline_node &a, const isoline_node &b) { return a.x < b.x; };
        const auto by_y = [](const isoline_node &a, const isoline_node &b) { return a.y < b.y; };
        const double left = std::min_element(begin, end, by_x)->x, right = std::max_element(begin, end, by_x)->x;
        const double top = std::min_element(begin, end, by_y)->y, bottom = std::max_element(begin, end, by_y)->y;
        const double around = std::hypot(right - left, bottom - top);
        const double largest = std::max({1.0, -left, right, -top, bottom});
        const double slack = std::min(longest == ISOLINE_AUTOMATIC ? 16 : longest, around) / 4 + 1e-9 * largest;
        MUST(std::all_of(points + offsets[i], points + offsets[i + 1], [&](const isoline_curve_point &point) {
            return point.x >= left - slack && point.x <= right + slack && point.y >= top - slack && point.y <= bottom + slack;
        }));
    }
}

/* NULL for each pointer that must not be NULL. */
void without(Bytes &bytes) {
    const Picture input(bytes, 8, 1), mask(bytes, input, ISOLINE_U8);
    isoline_snake *snake = nullptr;
    isoline_polygons polygons = defaults(isoline_polygons_init);
    size_t given = 77;
    REFUSED(isoline_snake_new(nullptr, input.image(), nullptr, nullptr, &snake));
    REFUSED(isoline_snake_new(common(), nullptr, nullptr, nullptr, &snake));
    REFUSED(isoline_snake_new(common(), input.image(), nullptr, nullptr, nullptr));
    REFUSED(isoline_snake_run(nullptr, input.image(), nullptr, nullptr, nullptr, nullptr, &snake, nullptr));
    REFUSED(isoline_snake_run(common(), nullptr, nullptr, nullptr, nullptr, nullptr, &snake, nullptr));
    REFUSED(isoline_snake_step(nullptr, 1, nullptr, nullptr));
    REFUSED(isoline_snake_restart(nullptr, nullptr, nullptr));
    REFUSED(isoline_snake_polygons(nullptr, &polygons));
    REFUSED(isoline_snake_statistics(nullptr, 0, 0, nullptr, &given));
    REFUSED(isoline_snake_region_sums(nullptr, &polygons, nullptr));
    uint64_t offset = 77;
    REFUSED(isoline_polygons_smooth(nullptr, 8, 8, 0, &offset, nullptr));
    MUST(offset == 77);
    REFUSED(isoline_snake_draw_mask(nullptr, mask.image()));
    REFUSED(isoline_snake_draw_labels(nullptr, mask.image()));
    MUST(snake == nullptr && given == 77 && mask.untouched() && isoline_snake_count(nullptr) == 0);
    isoline_snake_free(nullptr);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    const unsigned which = bytes.below(16);
    if (which == 15) {
        without(bytes);
    } else if (which > 12) {
        smooth(bytes);
    } else if (which > 9) {
        Snake(bytes).run();
    } else {
        Snake(bytes).search();
    }
    return 0;
}
