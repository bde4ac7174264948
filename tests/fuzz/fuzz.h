/*
 * The common part of the fuzz targets, which take every choice from the fuzzer's bytes, and check after each call what
 * isoline.h promises of every call. README.md says how they are built and run.
 *
 * When the bytes are used up, every choice is the first one. So the first choice is always the plain one, and a short
 * input is a plain call.
 */
#ifndef ISOLINE_TESTS_FUZZ_H
#define ISOLINE_TESTS_FUZZ_H

/* Deprecated functions are fuzzed until they are removed, so they must give no warning. */
#define ISOLINE_DEPRECATED(instead)
#include "isoline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace fuzz {

// ------------------------------------------------------------------------------------------------------- findings

/* The call that is running, or the last one. */
inline const char *&running() {
    static thread_local const char *call = "none";
    return call;
}

[[noreturn]] inline void finding(const char *file, int line, const char *what) {
    std::fprintf(stderr, "FINDING %s:%d: does not hold: %s\n  call: %s\n  last error: %s\n", file, line, what, running(),
                 isoline_last_error());
    std::abort();
}

#define MUST(condition) ((condition) ? void() : fuzz::finding(__FILE__, __LINE__, #condition))

// ------------------------------------------------------------------------------------------------ choices from bytes

class Bytes {
public:
    Bytes(const uint8_t *data, size_t size) : at(data), end(data + size) {}

    bool empty() const { return at == end; }
    uint8_t byte() { return empty() ? uint8_t(0) : *at++; }

    /* A number less than `count`. */
    unsigned below(unsigned count) {
        unsigned value = byte();
        return (count > 256 ? value << 8 | byte() : value) % count;
    }

    unsigned from(unsigned first, unsigned last) { return first + below(last - first + 1); }

    /* True for one byte in `count`, never without bytes. */
    bool rarely(unsigned count) { return byte() % count == count - 1; }

    uint64_t number(unsigned bytes = 8) {
        uint64_t value = 0;
        while (bytes-- > 0) {
            value = value << 8 | byte();
        }
        return value;
    }

    template <class T> T pick(std::initializer_list<T> values) { return values.begin()[below(unsigned(values.size()))]; }

    /* A float: a small one with a fraction, a special one, or any. */
    double real() {
        const double infinity = std::numeric_limits<double>::infinity();
        switch (below(8)) {
        case 0:
        case 1:
        case 2: return double(int16_t(number(2))) / 16;
        case 3: return byte();
        case 4: return std::ldexp(1.0, int(int8_t(byte())));
        case 5:
            return pick({0.0, -0.0, infinity, -infinity, std::nan(""), 1e100, -1e100, 1.01e100, 1e300, 5e-324, 1e30, -1e30,
                         ISOLINE_AUTOMATIC, std::numeric_limits<double>::max()});
        case 6: return std::ldexp(double(byte()), int(int16_t(number(2))) / 32);
        default: {
            const uint64_t bits = number();
            double value;
            std::memcpy(&value, &bits, sizeof value);
            return value;
        }
        }
    }

private:
    const uint8_t *at, *end;
};

// ----------------------------------------------------------------------------------------------- what every call must do

/* True for UTF-8 text on one line. */
inline bool is_line(const char *text) {
    const unsigned char *at = reinterpret_cast<const unsigned char *>(text);
    while (*at != 0) {
        if (*at < 0x20 || *at == 0x7F) {
            return false;
        }
        const int more = *at < 0x80 ? 0 : *at >= 0xC2 && *at < 0xE0 ? 1 : *at >= 0xE0 && *at < 0xF0 ? 2 : *at >= 0xF0 && *at < 0xF5 ? 3 : -1;
        if (more < 0) {
            return false;
        }
        for (int i = 1; i <= more; i++) {
            if ((at[i] & 0xC0) != 0x80) {
                return false;
            }
        }
        at += more + 1;
    }
    return true;
}

inline bool is_text(const char *text) { return text != nullptr && text[0] != '\0' && is_line(text); }

/* The number of judged calls on this thread, by which a call sees that callbacks have made others. */
inline uint64_t &calls() {
    static thread_local uint64_t count = 0;
    return count;
}

