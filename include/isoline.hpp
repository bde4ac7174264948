/**
 * @file
 * Isoline in C++17: the C API of isoline.h with objects that free themselves, exceptions, typed images, spans and
 * lambdas.
 *
 * Header only, with no ABI of its own: link the library as a C program does. Programs that are compiled without exceptions
 * use isoline.h. Licence: MIT OR Apache-2.0.
 *
 * Conventions
 *
 * - Manual. isoline.h describes parameters, units, ranges, defaults, errors and results; comments here say only what
 *   C++ adds. `isoline::NAME` is the isoline_NAME of C, and a C function of an object is its member:
 *   isoline::snake::step. Enumerators are those of C, such as ISOLINE_FOREGROUND_BELOW.
 * - Arguments are in the order context, inputs, outputs, parameters, progress; the last two may be left out, and `{}`
 *   stands for the defaults.
 * - Structs, such as isoline::edge_strength_params, are the C structs with their defaults filled in.
 * - Errors. A call that fails throws isoline::error with the status and the message. Outputs are as isoline.h says:
 *   written only on success, but for the pixels of images. An object that was to be replaced keeps its value. Calls
 *   that allocate may also throw std::bad_alloc.
 * - Ownership. isoline::context, buffer, segments, lines, ellipses, polylines, surface, object_list, level_set and snake
 *   own an object of the library and free it at their end; they are moved, not copied, and may end in any order. One
 *   that was moved from or released is empty: its size() is 0, and calls with it throw isoline::error with
 *   ISOLINE_NULL_POINTER. The member get() gives the C object to calls of the C API, and release() gives it up; a buffer,
 *   which is plain memory, has data() alone.
 * - Lifetimes. isoline::image, span and polygons are views of memory that must outlive them. An image or a polygon that
 *   is passed to a call is not used after it. A span that a member returns is borrowed: that of isoline::segments,
 *   lines, ellipses, polylines, surface and object_list is valid until they end, are assigned to, or are passed as an
 *   output again; that of isoline::snake until its next step or restart, too.
 * - Progress is any callable `(double fraction, const char *stage)`. If it returns a value that converts to true, the
 *   call is cancelled and throws isoline::error with ISOLINE_CANCELLED. An exception that it throws cancels the call,
 *   too; the call throws it again when the library has returned. So it is with the functions of isoline::source and sink
 *   (on Windows, if they are compiled into the same program or DLL as the call).
 * - Threads. As in C: different contexts on different threads at the same time; calls on one context or one solver run
 *   one after the other; progress is called on the calling thread. An object must not be moved, assigned to or ended
 *   while another thread uses it.
 * - Left to C: isoline_set_logger. Another thread may still be inside the previous logger after a new one is set, so
 *   that an object could not know when it may free the function that it holds.
 *   `isoline::check(isoline_set_logger(...))` throws as the calls here do. And isoline_segments_gradient, which is
 *   deprecated: isoline::segments::all returns the same numbers.
 */

#ifndef ISOLINE_HPP
#define ISOLINE_HPP

#if defined(__GNUC__) && !defined(__cpp_exceptions)
#error "isoline.hpp throws exceptions: compile without -fno-exceptions, or use isoline.h"
#endif

#include "isoline.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef __cpp_lib_ranges
#include <span> // has the templates that isoline::span specialises
#endif

/** The C++ interface of Isoline; include/isoline.hpp begins with its conventions. */
#ifdef __GNUC__
// Exceptions pass between shared libraries that are compiled with -fvisibility=hidden, too.
namespace isoline __attribute__((visibility("default"))) {
#else
namespace isoline {
#endif

// -------------------------------------------------------------------------------------------------------------- errors

/** The failure of a call: what() is the message, a sentence with the cause, the value that was given and the remedy. */
class error : public std::runtime_error {
  public:
    /** Takes the message of the last failed call on this thread. */
    explicit error(isoline_status status) : std::runtime_error(isoline_last_error()), status_(status) {}
    /** Returns the status of the call, never ISOLINE_OK. */
    isoline_status status() const noexcept { return status_; }
    /** Returns the name of the status, such as "ISOLINE_CANCELLED". */
    const char *name() const noexcept { return isoline_status_name(status_); }

  private:
    isoline_status status_;
};

/** Throws isoline::error if a call of the C API on this thread has failed. */
inline void check(isoline_status status) {
    if (status != ISOLINE_OK) {
        throw error(status);
    }
}

/** Returns the version of the loaded library, to compare with ISOLINE_VERSION. */
inline std::uint32_t version() noexcept {
    return isoline_version();
}

/** Returns the version of the loaded library as text. */
inline const char *version_string() noexcept {
    return isoline_version_string();
}

// -------------------------------------------------------------------------------------------- what the rest is made of

/**
 * A view of `size` elements in a row, for C++17: it converts from arrays, containers and std::span, and to std::span.
 * It is the same type in C++20, so that files of both versions can be linked together.
 */
template <typename T>
class span {
  public:
    /** No elements. */
    constexpr span() noexcept = default;
    /** The `size` elements from `data` on. The number 0 is not taken for a pointer, since it may be the first of a list. */
    template <typename Element, std::enable_if_t<std::is_convertible_v<Element (*)[], T (*)[]>, int> = 0>
    constexpr span(Element *data, std::size_t size) noexcept : data_(size == 0 ? nullptr : data), size_(size) {}
    /** The elements in braces, which live until the end of the statement: for the arguments of a call. */
    template <typename Element = T, std::enable_if_t<std::is_const_v<Element>, int> = 0>
    constexpr span(std::initializer_list<std::remove_const_t<T>> elements) noexcept
        : span(elements.begin(), elements.size()) {}
    /** The elements of an array or of a container, which must outlive the view. */
    template <typename Range, typename Element = std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>,
              std::enable_if_t<std::is_convertible_v<Element (*)[], T (*)[]>, int> = 0>
    constexpr span(Range &&range) : span(std::data(range), std::size(range)) {}

