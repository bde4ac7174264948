/*
 * The operations and parameters as data: every operation and parameter is walked; defaults, offsets, types and ranges must
 * be those of the params structs and of the calls.
 */
#include "images.h"
#include "operations.h"

enum { WIDTH = 12, HEIGHT = 9, MOST_PARAMETERS = 64 };

static isoline_operation operation_at(size_t index) {
    isoline_operation operation;
    GOOD(isoline_operation_init(&operation, sizeof operation));
    GOOD(isoline_operation_info(index, &operation));
    return operation;
}

static isoline_parameter parameter_at(size_t operation, size_t index) {
    isoline_parameter parameter;
    GOOD(isoline_parameter_init(&parameter, sizeof parameter));
    GOOD(isoline_parameter_info(operation, index, &parameter));
    return parameter;
}

static isoline_choice choice_at(size_t operation, size_t parameter, size_t index) {
    isoline_choice choice;
    GOOD(isoline_choice_init(&choice, sizeof choice));
    GOOD(isoline_choice_info(operation, parameter, index, &choice));
    return choice;
}

static size_t bytes_of(const isoline_parameter *parameter) {
    return parameter->storage == ISOLINE_STORAGE_U32 ? 4 : 8;
}

static double value_in(const any_params *params, const isoline_parameter *parameter) {
    uint32_t word;
    uint64_t number;
    double real;
    switch (parameter->storage) {
    case ISOLINE_STORAGE_U32:
        memcpy(&word, params->bytes + parameter->offset, sizeof word);
        return word;
    case ISOLINE_STORAGE_U64:
        memcpy(&number, params->bytes + parameter->offset, sizeof number);
        return (double)number;
    default:
        memcpy(&real, params->bytes + parameter->offset, sizeof real);
        return real;
    }
}

static void set_value(any_params *params, const isoline_parameter *parameter, double value) {
    const uint32_t word = (uint32_t)value;
    const uint64_t number = (uint64_t)value;
    switch (parameter->storage) {
    case ISOLINE_STORAGE_U32:
        memcpy(params->bytes + parameter->offset, &word, sizeof word);
        break;
    case ISOLINE_STORAGE_U64:
        memcpy(params->bytes + parameter->offset, &number, sizeof number);
        break;
    default:
        memcpy(params->bytes + parameter->offset, &value, sizeof value);
    }
}

static int is_a_line(const char *text) {
    return text != NULL && text[0] != '\0' && strchr(text, '\n') == NULL && strlen(text) < 200;
}

static int is_a_name(const char *text) {
    return is_a_line(text) && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == strlen(text);
}

static void every_operation_tells_its_name_and_struct(const char *device) {
    (void)device;
    check_that(isoline_operation_count() == COUNT, __FILE__, __LINE__, "the library has %zu operations, operations.h %d",
               isoline_operation_count(), (int)COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const isoline_operation operation = operation_at(i);
        CHECK_TEXT(operation.name, OPERATIONS[i].name);
        CHECK_NUMBER(operation.params_size, OPERATIONS[i].size);
        CHECK(is_a_line(operation.title) && is_a_line(operation.help));
        CHECK(operation.parameter_count > 0 && operation.parameter_count < MOST_PARAMETERS);
    }
}

static void every_parameter_is_whole(const char *device) {
    (void)device;
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char taken[sizeof(any_params)] = {1, 1, 1, 1};
        const isoline_operation operation = operation_at(i);
        for (size_t j = 0; j < operation.parameter_count; j++) {
            const isoline_parameter parameter = parameter_at(i, j);
            CHECK(is_a_name(parameter.name) && is_a_line(parameter.title) && is_a_line(parameter.help));
            CHECK(parameter.unit != NULL && (parameter.automatic == NULL || is_a_line(parameter.automatic)));
            CHECK(parameter.type <= ISOLINE_PARAMETER_CHOICE && parameter.level <= ISOLINE_PARAMETER_ADVANCED);
            CHECK(parameter.minimum < parameter.maximum);
            CHECK((parameter.storage == ISOLINE_STORAGE_F64) == (parameter.type == ISOLINE_PARAMETER_FLOAT));
            const double automatic = parameter.type == ISOLINE_PARAMETER_FLOAT ? ISOLINE_AUTOMATIC : 0;
            CHECK_NUMBER(parameter.automatic_value, parameter.automatic == NULL ? 0 : automatic);
            if (parameter.automatic == NULL && parameter.type == ISOLINE_PARAMETER_FLOAT) {
                REFUSED(isoline_parameter_check(i, j, ISOLINE_AUTOMATIC), ISOLINE_INVALID_ARGUMENT, "automatic");
            }
            /* Fields are inside the struct, aligned, and do not overlap. */
            const size_t bytes = bytes_of(&parameter);
            CHECK(parameter.offset % bytes == 0 && parameter.offset + bytes <= operation.params_size);
            for (size_t byte = 0; byte < bytes; byte++) {
                CHECK(taken[parameter.offset + byte] == 0);
                taken[parameter.offset + byte] = 1;
            }
            CHECK((parameter.choice_count > 1) == (parameter.type == ISOLINE_PARAMETER_CHOICE));
            for (size_t k = 0; k < parameter.choice_count; k++) {
                const isoline_choice choice = choice_at(i, j, k);
                CHECK(is_a_name(choice.name) && is_a_line(choice.title) && is_a_line(choice.help));
                CHECK(choice.value >= parameter.minimum && choice.value <= parameter.maximum);
                GOOD(isoline_parameter_check(i, j, choice.value));
            }
        }
    }
}