/* Makes a call and checks what holds for every status. */
template <class F> isoline_status judge(const char *what, F call) {
    const char *caller = running();
    running() = what;
    const char *message = isoline_last_error();
    MUST(message != nullptr);
    char before[2048];
    std::memcpy(before, message, sizeof before);
    MUST(std::memchr(before, 0, sizeof before) != nullptr);
    const uint64_t number = ++calls();
    const isoline_status status = call();
    MUST(isoline_last_error() == message);
    MUST(status <= ISOLINE_CALLBACK_FAILED);
    MUST(status != ISOLINE_PANIC);
    MUST(status != ISOLINE_DEVICE_FAILED);
    if (status != ISOLINE_OK) {
        MUST(is_text(message));
        MUST(std::memchr(message, 0, sizeof before) != nullptr);
    } else if (number == calls()) {
        MUST(std::strcmp(message, before) == 0);
    }
    running() = caller;
    return status;
}

#define CALL(expression) fuzz::judge(#expression, [&] { return (expression); })
#define GOOD(expression) MUST(CALL(expression) == ISOLINE_OK)
/* The same; the call must not succeed. */
#define REFUSED(expression) MUST(CALL(expression) != ISOLINE_OK)

// ------------------------------------------------------------------------------------------------------------ memory

/* Memory of an exact size, with a copy to compare with. */
class Memory {
public:
    explicit Memory(size_t size = 0, unsigned char value = 0) : bytes(new unsigned char[size]), copy(size, value) {
        std::memset(bytes.get(), value, size);
    }

    unsigned char *data() const { return bytes.get(); }
    size_t size() const { return copy.size(); }
    void save() { std::memcpy(copy.data(), bytes.get(), copy.size()); }
    bool unchanged() const { return std::memcmp(copy.data(), bytes.get(), copy.size()) == 0; }
    unsigned char *saved() { return copy.data(); }

private:
    std::unique_ptr<unsigned char[]> bytes;
    std::vector<unsigned char> copy;
};

/* A struct that begins with struct_size: mostly of its own size, at times of an older or a newer caller's. */
template <class T> class Struct {
public:
    Struct(Bytes &bytes, const T &value, size_t full = sizeof(T)) : Struct(bytes, reinterpret_cast<const unsigned char *>(&value), full) {}

    Struct(Bytes &bytes, const unsigned char *value, size_t full) {
        size_t size = full;
        if (bytes.rarely(32)) {
            // At least the field itself, which is a precondition.
            size = bytes.rarely(2) ? bytes.from(4, unsigned(full) - 1) : full + bytes.from(1, 40);
        }
        memory = Memory(size);
        std::memcpy(memory.data(), value, std::min(size, full));
        const uint32_t stated = uint32_t(size);
        std::memcpy(memory.data(), &stated, sizeof stated);
        known = full;
        is_small = size < full;
        if (size > full && bytes.rarely(2)) {
            is_unknown = true;
            memory.data()[full + bytes.below(unsigned(size - full))] = 1;
        }
        memory.save();
    }

    T *get() const { return reinterpret_cast<T *>(memory.data()); }
    /* The struct as this library writes it; its size must be the usual one. */
    const T &read() const {
        MUST(memory.size() >= sizeof(T));
        return *get();
    }
    bool unchanged() const { return memory.unchanged(); }
    void save() { memory.save(); }
    /* True if every function must refuse the struct: smaller than in the first release. */
    bool too_small() const { return is_small; }
    /* True if a function that reads the struct must refuse it. */
    bool unreadable() const { return is_small || is_unknown; }
    /* True if size and the bytes of a newer caller are as they were. */
    bool rest_unchanged() {
        const size_t rest = memory.size() - known;
        return is_small || (std::memcmp(memory.data(), memory.saved(), 4) == 0 &&
                            std::memcmp(memory.data() + known, memory.saved() + known, rest) == 0);
    }

private:
    Memory memory;
    size_t known = 0;
    bool is_small = false, is_unknown = false;
};

/* A struct with its defaults. */
template <class T> T defaults(isoline_status (*init)(T *, size_t)) {
    T value;
    GOOD(init(&value, sizeof value));
    MUST(value.struct_size == sizeof value);
    return value;
}

// ------------------------------------------------------------------------------------------------------------ images

inline size_t bytes_of(uint32_t type) { return type == ISOLINE_U8 ? 1 : type == ISOLINE_U16 ? 2 : 4; }

/* The pixels of an image in memory that ends with its last pixel, and their description. */
class Picture {
public:
    uint32_t type = ISOLINE_U8;
    uint64_t width = 1, height = 1, depth = 1;
    uint64_t row = 0, slice = 0; // in bytes
    /* True if every call must refuse the description. */
    bool broken = false;