    /** Returns the address of the first element; null if there are none. */
    constexpr T *data() const noexcept { return data_; }
    /** Returns the number of elements. */
    constexpr std::size_t size() const noexcept { return size_; }
    /** Returns whether there are no elements. */
    constexpr bool empty() const noexcept { return size_ == 0; }
    /** Returns the element at `index`, which must be less than size(). */
    constexpr T &operator[](std::size_t index) const { return data_[index]; }
    /** Returns an iterator at the first element. */
    constexpr T *begin() const noexcept { return data_; }
    /** Returns an iterator past the last element. */
    constexpr T *end() const noexcept { return data_ + size_; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/** Deduces the type of the elements. */
template <typename T>
span(T *, std::size_t) -> span<T>;

/** A C struct, which `Init` fills with its defaults. */
template <typename Struct, isoline_status (*Init)(Struct *, std::size_t)>
struct defaults : Struct {
    /** The defaults. */
    defaults() : Struct() { check(Init(this, sizeof(Struct))); }
    /** The values of a struct that C code has filled. */
    defaults(const Struct &filled) : Struct(filled) {}
};

/** The sole owner of an object of the C API, which `Free` frees. */
template <typename Handle, void (*Free)(Handle *)>
class object {
  public:
    /** Owns nothing. */
    object() noexcept = default;
    /** Takes over an object that a C function has made. */
    explicit object(Handle *owned) noexcept : handle_(owned) {}
    /** Returns the object, which stays owned; null if there is none. */
    Handle *get() const noexcept { return handle_.get(); }
    /** Gives the object up: the caller must free it. */
    Handle *release() noexcept { return handle_.release(); }
    /** Returns whether there is an object. */
    explicit operator bool() const noexcept { return handle_ != nullptr; }

  private:
    struct deleter {
        void operator()(Handle *handle) const noexcept { Free(handle); }
    };
    std::unique_ptr<Handle, deleter> handle_;
};

/** An object that is a list, which `All` gives. */
template <typename Handle, void (*Free)(Handle *), typename Entry,
          isoline_status (*All)(const Handle *, const Entry **, std::size_t *)>
class object_of_entries : public object<Handle, Free> {
  public:
    using object<Handle, Free>::object;
    /** Returns all entries without a copy. */
    span<const Entry> all() const {
        const Entry *first = nullptr;
        std::size_t count = 0;
        check(All(this->get(), &first, &count));
        return {first, count};
    }
};

/** Parts of the implementation, which may change. */
namespace detail {

/** Lets `create` make the C object of `made`, and returns its status. */
template <typename Object, typename Create>
isoline_status make(Object &made, Create create) {
    decltype(made.get()) handle = nullptr;
    const isoline_status status = create(&handle);
    made = Object(handle);
    return status;
}

/** Returns `count` structs that `describe` fills, by index. */
template <typename Struct, typename Describe>
std::vector<Struct> list(std::size_t count, Describe describe) {
    std::vector<Struct> all(count);
    for (std::size_t i = 0; i < count; i++) {
        check(describe(i, &all[i]));
    }
    return all;
}

} // namespace detail

// ------------------------------------------------------------------------------------------------ devices and contexts

/** The properties of a device. */
using device = defaults<isoline_device, isoline_device_init>;

/** Returns the CPU, then each CUDA device or the reason why there is none. */
inline std::vector<device> devices() {
    return detail::list<device>(isoline_device_count(), isoline_device_info);
}

/** A device, with what its calls share: threads, kernels and memory. Make one and use it for many calls. */
class context : public object<isoline_context, isoline_context_free> {
  public:
    using object::object;
    /** Makes a context on "auto", "cpu", "cuda", "cuda:N", a list such as "cuda:0,2" or "cuda:all". */
    explicit context(const std::string &name = "auto") {
        check(detail::make(*this, [&](isoline_context **out) { return isoline_context_new(name.c_str(), out); }));
    }
    /** Returns the device; its `reason` says why it was selected. */
    isoline::device device() const {
        isoline::device described;
        check(isoline_context_device(get(), &described));
        return described;
    }
    /** Sets the device memory that calls may use, in bytes. */
    void set_memory_limit(std::uint64_t bytes) { check(isoline_context_set_memory_limit(get(), bytes)); }
    /** Releases the memory that is kept between calls. */
    void trim() { check(isoline_context_trim(get())); }
};

/**
 * Host memory for images, from and to which calls are fastest, for `size` elements whose values are undefined at first.
 */
template <typename T>
class buffer {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>,
                  "the elements of an isoline::buffer are plain numbers, or structs of them");

  public:
    /** No memory. */
    buffer() noexcept = default;
    /** Makes a buffer of at least one element. */
    buffer(const context &context, std::size_t size) : size_(size) {
        constexpr std::size_t most = (std::numeric_limits<std::size_t>::max)();
        const std::size_t bytes = size > most / sizeof(T) ? most : size * sizeof(T);
        check(detail::make(memory_, [&](void **out) { return isoline_buffer_new(context.get(), bytes, out); }));
    }
    /** Returns the address of the first element; null if there is no memory. */
    T *data() noexcept { return static_cast<T *>(memory_.get()); }
    /** Returns the address of the first element; null if there is no memory. */
    const T *data() const noexcept { return static_cast<const T *>(memory_.get()); }
    /** Returns the number of elements. */
    std::size_t size() const noexcept { return memory_ ? size_ : 0; }
    /** Returns the element at `index`, which must be less than size(). */
    T &operator[](std::size_t index) { return data()[index]; }
    /** Returns the element at `index`, which must be less than size(). */
    const T &operator[](std::size_t index) const { return data()[index]; }
    /** Returns an iterator at the first element. */
    T *begin() noexcept { return data(); }
    /** Returns an iterator at the first element. */
    const T *begin() const noexcept { return data(); }
    /** Returns an iterator past the last element. */
    T *end() noexcept { return data() + size(); }
    /** Returns an iterator past the last element. */
    const T *end() const noexcept { return data() + size(); }

  private:
    object<void, isoline_buffer_free> memory_;
    std::size_t size_ = 0;
};

// ------------------------------------------------------------------------------------------------ progress and reports

/** The device, the amount of work and the times of a call. */
using report = defaults<isoline_report, isoline_report_init>;

/**
 * A callback for progress and cancellation, made from any callable that can be copied; std::ref makes one of others.
 */
class progress {
  public:
    /** No callback. */
    progress() = default;
    /**
     * Calls `callback(fraction, stage)`, which cancels the call if it returns a value that converts to true. A null pointer
     * and an empty std::function are no callback.
     */
    template <typename Callback, typename Result = std::invoke_result_t<Callback &, double, const char *>>
    progress(Callback callback) {
        if (std::function<Result(double, const char *)> function = std::move(callback)) {
            callback_ = [function = std::move(function)](double fraction, const char *stage) {
                if constexpr (std::is_void_v<Result>) {
                    function(fraction, stage);
                    return false;
                } else {
                    return static_cast<bool>(function(fraction, stage));
                }
            };
        }
    }
    /** Returns whether there is a callback. */
    explicit operator bool() const noexcept { return static_cast<bool>(callback_); }
    /** Calls the callback; true cancels. */
    bool cancels(double fraction, const char *stage) const { return callback_(fraction, stage); }

