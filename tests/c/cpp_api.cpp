// The C++ interface: its objects, errors, callbacks and views, and that its results are those of the C API.
#include "images.h"
#include "watch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#ifdef __cpp_lib_ranges
#include <ranges>
#include <span>
#endif

// <windows.h> defines such macros. The header by itself is compiled by run.sh.
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#include "isoline.hpp"
#undef min
#undef max

namespace {

constexpr std::size_t WIDTH = 60, HEIGHT = 44, DEPTH = 3, SLICE = WIDTH * HEIGHT, COUNT = SLICE * DEPTH;
constexpr std::uint64_t MANY = 1000000;

/* The call throws an isoline::error with `status`, whose message contains `word`. */
#define THROWS(status, word, ...) throws([&] { static_cast<void>(__VA_ARGS__); }, status, word, __LINE__, #__VA_ARGS__)

template <typename Call>
void throws(Call call, isoline_status status, const char *word, int line, const char *what) {
    try {
        call();
        check_that(0, __FILE__, line, "%s threw nothing", what);
    } catch (const isoline::error &error) {
        check_status(error.status(), status, nullptr, __FILE__, line, what);
        check_text(error.name(), isoline_status_name(status), __FILE__, line, what);
        check_text(error.what(), isoline_last_error(), __FILE__, line, what);
        check_has(error.what(), word, __FILE__, line, what);
    }
}

/* Two kinds of exception that are not the library's: one that a program defines, and one that is no class. */
struct too_late {
    int number;
};

std::vector<std::uint8_t> drawn(std::uint32_t seed) {
    const std::unique_ptr<std::uint8_t, decltype(&std::free)> pixels(drawing(WIDTH, HEIGHT, DEPTH, seed), std::free);
    return std::vector<std::uint8_t>(pixels.get(), pixels.get() + COUNT);
}

/* A bright disc on grey, in one slice. */
std::vector<std::uint8_t> disc(std::uint8_t ground = 20) {
    std::vector<std::uint8_t> pixels(SLICE, ground);
    const isoline::sphere ball[] = {{{30, 21, 0}, 13.3}};
    isoline::mask_fill_spheres(isoline::image(pixels.data(), WIDTH, HEIGHT), ball, 200);
    return pixels;
}

/* A start for the disc. */
std::vector<std::uint8_t> box_in_disc() {
    std::vector<std::uint8_t> pixels(SLICE, 0);
    const isoline::box box = {{26, 18, 0}, {33, 24, 0}};
    isoline::mask_fill_boxes(isoline::image(pixels.data(), WIDTH, HEIGHT), {&box, 1});
    return pixels;
}

constexpr isoline::node SQUARE[] = {{24, 15}, {36, 15}, {36, 27}, {24, 27}};

isoline::level_set_params for_disc() {
    isoline::level_set_params params;
    params.target = 200;
    params.epsilon = 50;
    params.alpha = 0.5;
    return params;
}

std::size_t how_many(const std::vector<std::uint8_t> &pixels, int value) {
    return static_cast<std::size_t>(std::count(pixels.begin(), pixels.end(), value));
}

/* Returns whether two arrays have the same bytes. */
template <typename A, typename B>
bool same(const A &a, const B &b) {
    using element = std::remove_reference_t<decltype(*std::data(a))>;
    return std::size(a) == std::size(b) &&
           (std::size(a) == 0 || std::memcmp(std::data(a), std::data(b), std::size(a) * sizeof(element)) == 0);
}

// ------------------------------------------------------------------------------------------------------------- objects

template <typename Object>
constexpr bool is_moved_only() {
    return std::is_nothrow_move_constructible_v<Object> && std::is_nothrow_move_assignable_v<Object> &&
           !std::is_copy_constructible_v<Object> && !std::is_copy_assignable_v<Object>;
}
static_assert(is_moved_only<isoline::context>() && is_moved_only<isoline::segments>());
static_assert(is_moved_only<isoline::polylines>() && is_moved_only<isoline::lines>());
static_assert(is_moved_only<isoline::ellipses>());
static_assert(is_moved_only<isoline::surface>());
static_assert(is_moved_only<isoline::level_set>() && is_moved_only<isoline::snake>());
static_assert(is_moved_only<isoline::buffer<float>>());
static_assert(sizeof(isoline::context) == sizeof(void *), "an object is a pointer");
static_assert(!std::is_convertible_v<const char *, isoline::context>, "a context is made on purpose");

void objects_are_moved(const char *device) {
    isoline::context first(device);
    isoline_context *const handle = first.get();
    isoline::context second = std::move(first);
    CHECK(second.get() == handle && second && !first && first.get() == nullptr);
    first = std::move(second);
    CHECK(first.get() == handle && !second);

    // An empty object is an error of the library's, for each of them.
    std::vector<std::uint8_t> pixels = disc();
    std::vector<float> field(SLICE);
    isoline::image in(pixels.data(), WIDTH, HEIGHT), mask = in;
    const isoline::image out(field.data(), WIDTH, HEIGHT);
    THROWS(ISOLINE_NULL_POINTER, "context", second.trim());
    THROWS(ISOLINE_NULL_POINTER, "context", isoline::edge_strength(second, in, out));
    THROWS(ISOLINE_NULL_POINTER, "segments", isoline::segments().points(0));
    THROWS(ISOLINE_NULL_POINTER, "polylines", isoline::polylines().all());
    THROWS(ISOLINE_NULL_POINTER, "lines", isoline::lines().all());
    THROWS(ISOLINE_NULL_POINTER, "ellipses", isoline::ellipses().all());
    THROWS(ISOLINE_NULL_POINTER, "surface", isoline::surface().all());
    THROWS(ISOLINE_NULL_POINTER, "level_set", isoline::level_set().step(1));
    THROWS(ISOLINE_NULL_POINTER, "snake", isoline::snake().step(1));
    CHECK(isoline::segments().size() == 0 && isoline::snake().size() == 0);

    // To the C API and back: the object is taken over, and freed once.
    isoline_context *released = first.release();
    CHECK(released == handle && !first);
    GOOD(isoline_context_trim(released));
    isoline::context again(released);
    again.trim();

    // Assigning to an object frees the one before. A solver outlives its context.
    const std::vector<std::uint8_t> start = box_in_disc();
    const isoline::image begin(start.data(), WIDTH, HEIGHT);
    isoline::level_set surface(again, in, in, for_disc());
    surface = isoline::level_set(again, in, begin, for_disc());
    isoline::snake snake(again, in, SQUARE), other(again, in);
    again = isoline::context("cpu");
    std::swap(snake, other);
    CHECK(surface.step(1).iterations == 1 && snake.step(1).iterations == 1 && other.step(1).iterations == 1);
    surface.read_mask(mask);
}

void buffers_hold_images(const char *device) {
    isoline::buffer<std::uint16_t> pixels;
    CHECK(pixels.size() == 0 && pixels.data() == nullptr && pixels.begin() == pixels.end());
    isoline::buffer<float> field;
    {
        isoline::context context(device);
        pixels = isoline::buffer<std::uint16_t>(context, SLICE);
        field = isoline::buffer<float>(context, SLICE);
        std::fill(pixels.begin(), pixels.end(), std::uint16_t{0});
        pixels[5] = 900;
        isoline::distance(context, isoline::image(pixels.data(), WIDTH, HEIGHT),
                          isoline::image(field.data(), WIDTH, HEIGHT));
        THROWS(ISOLINE_INVALID_SIZE, "0", isoline::buffer<float>(context, 0));
        THROWS(ISOLINE_INVALID_SIZE, "", isoline::buffer<float>(context, SIZE_MAX / sizeof(float) + 2));
    }
    // They outlive the context.
    const isoline::buffer<float> kept = std::move(field);
    CHECK(kept.size() == SLICE && field.size() == 0 && kept[5] == -0.5F && kept[6] == 0.5F && kept.end()[-1] > 1);
    CHECK(reinterpret_cast<std::uintptr_t>(kept.data()) % 65536 == 0);
    CHECK(std::count(pixels.begin(), pixels.end(), 900) == 1);
}

// -------------------------------------------------------------------------------------------------------------- errors

static_assert(std::is_base_of_v<std::runtime_error, isoline::error> && std::is_copy_constructible_v<isoline::error>);

void errors_have_status_and_message(const char *device) {
    THROWS(ISOLINE_INVALID_ARGUMENT, "no such device", isoline::context("no such device"));
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = disc();
    std::vector<float> field(SLICE, UNWRITTEN);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT);
    const isoline::image out(field.data(), WIDTH, HEIGHT);
    isoline::edge_strength_params params;
    params.rho = -1;
    try {
        isoline::edge_strength(context, in, out, params);
        CHECK(false);
    } catch (const std::runtime_error &error) {
        CHECK_HAS(error.what(), "rho");
        CHECK_HAS(error.what(), "-1");
    }
    params.rho = 16;
    THROWS(ISOLINE_INVALID_SIZE, "60 x 44",
           isoline::edge_strength(context, in, isoline::image(field.data(), 1, HEIGHT)));
    THROWS(ISOLINE_NULL_POINTER, "output", isoline::edge_strength(context, in, {}, params));
    CHECK(is_unwritten(field.data(), field.size()));
    // An object keeps what it is when another one cannot be made.
    isoline::segments segments;
    isoline::edge_drawing(context, in, segments);
    const isoline_segments *const before = segments.get();
    isoline::edge_drawing_params bad;
    bad.scan_interval = 0;
    THROWS(ISOLINE_INVALID_ARGUMENT, "scan_interval", isoline::edge_drawing(context, in, segments, bad));
    CHECK(segments.get() == before && segments.size() > 0);
    // The calls that are left to C.
    isoline::check(isoline_set_logger(nullptr, nullptr, ISOLINE_LOG_OFF));
    THROWS(ISOLINE_INVALID_ARGUMENT, "level", isoline::check(isoline_set_logger(nullptr, nullptr, 99)));
}