    /* An input of up to `side` pixels along x and y; mostly of less, which takes less time and has the same borders. */
    Picture(Bytes &bytes, unsigned side, unsigned slices) {
        type = bytes.pick<uint32_t>({ISOLINE_U8, ISOLINE_F32, ISOLINE_U16});
        const unsigned size = bytes.byte();
        const unsigned most = size % 16 == 15 ? side : size % 4 == 3 ? side / 2 + 1 : side / 4 + 1;
        width = bytes.from(1, most);
        height = bytes.from(1, most);
        depth = size % 8 < 6 ? 1 : bytes.from(1, slices);
        make(bytes, 0, true);
        fill(bytes);
        pixels.save();
    }

    /* An image of the size of another one, mostly, to be written or filled. */
    Picture(Bytes &bytes, const Picture &like, uint32_t wanted) {
        type = wanted;
        width = like.width;
        height = like.height;
        depth = like.depth;
        std::copy(like.spacing, like.spacing + 3, spacing);
        if (bytes.rarely(32)) {
            different = true;
            switch (bytes.below(4)) {
            case 0: width += bytes.from(1, 3); break;
            case 1: height += bytes.from(1, 3); break;
            case 2: depth += bytes.from(1, 3); break;
            default: type = (type + bytes.from(1, 2)) % 3; break;
            }
        }
        make(bytes, 0xA5, false);
        pixels.save();
    }

    const isoline_image *image() const { return description->get(); }

    /* Lets the image have its pixels where another one has its own: as an output it must be refused. */
    void share(Bytes &bytes, const Picture &other) {
        isoline_image value = described;
        value.data = other.pixels.data() + bytes.below(unsigned(other.width)) * bytes_of(other.type);
        description = std::make_unique<Struct<isoline_image>>(bytes, value);
        broken = true;
    }

    /* True if a call that reads the image may succeed; else it must not. */
    bool readable() const { return !broken && !description->unreadable(); }
    bool writable() const { return readable() && !different; }
    bool differs() const { return different; }

    bool untouched() const { return pixels.unchanged() && description->unchanged(); }

    /* True if nothing but pixels was written. */
    bool only_pixels_written() {
        for (uint64_t z = 0; z < depth; z++) {
            for (uint64_t y = 0; y < height; y++) {
                const size_t offset = size_t(z * slice + y * row);
                std::memcpy(pixels.saved() + offset, pixels.data() + offset, size_t(width) * bytes_of(type));
            }
        }
        return untouched();
    }

    /* True if the image is as the header says of an output after a call that returned `status`. */
    bool as_promised(isoline_status status) {
        const bool may_be_written = status == ISOLINE_OK || status == ISOLINE_CANCELLED || status == ISOLINE_OUT_OF_MEMORY;
        return may_be_written ? only_pixels_written() : untouched();
    }

    template <class T> T at(uint64_t x, uint64_t y, uint64_t z) const {
        T value;
        std::memcpy(&value, pixels.data() + z * slice + y * row + x * sizeof value, sizeof value);
        return value;
    }

    template <class T> void set(uint64_t x, uint64_t y, uint64_t z, T value) {
        std::memcpy(pixels.data() + z * slice + y * row + x * sizeof value, &value, sizeof value);
    }

