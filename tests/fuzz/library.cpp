/*
 * The functions that belong to no operation: versions and messages, the logger, devices and contexts, buffers, masks, the tables of
 * parameters, and the init functions with sizes of older and newer callers; in any order.
 */
#include "fuzz.h"

using namespace fuzz;

namespace {

// ---------------------------------------------------------------------------------------------------------- the logger

struct Logger {
    unsigned messages = 0;
    unsigned replace_at = 0;
};

void receive(void *user, uint32_t level, const char *message) {
    MUST(level >= ISOLINE_LOG_ERROR && level <= ISOLINE_LOG_DEBUG);
    MUST(is_text(message));
    Logger *logger = static_cast<Logger *>(user);
    if (logger != nullptr && ++logger->messages == logger->replace_at) {
        MUST(isoline_set_logger(nullptr, nullptr, ISOLINE_LOG_OFF) == ISOLINE_OK);
    }
}

// ------------------------------------------------------------------------------------------------------------ structs

/* Fills a struct of any size, and checks that exactly its bytes are written. */
template <class T> void init_of(Bytes &bytes, isoline_status (*init)(T *, size_t)) {
    const size_t size = bytes.rarely(2) ? sizeof(T) : bytes.below(unsigned(sizeof(T)) + 64);
    Memory memory(size, 0x5A);
    T *value = reinterpret_cast<T *>(memory.data());
    const isoline_status status = CALL(init(value, size));
    MUST((status == ISOLINE_OK) == (size >= sizeof(T)));
    if (status == ISOLINE_OK) {
        const T usual = defaults(init);
        MUST(value->struct_size == size && std::memcmp(memory.data() + 4, reinterpret_cast<const unsigned char *>(&usual) + 4, sizeof usual - 4) == 0);
        MUST(std::all_of(memory.data() + sizeof usual, memory.data() + size, [](unsigned char byte) { return byte == 0; }));
    } else {
        MUST(memory.unchanged());
    }
    MUST(CALL(init(nullptr, sizeof(T))) == ISOLINE_NULL_POINTER);
    // A size that struct_size cannot hold is refused before a byte is written.
    T exact = defaults(init);
    MUST(CALL(init(&exact, (size_t(1) << 32) + sizeof(T))) == ISOLINE_INVALID_ARGUMENT);
}

void any_init(Bytes &bytes) {
    switch (bytes.below(16)) {
    case 0: init_of(bytes, isoline_device_init); break;
    case 1: init_of(bytes, isoline_progress_init); break;
    case 2: init_of(bytes, isoline_report_init); break;
    case 3: init_of(bytes, isoline_image_init); break;
    case 4: init_of(bytes, isoline_operation_init); break;
    case 5: init_of(bytes, isoline_parameter_init); break;
    case 6: init_of(bytes, isoline_choice_init); break;
    case 7: init_of(bytes, isoline_edge_strength_params_init); break;
    case 8: init_of(bytes, isoline_segment_arrays_init); break;
    case 9: init_of(bytes, isoline_edge_drawing_params_init); break;
    case 10: init_of(bytes, isoline_distance_params_init); break;
    case 11: init_of(bytes, isoline_level_set_params_init); break;
    case 12: init_of(bytes, isoline_level_set_state_init); break;
    case 13: init_of(bytes, isoline_polygons_init); break;
    default: init_of(bytes, isoline_snake_params_init); break;
    }
}

// ------------------------------------------------------------------------------------------------------------- tables

/* A call that fills a struct: it succeeds if `known`, and else writes nothing. */
template <class T, class F> bool filled(Bytes &bytes, isoline_status (*init)(T *, size_t), bool known, F call) {
    Struct<T> out(bytes, defaults(init));
    const bool null = bytes.rarely(32);
    const isoline_status status = call(null ? nullptr : out.get());
    MUST((status == ISOLINE_OK) == (known && !null && !out.too_small()));
    MUST(status == ISOLINE_OK ? out.rest_unchanged() : out.unchanged());
    return status == ISOLINE_OK;
}

size_t index(Bytes &bytes, size_t count) {
    return bytes.rarely(8) ? bytes.pick<size_t>({count, SIZE_MAX, count + 1, SIZE_MAX / 2, size_t(1) << 32}) : count == 0 ? 0 : bytes.below(unsigned(count));
}

void tables(Bytes &bytes) {
    const size_t operations = isoline_operation_count();
    const size_t i = index(bytes, operations);
    isoline_operation op = defaults(isoline_operation_init);
    filled(bytes, isoline_operation_init, i < operations, [&](isoline_operation *out) { return CALL(isoline_operation_info(i, out)); });
    if (i < operations) {
        GOOD(isoline_operation_info(i, &op));
        MUST(operation(op.name).index == i);
    }
    const size_t j = index(bytes, op.parameter_count);
    const bool known = j < op.parameter_count;
    isoline_parameter parameter = defaults(isoline_parameter_init);
    filled(bytes, isoline_parameter_init, known, [&](isoline_parameter *out) { return CALL(isoline_parameter_info(i, j, out)); });
    if (known) {
        GOOD(isoline_parameter_info(i, j, &parameter));
    }
    const size_t k = index(bytes, parameter.choice_count);
    filled(bytes, isoline_choice_init, known && k < parameter.choice_count,
           [&](isoline_choice *out) { return CALL(isoline_choice_info(i, j, k, out)); });
    const double value = bytes.real();
    const isoline_status status = CALL(isoline_parameter_check(i, j, value));
    MUST(status == ISOLINE_OK || status == ISOLINE_INVALID_ARGUMENT);
    MUST(known || status != ISOLINE_OK);
    if (known) {
        const bool automatic = parameter.automatic != nullptr && value == parameter.automatic_value;
        MUST(status != ISOLINE_OK || automatic || (value >= parameter.minimum && value <= parameter.maximum && std::isfinite(value)));
        MUST(status == ISOLINE_OK || std::strstr(isoline_last_error(), parameter.name) != nullptr);
    }
}

// -------------------------------------------------------------------------------------------------------------- masks

void masks(Bytes &bytes) {
    Picture like(bytes, 24, 4);
    Picture mask(bytes, like, ISOLINE_U8);
    const uint8_t value = bytes.byte();
    const unsigned shape = bytes.below(3);
    const size_t count = bytes.below(5);
    std::vector<double> numbers(shape == 0 ? 4 * count : shape == 1 ? 6 * count : 2 * count);
    for (size_t i = 0; i < numbers.size(); i++) {
        numbers[i] = bytes.real();
        if (shape == 1 && i % 6 >= 3 && !bytes.rarely(8)) {
            numbers[i] = numbers[i - 3] + std::fabs(numbers[i]);
        } else if (shape == 0 && i % 4 == 3 && !bytes.rarely(8)) {
            numbers[i] = std::fabs(numbers[i]);
        }
    }
    const uint64_t first = bytes.rarely(8) ? bytes.number() : bytes.below(unsigned(mask.depth));
    const uint64_t slices = bytes.rarely(8) ? bytes.number() : first < mask.depth ? bytes.from(1, unsigned(mask.depth - first)) : 1;
    Memory memory(numbers.size() * sizeof(double));
    if (!numbers.empty()) {
        std::memcpy(memory.data(), numbers.data(), memory.size());
    }
    memory.save();
    const unsigned char *array = bytes.rarely(32) ? nullptr : memory.data();
    const size_t stated = bytes.rarely(32) ? bytes.pick<size_t>({SIZE_MAX, SIZE_MAX / 2, size_t(1) << 60}) : count;
    isoline_status status;
    if (shape == 0) {
        status = CALL(isoline_mask_fill_spheres(mask.image(), reinterpret_cast<const isoline_sphere *>(array), stated, value));
    } else if (shape == 1) {
        status = CALL(isoline_mask_fill_boxes(mask.image(), reinterpret_cast<const isoline_box *>(array), stated, value));
    } else {
        status = CALL(isoline_mask_fill_polygon(mask.image(), reinterpret_cast<const double *>(array), stated, first, slices, value));
    }
    MUST(memory.unchanged());
    if (status != ISOLINE_OK) {
        MUST(mask.untouched());
        return;
    }
    MUST(mask.readable() && mask.type == ISOLINE_U8 && stated == count && (array != nullptr || count == 0));
    MUST(std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::fabs(number) <= 1e100; }));
    MUST(shape != 2 || (count >= 3 && first < mask.depth && slices <= mask.depth - first));
    for (uint64_t i = 0; i < mask.width * mask.height * mask.depth; i++) {
        const uint64_t at[] = {i % mask.width, i / mask.width % mask.height, i / (mask.width * mask.height)};
        const uint8_t pixel = mask.at<uint8_t>(at[0], at[1], at[2]);
        MUST(pixel == value || pixel == 0xA5);
        bool inside = false;
        for (size_t j = 0; shape == 1 && j < count; j++) {
            bool within = true;
            for (size_t axis = 0; axis < 3; axis++) {
                within = within && double(at[axis]) >= numbers[6 * j + axis] && double(at[axis]) <= numbers[6 * j + 3 + axis];
            }
            inside = inside || within;
        }
        MUST(shape != 1 || pixel == (inside ? value : 0xA5));
        MUST(shape != 2 || (at[2] >= first && at[2] - first < slices) || pixel == 0xA5);
    }
    MUST(mask.only_pixels_written());
}