  private:
    std::function<bool(double, const char *)> callback_;
};

/**
 * Gives the thread that makes it a cancel flag for as long as it lives: while `flag` is not 0, calls of this thread throw
 * isoline::error with ISOLINE_CANCELLED, those without a callback, too. Another thread writes to the flag. Make and end it
 * outside of callbacks, on the same thread, one at a time.
 */
class cancel_scope {
    static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free,
                  "the library reads a std::atomic<int> as an int");

  public:
    /** Sets the flag, which must outlive this object. */
    explicit cancel_scope(const std::atomic<int> &flag) {
        check(isoline_set_cancel_flag(reinterpret_cast<const int *>(&flag)));
    }
    cancel_scope(const cancel_scope &) = delete;
    cancel_scope &operator=(const cancel_scope &) = delete;
    /** The thread has no flag afterwards. */
    ~cancel_scope() { isoline_set_cancel_flag(nullptr); }
};

namespace detail {

/** The exception that a callback of this thread's call has thrown, which does not pass through the library. */
inline thread_local std::exception_ptr thrown;

/**
 * Runs a callback, and returns whether it has thrown. If it has not, those of C calls that it made count no more, and one
 * of before still does.
 */
template <typename Callback>
bool throws(Callback callback) noexcept {
    std::exception_ptr before = thrown;
    try {
        callback();
        thrown = std::move(before);
        return false;
    } catch (...) {
        thrown = std::current_exception();
        return true;
    }
}

/** Makes a C call whose callbacks may throw, and throws what they threw, or its failure. */
template <typename Call>
void check_callbacks(Call call) {
    thrown = nullptr;
    const isoline_status status = call();
    if (thrown) {
        std::rethrow_exception(std::exchange(thrown, nullptr));
    }
    check(status);
}

/** Makes a C call with progress and a report. */
template <typename Call>
report run(const progress &on_progress, Call call) {
    defaults<isoline_progress, isoline_progress_init> watch;
    watch.user = const_cast<progress *>(&on_progress);
    watch.callback = [](void *user, double fraction, const char *stage) -> int {
        bool cancels = false;
        return throws([&] { cancels = static_cast<const progress *>(user)->cancels(fraction, stage); }) || cancels;
    };
    report result;
    check_callbacks([&] { return call(on_progress ? &watch : nullptr, &result); });
    return result;
}

/** Makes a C call with progress, an object that replaces `made` if the call succeeds, and a report. */
template <typename Object, typename Call>
report run(const progress &on_progress, Object &made, Call call) {
    Object found;
    const report result = run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return make(found, [&](auto out) { return call(watch, out, reported); });
    });
    made = std::move(found);
    return result;
}

} // namespace detail

// ------------------------------------------------------------------------------------------------------- images, masks

/** An image that is only read, and whose pixel type is known at run time. isoline::image converts to it. */
class any_image : private defaults<isoline_image, isoline_image_init> {
  public:
    /** Describes packed pixels in host memory; the members say what is different. */
    any_image(isoline_type pixel_type, const void *pixels, std::uint64_t columns, std::uint64_t rows,
              std::uint64_t slices = 1) {
        type = pixel_type;
        data = const_cast<void *>(pixels); // C has one struct for inputs and outputs
        width = columns;
        height = rows;
        depth = slices;
    }
    using isoline_image::depth;
    using isoline_image::height;
    using isoline_image::memory;
    using isoline_image::row_stride;
    using isoline_image::slice_stride;
    using isoline_image::spacing;
    using isoline_image::width;
    /** Shares the function of a source or a sink. A move is a copy, since the C struct has the function's address. */
    any_image(const any_image &) = default;
    /** Shares the function of another source or sink. */
    any_image &operator=(const any_image &) = default;
    /** Returns the C struct, which this is. */
    const isoline_image *get() const noexcept { return this; }

  protected:
    /** Describes slices that functions read and write, one of which is null, and keeps their state. */
    any_image(isoline_type pixel_type, std::uint64_t columns, std::uint64_t rows, std::uint64_t slices,
              isoline_read_slice_fn read, isoline_write_slice_fn write, std::shared_ptr<void> state)
        : any_image(pixel_type, nullptr, columns, rows, slices) {
        isoline_image::memory = ISOLINE_SLICES;
        isoline_image::read_slice = read;
        isoline_image::write_slice = write;
        isoline_image::user = state.get();
        state_ = std::move(state);
    }

  private:
    std::shared_ptr<void> state_;
};

namespace detail {

/** True for the types that pixels have. */
template <typename Pixel>
inline constexpr bool is_pixel =
    std::is_same_v<std::remove_const_t<Pixel>, std::uint8_t> || std::is_same_v<std::remove_const_t<Pixel>, std::uint16_t> ||
    std::is_same_v<std::remove_const_t<Pixel>, float>;

/** The isoline_type of a pixel. */
template <typename Pixel>
inline constexpr isoline_type type_of = std::is_same_v<std::remove_const_t<Pixel>, float>           ? ISOLINE_F32
                                        : std::is_same_v<std::remove_const_t<Pixel>, std::uint16_t> ? ISOLINE_U16
                                                                                                    : ISOLINE_U8;

/** A function of slices, and the number of pixels that it is given. */
template <typename Pixel>
struct slice_function {
    /** The function that reads or takes a slice. */
    std::function<void(std::uint64_t, span<Pixel>)> function;
    /** The number of pixels of a slice. */
    std::size_t pixels;

    /** Makes one that images share. */
    static std::shared_ptr<void> make(std::function<void(std::uint64_t, span<Pixel>)> function, std::uint64_t pixels) {
        return std::make_shared<slice_function>(slice_function{std::move(function), static_cast<std::size_t>(pixels)});
    }
    /** Calls the function for C. */
    static const char *call(void *user, std::uint64_t slice,
                            std::conditional_t<std::is_const_v<Pixel>, const void, void> *first) noexcept {
        const auto &state = *static_cast<const slice_function *>(user);
        const auto call = [&] { state.function(slice, {static_cast<Pixel *>(first), state.pixels}); };
        return throws(call) ? "an exception" : nullptr;
    }
};

} // namespace detail