void threads_have_their_own_errors(const char *device) {
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = disc();
    const isoline::image in(pixels.data(), WIDTH, HEIGHT);
    std::vector<std::string> messages(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < messages.size(); i++) {
        threads.emplace_back([&, i] {
            isoline::edge_strength_params params;
            params.rho = -1 - static_cast<double>(i);
            std::vector<float> field(SLICE);
            try {
                isoline::edge_strength(context, in, isoline::image(field.data(), WIDTH, HEIGHT), params);
            } catch (const isoline::error &error) {
                messages[i] = error.what();
            }
        });
    }
    for (std::size_t i = 0; i < messages.size(); i++) {
        threads[i].join();
        CHECK_HAS(messages[i].c_str(), ("-" + std::to_string(i + 1)).c_str());
    }
}

// ------------------------------------------------------------------------------------------------------------ progress

/* A callable that cannot be copied, and counts. */
class counter {
  public:
    counter() = default;
    counter(const counter &) = delete;
    void operator()(double, const char *) { calls++; }
    int calls = 0;
};

int calls_of_a_function = 0;
int a_function(double fraction, const char *stage) {
    calls_of_a_function += fraction >= 0 && fraction <= 1 && stage[0] != '\0';
    return 0;
}

static_assert(!std::is_constructible_v<isoline::progress, int> &&
              !std::is_constructible_v<isoline::progress, void (*)()>);
static_assert(!std::is_constructible_v<isoline::progress, counter &>, "std::ref makes a callback of it");

void any_callable_is_a_callback(const char *device) {
    isoline::context context(device);
    const std::vector<std::uint8_t> pixels = drawn(4);
    std::vector<float> field(COUNT);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    const isoline::image out(field.data(), WIDTH, HEIGHT, DEPTH);
    std::vector<std::string> stages;
    const auto remembers = [&](double, const char *stage) { stages.push_back(stage); };
    isoline::edge_strength(context, in, out, {}, remembers);
    CHECK(!stages.empty() && !stages.front().empty());
    isoline::edge_strength(context, in, out, {}, a_function);
    CHECK(calls_of_a_function > 0);
    counter counts;
    isoline::edge_strength(context, in, out, {}, std::ref(counts));
    CHECK(counts.calls > 0);
    isoline::edge_strength(context, in, out, {}, [](double, const char *) { return false; });
    isoline::edge_strength(context, in, out, {}, [calls = 0](double, const char *) mutable { return calls++ < 0; });
    const isoline::progress none, some(remembers);
    CHECK(!none && some);
    isoline::edge_strength(context, in, out, {}, none);
    int (*const no_function)(double, const char *) = nullptr;
    isoline::edge_strength(context, in, out, {}, no_function);
    isoline::edge_strength(context, in, out, {}, std::function<void(double, const char *)>());
    isoline::edge_strength(context, in, out, {}, std::function<bool(double, std::string)>());
    CHECK(!isoline::progress(no_function));
    const auto all = [](double, const char *) { return 1; };
    THROWS(ISOLINE_CANCELLED, "cancel", isoline::edge_strength(context, in, out, {}, all));
    const auto yes = [](double, const char *) { return true; };
    THROWS(ISOLINE_CANCELLED, "cancel", isoline::edge_strength(context, in, out, {}, yes));
}

/* A call whose callback cancels throws isoline::error; one whose callback throws passes just that on. */
template <typename Call>
void ends_early(int line, Call call) {
    throws([&] { call(isoline::progress([](double, const char *) { return true; })); }, ISOLINE_CANCELLED, "", line,
           "a call that is cancelled");
    int number = 0;
    try {
        call(isoline::progress([&](double, const char *) { throw too_late{line}; }));
    } catch (const too_late &thrown) {
        number = thrown.number;
    }
    check_number(number, line, __FILE__, line, "the number in what the callback threw");
    std::string text;
    try {
        call(isoline::progress([&](double, const char *) -> bool { throw std::out_of_range("a text of its own"); }));
    } catch (const std::exception &error) {
        text = error.what();
    }
    check_text(text.c_str(), "a text of its own", __FILE__, line, "the message of what the callback threw");
}