// ---------------------------------------------------------------------------------------- contexts, buffers, messages

class World {
public:
    explicit World(Bytes &given) : bytes(given) { MUST(isoline_set_logger(nullptr, nullptr, 0) == ISOLINE_OK); }

    ~World() {
        const bool buffers_first = bytes.rarely(2);
        for (int turn = 0; turn < 2; turn++) {
            if (buffers_first == (turn == 0)) {
                for (void *buffer : buffers) {
                    isoline_buffer_free(buffer);
                }
            } else {
                for (isoline_context *context : contexts) {
                    isoline_context_free(context);
                }
            }
        }
        GOOD(isoline_set_logger(nullptr, nullptr, ISOLINE_LOG_OFF));
    }

    void act() {
        switch (bytes.below(15)) {
        case 0: strings(); break;
        case 1: any_init(bytes); break;
        case 2: tables(bytes); break;
        case 3:
        case 4: masks(bytes); break;
        case 5: set_logger(); break;
        case 6: devices(); break;
        case 7: make_context(); break;
        case 8: use_context(); break;
        case 9: free_context(); break;
        case 10:
        case 11: make_buffer(); break;
        case 14: cancel_flag(); break;
        default: free_buffer(); break;
        }
    }

private:
    Bytes &bytes;
    Logger logger;
    std::vector<isoline_context *> contexts;
    std::vector<void *> buffers;