/**
 * An image of std::uint8_t, std::uint16_t or float, const where it is only read: `isoline::image(pointer, width,
 * height)` describes packed pixels in host memory, and its members `row_stride`, `slice_stride` (in bytes), `spacing`
 * and `memory` say what is different, as in isoline_image. One without arguments stands for an output that is not
 * wanted, or for an input that is not given.
 */
template <typename Pixel>
class image : public any_image {
    static_assert(detail::is_pixel<Pixel>, "pixels are of the types std::uint8_t, std::uint16_t and float");

  public:
    /** No image. */
    image() : image(nullptr, 0, 0, 0) {}
    /** Describes packed pixels in host memory. */
    image(Pixel *pixels, std::uint64_t columns, std::uint64_t rows, std::uint64_t slices = 1)
        : any_image(detail::type_of<Pixel>, pixels, columns, rows, slices) {}
    /** Returns the address of the first pixel. */
    Pixel *data() const noexcept { return static_cast<Pixel *>(get()->data); }

  protected:
    /** Describes slices that functions read and write, as any_image. */
    image(std::uint64_t columns, std::uint64_t rows, std::uint64_t slices, isoline_write_slice_fn write,
          std::shared_ptr<void> state)
        : any_image(detail::type_of<Pixel>, columns, rows, slices, nullptr, write, std::move(state)) {}
};

/**
 * An input whose slices a function reads when they are needed (ISOLINE_SLICES), so that it need not fit into memory. The
 * function is any callable `(std::uint64_t slice, isoline::span<Pixel> pixels)` that can be copied. An exception that it
 * throws ends the call, which throws it again.
 */
template <typename Pixel>
class source : public any_image {
    static_assert(detail::is_pixel<Pixel>, "pixels are of the types std::uint8_t, std::uint16_t and float");

  public:
    /** Describes slices of `columns` x `rows` pixels. */
    source(std::uint64_t columns, std::uint64_t rows, std::uint64_t slices,
           std::function<void(std::uint64_t, span<Pixel>)> read)
        : any_image(detail::type_of<Pixel>, columns, rows, slices, state::call, nullptr,
                    state::make(std::move(read), columns * rows)) {}

  private:
    using state = detail::slice_function<Pixel>;
};

/**
 * An output whose slices a function takes as they are finished (ISOLINE_SLICES). The function is any callable
 * `(std::uint64_t slice, isoline::span<const Pixel> pixels)` that can be copied. An exception that it throws ends the call,
 * which throws it again.
 */
template <typename Pixel>
class sink : public image<Pixel> {
  public:
    /** Describes slices of `columns` x `rows` pixels. */
    sink(std::uint64_t columns, std::uint64_t rows, std::uint64_t slices,
         std::function<void(std::uint64_t, span<const Pixel>)> write)
        : image<Pixel>(columns, rows, slices, state::call, state::make(std::move(write), columns * rows)) {}

  private:
    using state = detail::slice_function<const Pixel>;
};

namespace detail {

/** Returns the C struct of an image; NULL for one that was made without arguments. */
inline const isoline_image *optional(const any_image &image) {
    const isoline_image &c = *image.get();
    const bool none = c.data == nullptr && c.user == nullptr && c.width == 0 && c.height == 0 && c.depth == 0;
    return none ? nullptr : &c;
}

/** Returns the C struct of an output; NULL if it is not wanted. */
template <typename Pixel>
const isoline_image *output(const image<Pixel> &image) {
    static_assert(!std::is_const_v<Pixel>, "the pixels of an output are not const");
    return optional(image);
}

} // namespace detail

/** A ball. */
using sphere = isoline_sphere;
/** A box along the axes. */
using box = isoline_box;

/** Sets the pixels of a mask that are inside balls. */
inline void mask_fill_spheres(const image<std::uint8_t> &mask, span<const sphere> spheres, std::uint8_t value = 255) {
    check(isoline_mask_fill_spheres(mask.get(), spheres.data(), spheres.size(), value));
}

/** Sets the pixels of a mask that are inside boxes. */
inline void mask_fill_boxes(const image<std::uint8_t> &mask, span<const box> boxes, std::uint8_t value = 255) {
    check(isoline_mask_fill_boxes(mask.get(), boxes.data(), boxes.size(), value));
}

/** Sets the pixels of a mask that are inside a polygon, on some slices. A corner is a column and a row. */
inline void mask_fill_polygon(const image<std::uint8_t> &mask, span<const std::array<double, 2>> corners,
                              std::uint64_t first_slice = 0, std::uint64_t slice_count = 1, std::uint8_t value = 255) {
    const double *xy = corners.empty() ? nullptr : corners.data()->data();
    check(isoline_mask_fill_polygon(mask.get(), xy, corners.size(), first_slice, slice_count, value));
}

// --------------------------------------------------------------------------- descriptions of operations and parameters

/** An operation; its strings belong to the library. */
using operation = defaults<isoline_operation, isoline_operation_init>;
/** A parameter of an operation; its strings belong to the library. */
using parameter = defaults<isoline_parameter, isoline_parameter_init>;
/** One value of a parameter that is a choice; its strings belong to the library. */
using choice = defaults<isoline_choice, isoline_choice_init>;

/** Returns all operations, by index. */
inline std::vector<operation> operations() {
    return detail::list<operation>(isoline_operation_count(), isoline_operation_info);
}

/** Returns the parameters of the operation with an index. */
inline std::vector<parameter> parameters(std::size_t operation_index) {
    isoline::operation described;
    check(isoline_operation_info(operation_index, &described));
    return detail::list<parameter>(described.parameter_count, [=](std::size_t index, isoline_parameter *out) {
        return isoline_parameter_info(operation_index, index, out);
    });
}

/** Returns the choices of a parameter; none if it is of another type. */
inline std::vector<choice> choices(std::size_t operation_index, std::size_t parameter_index) {
    isoline::parameter described;
    check(isoline_parameter_info(operation_index, parameter_index, &described));
    return detail::list<choice>(described.choice_count, [=](std::size_t index, isoline_choice *out) {
        return isoline_choice_info(operation_index, parameter_index, index, out);
    });
}

/** Throws isoline::error if a value is not in a parameter's range. */
inline void parameter_check(std::size_t operation_index, std::size_t parameter_index, double value) {
    check(isoline_parameter_check(operation_index, parameter_index, value));
}

// --------------------------------------------------------------------------------------------- edge strength, distance