void every_call_ends_early(const char *device) {
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = disc(), start = box_in_disc(), map(SLICE, 77);
    std::vector<std::uint16_t> labels(SLICE, 77);
    std::vector<float> field(SLICE, UNWRITTEN);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT), begin(start.data(), WIDTH, HEIGHT);
    const isoline::image mask(map.data(), WIDTH, HEIGHT);
    const isoline::image out(field.data(), WIDTH, HEIGHT);
    const isoline::image numbers(labels.data(), WIDTH, HEIGHT);
    isoline::segments segments;
    isoline::polylines curves;
    isoline::surface mesh;
    isoline::object_list things;
    isoline::lines lines;
    isoline::ellipses ellipses;
    isoline::segments drawn;
    isoline::edge_drawing(context, in, drawn);
    isoline::snake made;
    isoline::level_set surface(context, in, begin, for_disc());
    isoline::snake snake(context, in, SQUARE);
    using watch = const isoline::progress &;
    ends_early(__LINE__, [&](watch w) { isoline::edge_strength(context, in, out, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::distance(context, in, out, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::distance_pass(context, in, 0, out, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::isolines(context, in, {}, curves, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_strength_axes(context, out, curves, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::isosurface(context, in, mesh, {}, w); });
    isoline::isosurface(context, in, mesh);
    isoline::surface joined;
    ends_early(__LINE__, [&](watch w) {
        isoline::surface_of_mesh(context, mesh.all().vertices, mesh.all().triangles, joined, w);
    });
    isoline::surface_of_mesh(context, mesh.all().vertices, mesh.all().triangles, joined);
    CHECK(joined.all().info.area == mesh.all().info.area && joined.all().triangles.size() == mesh.all().triangles.size());
    ends_early(__LINE__, [&](watch w) { isoline::objects(context, in, {}, numbers, things, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_drawing(context, in, mask, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_drawing(context, in, segments, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_drawing(context, in, mask, segments, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_drawing_lines(context, in, drawn, lines, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_drawing_ellipses(context, in, drawn, ellipses, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::edge_drawing_maps(context, in, mask, {}, {}, {}, {}, w); });
    ends_early(__LINE__, [&](watch w) { surface.step(MANY, w); });
    ends_early(__LINE__, [&](watch w) { isoline::level_set_run(context, in, begin, mask, for_disc(), w); });
    ends_early(__LINE__, [&](watch w) { snake.step(MANY, w); });
    ends_early(__LINE__, [&](watch w) { isoline::snake_run(context, in, SQUARE, numbers, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::snake_run(context, in, SQUARE, made, {}, w); });
    ends_early(__LINE__, [&](watch w) { isoline::snake_run(context, in, SQUARE, numbers, made, {}, w); });
    // Nothing was written, and all can go on.
    CHECK(how_many(map, 77) == SLICE && std::count(labels.begin(), labels.end(), 77) == std::ptrdiff_t{SLICE});
    CHECK(is_unwritten(field.data(), field.size()) && !segments && !lines && !ellipses && !curves && !things && !made);
    isoline::edge_strength(context, in, out);
    CHECK(surface.step(MANY).converged == 1 && snake.step().converged == 1);
}

void a_flag_ends_calls_within_its_scope(const char *device) {
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = disc(), start(SLICE, 0), map(SLICE, 77);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT), begin(start.data(), WIDTH, HEIGHT);
    const isoline::box box = {{26, 18, 0}, {33, 24, 0}};
    std::atomic<int> stop{0};
    {
        const isoline::cancel_scope scope(stop);
        isoline::mask_fill_boxes(begin, {&box, 1});
        std::thread([&] { stop = 1; }).join();
        THROWS(ISOLINE_CANCELLED, "cancel flag", isoline::mask_fill_boxes(begin, {&box, 1}));
        THROWS(ISOLINE_CANCELLED, "cancel flag", isoline::level_set(context, in, begin, for_disc()));
        const auto another = [&](double, const char *) {
            THROWS(ISOLINE_BUSY, "in a callback", isoline::cancel_scope{stop});
        };
        stop = 0;
        isoline::level_set(context, in, begin, for_disc()).step(9, another);
        stop = 1;
    }
    isoline::level_set(context, in, begin, for_disc()).step(9);
}
static_assert(!std::is_copy_constructible_v<isoline::cancel_scope>);

// --------------------------------------------------------------------------------------------------------------- spans

using spans = isoline::span<const isoline::node>;
static_assert(std::is_constructible_v<spans, isoline::span<isoline::node>>, "elements may become const");
static_assert(!std::is_constructible_v<isoline::span<isoline::node>, spans>, "and not the other way round");
static_assert(!std::is_constructible_v<isoline::span<isoline::node>, const std::vector<isoline::node> &>);
static_assert(!std::is_constructible_v<spans, std::list<isoline::node>>, "a list is not one array");
static_assert(!std::is_constructible_v<spans, std::vector<isoline::point>>, "nor are points nodes");
static_assert(std::is_trivially_copyable_v<spans>);
static_assert(!std::is_constructible_v<isoline::span<double>, std::initializer_list<double>>, "a list is const");
#ifdef __cpp_lib_ranges
static_assert(std::ranges::borrowed_range<spans> && std::ranges::view<spans>, "as std::span");
#endif

/* Returns the sum of what a call gets for an argument in braces. */
double sum_of(isoline::span<const double> numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.5); }

void spans_are_views(const char *) {
    std::vector<double> numbers = {1, 2, 3};
    const isoline::span<double> all(numbers);
    all[1] = 7;
    CHECK(numbers[1] == 7 && all.data() == numbers.data() && all.size() == 3 && !all.empty());
    CHECK(std::accumulate(all.begin(), all.end(), 0.0) == 11);
    const isoline::span<const double> some(numbers.data() + 1, 2), none, nothing(std::vector<double>{});
    CHECK(some[0] == 7 && none.empty() && none.data() == nullptr && nothing.empty());
    const std::array<double, 2> two = {4, 5};
    const isoline::span<const double> of_array(two);
    CHECK(of_array.size() == 2 && of_array[1] == 5);
    // Braces are a list, with 0 at any place and of any length, except around an address and a number, or one container.
    CHECK(sum_of({}) == 0.5 && sum_of({0, 0}) == 0.5 && sum_of({0, 2}) == 2.5 && sum_of({4}) == 4.5);
    CHECK(sum_of({0, 3, 1}) == 4.5 && sum_of({numbers.data() + 1, 2}) == 10.5 && sum_of({numbers}) == 11.5);
    CHECK(sum_of({two}) == 9.5 && sum_of({some}) == 10.5 && isoline::span(numbers.data(), 3).size() == 3);
    const std::initializer_list<double> list = {1, 6};
    CHECK(sum_of(list) == 7.5);
#ifdef __cpp_lib_ranges
    const std::span<const double> standard = some;
    const isoline::span<const double> back = standard;
    CHECK(standard.data() == some.data() && standard.size() == 2 && back.data() == some.data());
    CHECK(std::ranges::equal(some, standard));
    CHECK(*std::ranges::find(isoline::span<const double>(numbers), 3.0) == 3);
    CHECK((some | std::views::drop(1)).front() == 3);
#endif
}

void empty_spans_are_nothing(const char *device) {
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = disc(), before = pixels;
    const isoline::image mask(pixels.data(), WIDTH, HEIGHT);
    isoline::mask_fill_spheres(mask, {});
    isoline::mask_fill_boxes(mask, std::vector<isoline::box>());
    CHECK(pixels == before);
    THROWS(ISOLINE_INVALID_ARGUMENT, "3", isoline::mask_fill_polygon(mask, {}));
    // A snake without targets, and sums of no polygons.
    const std::uint64_t zero[] = {0};
    isoline::snake snake(context, mask, {{}, zero});
    CHECK(snake.size() == 0 && snake.step().converged == 1 && snake.polygons().size() == 0);
    CHECK(snake.statistics().empty() && snake.region_sums({{}, zero}).empty() && snake.statistics(9).empty());
    THROWS(ISOLINE_INVALID_ARGUMENT, "", isoline::snake(context, mask, std::vector<isoline::node>()));
    THROWS(ISOLINE_INVALID_ARGUMENT, "0", snake.polygon(0));
    // An image without edges.
    const std::vector<std::uint8_t> grey(SLICE, 9);
    isoline::segments segments;
    isoline::edge_drawing(context, isoline::image(grey.data(), WIDTH, HEIGHT), segments);
    const isoline::segment_arrays arrays = segments.all();
    CHECK(segments && segments.size() == 0 && arrays.points.empty() && arrays.flags.empty() && arrays.slices.empty());
    CHECK(arrays.mean_gradients.empty() && arrays.offsets.size() == 1 && arrays.offsets[0] == 0);
    THROWS(ISOLINE_INVALID_ARGUMENT, "0", segments.points(0));
}

// -------------------------------------------------------------------------------------------------------------- images

template <typename Pixel>
using image_of = decltype(isoline::image(static_cast<Pixel *>(nullptr), 1, 1));
static_assert(std::is_same_v<image_of<float>, isoline::image<float>>);
static_assert(std::is_same_v<image_of<const std::uint16_t>, isoline::image<const std::uint16_t>>);
// An output is writable and of one type; an input may be const and of any type.
static_assert(!std::is_constructible_v<isoline::image<float>, const float *, int, int>);
static_assert(!std::is_convertible_v<isoline::image<const float>, isoline::image<float>>);
static_assert(!std::is_convertible_v<isoline::image<std::uint8_t>, isoline::image<float>>);
static_assert(std::is_convertible_v<isoline::image<const std::uint8_t>, isoline::any_image>);
template <typename Out>
constexpr bool takes = std::is_invocable_v<decltype(isoline::distance), isoline::context &, isoline::image<const float>,
                                           Out, isoline::distance_params, isoline::progress>;
static_assert(takes<isoline::image<float>> && !takes<isoline::image<const float>> &&
              !takes<isoline::image<std::uint8_t>>);
// Reading members are const, and those that change a solver are not.
static_assert(std::is_invocable_v<decltype(&isoline::level_set::info), const isoline::level_set &>);
static_assert(
    !std::is_invocable_v<decltype(&isoline::level_set::write_phi), const isoline::level_set &, isoline::image<float>>);
static_assert(!std::is_invocable_v<decltype(&isoline::snake::step), const isoline::snake &, int, isoline::progress>);
static_assert(std::is_same_v<decltype(std::declval<const isoline::buffer<float> &>().data()), const float *>);

void images_describe_memory(const char *device) {
    isoline::context context(device);
    const std::vector<std::uint8_t> pixels = drawn(6);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    isoline_image c = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, const_cast<std::uint8_t *>(pixels.data()));
    CHECK(in.data() == pixels.data() && std::memcmp(in.get(), &c, sizeof c) == 0);

    // Strides in bytes, and a window of a larger image: the same distances, and nothing is written between.
    constexpr std::size_t row = WIDTH + 5, slice = row * HEIGHT + 11, margin = 7;
    std::vector<std::uint16_t> wide(slice * DEPTH + margin, 9999);
    std::vector<float> packed(COUNT), apart(wide.size(), UNWRITTEN);
    for (std::size_t i = 0; i < COUNT; i++) {
        wide[margin + i / SLICE * slice + i % SLICE / WIDTH * row + i % WIDTH] = pixels[i];
    }
    isoline::image strided(static_cast<const std::uint16_t *>(wide.data()) + margin, WIDTH, HEIGHT, DEPTH);
    strided.row_stride = row * sizeof(std::uint16_t);
    strided.slice_stride = slice * sizeof(std::uint16_t);
    isoline::image gaps(apart.data() + margin, WIDTH, HEIGHT, DEPTH);
    gaps.row_stride = row * sizeof(float);
    gaps.slice_stride = slice * sizeof(float);
    isoline::distance_params params;
    params.threshold = 127;
    isoline::distance(context, in, isoline::image(packed.data(), WIDTH, HEIGHT, DEPTH), params);
    isoline::distance(context, strided, gaps, params);
    std::size_t different = 0;
    for (std::size_t i = 0; i < COUNT; i++) {
        float &value = apart[margin + i / SLICE * slice + i % SLICE / WIDTH * row + i % WIDTH];
        different += value != packed[i];
        value = UNWRITTEN;
    }
    CHECK_NUMBER(different, 0);
    CHECK(is_unwritten(apart.data(), apart.size()));

    // The type may be known at run time only; spacing counts.
    isoline::any_image any(ISOLINE_U16, wide.data() + margin, WIDTH, HEIGHT, DEPTH);
    any.row_stride = strided.row_stride;
    any.slice_stride = strided.slice_stride;
    std::vector<float> again(COUNT);
    isoline::distance(context, any, isoline::image(again.data(), WIDTH, HEIGHT, DEPTH), params);
    CHECK(same(again, packed));
    any.spacing[0] = any.spacing[1] = any.spacing[2] = 2;
    isoline::distance(context, any, isoline::image(again.data(), WIDTH, HEIGHT, DEPTH), params);
    CHECK(again[0] == 2 * packed[0]);
    any.memory = 5;
    THROWS(ISOLINE_INVALID_ARGUMENT, "memory", isoline::distance(context, any, gaps, params));
}

void masks_are_filled(const char *) {
    std::vector<std::uint8_t> pixels(COUNT, 3);
    const isoline::image mask(pixels.data(), WIDTH, HEIGHT, DEPTH);
    const std::vector<std::array<double, 2>> corners = {{2, 1}, {5, 1}, {5, 4}, {2, 4}};
    isoline::mask_fill_polygon(mask, corners, 1, 1, 40);
    CHECK(how_many(pixels, 40) == 9 && pixels[SLICE + WIDTH + 2] == 40);
    isoline::mask_fill_polygon(mask, {{0, 0}, {2, 0}, {2, 2}, {0, 2}}, 1, 1, 41);
    CHECK(how_many(pixels, 41) == 4 && pixels[SLICE] == 41);
    isoline::mask_fill_boxes(mask, {{{0, 9, 1}, {0, 9, 1}}, {{3, 9, 1}, {4, 9, 1}}}, 42);
    CHECK(how_many(pixels, 42) == 3);
    isoline::mask_fill_polygon(mask, corners);
    CHECK(how_many(pixels, 255) == 9 && pixels[WIDTH + 2] == 255);
    const std::vector<isoline::sphere> balls = {{{9, 9, 2}, 0.5}, {{20, 9, 2}, 0.5}};
    isoline::mask_fill_spheres(mask, balls, 50);
    CHECK(how_many(pixels, 50) == 2 && pixels[2 * SLICE + 9 * WIDTH + 20] == 50);
    THROWS(ISOLINE_INVALID_ARGUMENT, "slice", isoline::mask_fill_polygon(mask, corners, 9));
}

// -------------------------------------------------------------------------------- structs, devices and introspection

template <typename Struct, isoline_status (*Init)(Struct *, std::size_t)>
void is_what_c_fills(const isoline::defaults<Struct, Init> &made) {
    Struct c;
    std::memset(&c, 0, sizeof c);
    GOOD(Init(&c, sizeof c));
    static_assert(sizeof made == sizeof c, "nothing is added");
    const Struct &base = made;
    CHECK(std::memcmp(&base, &c, sizeof c) == 0);
    CHECK_NUMBER(made.struct_size, sizeof c);
}

void structs_have_the_defaults(const char *) {
    is_what_c_fills(isoline::edge_strength_params());
    is_what_c_fills(isoline::edge_drawing_params());
    is_what_c_fills(isoline::distance_params());
    is_what_c_fills(isoline::isolines_params());
    is_what_c_fills(isoline::isosurface_params());
    is_what_c_fills(isoline::objects_params());
    is_what_c_fills(isoline::level_set_params());
    is_what_c_fills(isoline::level_set_state());
    is_what_c_fills(isoline::snake_params());
    is_what_c_fills(isoline::report());
    is_what_c_fills(isoline::device());
    is_what_c_fills(isoline::operation());
    CHECK(isoline::edge_strength_params().rho == 64);
    CHECK(isoline::version() == ISOLINE_VERSION);
    CHECK_TEXT(isoline::version_string(), isoline_version_string());
}

void devices_are_listed(const char *device) {
    const std::vector<isoline::device> devices = isoline::devices();
    CHECK(devices.size() == isoline_device_count() && std::string(devices[0].id) == "cpu" && devices[0].usable == 1);
    isoline::context context(device);
    CHECK_TEXT(context.device().id, device);
    CHECK(context.device().reason[0] != '\0');
    context.set_memory_limit(std::uint64_t{1} << 30);
    context.trim();
    CHECK(std::string(isoline::context().device().id).size() > 0);
}

void parameters_are_described(const char *) {
    const std::vector<isoline::operation> operations = isoline::operations();
    CHECK_NUMBER(operations.size(), isoline_operation_count());
    std::size_t choices = 0;
    for (std::size_t i = 0; i < operations.size(); i++) {
        const std::vector<isoline::parameter> parameters = isoline::parameters(i);
        CHECK_NUMBER(parameters.size(), operations[i].parameter_count);
        for (std::size_t k = 0; k < parameters.size(); k++) {
            CHECK(parameters[k].name[0] != '\0');
            isoline::parameter_check(i, k, parameters[k].default_value);
            const std::vector<isoline::choice> values = isoline::choices(i, k);
            CHECK_NUMBER(values.size(), parameters[k].choice_count);
            choices += values.size();
            if (std::string(parameters[k].name) == "rho") {
                CHECK_NUMBER(parameters[k].default_value, isoline::edge_strength_params().rho);
                THROWS(ISOLINE_INVALID_ARGUMENT, "rho", isoline::parameter_check(i, k, -1));
            }
        }
    }
    CHECK(choices > 10);
    THROWS(ISOLINE_INVALID_ARGUMENT, "", isoline::parameters(operations.size()));
    THROWS(ISOLINE_INVALID_ARGUMENT, "", isoline::choices(0, 1000));
}

// --------------------------------------------------------------------------------------- results equal those of C

void slices_are_read_and_written_by_functions(const char *device) {
    isoline::context context(device);
    const std::vector<std::uint8_t> pixels = drawn(3);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    std::vector<float> field(COUNT), wanted(COUNT);
    isoline::edge_strength_params params;
    params.threshold = 127;
    isoline::edge_strength(context, in, isoline::image(wanted.data(), WIDTH, HEIGHT, DEPTH), params);

    const auto read = [&](std::uint64_t slice, isoline::span<std::uint8_t> to) {
        std::copy_n(pixels.data() + slice * SLICE, to.size(), to.begin());
    };
    const auto write = [&](std::uint64_t slice, isoline::span<const float> from) {
        std::copy(from.begin(), from.end(), field.data() + slice * SLICE);
    };
    const isoline::source<std::uint8_t> source(WIDTH, HEIGHT, DEPTH, read);
    const isoline::sink<float> sink(WIDTH, HEIGHT, DEPTH, write);
    isoline::edge_strength(context, source, sink, params);
    CHECK(same(field, wanted));
    // Copies may outlive what they were made of.
    std::fill(field.begin(), field.end(), -1.0f);
    auto first = std::make_unique<isoline::source<std::uint8_t>>(source);
    const isoline::source<std::uint8_t> copy = *first;
    first.reset();
    isoline::edge_strength(context, copy, isoline::image(field.data(), WIDTH, HEIGHT, DEPTH), params);
    CHECK(same(field, wanted));
    CHECK(isoline::edge_drawing_threshold(context, source) == isoline::edge_drawing_threshold(context, in));
    // So may an any_image and an image that are made of a source and a sink, in a container and moved, too.
    std::vector<isoline::any_image> inputs;
    inputs.push_back(isoline::source<std::uint8_t>(WIDTH, HEIGHT, DEPTH, read));
    const isoline::any_image moved = std::move(inputs.front());
    inputs.push_back(in);
    inputs.push_back(isoline::source<std::uint8_t>(WIDTH, HEIGHT, DEPTH, read));
    const isoline::image<float> taken = isoline::sink<float>(WIDTH, HEIGHT, DEPTH, write);
    for (const isoline::any_image &input : inputs) {
        std::fill(field.begin(), field.end(), -1.0f);
        isoline::edge_strength(context, input, taken, params);
        CHECK(same(field, wanted));
    }
    isoline::edge_strength(context, moved, taken, params);
    CHECK(same(field, wanted));

    // Region snakes, each on its slice.
    const std::vector<isoline::node> nodes = {{4, 3}, {20, 3}, {20, 15}, {4, 15}, {8, 6}, {22, 6}, {22, 18}, {8, 18}};
    const std::vector<std::uint64_t> offsets = {0, 4, 8};
    const std::vector<std::uint32_t> slices = {2, 0};
    const isoline::polygons start(nodes, offsets, slices);
    std::vector<std::uint16_t> labels(COUNT), kept_labels(COUNT);
    const isoline::sink<std::uint16_t> to(WIDTH, HEIGHT, DEPTH, [&](std::uint64_t slice, isoline::span<const std::uint16_t> from) {
        std::copy(from.begin(), from.end(), labels.data() + slice * SLICE);
    });
    isoline::snake found, kept;
    isoline::snake_run(context, in, start, isoline::image(kept_labels.data(), WIDTH, HEIGHT, DEPTH), kept);
    CHECK(isoline::snake_run(context, source, start, to, found).slices_done == DEPTH);
    CHECK(same(labels, kept_labels));
    CHECK(found.polygons().slices().size() == 2 && found.polygons().slices()[0] == 2 && found.polygons().slices()[1] == 0);
    THROWS(ISOLINE_UNSUPPORTED, "keeps none", found.restart(start));

    // An exception of a function is thrown again, whatever its type.
    const isoline::source<std::uint8_t> torn(WIDTH, HEIGHT, DEPTH, [](std::uint64_t slice, isoline::span<std::uint8_t>) {
        if (slice == 2) {
            throw too_late{7};
        }
    });
    const isoline::sink<float> full(WIDTH, HEIGHT, DEPTH, [](std::uint64_t, isoline::span<const float>) {
        throw std::out_of_range("no room");
    });
    int number = 0;
    try {
        isoline::edge_strength(context, torn, sink, params);
    } catch (const too_late &thrown) {
        number = thrown.number;
    }
    CHECK_NUMBER(number, 7);
    std::string text;
    try {
        isoline::edge_strength(context, source, full, params);
    } catch (const std::out_of_range &error) {
        text = error.what();
    }
    CHECK_TEXT(text.c_str(), "no room");
    const auto refuses = [](std::uint64_t, isoline::span<const std::uint8_t>) { throw too_late{8}; };
    const auto refuses_labels = [](std::uint64_t, isoline::span<const float>) { throw too_late{9}; };
    try {
        found.draw_mask(isoline::sink<std::uint8_t>(WIDTH, HEIGHT, DEPTH, refuses));
    } catch (const too_late &thrown) {
        number = thrown.number;
    }
    CHECK_NUMBER(number, 8);
    try {
        found.draw_labels(isoline::sink<float>(WIDTH, HEIGHT, DEPTH, refuses_labels));
    } catch (const too_late &thrown) {
        number = thrown.number;
    }
    CHECK_NUMBER(number, 9);

    const isoline::image mask(pixels.data(), WIDTH, HEIGHT, DEPTH);
    isoline::level_set surface(context, in, mask);
    const isoline::source<float> torn_phi(WIDTH, HEIGHT, DEPTH, [](std::uint64_t, isoline::span<float>) {
        throw too_late{2};
    });
    const std::function<void()> calls[] = {
        [&] { isoline::level_set(context, torn, mask); },
        [&] { isoline::level_set(context, in, torn); },
        [&] { surface.read_mask(isoline::sink<std::uint8_t>(WIDTH, HEIGHT, DEPTH, refuses)); },
        [&] { surface.read_phi(isoline::sink<float>(WIDTH, HEIGHT, DEPTH, refuses_labels)); },
        [&] { surface.write_phi(torn_phi); },
    };
    std::vector<int> numbers;
    for (const std::function<void()> &call : calls) {
        try {
            call();
        } catch (const too_late &thrown) {
            numbers.push_back(thrown.number);
        }
    }
    CHECK((numbers == std::vector<int>{7, 7, 8, 9, 2}));

    // An exception that ended a C call within a callback is not one of the callback's.
    isoline::context inner(device);
    const auto asks = [&](double, const char *) {
        isoline_polylines *curves = nullptr;
        REFUSED(isoline_isolines(inner.get(), torn.get(), nullptr, 0, nullptr, nullptr, &curves, nullptr),
                ISOLINE_CALLBACK_FAILED, "slice 2");
        return false;
    };
    isoline::edge_strength(context, source, sink, params, asks);
    const auto asks_and_cancels = [&](double fraction, const char *stage) { return !asks(fraction, stage); };
    THROWS(ISOLINE_CANCELLED, "", isoline::edge_strength(context, source, sink, params, asks_and_cancels));

    // Slices are as many as polygons, or none.
    std::vector<std::uint32_t> none;
    none.reserve(4);
    CHECK(isoline::polygons(nodes, offsets, none).slices().data() == nullptr);
    try {
        none.push_back(1);
        const isoline::polygons wrong(nodes, offsets, none);
        number = 0;
    } catch (const std::invalid_argument &error) {
        text = error.what();
    }
    CHECK(number == 9 && text.find("got 1") != std::string::npos);
    // The converged mode of a volume has all slices in memory.
    params.dimensions = 3;
    params.mode = ISOLINE_EDGE_STRENGTH_CONVERGED;
    isoline::edge_strength(context, in, isoline::image(wanted.data(), WIDTH, HEIGHT, DEPTH), params);
    isoline::edge_strength(context, source, sink, params);
    CHECK(same(field, wanted));
}

void edge_strength_and_distance_are_those_of_c(const char *device) {
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = drawn(3);
    isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    in.spacing[2] = 3;
    std::vector<float> field(COUNT), wanted(COUNT);
    const isoline::image out(field.data(), WIDTH, HEIGHT, DEPTH);
    isoline_image c_in = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels.data());
    c_in.spacing[2] = 3;
    const isoline_image c_out = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, wanted.data());
    isoline_report c_report;

    isoline::edge_strength_params strength;
    strength.threshold = 127;
    strength.iterations = 25;
    strength.dimensions = 3;
    isoline_edge_strength_params c_strength = for_drawing(25);
    c_strength.dimensions = 3;
    GOOD(isoline_report_init(&c_report, sizeof c_report));
    GOOD(isoline_edge_strength(context.get(), &c_in, &c_strength, nullptr, &c_out, &c_report));
    isoline::report report = isoline::edge_strength(context, in, out, strength);
    CHECK(same(field, wanted));
    CHECK(report.iterations == 25 && report.slices_done == c_report.slices_done && report.seconds_total > 0);
    CHECK_TEXT(report.device_name, c_report.device_name);
    // The C struct serves, too, and no parameters stand for the defaults.
    isoline::edge_strength(context, in, out, c_strength);
    CHECK(same(field, wanted));
    GOOD(isoline_edge_strength(context.get(), &c_in, nullptr, nullptr, &c_out, nullptr));
    isoline::edge_strength(context, in, out);
    CHECK(same(field, wanted));

    isoline::distance_params distance;
    distance.threshold = 127;
    GOOD(isoline_distance(context.get(), &c_in, &distance, nullptr, &c_out, nullptr));
    report = isoline::distance(context, in, out, distance);
    CHECK(same(field, wanted) && report.slices_done == DEPTH);
}

void passes_make_up_the_distance(const char *device) {
    isoline::context context(device);
    std::vector<std::uint8_t> pixels = drawn(3);
    std::vector<float> wanted(COUNT), along_x(COUNT), along_y(COUNT);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    const isoline::image x(along_x.data(), WIDTH, HEIGHT, DEPTH), y(along_y.data(), WIDTH, HEIGHT, DEPTH);
    isoline::distance_params params;
    params.threshold = 100;
    isoline::distance(context, in, isoline::image(wanted.data(), WIDTH, HEIGHT, DEPTH), params);
    isoline::distance_pass(context, in, 0, x, params);
    isoline::distance_pass(context, x, 1, y, params);
    CHECK(isoline::distance_pass(context, y, 2, x, params).slices_done == DEPTH);
    CHECK(same(along_x, wanted));
    THROWS(ISOLINE_INVALID_TYPE, "float32", isoline::distance_pass(context, in, 1, x, params));
}

void isolines_are_those_of_c(const char *device) {
    std::vector<std::uint8_t> pixels = drawn(3);
    isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    isoline_image c_in = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels.data());
    in.spacing[0] = c_in.spacing[0] = 0.5;
    isoline::isolines_params params;
    params.connect = ISOLINE_ISOLINES_CONNECT_HIGH;
    params.level_count = 3;
    const std::vector<double> levels = {100, 20};
    isoline::polylines given, spaced;
    isoline_polylines *c_made = nullptr, *c_spaced = nullptr;
    {
        isoline::context context(device);
        CHECK(isoline::isolines(context, in, levels, given, params).slices_done == DEPTH);
        isoline::isolines(context, in, {}, spaced, params);
        GOOD(isoline_isolines(context.get(), &c_in, levels.data(), 2, &params, nullptr, &c_made, nullptr));
        GOOD(isoline_isolines(context.get(), &c_in, nullptr, 0, &params, nullptr, &c_spaced, nullptr));
        isoline::polylines two;
        isoline::isolines(context, in, {0, 100}, two, params);
        const auto all = two.all().polylines;
        CHECK(!all.empty() && std::all_of(all.begin(), all.end(), [](const isoline::polyline &one) {
            return one.level == 0 || one.level == 100;
        }));
        THROWS(ISOLINE_INVALID_ARGUMENT, "levels[0]", isoline::isolines(context, in, {NAN}, given, params));
    }
    // Polylines outlive their context.
    const isoline::polylines c_given(c_made), c_all(c_spaced);
    CHECK(given.all().polylines.size() > 0 && given.all().polylines[0].level == 100);
    for (const auto &[one, other] : {std::pair(given.all(), c_given.all()), std::pair(spaced.all(), c_all.all())}) {
        CHECK(one.polylines.size() == other.polylines.size() && same(one.points, other.points));
        for (std::size_t i = 0; i < one.polylines.size(); i++) {
            CHECK(std::memcmp(&one.polylines[i], &other.polylines[i], sizeof(isoline::polyline)) == 0);
        }
    }
}

void axes_are_those_of_c(const char *device) {
    std::vector<std::uint8_t> pixels = drawn(3);
    std::vector<float> field(pixels.size());
    const isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    const isoline::image strength(field.data(), WIDTH, HEIGHT, DEPTH);
    const isoline_image c_strength = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, field.data());
    isoline::edge_strength_params params;
    params.threshold = 127;
    params.axis_min_length = 2;
    isoline::polylines found;
    isoline_polylines *c_made = nullptr;
    {
        isoline::context context(device);
        isoline::edge_strength(context, in, strength, params);
        CHECK(isoline::edge_strength_axes(context, strength, found, params).slices_done == DEPTH);
        GOOD(isoline_edge_strength_axes(context.get(), &c_strength, &params, nullptr, &c_made, nullptr));
        THROWS(ISOLINE_INVALID_TYPE, "float32", isoline::edge_strength_axes(context, in, found, params));
    }
    const isoline::polylines c_found(c_made);
    const isoline::polyline_arrays one = found.all(), other = c_found.all();
    CHECK(one.polylines.size() > 0 && one.polylines.size() == other.polylines.size() && same(one.points, other.points));
    CHECK(std::memcmp(one.polylines.data(), other.polylines.data(), one.polylines.size() * sizeof(isoline::polyline)) == 0);
}

void an_isosurface_is_that_of_c(const char *device) {
    std::vector<std::uint8_t> pixels = drawn(3);
    isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH);
    isoline_image c_in = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels.data());
    in.spacing[2] = c_in.spacing[2] = 2.5;
    isoline::isosurface_params params;
    params.level = 90;
    isoline::surface made;
    isoline_surface *c_made = nullptr;
    {
        isoline::context context(device);
        CHECK(isoline::isosurface(context, in, made, params).slices_done == DEPTH);
        GOOD(isoline_isosurface(context.get(), &c_in, &params, nullptr, &c_made, nullptr));
        params.level = NAN;
        THROWS(ISOLINE_INVALID_ARGUMENT, "level", isoline::isosurface(context, in, made, params));
    }
    // A surface outlives its context.
    const isoline::surface c_surface(c_made);
    const isoline::surface_arrays all = made.all(), wanted = c_surface.all();
    CHECK(all.triangles.size() > 0 && all.info.level == 90 && all.info.closed == 1 && all.info.area == wanted.info.area);
    CHECK(same(all.vertices, wanted.vertices) && same(all.normals, wanted.normals) && same(all.triangles, wanted.triangles));
}

void objects_are_those_of_c(const char *device) {
    std::vector<std::uint8_t> pixels = disc(), box = box_in_disc();
    std::vector<std::uint16_t> starts(SLICE, 0), labels(SLICE, 77), wanted(SLICE, 78);
    std::transform(box.begin(), box.end(), starts.begin(), [](std::uint8_t inside) { return inside > 0 ? 300 : 0; });
    const isoline::image in(pixels.data(), WIDTH, HEIGHT);
    const isoline::image begin(starts.data(), WIDTH, HEIGHT), out(labels.data(), WIDTH, HEIGHT);
    const isoline_image c_in = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, pixels.data());
    const isoline_image c_begin = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, starts.data());
    const isoline_image c_out = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, wanted.data());
    isoline::objects_params params;
    params.alpha = 0.6;
    isoline::object_list made;
    isoline_object_list *c_made = nullptr;
    {
        isoline::context context(device);
        CHECK(isoline::objects(context, in, begin, out, made, params).iterations > 0);
        GOOD(isoline_objects(context.get(), &c_in, &c_begin, &params, nullptr, &c_out, &c_made, nullptr));
        // Starts may be const, and of any type.
        std::transform(starts.begin(), starts.end(), box.begin(), [](std::uint16_t start) { return start > 0 ? 7 : 0; });
        const std::vector<float> fractional(starts.begin(), starts.end());
        isoline::objects(context, in, isoline::image(std::as_const(box).data(), WIDTH, HEIGHT), out, made, params);
        CHECK(made.all().size() == 1 && made.all()[0].label == 7);
        isoline::objects(context, in, isoline::image(fractional.data(), WIDTH, HEIGHT), out, made, params);
        isoline::objects(context, in, isoline::any_image(ISOLINE_U8, box.data(), WIDTH, HEIGHT), out, made, params);
        CHECK(made.all().size() == 1 && made.all()[0].label == 7);
        const isoline::source<std::uint16_t> begins(WIDTH, HEIGHT, 1, [&](std::uint64_t, isoline::span<std::uint16_t> to) {
            std::copy(starts.begin(), starts.end(), to.begin());
        });
        isoline::objects(context, in, begins, out, made, params);
        // An image without pixels is not one that is not given.
        const isoline::image narrow(box.data(), 0, HEIGHT), flat(static_cast<std::uint8_t *>(nullptr), 0, HEIGHT);
        THROWS(ISOLINE_INVALID_SIZE, "0 x 44", isoline::objects(context, in, narrow, out, made, params));
        THROWS(ISOLINE_INVALID_SIZE, "0 x 44", isoline::objects(context, in, flat, out, made, params));
        params.alpha = 2;
        THROWS(ISOLINE_INVALID_ARGUMENT, "alpha", isoline::objects(context, in, begin, out, made, params));
    }
    // The list outlives its context.
    const isoline::object_list c_list(c_made);
    CHECK(labels == wanted && made.all().size() == 1 && made.all()[0].label == 300);
    CHECK(std::memcmp(&made.all()[0], &c_list.all()[0], sizeof(isoline::found_object)) == 0);
}

