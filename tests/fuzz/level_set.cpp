/*
 * Level sets: created, stepped in parts, cancelled, read, written and freed in any order. In the end a second level set
 * that makes all iterations in one step must have the same bits.
 */
#include "fuzz.h"

using namespace fuzz;

namespace {

const unsigned SIDE = 20, SLICES = 4, MOST = 24;

/* A mask for an image: of any type, filled by a pattern. */
Picture initial_mask(Bytes &bytes, const Picture &input) {
    Picture mask(bytes, input, bytes.pick<uint32_t>({ISOLINE_U8, ISOLINE_U8, ISOLINE_U16, ISOLINE_F32}));
    mask.fill(bytes);
    return mask;
}

/* True if a call may take the mask, which may have any type. */
bool fits(const Picture &mask, const Picture &input) {
    return mask.readable() && mask.width == input.width && mask.height == input.height && mask.depth == input.depth;
}

class Surface : Subject<isoline_level_set, isoline_level_set_free> {
public:
    explicit Surface(Bytes &given) : Subject(given, SIDE, [] { return SLICES; }), mask(initial_mask(given, input)),
                                     params(given, "level_set", isoline_level_set_params_init, MOST) {}

    void run() {
        Told told(bytes);
        Picture output(bytes, input, ISOLINE_U8);
        if (bytes.rarely(64)) {
            output.share(bytes, bytes.rarely(2) ? mask : input);
        }
        told.watch.inside = [this] { reenter(device.get()); };
        const auto call = [&](isoline_context *context, const isoline_progress *progress, isoline_report *to) {
            return CALL(isoline_level_set_run(context, input.image(), mask.image(), params.get(), progress, output.image(), to));
        };
        const isoline_status status = call(device.get(), told.watch.get(), told.report.get());
        check(status, told.valid() && output.writable());
        told.check(status);
        MUST(output.as_promised(status));
        if (status != ISOLINE_OK) {
            return;
        }
        MUST(output.all<uint8_t>([](uint8_t value) { return value == 0 || value == 255; }));
        MUST(told.report.done() == nullptr || told.report.done()->iterations <= params.value().iterations);
        const auto first = output.packed();
        MUST(call(common(), nullptr, nullptr) == ISOLINE_OK);
        MUST(output.packed() == first);
    }

    void evolve() {
        const isoline_status status = CALL(isoline_level_set_new(device.get(), input.image(), mask.image(), params.get(), &solver));
        check(status, true);
        MUST((solver != nullptr) == (status == ISOLINE_OK));
        if (solver == nullptr) {
            return;
        }
        for (unsigned actions = bytes.from(1, 8); actions > 0; actions--) {
            switch (bytes.below(8)) {
            case 0:
            case 1:
            case 2: step(); break;
            case 3: read(); break;
            case 4: write(); break;
            case 5: info(); break;
            case 6: statistics(); break;
            default: device.release(); break;
            }
        }
        compare();
    }

private:
    Picture mask;
    Params<isoline_level_set_params> params;
    bool written = false, converged = false;

    void check(isoline_status status, bool others) const {
        MUST(status != ISOLINE_OK || (others && input.readable() && fits(mask, input) && params.valid()));
        MUST(status != ISOLINE_BUSY);
        MUST(input.untouched() && mask.untouched() && params.unchanged());
    }

    isoline_level_set_state state() const {
        isoline_level_set_state now = defaults(isoline_level_set_state_init);
        GOOD(isoline_level_set_info(solver, &now));
        return now;
    }