/** The parameters of isoline::edge_strength. */
using edge_strength_params = defaults<isoline_edge_strength_params, isoline_edge_strength_params_init>;

/** Computes the edge strength function of a drawing or shape. */
inline report edge_strength(context &context, const any_image &input, const image<float> &output,
                            const edge_strength_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_edge_strength(context.get(), input.get(), &params, watch, detail::output(output), reported);
    });
}

/** The parameters of isoline::distance. */
using distance_params = defaults<isoline_distance_params, isoline_distance_params_init>;

/** Computes the signed Euclidean distance to the boundary of a mask. */
inline report distance(context &context, const any_image &mask, const image<float> &output,
                       const distance_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_distance(context.get(), mask.get(), &params, watch, detail::output(output), reported);
    });
}

/** Computes one pass of isoline::distance along an axis (0 for x, 1 for y, 2 for z), for images in chunks. */
inline report distance_pass(context &context, const any_image &input, std::uint32_t axis, const image<float> &output,
                            const distance_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_distance_pass(context.get(), input.get(), axis, &params, watch, detail::output(output), reported);
    });
}

// -------------------------------------------------------------------------------------------------------- edge drawing

/** The position of a pixel. */
using point = isoline_point;

/** All segments as flat arrays: segment i has the points from `offsets[i]` up to but not including `offsets[i + 1]`. */
struct segment_arrays {
    /** The points of all segments. */
    span<const point> points;
    /** The number of segments plus one offsets into `points`. */
    span<const std::uint64_t> offsets;
    /** A sum of isoline_segment_flags for each segment. */
    span<const std::uint32_t> flags;
    /** The slice of each segment. */
    span<const std::uint32_t> slices;
    /** The mean gradient magnitude of each segment. */
    span<const float> mean_gradients;
};

/** Ordered chains of pixels, the result of isoline::edge_drawing. They never change, and may outlive their context. */
class segments : public object<isoline_segments, isoline_segments_free> {
  public:
    using object::object;
    /** Returns the number of segments. */
    std::size_t size() const noexcept { return isoline_segments_count(get()); }
    /** Returns the points of one segment, from one end to the other. */
    span<const point> points(std::size_t index) const {
        const point *first = nullptr;
        std::size_t count = 0;
        check(isoline_segments_points(get(), index, &first, &count));
        return {first, count};
    }
    /** Returns a sum of isoline_segment_flags. */
    std::uint32_t flags(std::size_t index) const {
        std::uint32_t flags = 0;
        check(isoline_segments_flags(get(), index, &flags));
        return flags;
    }
    /** Returns the slice that one segment is in. */
    std::uint64_t slice(std::size_t index) const {
        std::uint64_t slice = 0;
        check(isoline_segments_slice(get(), index, &slice));
        return slice;
    }
    /** Returns all segments without a copy. */
    segment_arrays all() const {
        defaults<isoline_segment_arrays, isoline_segment_arrays_init> all;
        check(isoline_segments_all(get(), &all));
        const auto count = static_cast<std::size_t>(all.count);
        const auto points = static_cast<std::size_t>(all.point_count);
        return {{all.points, points},
                {all.offsets, count + 1},
                {all.flags, count},
                {all.slices, count},
                {all.mean_gradients, count}};
    }
};

/** The parameters of isoline::edge_drawing. */
using edge_drawing_params = defaults<isoline_edge_drawing_params, isoline_edge_drawing_params_init>;

/** Computes edges as a map. */
inline report edge_drawing(context &context, const any_image &input, const image<std::uint8_t> &edges,
                           const edge_drawing_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_edge_drawing(context.get(), input.get(), &params, watch, detail::output(edges), nullptr,
                                    reported);
    });
}

/** Computes edges as a map and as segments. */
inline report edge_drawing(context &context, const any_image &input, const image<std::uint8_t> &edges,
                           segments &segments, const edge_drawing_params &params = {},
                           const progress &on_progress = {}) {
    return detail::run(on_progress, segments, [&](auto watch, auto out, auto reported) {
        return isoline_edge_drawing(context.get(), input.get(), &params, watch, detail::output(edges), out, reported);
    });
}

/** Computes edges as segments. */
inline report edge_drawing(context &context, const any_image &input, segments &segments,
                           const edge_drawing_params &params = {}, const progress &on_progress = {}) {
    return edge_drawing(context, input, image<std::uint8_t>(), segments, params, on_progress);
}

/** A straight line along a segment. */
using line = isoline_line;

/** Straight lines, the result of isoline::edge_drawing_lines. They never change, and may outlive their context. */
class lines : public object_of_entries<isoline_lines, isoline_lines_free, line, isoline_lines_all> {
  public:
    using object_of_entries::object_of_entries;
};

/** Finds straight lines along segments, which isoline::edge_drawing found in `input`. */
inline report edge_drawing_lines(context &context, const any_image &input, const segments &segments, lines &lines,
                                 const edge_drawing_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, lines, [&](auto watch, auto out, auto reported) {
        return isoline_edge_drawing_lines(context.get(), input.get(), segments.get(), &params, watch, out, reported);
    });
}

/** A circle or an ellipse along segments. */
using ellipse = isoline_ellipse;

/** Circles and ellipses, the result of isoline::edge_drawing_ellipses. They never change, and may outlive their context. */
class ellipses : public object_of_entries<isoline_ellipses, isoline_ellipses_free, ellipse, isoline_ellipses_all> {
  public:
    using object_of_entries::object_of_entries;
};

/** Finds circles and ellipses along segments, which isoline::edge_drawing found in `input`. */
inline report edge_drawing_ellipses(context &context, const any_image &input, const segments &segments,
                                    ellipses &ellipses, const edge_drawing_params &params = {},
                                    const progress &on_progress = {}) {
    return detail::run(on_progress, ellipses, [&](auto watch, auto out, auto reported) {
        return isoline_edge_drawing_ellipses(context.get(), input.get(), segments.get(), &params, watch, out, reported);
    });
}

/** Computes the intermediate images of edge drawing; `{}` stands for one that is not wanted. */
template <typename Pixel = std::uint8_t>
report edge_drawing_maps(context &context, const any_image &input, const image<Pixel> &smoothed,
                         const image<float> &gradient, const image<std::uint8_t> &direction,
                         const image<std::uint8_t> &anchors, const edge_drawing_params &params = {},
                         const progress &on_progress = {}) {
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_edge_drawing_maps(context.get(), input.get(), &params, watch, detail::output(smoothed),
                                         detail::output(gradient), detail::output(direction), detail::output(anchors),
                                         reported);
    });
}