void edge_drawing_is_that_of_c(const char *device) {
    std::vector<std::uint8_t> pixels = drawn(5), map(COUNT), wanted(COUNT), smoothed(COUNT), direction(COUNT),
                              anchors(COUNT);
    std::vector<float> gradient(COUNT), c_gradient(COUNT);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT, DEPTH), edges(map.data(), WIDTH, HEIGHT, DEPTH);
    const isoline_image c_in = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, pixels.data());
    const isoline_image c_edges = describe(ISOLINE_U8, WIDTH, HEIGHT, DEPTH, wanted.data());
    // A bright disc on dark ground, which makes a circle.
    const isoline::sphere ground = {{30, 22, 0}, 20}, disc = {{30, 22, 0}, 13.3};
    isoline::mask_fill_spheres(isoline::image(pixels.data(), WIDTH, HEIGHT), {&ground, 1}, 0);
    isoline::mask_fill_spheres(isoline::image(pixels.data(), WIDTH, HEIGHT), {&disc, 1}, 255);
    isoline::edge_drawing_params params;
    params.min_length = 4;
    isoline_segments *c_made = nullptr;
    isoline::segments both, alone;
    isoline::lines lines;
    isoline_lines *c_lines = nullptr;
    isoline::ellipses ellipses;
    isoline_ellipses *c_ellipses = nullptr;
    {
        isoline::context context(device);
        GOOD(isoline_edge_drawing(context.get(), &c_in, &params, nullptr, &c_edges, &c_made, nullptr));
        CHECK(isoline::edge_drawing(context, in, edges, params).slices_done == DEPTH);
        CHECK(map == wanted && how_many(map, 255) > 100);
        std::fill(map.begin(), map.end(), std::uint8_t{7});
        CHECK(isoline::edge_drawing(context, in, edges, both, params).slices_done == DEPTH);
        CHECK(map == wanted);
        isoline::edge_drawing(context, in, alone, params);
        CHECK(isoline::edge_drawing_lines(context, in, both, lines, params).slices_done == DEPTH);
        GOOD(isoline_edge_drawing_lines(context.get(), &c_in, c_made, &params, nullptr, &c_lines, nullptr));
        THROWS(ISOLINE_NULL_POINTER, "segments", isoline::edge_drawing_lines(context, in, {}, lines, params));
        CHECK(isoline::edge_drawing_ellipses(context, in, both, ellipses, params).slices_done == DEPTH);
        GOOD(isoline_edge_drawing_ellipses(context.get(), &c_in, c_made, &params, nullptr, &c_ellipses, nullptr));
        THROWS(ISOLINE_NULL_POINTER, "segments", isoline::edge_drawing_ellipses(context, in, {}, ellipses, params));
    }
    // So do lines and ellipses.
    const isoline::lines c_owned(c_lines);
    const isoline::span<const isoline::line> straight = lines.all(), c_straight = c_owned.all();
    CHECK(straight.size() > 0 && straight.size() == c_straight.size());
    CHECK(std::memcmp(straight.data(), c_straight.data(), straight.size() * sizeof(isoline::line)) == 0);
    const isoline::ellipses c_round(c_ellipses);
    const isoline::span<const isoline::ellipse> round = ellipses.all(), c_all = c_round.all();
    CHECK(round.size() > 0 && round.size() == c_all.size());
    CHECK(std::memcmp(round.data(), c_all.data(), round.size() * sizeof(isoline::ellipse)) == 0);
    // Segments outlive their context.
    const isoline::segments c(c_made);
    const isoline::segment_arrays a = c.all(), b = both.all(), d = alone.all();
    CHECK(c.size() > 10 && both.size() == c.size() && same(a.points, b.points) && same(a.offsets, b.offsets));
    CHECK(same(a.flags, b.flags) && same(a.slices, b.slices) && same(a.mean_gradients, b.mean_gradients));
    CHECK(same(a.points, d.points) && same(a.offsets, d.offsets));
    for (std::size_t i = 0; i < both.size(); i++) {
        const isoline::span<const isoline::point> points = both.points(i);
        CHECK(points.data() == b.points.data() + b.offsets[i] && points.size() == b.offsets[i + 1] - b.offsets[i]);
        CHECK(both.flags(i) == b.flags[i] && both.slice(i) == b.slices[i]);
        for (const isoline::point &point : points) {
            CHECK(map[both.slice(i) * SLICE + point.y * WIDTH + point.x] == 255);
        }
    }
    THROWS(ISOLINE_INVALID_ARGUMENT, "", both.slice(both.size()));

    isoline::context context(device);
    const isoline::image smooth(smoothed.data(), WIDTH, HEIGHT, DEPTH), way(direction.data(), WIDTH, HEIGHT, DEPTH);
    const isoline::image anchor(anchors.data(), WIDTH, HEIGHT, DEPTH);
    const isoline::image steep(gradient.data(), WIDTH, HEIGHT, DEPTH);
    const isoline_image c_steep = describe(ISOLINE_F32, WIDTH, HEIGHT, DEPTH, c_gradient.data());
    GOOD(isoline_edge_drawing_maps(context.get(), &c_in, &params, nullptr, &c_edges, &c_steep, nullptr, nullptr,
                                   nullptr));
    isoline::edge_drawing_maps(context, in, smooth, steep, way, anchor, params);
    CHECK(same(gradient, c_gradient) && smoothed == wanted);
    GOOD(isoline_edge_drawing_maps(context.get(), &c_in, &params, nullptr, nullptr, nullptr, &c_edges, nullptr,
                                   nullptr));
    CHECK(direction == wanted);
    GOOD(isoline_edge_drawing_maps(context.get(), &c_in, &params, nullptr, nullptr, nullptr, nullptr, &c_edges,
                                   nullptr));
    CHECK(anchors == wanted && how_many(anchors, 255) > 0);
    // Maps that are not wanted.
    std::fill(gradient.begin(), gradient.end(), UNWRITTEN);
    isoline::edge_drawing_maps(context, in, {}, steep, {}, {}, params);
    CHECK(same(gradient, c_gradient));
    const isoline::image<std::uint8_t> narrow(nullptr, 0, HEIGHT), empty(nullptr, 0, 0);
    const isoline::sink<std::uint8_t> nowhere(0, 0, 0, [](std::uint64_t, isoline::span<const std::uint8_t>) {});
    for (const isoline::image<std::uint8_t> &wrong : {narrow, empty, isoline::image<std::uint8_t>(nowhere)}) {
        THROWS(ISOLINE_INVALID_SIZE, "0 x", isoline::edge_drawing_maps(context, in, {}, steep, wrong, {}, params));
    }
    THROWS(ISOLINE_NULL_POINTER, "", isoline::edge_drawing_maps(context, in, {}, {}, {}, {}));

    double threshold = 0;
    GOOD(isoline_edge_drawing_threshold(context.get(), &c_in, &params, &threshold));
    CHECK(threshold > 0 && isoline::edge_drawing_threshold(context, in, params) == threshold);
    CHECK(isoline::edge_drawing_threshold(context, in) == threshold);
}