    void strings() {
        MUST(isoline_version() == ISOLINE_VERSION && is_text(isoline_version_string()));
        const uint32_t status = bytes.rarely(2) ? uint32_t(bytes.number(4)) : bytes.below(14);
        MUST(is_text(isoline_status_name(status)));
        MUST((std::strcmp(isoline_status_name(status), "unknown status") == 0) == (status > ISOLINE_CALLBACK_FAILED));
    }

    /* A flag that is not 0 ends calls that succeed without it, and they write nothing. */
    void cancel_flag() {
        Memory memory(sizeof(int) + 1);
        int *flag = reinterpret_cast<int *>(memory.data());
        const int value = bytes.pick({1, 0, -1, 256});
        GOOD(isoline_set_cancel_flag(flag));
        REFUSED(isoline_set_cancel_flag(reinterpret_cast<int *>(memory.data() + 1)));
        Picture input(bytes, 24, 4);
        Picture mask(bytes, input, ISOLINE_U8), output(bytes, input, ISOLINE_F32);
        const isoline_box box = {{0, 0, 0}, {12, 12, 2}};
        isoline_context *context = some_context();
        const auto fill = [&] { return CALL(isoline_mask_fill_boxes(mask.image(), &box, 1, 7)); };
        const auto measure = [&] { return CALL(isoline_distance(context, input.image(), nullptr, nullptr, output.image(), nullptr)); };
        *flag = value;
        const isoline_status filled = fill(), measured = measure();
        MUST(*flag == value);
        MUST(value == 0 || (filled != ISOLINE_OK && measured != ISOLINE_OK && mask.untouched() && output.untouched()));
        *flag = 0;
        const isoline_status ended = value != 0 ? ISOLINE_CANCELLED : ISOLINE_OK;
        MUST(fill() != ISOLINE_OK || filled == ended);
        MUST(measure() != ISOLINE_OK || measured == ended);
        MUST(input.untouched());
        GOOD(isoline_set_cancel_flag(nullptr));
    }