/** Returns the automatic gradient threshold of an image. */
inline double edge_drawing_threshold(context &context, const any_image &input, const edge_drawing_params &params = {}) {
    double threshold = 0;
    detail::check_callbacks(
        [&] { return isoline_edge_drawing_threshold(context.get(), input.get(), &params, &threshold); });
    return threshold;
}

// ------------------------------------------------------------------------------------------------------------ isolines

/** One polyline. */
using polyline = isoline_polyline;
/** A point of a polyline. */
using polyline_point = isoline_polyline_point;

/** All polylines as flat arrays. */
struct polyline_arrays {
    /** The polylines, which say where their points are. */
    span<const polyline> polylines;
    /** The points of all polylines. */
    span<const polyline_point> points;
};

/** Curves, a result of isoline::isolines or isoline::edge_strength_axes. They never change and may outlive their context. */
class polylines : public object<isoline_polylines, isoline_polylines_free> {
  public:
    using object::object;
    /** Returns all polylines without a copy. */
    polyline_arrays all() const {
        defaults<isoline_polyline_arrays, isoline_polyline_arrays_init> all;
        check(isoline_polylines_all(get(), &all));
        return {{all.polylines, static_cast<std::size_t>(all.count)},
                {all.points, static_cast<std::size_t>(all.point_count)}};
    }
};

/** The parameters of isoline::isolines. */
using isolines_params = defaults<isoline_isolines_params, isoline_isolines_params_init>;

/** Computes isolines at `levels`; `{}` stands for the equally spaced ones of `params`. */
inline report isolines(context &context, const any_image &input, span<const double> levels, polylines &polylines,
                       const isolines_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, polylines, [&](auto watch, auto out, auto reported) {
        return isoline_isolines(context.get(), input.get(), levels.data(), levels.size(), &params, watch, out,
                                reported);
    });
}

/** Finds the axes and the critical points of an edge strength, which isoline::edge_strength computed. */
inline report edge_strength_axes(context &context, const any_image &strength, polylines &polylines,
                                 const edge_strength_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, polylines, [&](auto watch, auto out, auto reported) {
        return isoline_edge_strength_axes(context.get(), strength.get(), &params, watch, out, reported);
    });
}

// ---------------------------------------------------------------------------------------------------------- isosurface

/** A surface as flat arrays, and what was measured on it. */
struct surface_arrays {
    /** x, y and z of each vertex. */
    span<const float> vertices;
    /** x, y and z of the normal of each vertex. */
    span<const float> normals;
    /** The three vertices of each triangle. */
    span<const std::uint32_t> triangles;
    /** The struct of C, with the measures. */
    isoline_surface_arrays info;
};

/** A mesh of triangles, the result of isoline::isosurface. It never changes, and may outlive its context. */
class surface : public object<isoline_surface, isoline_surface_free> {
  public:
    using object::object;
    /** Returns the whole surface without a copy. */
    surface_arrays all() const {
        defaults<isoline_surface_arrays, isoline_surface_arrays_init> all;
        check(isoline_surface_all(get(), &all));
        const std::size_t coordinates = 3 * static_cast<std::size_t>(all.vertex_count);
        return {{all.vertices, coordinates},
                {all.normals, coordinates},
                {all.triangles, 3 * static_cast<std::size_t>(all.triangle_count)},
                all};
    }
};

/** The parameters of isoline::isosurface. */
using isosurface_params = defaults<isoline_isosurface_params, isoline_isosurface_params_init>;

/** Computes the isosurface of a volume. */
inline report isosurface(context &context, const any_image &input, surface &surface, const isosurface_params &params = {},
                         const progress &on_progress = {}) {
    return detail::run(on_progress, surface, [&](auto watch, auto out, auto reported) {
        return isoline_isosurface(context.get(), input.get(), &params, watch, out, reported);
    });
}

/**
 * Makes a surface of a mesh: three coordinates for each vertex, three vertices for each triangle, and the side of the level
 * on which voxels were inside. Throws
 * std::invalid_argument if the number of either is not a multiple of 3.
 */
inline report surface_of_mesh(context &context, span<const float> vertices, span<const std::uint32_t> triangles,
                              surface &surface, const progress &on_progress = {},
                              isoline_foreground foreground = ISOLINE_FOREGROUND_ABOVE) {
    if (vertices.size() % 3 != 0 || triangles.size() % 3 != 0) {
        throw std::invalid_argument("vertices and triangles must have three numbers each (got " +
                                    std::to_string(vertices.size()) + " and " + std::to_string(triangles.size()) + ")");
    }
    return detail::run(on_progress, surface, [&](auto watch, auto out, auto reported) {
        return isoline_surface_new(context.get(), vertices.data(), vertices.size() / 3, triangles.data(),
                                   triangles.size() / 3, foreground, watch, out, reported);
    });
}

// ------------------------------------------------------------------------------------------------------------- objects

/** One object. */
using found_object = isoline_object;

/** Objects in the order of their labels, a result of isoline::objects. They never change, and may outlive their context. */
class object_list
    : public object_of_entries<isoline_object_list, isoline_object_list_free, found_object, isoline_object_list_all> {
  public:
    using object_of_entries::object_of_entries;
};

/** The parameters of isoline::objects. */
using objects_params = defaults<isoline_objects_params, isoline_objects_params_init>;

/**
 * Grows objects from `starts`, a label image. Writes their labels, of any type that holds the largest one, and the list of
 * objects.
 */
template <typename Pixel>
report objects(context &context, const any_image &input, const any_image &starts, const image<Pixel> &labels,
               object_list &objects, const objects_params &params = {}, const progress &on_progress = {}) {
    return detail::run(on_progress, objects, [&](auto watch, auto out, auto reported) {
        return isoline_objects(context.get(), input.get(), detail::optional(starts), &params, watch,
                               detail::output(labels), out, reported);
    });
}

/** Grows objects as above; `{}` stands for automatic starts. */
template <typename Pixel>
report objects(context &context, const any_image &input, const image<std::uint16_t> &starts, const image<Pixel> &labels,
               object_list &objects, const objects_params &params = {}, const progress &on_progress = {}) {
    const any_image &any_starts = starts;
    return isoline::objects(context, input, any_starts, labels, objects, params, on_progress);
}

// ----------------------------------------------------------------------------------------------------------- level set

