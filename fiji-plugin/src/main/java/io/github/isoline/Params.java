package io.github.isoline;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

/**
 * The parameters of one call, by their names; they start at the library's defaults. A value out of
 * its range is refused when it is set.
 */
public final class Params {
    private final Operation operation;
    private final Memory struct;

    /**
     * The defaults of an operation.
     *
     * @param operation its name, such as "level_set"
     * @throws IsolineException if the library cannot be loaded
     */
    public Params(String operation) throws IsolineException {
        this.operation = Operation.of(operation);
        struct = new Memory(this.operation.paramsSize());
        struct.clear();
        struct.setInt(0, (int) struct.size());
        for (Parameter parameter : this.operation.parameters()) {
            parameter.write(struct, parameter.defaultValue());
        }
    }

    /** The operation that these are for. */
    public Operation operation() {
        return operation;
    }

    /** The value of a parameter; of a choice its number, of a flag 0 or 1. */
    public double get(String name) {
        return operation.parameter(name).read(struct);
    }

    /**
     * Sets a parameter.
     *
     * @throws IsolineException in the library's words, if the value is out of range
     */
    public Params set(String name, double value) throws IsolineException {
        Parameter parameter = operation.parameter(name);
        parameter.check(value);
        parameter.write(struct, value);
        return this;
    }

    /** Sets a choice by its word. */
    public Params set(String name, String word) throws IsolineException {
        return set(name, operation.parameter(name).valueOf(word));
    }

    /** Lets the operation choose the value. */
    public Params setAutomatic(String name) throws IsolineException {
        return set(name, operation.parameter(name).automaticValue());
    }

    /** True if the operation chooses the value. */
    public boolean isAutomatic(String name) {
        Parameter parameter = operation.parameter(name);
        return parameter.canBeAutomatic() && get(name) == parameter.automaticValue();
    }

    /** The C struct, for a call of the operation. */
    Pointer struct(String name) throws IsolineException {
        if (!operation.name().equals(name)) {
            throw new IsolineException(
                    "The parameters must be those of "
                            + name
                            + ", got those of "
                            + operation.name());
        }
        return struct;
    }
}