    void set_logger() {
        const uint32_t level = bytes.rarely(8) ? uint32_t(bytes.number(4)) : bytes.below(5);
        logger.replace_at = bytes.below(4);
        const isoline_status status = CALL(isoline_set_logger(bytes.rarely(4) ? nullptr : receive, bytes.rarely(4) ? nullptr : &logger, level));
        MUST(status == (level <= ISOLINE_LOG_DEBUG ? ISOLINE_OK : ISOLINE_INVALID_ARGUMENT));
    }

    void check(const isoline_device &device) {
        MUST(device.kind <= ISOLINE_DEVICE_CUDA && device.usable <= 1 && device.id[sizeof device.id - 1] == 0);
        MUST(device.name[sizeof device.name - 1] == 0 && device.reason[sizeof device.reason - 1] == 0);
        MUST(is_text(device.id) && is_text(device.reason) && is_line(device.name));
        MUST(device.free_memory <= device.total_memory || device.total_memory == 0);
    }

    void devices() {
        const size_t count = isoline_device_count();
        const size_t i = index(bytes, count);
        filled(bytes, isoline_device_init, i < count, [&](isoline_device *out) { return CALL(isoline_device_info(i, out)); });
        if (i < count) {
            isoline_device device = defaults(isoline_device_init);
            GOOD(isoline_device_info(i, &device));
            check(device);
        }
    }

    isoline_context *some_context() {
        if (contexts.empty() || bytes.rarely(2)) {
            return bytes.rarely(16) ? nullptr : common();
        }
        return contexts[bytes.below(unsigned(contexts.size()))];
    }

    void make_context() {
        std::string text = bytes.pick<const char *>({"cpu", "auto", "", "cuda", "cuda:0", "cuda:", "CPU", "cpu:0", "cuda:-1", "cuda:4294967296",
                                                     "cuda:0,1", "cuda:all", "cuda:0,0", "cuda:1,", "cuda:,,",
                                                     "cuda:99999999999999999999", "cuda:0x1", "cuda:+1", " cpu", "cpu\n"});
        if (bytes.rarely(4)) {
            // Any text, as a string in memory of its exact size; at times a very long one.
            const unsigned repeat = bytes.rarely(8) ? 200 : 1;
            std::string any;
            for (unsigned i = bytes.below(20); i > 0; i--) {
                const uint8_t byte = bytes.byte();
                any += bytes.rarely(3) ? std::string(bytes.pick<const char *>({"ä", "…", "\xF0\x9F\x98\x80", "\xC3", "\x80", "\n", "\t"}))
                                       : std::string(1, char(byte == 0 ? 'x' : byte));
            }
            for (unsigned i = 0; i < repeat; i++) {
                text += any;
            }
        }
        Memory memory(text.size() + 1);
        std::memcpy(memory.data(), text.c_str(), text.size() + 1);
        const bool null = bytes.rarely(16);
        isoline_context *context = nullptr;
        const bool nowhere = bytes.rarely(32);
        const isoline_status status =
            CALL(isoline_context_new(null ? nullptr : reinterpret_cast<char *>(memory.data()), nowhere ? nullptr : &context));
        MUST((context != nullptr) == (status == ISOLINE_OK));
        // White space around the name is ignored.
        const auto blank = [](char letter) { return std::strchr(" \t\n\v\f\r", letter) != nullptr; };
        const auto first = std::find_if_not(text.begin(), text.end(), blank);
        const std::string name(first, std::find_if_not(text.rbegin(), std::make_reverse_iterator(first), blank).base());
        const bool named = null || name.empty() || name == "auto" || name == "cpu";
        const bool ascii = std::all_of(text.begin(), text.end(), [](char letter) { return (letter & 0x80) == 0; });
        MUST((status == ISOLINE_OK) == (named && !nowhere) || (!ascii && status == ISOLINE_OK));
        if (context == nullptr) {
            return;
        }
        contexts.push_back(context);
        if (contexts.size() > 3) {
            isoline_context_free(contexts.front());
            contexts.erase(contexts.begin());
        }
    }