void a_level_set_is_that_of_c(const char *device) {
    const std::vector<std::uint8_t> pixels = disc();
    std::vector<std::uint8_t> start = box_in_disc(), found(SLICE), wanted(SLICE), whole(SLICE);
    std::vector<float> phi(SLICE), c_phi(SLICE);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT);
    const isoline::image begin(start.data(), WIDTH, HEIGHT), mask(found.data(), WIDTH, HEIGHT);
    const isoline::image distance(phi.data(), WIDTH, HEIGHT);
    const isoline::level_set_params params = for_disc();
    isoline::context context(device);

    isoline_level_set *c_made = nullptr;
    const isoline_image c_mask = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, wanted.data());
    const isoline_image c_distance = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, c_phi.data());
    GOOD(isoline_level_set_new(context.get(), in.get(), begin.get(), &params, &c_made));
    isoline::level_set c(c_made);
    GOOD(isoline_level_set_step(c.get(), MANY, nullptr, nullptr));
    GOOD(isoline_level_set_read_mask(c.get(), &c_mask));
    GOOD(isoline_level_set_read_phi(c.get(), &c_distance));

    isoline::level_set surface(context, in, begin, params);
    const isoline::report first = surface.step(10);
    CHECK(first.iterations == 10 && first.converged == 0);
    const isoline::report rest = surface.step(MANY);
    surface.read_mask(mask);
    surface.read_phi(distance);
    CHECK(rest.converged == 1 && found == wanted && same(phi, c_phi));
    const std::size_t bright = how_many(pixels, 200), inside = how_many(found, 255);
    CHECK(inside >= bright * 97 / 100 && inside <= bright * 103 / 100);

    const isoline::level_set_state state = surface.info();
    CHECK(state.converged == 1 && state.iterations == 10 + rest.iterations && state.inside == inside);
    const std::vector<isoline::iteration_statistics> curve = surface.statistics();
    CHECK(curve.size() == state.iterations && curve.front().iteration == 1 && curve.back().inside == inside);
    CHECK(same(surface.statistics(5), isoline::span<const isoline::iteration_statistics>(&curve[4], curve.size() - 4)));
    CHECK(surface.statistics(state.iterations + 1).empty());

    isoline::level_set_run(context, in, begin, isoline::image(whole.data(), WIDTH, HEIGHT), params);
    CHECK(whole == wanted);
    THROWS(ISOLINE_NULL_POINTER, "mask", isoline::level_set_run(context, in, begin, {}, params));

    // A φ that was saved continues where it was.
    std::vector<float> saved = phi;
    isoline::level_set other(context, in, begin, params);
    other.write_phi(isoline::image(static_cast<const float *>(saved.data()), WIDTH, HEIGHT));
    std::fill(phi.begin(), phi.end(), 1.0F);
    other.read_phi(distance);
    CHECK(phi == saved);
    saved[3] = NAN;
    THROWS(ISOLINE_INVALID_ARGUMENT, "phi", other.write_phi(isoline::image(saved.data(), WIDTH, HEIGHT)));
}