    void step() {
        Told told(bytes);
        const isoline_level_set_state before = state();
        told.watch.inside = [&] {
            isoline_level_set_state now = defaults(isoline_level_set_state_init);
            isoline_iteration_statistics element;
            size_t count = 77;
            MUST(CALL(isoline_level_set_step(solver, 1, nullptr, nullptr)) == ISOLINE_BUSY);
            MUST(CALL(isoline_level_set_info(solver, &now)) == ISOLINE_BUSY);
            MUST(CALL(isoline_level_set_statistics(solver, 1, 1, &element, &count)) == ISOLINE_BUSY);
            MUST(now.iterations == 0 && count == 77);
        };
        const uint64_t iterations = bytes.below(MOST);
        const isoline_status status = CALL(isoline_level_set_step(solver, iterations, told.watch.get(), told.report.get()));
        told.check(status);
        const isoline_level_set_state now = state();
        MUST(now.iterations >= before.iterations && now.iterations <= before.iterations + iterations);
        MUST(status == ISOLINE_OK || status == ISOLINE_CANCELLED || now.iterations == before.iterations);
        const isoline_report *done = status == ISOLINE_OK ? told.report.done() : nullptr;
        MUST(done == nullptr || (done->iterations == now.iterations - before.iterations));
        converged = converged || now.converged != 0 || (status == ISOLINE_OK && now.iterations < before.iterations + iterations);
    }

    void read() {
        Picture pixels(bytes, input, ISOLINE_U8), phi(bytes, input, ISOLINE_F32);
        const isoline_status one = CALL(isoline_level_set_read_mask(solver, pixels.image()));
        const isoline_status other = CALL(isoline_level_set_read_phi(solver, phi.image()));
        MUST((one == ISOLINE_OK) == pixels.writable() && (other == ISOLINE_OK) == phi.writable());
        MUST(one == ISOLINE_OK ? pixels.only_pixels_written() : pixels.untouched());
        MUST(other == ISOLINE_OK ? phi.only_pixels_written() : phi.untouched());
        MUST(other != ISOLINE_OK || phi.all<float>([](float value) { return std::isfinite(value); }));
        if (one == ISOLINE_OK) {
            uint64_t inside = 0;
            MUST(pixels.all<uint8_t>([&](uint8_t value) {
                inside += value == 255;
                return value == 0 || value == 255;
            }));
            MUST(inside == state().inside);
        }
        if (one == ISOLINE_OK && other == ISOLINE_OK) {
            for (uint64_t i = 0; i < input.width * input.height * input.depth; i++) {
                const uint64_t x = i % input.width, y = i / input.width % input.height, z = i / (input.width * input.height);
                MUST((phi.at<float>(x, y, z) < 0) == (pixels.at<uint8_t>(x, y, z) == 255));
            }
        }
    }

    void write() {
        Picture phi(bytes, input, ISOLINE_F32);
        if (phi.type == ISOLINE_F32) {
            phi.fill(bytes);
        }
        const bool finite = phi.type == ISOLINE_F32 && phi.all<float>([](float value) { return std::isfinite(value); });
        const isoline_status status = CALL(isoline_level_set_write_phi(solver, phi.image()));
        MUST((status == ISOLINE_OK) == (phi.writable() && finite));
        MUST(phi.untouched());
        written = written || status == ISOLINE_OK;
    }

    void info() {
        Struct<isoline_level_set_state> odd(bytes, defaults(isoline_level_set_state_init));
        const isoline_status status = CALL(isoline_level_set_info(solver, odd.get()));
        MUST((status == ISOLINE_OK) != odd.too_small());
        if (status != ISOLINE_OK) {
            MUST(odd.unchanged());
            return;
        }
        MUST(odd.rest_unchanged());
        const isoline_level_set_state &now = odd.read();
        MUST(now.converged <= 1 && now.side >= ISOLINE_LEVEL_SET_WITHIN && now.side <= ISOLINE_LEVEL_SET_OUTSIDE);
        MUST(now.inside <= input.width * input.height * input.depth && now.active_tiles <= now.tiles && now.check_interval > 0);
        MUST(std::isfinite(now.target) && now.epsilon > 0 && std::isfinite(now.epsilon) && now.alpha >= 0 && now.alpha <= 1);
        MUST(now.outcome <= ISOLINE_LEVEL_SET_LOST);
        MUST(now.coarse_iterations == 0 || params.value().pyramid_levels > 1);
        MUST(std::isnan(now.edge_contrast) ? !(params.value().edge_weight > 0) : now.edge_contrast > 0);
        MUST(std::isnan(now.limit_share) || (now.limit_share >= 0 && now.limit_share <= 1));
        MUST(now.time_step > 0 && now.time_step <= now.time_step_limit);
    }