    /* True if `holds` is true of every pixel. */
    template <class T, class F> bool all(F holds) const {
        for (uint64_t z = 0; z < depth; z++) {
            for (uint64_t y = 0; y < height; y++) {
                for (uint64_t x = 0; x < width; x++) {
                    if (!holds(at<T>(x, y, z))) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    /* All pixels, packed. */
    std::vector<unsigned char> packed() const {
        std::vector<unsigned char> result;
        for (uint64_t z = 0; z < depth; z++) {
            for (uint64_t y = 0; y < height; y++) {
                const unsigned char *first = pixels.data() + z * slice + y * row;
                result.insert(result.end(), first, first + size_t(width) * bytes_of(type));
            }
        }
        return result;
    }

    /* Fills the pixels by a pattern. */
    void fill(Bytes &bytes) {
        const unsigned pattern = bytes.below(7), scale = bytes.below(6);
        uint32_t noise = uint32_t(bytes.number(2)) * 2654435761u + 1;
        const double cx = bytes.byte() / 255.0 * double(width), cy = bytes.byte() / 255.0 * double(height);
        const double radius = 1 + bytes.byte() / 512.0 * double(std::max(width, height));
        const uint8_t low = bytes.byte(), high = uint8_t(~bytes.byte());
        for (uint64_t z = 0; z < depth; z++) {
            for (uint64_t y = 0; y < height; y++) {
                for (uint64_t x = 0; x < width; x++) {
                    noise = noise * 1664525u + 1013904223u;
                    const bool inside = std::hypot(double(x) - cx, double(y) - cy) <= radius;
                    uint8_t value = inside ? high : low;
                    switch (pattern) {
                    case 0: break;
                    case 1: value = uint8_t(value / 2 + (noise >> 25)); break;
                    case 2: value = uint8_t(noise >> 24); break;
                    case 3: value = uint8_t(x * 255 / width); break;
                    case 4: value = (x / 4 + y / 4 + z) % 2 != 0 ? high : low; break;
                    case 5: value = low; break;
                    default: value = bytes.byte(); break;
                    }
                    put(x, y, z, value, scale);
                }
            }
        }
        if (type == ISOLINE_F32 && bytes.rarely(4)) {
            const float infinity = std::numeric_limits<float>::infinity();
            for (unsigned i = bytes.from(1, 4); i > 0; i--) {
                const float special = bytes.pick({std::nanf(""), infinity, -infinity, 3.4028235e38f, -3.4028235e38f, 1e30f, -1e30f,
                                                  1e-45f, -0.0f, 1.1e-38f, 1.01e30f});
                const bool everywhere = bytes.rarely(16);
                const uint64_t sx = bytes.below(unsigned(width)), sy = bytes.below(unsigned(height)), sz = bytes.below(unsigned(depth));
                set(sx, sy, sz, special);
                for (uint64_t j = 0; everywhere && j < width * height * depth; j++) {
                    set(j % width, j / width % height, j / (width * height), special);
                }
            }
        }
        pixels.save();
    }

private:
    Memory pixels;
    isoline_image described;
    std::unique_ptr<Struct<isoline_image>> description;
    double spacing[3] = {1, 1, 1};
    bool different = false;

    void put(uint64_t x, uint64_t y, uint64_t z, uint8_t value, unsigned scale) {
        if (type == ISOLINE_U8) {
            set(x, y, z, value);
        } else if (type == ISOLINE_U16) {
            set(x, y, z, uint16_t(scale < 2 ? value * 257u : scale < 4 ? value : value + 65280u));
        } else {
            const float factors[] = {1, 1.0f / 255, -1, 1e6f, 1e-30f, 1e28f};
            set(x, y, z, float(value - (scale == 1 ? 0 : 20)) * factors[scale]);
        }
    }

    void make(Bytes &bytes, unsigned char contents, bool input) {
        described = defaults(isoline_image_init);
        described.type = type;
        described.width = width;
        described.height = height;
        described.depth = depth;
        const uint64_t pixel = bytes_of(type);
        row = width * pixel;
        slice = row * height;
        if (bytes.rarely(4)) {
            described.row_stride = row += pixel * bytes.below(5);
            slice = row * height;
            if (bytes.rarely(2)) {
                described.slice_stride = slice += pixel * bytes.below(9);
            }
        }
        if (input && bytes.rarely(4)) {
            for (double &side : spacing) {
                side = bytes.pick({1.0, 0.5, 2.0, 3.7, 1e-3, 1e-9, 1e9, 1e15, 1e-15, 1e-300, 1e300});
            }
        }
        std::copy(spacing, spacing + 3, described.spacing);
        size_t extent = size_t((depth - 1) * slice + (height - 1) * row + width * pixel);
        const bool misaligned = pixel > 1 && bytes.rarely(64);
        pixels = Memory(extent + (misaligned ? pixel : 0), contents);
        described.data = pixels.data() + (misaligned ? bytes.from(1, unsigned(pixel) - 1) : 0);
        broken = misaligned;
        if (bytes.rarely(32)) {
            spoil(bytes, pixel);
        }
        description = std::make_unique<Struct<isoline_image>>(bytes, described);
    }

    /* Makes a field wrong, so that no call may use the image. */
    void spoil(Bytes &bytes, uint64_t pixel) {
        isoline_image &image = described;
        const bool was_broken = broken;
        broken = true;
        switch (bytes.below(13)) {
        case 0: image.data = nullptr; break;
        case 1: image.type = bytes.from(3, 255); break;
        case 2: image.memory = bytes.from(1, 255); break; // CUDA memory, on a context that has none
        case 3: image.reserved = bytes.from(1, 255); break;
        case 4: image.width = 0; break;
        case 5: image.height = 0; break;
        case 6: image.depth = 0; break;
        case 7: image.spacing[bytes.below(3)] = bytes.pick({0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}); break;
        case 8: image.width = bytes.pick<uint64_t>({UINT64_MAX, UINT64_MAX / 2, uint64_t(1) << 62, UINT64_MAX - 1}); break;
        case 9: image.height = bytes.pick<uint64_t>({UINT64_MAX, UINT64_MAX / 2, uint64_t(1) << 63, uint64_t(1) << 62}); break;
        case 10: image.depth = bytes.pick<uint64_t>({UINT64_MAX, UINT64_MAX / 2, uint64_t(1) << 63, uint64_t(1) << 62}); break;
        case 11:
            image.row_stride = bytes.pick<uint64_t>({UINT64_MAX / pixel * pixel, UINT64_MAX, (width - 1) * pixel, UINT64_MAX / 4});
            // The stride of a single row is not used. One that is 0 stands for packed rows.
            if (image.row_stride == 0 || (height == 1 && image.row_stride % pixel == 0)) {
                image.row_stride = depth == 1 ? image.row_stride : 0;
                row = width * pixel;
                slice = image.slice_stride == 0 ? row * height : image.slice_stride;
                broken = was_broken;
            }
            break;
        default:
            // So is that of a single slice.
            image.slice_stride = bytes.pick<uint64_t>({UINT64_MAX / pixel * pixel, uint64_t(1) << 63, UINT64_MAX / 4 / pixel * pixel});
            broken = was_broken || depth > 1;
            break;
        }
    }
};

/* The same image as slices that callbacks read or write, of which one may fail. */
class Tape {
public:
    explicit Tape(const Picture &like) : pixels(like.packed()), description(*like.image()) {
        bytes_of_slice = size_t(like.width * like.height) * bytes_of(like.type);
        isoline_image image = defaults(isoline_image_init);
        image.type = like.type;
        image.width = like.width;
        image.height = like.height;
        image.depth = like.depth;
        std::copy(description.spacing, description.spacing + 3, image.spacing);
        image.memory = ISOLINE_SLICES;
        image.user = this;
        image.read_slice = [](void *user, uint64_t slice, void *to) {
            Tape &tape = *static_cast<Tape *>(user);
            std::memcpy(to, tape.at(slice), tape.bytes_of_slice);
            return tape.answer(slice);
        };
        image.write_slice = [](void *user, uint64_t slice, const void *from) {
            Tape &tape = *static_cast<Tape *>(user);
            std::memcpy(tape.at(slice), from, tape.bytes_of_slice);
            return tape.answer(slice);
        };
        description = image;
    }
    Tape(const Tape &) = delete;

    const isoline_image *image() const { return &description; }

    std::vector<unsigned char> pixels;
    /* The slice that cannot be read or written; none by default. */
    uint64_t failing = UINT64_MAX;

private:
    isoline_image description;
    size_t bytes_of_slice;

    unsigned char *at(uint64_t slice) {
        MUST(slice < description.depth);
        return pixels.data() + slice * bytes_of_slice;
    }
    const char *answer(uint64_t slice) const { return slice == failing ? "the tape is torn" : nullptr; }
};

// -------------------------------------------------------------------------------------------------- parameters by table

/* A field of a params struct, as isoline_parameter_info describes it. */
struct Field {
    size_t index;
    isoline_parameter info;
    std::vector<uint32_t> choices;
};

struct Operation {
    size_t index;
    isoline_operation info;
    std::vector<Field> fields;
};

/* The table of an operation. A new parameter is fuzzed without a line here. */
inline const Operation &operation(const std::string &name) {
    static const std::map<std::string, Operation> all = [] {
        std::map<std::string, Operation> table;
        for (size_t i = 0; i < isoline_operation_count(); i++) {
            Operation op{i, defaults(isoline_operation_init), {}};
            GOOD(isoline_operation_info(i, &op.info));
            MUST(is_text(op.info.name) && is_text(op.info.title) && is_text(op.info.help));
            for (size_t j = 0; j < op.info.parameter_count; j++) {
                Field field{j, defaults(isoline_parameter_init), {}};
                isoline_parameter &info = field.info;
                GOOD(isoline_parameter_info(i, j, &info));
                MUST(is_text(info.name) && is_text(info.title) && is_text(info.help) && is_line(info.unit));
                MUST(info.automatic == nullptr || is_text(info.automatic));
                MUST(info.type <= ISOLINE_PARAMETER_CHOICE && info.level <= ISOLINE_PARAMETER_ADVANCED);
                MUST(info.storage <= ISOLINE_STORAGE_F64 && info.offset >= 4 && info.offset + 4 <= op.info.params_size);
                MUST(info.minimum <= info.maximum && (info.type == ISOLINE_PARAMETER_CHOICE) == (info.choice_count > 0));
                GOOD(isoline_parameter_check(i, j, info.default_value));
                for (size_t k = 0; k < info.choice_count; k++) {
                    isoline_choice choice = defaults(isoline_choice_init);
                    GOOD(isoline_choice_info(i, j, k, &choice));
                    MUST(is_text(choice.name) && is_text(choice.title) && is_text(choice.help));
                    field.choices.push_back(choice.value);
                }
                op.fields.push_back(field);
            }
            table[op.info.name] = op;
        }
        return table;
    }();
    return all.at(name);
}

/* The parameters of a call: a params struct in memory of its exact size, or NULL. */
template <class T> class Params {
public:
    /* True if the call must refuse the parameters. */
    bool broken = false;

    /* `most`: no whole number is larger, unless it is to be refused, so that calls take little time. */
    Params(Bytes &bytes, const char *name, isoline_status (*init)(T *, size_t), unsigned most, bool nullable = true)
        : table(operation(name)) {
        plain = defaults(init);
        MUST(table.info.params_size == sizeof plain);
        values.resize(sizeof plain);
        std::memcpy(values.data(), &plain, sizeof plain);
        std::vector<bool> covered(sizeof plain);
        std::fill(covered.begin(), covered.begin() + 4, true);
        for (const Field &field : table.fields) {
            MUST(std::isnan(field.info.default_value) || get(field) == field.info.default_value);
            std::fill(covered.begin() + long(field.info.offset), covered.begin() + long(field.info.offset + width(field)), true);
            if (bytes.rarely(3)) {
                mutate(bytes, field, most);
            } else if (field.info.type == ISOLINE_PARAMETER_INTEGER && field.info.default_value > most) {
                put(field, std::max(double(most), field.info.minimum));
            }
        }
        // The bytes of no parameter are reserved.
        const size_t gaps = size_t(std::count(covered.begin(), covered.end(), false));
        if (gaps > 0 && bytes.rarely(64)) {
            size_t chosen = bytes.below(unsigned(gaps));
            for (size_t i = 0; i < covered.size(); i++) {
                if (!covered[i] && chosen-- == 0) {
                    values[i] = 1;
                    broken = true;
                    break;
                }
            }
        }
        is_null = nullable && bytes.rarely(32);
        memory = std::make_unique<Struct<T>>(bytes, values.data(), values.size());
    }

    const T *get() const { return is_null ? nullptr : memory->get(); }
    bool null() const { return is_null; }
    bool valid() const { return is_null || (!broken && !memory->unreadable()); }
    bool unchanged() const { return memory->unchanged(); }
    /* The values, whatever the struct's size. */
    T value() const {
        T result = plain;
        if (!is_null) {
            std::memcpy(&result, values.data(), sizeof result);
        }
        return result;
    }

private:
    const Operation &table;
    std::vector<unsigned char> values;
    std::unique_ptr<Struct<T>> memory;
    T plain;
    bool is_null = false;

    static size_t width(const Field &field) { return field.info.storage == ISOLINE_STORAGE_U32 ? 4 : 8; }

    double get(const Field &field) const {
        const unsigned char *at = values.data() + field.info.offset;
        if (field.info.storage == ISOLINE_STORAGE_F64) {
            double value;
            std::memcpy(&value, at, sizeof value);
            return value;
        }
        uint64_t wide = 0;
        uint32_t narrow = 0;
        if (field.info.storage == ISOLINE_STORAGE_U32) {
            std::memcpy(&narrow, at, sizeof narrow);
            return narrow;
        }
        std::memcpy(&wide, at, sizeof wide);
        return double(wide);
    }

    void put(const Field &field, double value) {
        unsigned char *at = values.data() + field.info.offset;
        if (field.info.storage == ISOLINE_STORAGE_F64) {
            std::memcpy(at, &value, sizeof value);
            return;
        }
        const uint64_t wide = value >= 18446744073709551615.0 ? UINT64_MAX : value > 0 ? uint64_t(value) : 0;
        const uint32_t narrow = wide > UINT32_MAX ? UINT32_MAX : uint32_t(wide);
        if (field.info.storage == ISOLINE_STORAGE_U32) {
            std::memcpy(at, &narrow, sizeof narrow);
        } else {
            std::memcpy(at, &wide, sizeof wide);
        }
    }

    void mutate(Bytes &bytes, const Field &field, unsigned most) {
        const isoline_parameter &info = field.info;
        double value = info.default_value;
        switch (info.type) {
        case ISOLINE_PARAMETER_CHOICE: value = field.choices[bytes.below(unsigned(field.choices.size()))]; break;
        case ISOLINE_PARAMETER_FLAG: value = bytes.below(2); break;
        case ISOLINE_PARAMETER_INTEGER: {
            const double first = std::max(0.0, info.minimum), last = std::min(info.maximum, first + most);
            value = info.power_of_two != 0 ? std::ldexp(1.0, int(bytes.below(13))) : first + bytes.below(unsigned(last - first) + 1);
            break;
        }
        default: {
            const double to = std::isfinite(info.maximum) ? info.maximum : std::max(info.minimum, 0.0) + 64;
            const double from = std::isfinite(info.minimum) ? info.minimum : -64;
            const unsigned way = bytes.below(6);
            value = way == 0   ? from + (to - from) * bytes.byte() / 255
                    : way == 1 ? info.minimum
                    : way == 2 ? info.maximum
                    : way == 3 ? from + bytes.byte() / 16.0
                    : way == 4 ? (info.automatic != nullptr ? info.automatic_value : bytes.byte() / 255.0)
                               : bytes.real();
            break;
        }
        }
        if (bytes.rarely(32)) {
            // Out of range, mostly; a large number only where it is out of range, for it would take long.
            if (info.type == ISOLINE_PARAMETER_FLOAT) {
                value = bytes.pick({std::nextafter(info.minimum, -HUGE_VAL), std::nextafter(info.maximum, HUGE_VAL), std::nan(""),
                                    HUGE_VAL, -HUGE_VAL});
            } else {
                const double beyond = bytes.pick({info.maximum + 1, info.minimum - 1, 4294967295.0, 9007199254740992.0});
                value = beyond >= 0 && beyond <= 1.9e19 && CALL(isoline_parameter_check(table.index, field.index, beyond)) != ISOLINE_OK
                            ? beyond
                            : value;
            }
        }
        put(field, value);
        if (CALL(isoline_parameter_check(table.index, field.index, get(field))) != ISOLINE_OK) {
            broken = true;
        }
    }
};

// ------------------------------------------------------------------------------------------- progress, report, context

/* A progress callback that checks what it is given, cancels at a call, and makes calls of its own in the first one. */
class Watch {
public:
    std::function<void()> inside;

    Watch(Bytes &bytes) {
        isoline_progress value = defaults(isoline_progress_init);
        is_null = !bytes.rarely(3);
        if (!bytes.rarely(16)) {
            value.callback = look;
            value.user = this;
        }
        cancel_at = bytes.rarely(3) ? bytes.from(1, 3) : 0;
        if (bytes.rarely(64)) {
            value.reserved = 1;
            broken = true;
        }
        memory = std::make_unique<Struct<isoline_progress>>(bytes, value);
    }
    Watch(const Watch &) = delete;

    const isoline_progress *get() const { return is_null ? nullptr : memory->get(); }
    bool valid() const { return is_null || (!broken && !memory->unreadable()); }

    /* Checks the status of the call that was watched. What the callback returns when all is done may be not used. */
    void check(isoline_status status) const {
        MUST(status == ISOLINE_CANCELLED ? cancelled : !cancelled || last == 1);
        MUST(memory->unchanged());
    }

private:
    std::unique_ptr<Struct<isoline_progress>> memory;
    bool is_null = true, broken = false, cancelled = false;
    unsigned cancel_at = 0, seen = 0;
    double last = 0;
    const std::thread::id thread = std::this_thread::get_id();

    static int look(void *user, double fraction, const char *stage) {
        Watch &watch = *static_cast<Watch *>(user);
        MUST(!watch.cancelled);
        MUST(std::this_thread::get_id() == watch.thread);
        MUST(fraction >= watch.last && fraction <= 1);
        MUST(is_text(stage));
        watch.last = fraction;
        if (++watch.seen == 1 && watch.inside) {
            watch.inside();
        }
        watch.cancelled = watch.seen == watch.cancel_at;
        return watch.cancelled ? (watch.seen % 2 != 0 ? 1 : -1) : 0;
    }
};

class Report {
public:
    explicit Report(Bytes &bytes) {
        isoline_report value = defaults(isoline_report_init);
        is_null = bytes.rarely(2);
        std::memset(value.device_name, 0x5A, sizeof value.device_name);
        memory = std::make_unique<Struct<isoline_report>>(bytes, value);
    }

    isoline_report *get() const { return is_null ? nullptr : memory->get(); }
    bool valid() const { return is_null || !memory->unreadable(); }

    void check(isoline_status status) {
        if (status != ISOLINE_OK || is_null) {
            MUST(memory->unchanged());
            return;
        }
        MUST(memory->rest_unchanged());
        const isoline_report &report = memory->read();
        MUST(report.device_kind == ISOLINE_DEVICE_CPU && report.device_index == 0 && report.converged <= 1);
        MUST(report.outcome <= ISOLINE_LEVEL_SET_LOST && report.device_count == 1 && report.part_count == 1);
        MUST(report.seconds_total >= 0 && std::isfinite(report.seconds_total));
        MUST(report.seconds_compute >= 0 && std::isfinite(report.seconds_compute));
        MUST(report.seconds_upload == 0 && report.seconds_download == 0 && report.peak_device_bytes == 0);
        MUST(std::isnan(report.residual) || report.residual >= 0);
        MUST(std::memchr(report.device_name, 0, sizeof report.device_name) != nullptr && is_text(report.device_name));
    }

    /* The report of a call that succeeded; NULL if there is none. */
    const isoline_report *done() const { return is_null ? nullptr : &memory->read(); }

private:
    std::unique_ptr<Struct<isoline_report>> memory;
    bool is_null = false;
};

/* The progress and the report of one call. */
class Told {
public:
    Watch watch;
    Report report;

    explicit Told(Bytes &bytes) : watch(bytes), report(bytes) {}

    bool valid() const { return watch.valid() && report.valid(); }
    void check(isoline_status status) {
        MUST(status != ISOLINE_OK || valid());
        watch.check(status);
        report.check(status);
    }
};

inline isoline_context *new_context(const char *device = "cpu") {
    isoline_context *context = nullptr;
    GOOD(isoline_context_new(device, &context));
    MUST(context != nullptr);
    return context;
}

/* The context of most calls. */
inline isoline_context *common() {
    static isoline_context *const context = new_context();
    return context;
}

/* The context of a call: the common one, or at times one of its own. */
class Device {
public:
    explicit Device(Bytes &bytes) : own(bytes.rarely(64) ? new_context(bytes.pick<const char *>({"cpu", "auto", nullptr, ""})) : nullptr) {}
    Device(const Device &) = delete;
    ~Device() { release(); }
    isoline_context *get() const { return own != nullptr ? own : common(); }
    /* Frees a context of its own before the objects that were made with it. */
    void release() {
        isoline_context_free(own);
        own = nullptr;
    }

private:
    isoline_context *own;
};

/* Calls that a callback may make with the context that is calling it, and one that it must not make. */
inline void reenter(isoline_context *context) {
    void *buffer = nullptr;
    GOOD(isoline_buffer_new(context, 100, &buffer));
    isoline_buffer_free(buffer);
    uint8_t pixels[6] = {0, 1, 0, 0, 1, 1};
    float distances[6] = {7, 7, 7, 7, 7, 7};
    isoline_image mask = defaults(isoline_image_init);
    mask.width = 3;
    mask.height = 2;
    mask.data = pixels;
    isoline_image output = mask;
    output.type = ISOLINE_F32;
    output.data = distances;
    MUST(CALL(isoline_distance(context, &mask, nullptr, nullptr, &output, nullptr)) == ISOLINE_BUSY);
    MUST(std::all_of(distances, distances + 6, [](float value) { return value == 7; }));
    GOOD(isoline_context_set_memory_limit(context, 0));
    GOOD(isoline_context_trim(context));
}

/* The common part of the targets of solvers: an image, and a solver that is freed before or after its context. */
template <class T, void (*FREE)(T *)> class Subject {
public:
    Subject(const Subject &) = delete;

protected:
    Bytes &bytes;
    Device device;
    Picture input;
    T *solver = nullptr;

    /* `slices()` is the number of slices of the image, chosen after the device. */
    template <class F> Subject(Bytes &given, unsigned side, F slices) : bytes(given), device(given), input(given, side, slices()) {}

    ~Subject() {
        if (bytes.rarely(2)) {
            device.release();
        }
        FREE(solver);
    }
};

} // namespace fuzz

#endif