/** The parameters of a level set. */
using level_set_params = defaults<isoline_level_set_params, isoline_level_set_params_init>;
/** The progress of a level set, and its parameters with every automatic one computed. */
using level_set_state = defaults<isoline_level_set_state, isoline_level_set_state_init>;
/** The statistics of one iteration. */
using iteration_statistics = isoline_iteration_statistics;

/** A front that evolves on one image, of which it keeps a copy. It may outlive its context. */
class level_set : public object<isoline_level_set, isoline_level_set_free> {
  public:
    using object::object;
    /** No level set. */
    level_set() noexcept = default;
    /** Starts from a mask. */
    level_set(context &context, const any_image &input, const any_image &initial_mask,
              const level_set_params &params = {}) {
        detail::check_callbacks([&] {
            return detail::make(*this, [&](isoline_level_set **out) {
                return isoline_level_set_new(context.get(), input.get(), initial_mask.get(), &params, out);
            });
        });
    }
    /** Evolves by up to `iterations`, fewer if the front comes to rest. A cancelled step may be continued. */
    report step(std::uint64_t iterations, const progress &on_progress = {}) {
        return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
            return isoline_level_set_step(get(), iterations, watch, reported);
        });
    }
    /** Writes the current mask: 255 inside, 0 elsewhere. */
    void read_mask(const image<std::uint8_t> &mask) const {
        detail::check_callbacks([&] { return isoline_level_set_read_mask(get(), mask.get()); });
    }
    /** Writes the current φ, negative inside. */
    void read_phi(const image<float> &phi) const {
        detail::check_callbacks([&] { return isoline_level_set_read_phi(get(), phi.get()); });
    }
    /** Replaces φ, for example by one that was saved or edited. */
    void write_phi(const any_image &phi) {
        detail::check_callbacks([&] { return isoline_level_set_write_phi(get(), phi.get()); });
    }
    /** Returns the progress, and the parameters with every automatic one computed. */
    level_set_state info() const {
        level_set_state state;
        check(isoline_level_set_info(get(), &state));
        return state;
    }
    /** Returns the statistics that are kept of the iterations from `first` on, counted from 1. */
    std::vector<iteration_statistics> statistics(std::uint64_t first = 1) const {
        constexpr std::size_t block = 4096;
        std::vector<iteration_statistics> all;
        for (std::size_t count = 0, written = block; written == block;) {
            all.resize(count + block);
            check(isoline_level_set_statistics(get(), first, block, &all[count], &written));
            count += written;
            all.resize(count);
            first = written == 0 ? first : all.back().iteration + 1;
        }
        return all;
    }
};

/** Runs a level set in one call, from a mask to a mask. */
inline report level_set_run(context &context, const any_image &input, const any_image &initial_mask,
                            const image<std::uint8_t> &mask, const level_set_params &params = {},
                            const progress &on_progress = {}) {
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_level_set_run(context.get(), input.get(), initial_mask.get(), &params, watch,
                                     detail::output(mask), reported);
    });
}

// ------------------------------------------------------------------------------------------------------- region snakes

/** A node of a polygon, on a corner of pixels. */
using node = isoline_node;
/** A point of a smooth curve along a polygon. */
using curve_point = isoline_curve_point;

/** A view of closed polygons as flat arrays, or of one polygon. `{}` stands for none, where isoline.h allows NULL. */
class polygons {
  public:
    /** No polygons are given. */
    polygons() = default;
    /**
     * Polygon i has the nodes from `offsets[i]` up to but not including `offsets[i + 1]`, and is on slice `slices[i]`, of
     * which there are as many as polygons (else this throws std::invalid_argument), or none: then all are on slice 0.
     */
    polygons(span<const node> nodes, span<const std::uint64_t> offsets, span<const std::uint32_t> slices = {})
        : nodes_(nodes), offsets_(offsets), slices_(slices), size_(offsets.empty() ? 0 : offsets.size() - 1), given_(true) {
        if (!slices_.empty() && slices_.size() != size_) {
            throw std::invalid_argument("cannot use the polygons' slices: there must be one for each of the " +
                                        std::to_string(size_) + " polygons (got " + std::to_string(slices_.size()) + ")");
        }
    }
    /** One polygon with the nodes of an array or a container. */
    template <typename Nodes, std::enable_if_t<std::is_convertible_v<const Nodes &, span<const node>>, int> = 0>
    polygons(const Nodes &nodes) : nodes_(nodes), size_(1), given_(true) {}

    /** Returns the number of polygons. */
    std::size_t size() const noexcept { return size_; }
    /** Returns the nodes of one polygon; `index` must be less than size(). */
    span<const node> operator[](std::size_t index) const {
        if (offsets_.empty()) {
            return nodes_;
        }
        const auto first = static_cast<std::size_t>(offsets_[index]);
        return {nodes_.data() + first, static_cast<std::size_t>(offsets_[index + 1]) - first};
    }
    /** Returns the nodes of all polygons. */
    span<const node> nodes() const noexcept { return nodes_; }
    /** Returns the offsets of the polygons into nodes(); none if this was made from one polygon. */
    span<const std::uint64_t> offsets() const noexcept { return offsets_; }
    /** Returns the slice of each polygon, counted from 0; none if all are on slice 0. */
    span<const std::uint32_t> slices() const noexcept { return slices_; }
    /** Returns whether polygons are given, even if their number is 0. */
    explicit operator bool() const noexcept { return given_; }

  private:
    span<const node> nodes_;
    span<const std::uint64_t> offsets_;
    span<const std::uint32_t> slices_;
    std::size_t size_ = 0;
    bool given_ = false;
};

namespace detail {

/** The C struct of polygons, during a call. */
class c_polygons {
  public:
    /** Takes the polygons and, of one polygon, makes the offsets. */
    explicit c_polygons(const polygons &polygons) : one_{0, polygons.nodes().size()}, given_(polygons) {
        all_.count = polygons.size();
        all_.node_count = polygons.nodes().size();
        all_.nodes = polygons.nodes().data();
        all_.offsets = polygons.offsets().empty() ? one_.data() : polygons.offsets().data();
        all_.slices = polygons.slices().data();
    }
    c_polygons(const c_polygons &) = delete;
    c_polygons &operator=(const c_polygons &) = delete;
    /** Returns the C struct; NULL if no polygons are given. */
    const isoline_polygons *get() const noexcept { return given_ ? &all_ : nullptr; }