static void the_defaults_are_those_of_init_and_in_range(const char *device) {
    (void)device;
    for (size_t i = 0; i < COUNT; i++) {
        any_params params;
        GOOD(OPERATIONS[i].init(&params));
        for (size_t j = 0; j < operation_at(i).parameter_count; j++) {
            const isoline_parameter parameter = parameter_at(i, j);
            check_number(value_in(&params, &parameter), parameter.default_value, __FILE__, __LINE__, parameter.name);
            GOOD(isoline_parameter_check(i, j, parameter.default_value));
        }
    }
}

/* Values just outside of a parameter's range; returns their number. */
static size_t values_outside(const isoline_parameter *parameter, double outside[8]) {
    size_t count = 0;
    if (parameter->type == ISOLINE_PARAMETER_FLOAT) {
        outside[count++] = (double)NAN;
        outside[count++] = (double)INFINITY;
        outside[count++] = -(double)INFINITY;
        outside[count++] = -(double)NAN;
        if (isfinite(parameter->minimum)) {
            outside[count++] = parameter->minimum_excluded ? parameter->minimum
                                                           : nextafter(parameter->minimum, -(double)INFINITY);
        }
        if (isfinite(parameter->maximum)) {
            outside[count++] = parameter->maximum_excluded ? parameter->maximum
                                                           : nextafter(parameter->maximum, (double)INFINITY);
        }
        return count;
    }
    if (parameter->minimum > 0 && parameter->automatic == NULL) {
        outside[count++] = parameter->minimum - 1;
    }
    if (parameter->maximum < UINT32_MAX) {
        outside[count++] = parameter->maximum + 1;
    }
    if (parameter->power_of_two) {
        outside[count++] = 6;
    }
    return count;
}

static void values_out_of_range_are_refused_by_name(const char *device) {
    arguments given = {0};
    uint8_t pixels[WIDTH * HEIGHT], bytes[WIDTH * HEIGHT];
    float floats[WIDTH * HEIGHT];
    GOOD(isoline_context_new(device, &given.context));
    given.input = given.start = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, pixels);
    given.bytes = describe(ISOLINE_U8, WIDTH, HEIGHT, 1, bytes);
    given.floats = describe(ISOLINE_F32, WIDTH, HEIGHT, 1, floats);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++) {
        pixels[i] = (uint8_t)(i % WIDTH > 3 && i % WIDTH < 8 ? 200 : 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t tried = 0;
        any_params params;
        GOOD(OPERATIONS[i].init(&params));
        GOOD(OPERATIONS[i].run(&given, &params));
        for (size_t j = 0; j < operation_at(i).parameter_count; j++) {
            const isoline_parameter parameter = parameter_at(i, j);
            double outside[8];
            const size_t count = values_outside(&parameter, outside);
            for (size_t k = 0; k < count; k++, tried++) {
                REFUSED(isoline_parameter_check(i, j, outside[k]), ISOLINE_INVALID_ARGUMENT, parameter.name);
                GOOD(OPERATIONS[i].init(&params));
                set_value(&params, &parameter, outside[k]);
                REFUSED(OPERATIONS[i].run(&given, &params), ISOLINE_INVALID_ARGUMENT, parameter.name);
                CHECK(strncmp(isoline_last_error(), parameter.name, strlen(parameter.name)) == 0);
            }
            /* Values that no field could hold. */
            if (parameter.type != ISOLINE_PARAMETER_FLOAT) {
                REFUSED(isoline_parameter_check(i, j, -1), ISOLINE_INVALID_ARGUMENT, parameter.name);
                REFUSED(isoline_parameter_check(i, j, 1.5), ISOLINE_INVALID_ARGUMENT, parameter.name);
            }
        }
        CHECK(tried > operation_at(i).parameter_count);
    }
    isoline_context_free(given.context);
}

static void what_does_not_exist_is_refused(const char *device) {
    (void)device;
    isoline_operation operation = operation_at(0);
    isoline_parameter parameter = parameter_at(0, 0);
    isoline_choice choice = choice_at(0, 0, 0);
    const size_t far[] = {0, 1, SIZE_MAX - 1000};
    for (size_t i = 0; i < 3; i++) {
        REFUSED(isoline_operation_info(COUNT + far[i], &operation), ISOLINE_INVALID_ARGUMENT, "index");
        REFUSED(isoline_parameter_info(COUNT + far[i], 0, &parameter), ISOLINE_INVALID_ARGUMENT, "operation");
        REFUSED(isoline_parameter_info(0, operation.parameter_count + far[i], &parameter), ISOLINE_INVALID_ARGUMENT,
                "index");
        REFUSED(isoline_choice_info(0, 0, parameter.choice_count + far[i], &choice), ISOLINE_INVALID_ARGUMENT, "index");
        REFUSED(isoline_parameter_check(COUNT + far[i], 0, 1), ISOLINE_INVALID_ARGUMENT, "operation");
    }
    REFUSED(isoline_operation_info(0, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_parameter_info(0, 0, NULL), ISOLINE_NULL_POINTER, "out");
    REFUSED(isoline_choice_info(0, 0, 0, NULL), ISOLINE_NULL_POINTER, "out");
    CHECK_TEXT(operation.name, "edge_strength");
    CHECK_TEXT(parameter.name, "dimensions");
    CHECK_TEXT(choice.name, "slices");
}

int main(void) {
    RUN(every_operation_tells_its_name_and_struct);
    RUN(every_parameter_is_whole);
    RUN(the_defaults_are_those_of_init_and_in_range);
    RUN_ON_EACH(values_out_of_range_are_refused_by_name);
    RUN(what_does_not_exist_is_refused);
    return summary();
}