void statistics_come_in_blocks(const char *device) {
    // More iterations than one call of the C function returns here.
    constexpr std::size_t side = 16;
    constexpr std::size_t iterations = 4096 + 700;
    std::vector<std::uint8_t> pixels(side * side, 20), start(side * side, 0);
    const isoline::image in(pixels.data(), side, side), begin(start.data(), side, side);
    const isoline::box box = {{4, 4, 0}, {11, 11, 0}};
    isoline::mask_fill_boxes(in, {&box, 1}, 200);
    isoline::mask_fill_boxes(begin, {&box, 1});
    isoline::level_set_params params = for_disc();
    params.change_tolerance = params.rms_tolerance = 0;
    isoline::context context(device);
    isoline::level_set surface(context, in, begin, params);
    CHECK_NUMBER(surface.step(iterations).iterations, iterations);
    const std::vector<isoline::iteration_statistics> curve = surface.statistics();
    CHECK_NUMBER(curve.size(), iterations);
    for (std::size_t i = 0; i < curve.size(); i++) {
        CHECK(curve[i].iteration == i + 1);
    }
}

void a_snake_is_that_of_c(const char *device) {
    const std::vector<std::uint8_t> pixels = disc();
    std::vector<std::uint16_t> labels(SLICE), wanted(SLICE);
    std::vector<std::uint8_t> map(SLICE);
    std::vector<float> numbers(SLICE);
    const isoline::image in(pixels.data(), WIDTH, HEIGHT);
    const isoline::image drawn(labels.data(), WIDTH, HEIGHT);
    isoline::context context(device);
    isoline::snake_params params;
    params.node_spacing = 6;

    // Two targets: the disc, and a corner of the image.
    std::vector<isoline::node> nodes(std::begin(SQUARE), std::end(SQUARE));
    nodes.insert(nodes.end(), {{1, 1}, {9, 1}, {9, 9}});
    const std::array<std::uint64_t, 3> offsets = {0, 4, 7};
    const isoline::polygons start(nodes, offsets);
    CHECK(start.size() == 2 && start[1].size() == 3 && start[1][2].y == 9 && start.nodes().size() == 7);

    isoline_polygons c_start;
    GOOD(isoline_polygons_init(&c_start, sizeof c_start));
    c_start.count = 2;
    c_start.node_count = nodes.size();
    c_start.nodes = nodes.data();
    c_start.offsets = offsets.data();
    isoline_snake *c_made = nullptr;
    const isoline_image c_drawn = describe(ISOLINE_U16, WIDTH, HEIGHT, 1, wanted.data());
    GOOD(isoline_snake_run(context.get(), in.get(), &c_start, &params, nullptr, &c_drawn, &c_made, nullptr));
    const isoline::snake c(c_made);

    isoline::snake snake(context, in, start, params);
    CHECK(snake.size() == 2 && snake.step(1).converged == 0 && snake.step().converged == 1);
    const isoline::polygons found = snake.polygons();
    CHECK(found.size() == 2 && same(found.nodes(), c.polygons().nodes()) &&
          same(found.offsets(), c.polygons().offsets()));
    CHECK(same(snake.polygon(1), found[1]) && snake.polygon(0).size() == found[0].size());
    THROWS(ISOLINE_INVALID_ARGUMENT, "2", snake.polygon(2));
    snake.draw_labels(drawn);
    CHECK(labels == wanted);
    snake.draw_labels(isoline::image(numbers.data(), WIDTH, HEIGHT));
    snake.draw_mask(isoline::image(map.data(), WIDTH, HEIGHT));
    for (std::size_t i = 0; i < SLICE; i++) {
        CHECK(numbers[i] == static_cast<float>(labels[i]) && (map[i] == 255) == (labels[i] > 0));
    }
    THROWS(ISOLINE_INVALID_TYPE, "labels", snake.draw_labels(isoline::image(map.data(), WIDTH, HEIGHT)));

    const std::vector<isoline::target_statistics> told = snake.statistics();
    const std::size_t bright = how_many(pixels, 200);
    CHECK(told.size() == 2 && told[0].status == ISOLINE_TARGET_CONVERGED && told[0].nodes == found[0].size());
    CHECK(told[0].pixels >= bright * 9 / 10 && told[0].pixels <= bright * 11 / 10);
    CHECK(snake.statistics(1).size() == 1 && snake.statistics(1)[0].pixels == told[1].pixels);
    CHECK(snake.region_sums(found)[1].pixels == told[1].pixels);
    const isoline::curves curves = isoline::smooth(SQUARE, 4, 2);
    CHECK(curves.offsets.size() == 2 && curves.offsets[1] == curves.points.size() && curves.points.size() > 8);
    CHECK(isoline::smooth(found).offsets.size() == found.size() + 1);
    CHECK(snake.region_sums(SQUARE).size() == 1 && snake.region_sums(SQUARE)[0].sum == 144 * 200);
    THROWS(ISOLINE_NULL_POINTER, "polygons", snake.region_sums({}));

    // One call, for labels, the snake, or both.
    std::fill(labels.begin(), labels.end(), std::uint16_t{9});
    isoline::snake both, alone;
    CHECK(isoline::snake_run(context, in, start, drawn, both, params).converged == 1);
    CHECK(labels == wanted && same(both.polygons().nodes(), found.nodes()));
    std::fill(labels.begin(), labels.end(), std::uint16_t{9});
    isoline::snake_run(context, in, start, drawn, params);
    CHECK(labels == wanted);
    isoline::snake_run(context, in, start, alone, params);
    CHECK(same(alone.polygons().nodes(), found.nodes()));

    // Restarted from its own polygons, one polygon, and none, which is a rectangle of half the sides.
    const std::vector<isoline::node> disc_before(found[0].begin(), found[0].end());
    snake.restart(found, params);
    CHECK(snake.size() == 2 && snake.step().converged == 1);
    snake.restart(disc_before, params);
    CHECK(snake.size() == 1 && snake.polygon(0).size() == disc_before.size());
    params.noise = ISOLINE_SNAKE_NOISE_BERNOULLI;
    THROWS(ISOLINE_INVALID_ARGUMENT, "bernoulli", snake.restart(disc_before, params));
    snake.restart();
    const isoline::span<const isoline::node> rectangle = snake.polygon(0);
    CHECK(snake.size() == 1 && snake.region_sums(rectangle)[0].pixels == WIDTH / 2 * HEIGHT / 2);
    const isoline::snake automatic(context, in);
    CHECK(automatic.size() == 1 && same(automatic.polygon(0), rectangle));
}

} // namespace