  private:
    defaults<isoline_polygons, isoline_polygons_init> all_;
    std::array<std::uint64_t, 2> one_;
    bool given_;
};

} // namespace detail

/** Closed curves, in flat arrays. */
struct curves {
    /** The points of all curves. */
    std::vector<curve_point> points;
    /** Curve i has the points from `offsets[i]` up to but not including `offsets[i + 1]`. */
    std::vector<std::uint64_t> offsets;
};

/** Returns a smooth closed curve along each polygon. */
inline curves smooth(const polygons &polygons, double longest_edge = ISOLINE_AUTOMATIC, std::uint32_t points_per_edge = 8) {
    const detail::c_polygons given(polygons);
    curves found;
    found.offsets.resize(polygons.size() + 1);
    check(isoline_polygons_smooth(given.get(), longest_edge, points_per_edge, 0, found.offsets.data(), nullptr));
    found.points.resize(static_cast<std::size_t>(found.offsets.back()));
    check(isoline_polygons_smooth(given.get(), longest_edge, points_per_edge, found.points.size(), found.offsets.data(),
                                  found.points.data()));
    return found;
}

/** The parameters of region snakes. */
using snake_params = defaults<isoline_snake_params, isoline_snake_params_init>;
/** The statistics of one target. */
using target_statistics = isoline_target_statistics;
/** Sums over the pixels inside one polygon. */
using region_sum = isoline_region_sum;

/**
 * Targets that are searched for on one image, of which it keeps a copy; snake_run() of several slices, or of slices that a
 * function reads, keeps the targets alone. It may outlive its context.
 */
class snake : public object<isoline_snake, isoline_snake_free> {
  public:
    using object::object;
    /** No snake. */
    snake() noexcept = default;
    /** Starts one target for each polygon; one in the middle of the image if none are given. */
    snake(context &context, const any_image &input, const isoline::polygons &initial = {},
          const snake_params &params = {}) {
        const detail::c_polygons start(initial);
        check(detail::make(*this, [&](isoline_snake **out) {
            return isoline_snake_new(context.get(), input.get(), start.get(), &params, out);
        }));
    }
    /** Restarts on the same image, for example from its own polygons. */
    void restart(const isoline::polygons &initial = {}, const snake_params &params = {}) {
        check(isoline_snake_restart(get(), detail::c_polygons(initial).get(), &params));
    }
    /**
     * Continues the search of every target by up to `iterations`, or until it ends. A cancelled step may be continued.
     */
    report step(std::uint64_t iterations = (std::numeric_limits<std::uint64_t>::max)(),
                const progress &on_progress = {}) {
        return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
            return isoline_snake_step(get(), iterations, watch, reported);
        });
    }
    /** Returns the number of targets. */
    std::size_t size() const noexcept { return isoline_snake_count(get()); }
    /** Returns the current polygons, one for each target. */
    isoline::polygons polygons() const {
        defaults<isoline_polygons, isoline_polygons_init> all;
        check(isoline_snake_polygons(get(), &all));
        return {{all.nodes, static_cast<std::size_t>(all.node_count)},
                {all.offsets, static_cast<std::size_t>(all.count) + 1},
                {all.slices, static_cast<std::size_t>(all.count)}};
    }
    /** Returns the current polygon of one target. */
    span<const node> polygon(std::size_t index) const {
        const node *first = nullptr;
        std::size_t count = 0;
        check(isoline_snake_polygon(get(), index, &first, &count));
        return {first, count};
    }
    /** Returns the statistics of the targets from `first` on. */
    std::vector<target_statistics> statistics(std::size_t first = 0) const {
        std::vector<target_statistics> all(size());
        std::size_t written = 0;
        check(isoline_snake_statistics(get(), first, all.size(), all.data(), &written));
        all.resize(written);
        return all;
    }
    /** Returns the sums over the pixels inside any polygons. */
    std::vector<region_sum> region_sums(const isoline::polygons &polygons) const {
        std::vector<region_sum> sums(polygons.size());
        check(isoline_snake_region_sums(get(), detail::c_polygons(polygons).get(), sums.data()));
        return sums;
    }
    /** Draws the targets as a mask: 255 inside, 0 elsewhere. */
    void draw_mask(const image<std::uint8_t> &mask) const {
        detail::check_callbacks([&] { return isoline_snake_draw_mask(get(), mask.get()); });
    }
    /** Draws the targets by their numbers, counted from 1, in pixels of std::uint16_t or float. */
    template <typename Label>
    void draw_labels(const image<Label> &labels) const {
        detail::check_callbacks([&] { return isoline_snake_draw_labels(get(), detail::output(labels)); });
    }
};

/**
 * Runs region snakes in one call until every target has ended, and returns labels and the snake. The polygons may be on
 * several slices, and input and labels in memory or slices that functions read and write.
 */
template <typename Label>
report snake_run(context &context, const any_image &input, const polygons &initial, const image<Label> &labels,
                 snake &snake, const snake_params &params = {}, const progress &on_progress = {}) {
    const detail::c_polygons start(initial);
    return detail::run(on_progress, snake, [&](auto watch, auto out, auto reported) {
        return isoline_snake_run(context.get(), input.get(), start.get(), &params, watch, detail::output(labels),
                                 out, reported);
    });
}

/** Runs region snakes in one call until every target has ended, and returns the snake. */
inline report snake_run(context &context, const any_image &input, const polygons &initial, snake &snake,
                        const snake_params &params = {}, const progress &on_progress = {}) {
    return snake_run(context, input, initial, image<std::uint16_t>(), snake, params, on_progress);
}

/** Runs region snakes in one call until every target has ended, and returns labels. */
template <typename Label>
report snake_run(context &context, const any_image &input, const polygons &initial, const image<Label> &labels,
                 const snake_params &params = {}, const progress &on_progress = {}) {
    const detail::c_polygons start(initial);
    return detail::run(on_progress, [&](const isoline_progress *watch, isoline_report *reported) {
        return isoline_snake_run(context.get(), input.get(), start.get(), &params, watch, detail::output(labels),
                                 nullptr, reported);
    });
}

} // namespace isoline

#ifdef __cpp_lib_ranges
/** Iterators of an isoline::span may outlive it. */
template <typename T>
inline constexpr bool std::ranges::enable_borrowed_range<isoline::span<T>> = true;
/** An isoline::span is a view, as std::span is. */
template <typename T>
inline constexpr bool std::ranges::enable_view<isoline::span<T>> = true;
#endif

#endif // ISOLINE_HPP
