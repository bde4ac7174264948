package io.github.isoline;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

/**
 * The parameters of one call, by their names; they start at the library's defaults. A value out of its range is refused
 * when it is set.
 */
public final class Params {
    private final Operation operation;
    private final Memory struct;

    /**
     * Creates the defaults of an operation.
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

    /** Returns the operation that these parameters belong to. */
    public Operation operation() {
        return operation;
    }

    /** Returns the value of a parameter; for a choice its number, for a flag 0 or 1. */
    public double get(String name) {
        return operation.parameter(name).read(struct);
    }

    /**
     * Sets a parameter.
     *
     * @throws IsolineException with the library's message, if the value is out of range
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

    /** Makes a parameter automatic. */
    public Params setAutomatic(String name) throws IsolineException {
        return set(name, operation.parameter(name).automaticValue());
    }

    /** Returns true if the parameter is automatic. */
    public boolean isAutomatic(String name) {
        Parameter parameter = operation.parameter(name);
        return parameter.canBeAutomatic() && get(name) == parameter.automaticValue();
    }

    /** Returns the C struct, for a call of the operation. */
    Pointer struct(String name) throws IsolineException {
        if (!operation.name().equals(name)) {
            throw new IsolineException(
                    "The parameters must be those of " + name + ", got those of " + operation.name());
        }
        return struct;
    }
}