int main() {
    RUN_ON_EACH(objects_are_moved);
    RUN_ON_EACH(buffers_hold_images);
    RUN_ON_EACH(errors_have_status_and_message);
    RUN_ON_EACH(threads_have_their_own_errors);
    RUN_ON_EACH(any_callable_is_a_callback);
    RUN_ON_EACH(every_call_ends_early);
    RUN_ON_EACH(a_flag_ends_calls_within_its_scope);
    RUN(spans_are_views);
    RUN_ON_EACH(empty_spans_are_nothing);
    RUN_ON_EACH(images_describe_memory);
    RUN(masks_are_filled);
    RUN(structs_have_the_defaults);
    RUN_ON_EACH(devices_are_listed);
    RUN(parameters_are_described);
    RUN_ON_EACH(slices_are_read_and_written_by_functions);
    RUN_ON_EACH(edge_strength_and_distance_are_those_of_c);
    RUN_ON_EACH(passes_make_up_the_distance);
    RUN_ON_EACH(isolines_are_those_of_c);
    RUN_ON_EACH(axes_are_those_of_c);
    RUN_ON_EACH(an_isosurface_is_that_of_c);
    RUN_ON_EACH(objects_are_those_of_c);
    RUN_ON_EACH(edge_drawing_is_that_of_c);
    RUN_ON_EACH(a_level_set_is_that_of_c);
    RUN_ON_EACH(statistics_come_in_blocks);
    RUN_ON_EACH(a_snake_is_that_of_c);
    return summary();
}