    void use_context() {
        isoline_context *context = some_context();
        const bool known = filled(bytes, isoline_device_init, context != nullptr,
                                  [&](isoline_device *out) { return CALL(isoline_context_device(context, out)); });
        if (known) {
            isoline_device device = defaults(isoline_device_init);
            GOOD(isoline_context_device(context, &device));
            check(device);
            MUST(device.kind == ISOLINE_DEVICE_CPU && device.usable == 1);
        }
        const isoline_status expected = context != nullptr ? ISOLINE_OK : ISOLINE_NULL_POINTER;
        MUST(CALL(isoline_context_set_memory_limit(context, bytes.number())) == expected);
        MUST(CALL(isoline_context_trim(context)) == expected);
    }

    void free_context() {
        if (contexts.empty()) {
            isoline_context_free(nullptr);
            return;
        }
        const size_t i = bytes.below(unsigned(contexts.size()));
        isoline_context_free(contexts[i]);
        contexts.erase(contexts.begin() + long(i));
    }

    void make_buffer() {
        isoline_context *context = some_context();
        const size_t size = bytes.pick<size_t>({1 + bytes.number(2), 0, 65536, 65537, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1, 2097152, 2097153,
                                                SIZE_MAX - 65535, SIZE_MAX - 2097151, SIZE_MAX / 2 - 2097152, size_t(1) << 62});
        void *buffer = nullptr;
        const bool nowhere = bytes.rarely(32);
        const isoline_status status = CALL(isoline_buffer_new(context, size, nowhere ? nullptr : &buffer));
        MUST((buffer != nullptr) == (status == ISOLINE_OK));
        MUST((status == ISOLINE_OK) == (context != nullptr && size > 0 && size < size_t(1) << 40 && !nowhere));
        if (buffer == nullptr) {
            return;
        }
        MUST(reinterpret_cast<uintptr_t>(buffer) % (size >= 2097152 ? 2097152 : 65536) == 0);
        MUST(std::find(buffers.begin(), buffers.end(), buffer) == buffers.end());
        static_cast<unsigned char *>(buffer)[0] = 1;
        static_cast<unsigned char *>(buffer)[size - 1] = 2;
        buffers.push_back(buffer);
    }

    void free_buffer() {
        if (buffers.empty() || bytes.rarely(4)) {
            // A wrong address is ignored. The fuzzer sees addresses that are compared, so it may guess a right one.
            int local = 0;
            isoline_buffer_free(bytes.rarely(2) ? nullptr : &local);
            void *const any = reinterpret_cast<void *>(bytes.number());
            isoline_buffer_free(std::find(buffers.begin(), buffers.end(), any) == buffers.end() ? any : nullptr);
            return;
        }
        const size_t i = bytes.below(unsigned(buffers.size()));
        isoline_buffer_free(buffers[i]);
        if (bytes.rarely(4)) {
            isoline_buffer_free(buffers[i]);
        }
        buffers.erase(buffers.begin() + long(i));
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Bytes bytes(data, size);
    World world(bytes);
    for (unsigned actions = 0; actions < 10 && !bytes.empty(); actions++) {
        world.act();
    }
    return 0;
}