    void statistics() {
        const size_t count = bytes.below(40);
        const uint64_t first = bytes.pick<uint64_t>({1, 0, 2, bytes.byte(), UINT64_MAX});
        Memory memory(count * sizeof(isoline_iteration_statistics), 0xA5);
        auto *out = reinterpret_cast<isoline_iteration_statistics *>(memory.data());
        size_t given = 77;
        GOOD(isoline_level_set_statistics(solver, first, count, out, &given));
        const uint64_t done = state().iterations, start = std::max<uint64_t>(first, 1);
        MUST(given == std::min<uint64_t>(count, done >= start ? done - start + 1 : 0));
        for (size_t i = 0; i < given; i++) {
            MUST(out[i].iteration == start + i && out[i].inside <= input.width * input.height * input.depth);
            MUST(out[i].rms >= 0 && std::isfinite(out[i].rms));
        }
        std::memcpy(memory.saved(), memory.data(), given * sizeof *out);
        MUST(memory.unchanged());
        REFUSED(isoline_level_set_statistics(solver, first, SIZE_MAX, out, &given));
        REFUSED(isoline_level_set_statistics(solver, first, count, out, nullptr));
        REFUSED(isoline_level_set_statistics(solver, first, 1, nullptr, &given));
    }

    /* All iterations in one step, in a level set of its own, give the same bits. */
    void compare() {
        GOOD(isoline_level_set_step(solver, 0, nullptr, nullptr));
        if (written || converged) {
            return;
        }
        isoline_level_set *twin = nullptr;
        const isoline_level_set_state now = state();
        GOOD(isoline_level_set_new(common(), input.image(), mask.image(), params.get(), &twin));
        GOOD(isoline_level_set_step(twin, now.iterations, nullptr, nullptr));
        isoline_image description = defaults(isoline_image_init);
        description.type = ISOLINE_F32;
        description.width = input.width;
        description.height = input.height;
        description.depth = input.depth;
        std::vector<float> phi[2];
        isoline_level_set *const both[] = {solver, twin};
        for (int i = 0; i < 2; i++) {
            phi[i].resize(size_t(input.width * input.height * input.depth));
            description.data = phi[i].data();
            GOOD(isoline_level_set_read_phi(both[i], &description));
        }
        MUST(std::memcmp(phi[0].data(), phi[1].data(), phi[0].size() * sizeof(float)) == 0);
        isoline_level_set_free(twin);
    }
};

/* NULL for each pointer that must not be NULL. */
void without(Bytes &bytes) {
    const Picture input(bytes, 8, 1), mask(bytes, input, ISOLINE_U8), phi(bytes, input, ISOLINE_F32);
    isoline_level_set *surface = nullptr;
    isoline_level_set_state now = defaults(isoline_level_set_state_init);
    size_t given = 77;
    REFUSED(isoline_level_set_new(nullptr, input.image(), mask.image(), nullptr, &surface));
    REFUSED(isoline_level_set_new(common(), nullptr, mask.image(), nullptr, &surface));
    REFUSED(isoline_level_set_new(common(), input.image(), nullptr, nullptr, &surface));
    REFUSED(isoline_level_set_new(common(), input.image(), mask.image(), nullptr, nullptr));
    REFUSED(isoline_level_set_run(nullptr, input.image(), mask.image(), nullptr, nullptr, mask.image(), nullptr));
    REFUSED(isoline_level_set_run(common(), input.image(), mask.image(), nullptr, nullptr, nullptr, nullptr));
    REFUSED(isoline_level_set_step(nullptr, 1, nullptr, nullptr));
    REFUSED(isoline_level_set_read_mask(nullptr, mask.image()));
    REFUSED(isoline_level_set_read_phi(nullptr, phi.image()));
    REFUSED(isoline_level_set_write_phi(nullptr, phi.image()));
    REFUSED(isoline_level_set_info(nullptr, &now));
    REFUSED(isoline_level_set_statistics(nullptr, 1, 0, nullptr, &given));
    MUST(surface == nullptr && given == 77 && mask.untouched() && phi.untouched());
    isoline_level_set_free(nullptr);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    const unsigned which = bytes.below(16);
    if (which == 15) {
        without(bytes);
    } else if (which > 10) {
        Surface(bytes).run();
    } else {
        Surface(bytes).evolve();
    }
    return 0;
}
