package io.github.isoline;

import com.sun.jna.Function;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.PointerByReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** An operation of the library and its parameters, read from the library once. */
public final class Operation {
    private static final Map<String, Operation> ALL = new LinkedHashMap<>();

    private final String name;
    private final String title;
    private final String help;
    private final long paramsSize;
    private final Map<String, Parameter> parameters = new LinkedHashMap<>();

    private Operation(long index) throws IsolineException {
        Structs.Operation struct = Structs.init("operation", new Structs.Operation());
        Status.check(IsolineLibrary.isoline_operation_info(index, struct));
        name = struct.name.getString(0, "UTF-8");
        title = struct.title.getString(0, "UTF-8");
        help = struct.help.getString(0, "UTF-8");
        paramsSize = struct.params_size;
        for (int i = 0; i < struct.parameter_count; i++) {
            Parameter parameter = new Parameter(index, i);
            parameters.put(parameter.name(), parameter);
        }
    }

    /** Returns all operations of the library by their names. */
    private static synchronized Map<String, Operation> all() throws IsolineException {
        NativeLoader.load();
        if (ALL.isEmpty()) {
            for (long i = 0; i < IsolineLibrary.isoline_operation_count(); i++) {
                Operation operation = new Operation(i);
                ALL.put(operation.name, operation);
            }
        }
        return ALL;
    }

    /**
     * Returns the names of the library's operations.
     *
     * @throws IsolineException if the library cannot be loaded
     */
    public static Set<String> names() throws IsolineException {
        return Collections.unmodifiableSet(all().keySet());
    }

    /**
     * Returns the operation of a name, such as "level_set".
     *
     * @throws IsolineException if the library cannot be loaded
     */
    public static Operation of(String name) throws IsolineException {
        Operation operation = all().get(name);
        if (operation == null) {
            throw new IsolineException("The library has no operation \"" + name + "\"; it has " + names() + ".");
        }
        return operation;
    }

    /**
     * Runs an operation from one image to another; after a cancel any part of the output may have been written. Every
     * such operation has the same arguments in C.
     */
    static Report run(
            String name,
            Context context,
            Params params,
            PixelBuffer input,
            PixelBuffer output,
            int depth,
            Progress progress)
            throws IsolineException {
        Structs.Image in = input.describe(depth);
        Structs.Image out = output.describe(depth);
        Pointer struct = params.struct(name);
        Function function = NativeLoader.function("isoline_" + name);
        return Report.of(
                context,
                progress,
                (at, callback, report) -> function.invokeInt(new Object[] {at, in, struct, callback, out, report}));
    }

    /** Copies a result to Java's own memory. */
    @FunctionalInterface
    interface Copy<A, R> {
        R of(Report report, A found) throws IsolineException;
    }

    /**
     * Runs an operation whose result is an object, which is freed when it is copied.
     *
     * @param arguments those of the C function between the context and the progress callback
     * @param noun the name of the object in its functions, such as "surface" in isoline_surface_free
     */
    static <R> R compute(
            String name, Context context, List<Object> arguments, Progress progress, String noun, Copy<Pointer, R> copy)
            throws IsolineException {
        Function function = NativeLoader.function("isoline_" + name);
        PointerByReference found = new PointerByReference();
        try {
            Report done = Report.of(context, progress, (at, callback, report) -> {
                List<Object> all = new ArrayList<>(arguments);
                all.add(0, at);
                all.addAll(Arrays.asList(callback, found, report));
                return function.invokeInt(all.toArray());
            });
            return copy.of(done, found.getValue());
        } finally {
            NativeLoader.function("isoline_" + noun + "_free").invokeVoid(new Object[] {found.getValue()});
        }
    }

    /**
     * Runs an operation whose result is an object with arrays.
     *
     * @param arrays the struct of the arrays, initialised
     */
    static <A extends Structure, R> R compute(
            String name,
            Context context,
            List<Object> arguments,
            Progress progress,
            String noun,
            A arrays,
            Copy<A, R> copy)
            throws IsolineException {
        return compute(name, context, arguments, progress, noun, (report, found) -> {
            Function toArrays = NativeLoader.function("isoline_" + noun + "_all");
            Status.check(toArrays.invokeInt(new Object[] {found, arrays}));
            return copy.of(report, arrays);
        });
    }

    /** Returns the name in code. */
    public String name() {
        return name;
    }

    /** Returns the name that users see. */
    public String title() {
        return title;
    }

    /** Returns one line about the result. */
    public String help() {
        return help;
    }

    /** Returns the parameters, in the library's order. */
    public Collection<Parameter> parameters() {
        return Collections.unmodifiableCollection(parameters.values());
    }

    /** Returns true if there is a parameter of that name. */
    public boolean has(String parameter) {
        return parameters.containsKey(parameter);
    }

    /** Returns the parameter of a name. */
    public Parameter parameter(String parameter) {
        if (!has(parameter)) {
            throw new IllegalArgumentException(
                    name + " has no parameter \"" + parameter + "\"; it has " + parameters.keySet());
        }
        return parameters.get(parameter);
    }

    long paramsSize() {
        return paramsSize;
    }
}
