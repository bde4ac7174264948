package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The parameters of every operation of the library: structs of the right size, defaults, names and ranges. */
class ParamsTest {
    static Set<String> operations() throws IsolineException {
        return Operation.names();
    }

    /** Returns a params struct of a size after its own init function, or throws its refusal. */
    private static Memory init(String operation, long size) throws IsolineException {
        String resource = "/" + Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("isoline");
        Memory struct = new Memory(size);
        try {
            ClassLoader loader = ParamsTest.class.getClassLoader();
            String path = Native.extractFromResourcePath(resource, loader).getPath();
            Function init = NativeLibrary.getInstance(path).getFunction("isoline_" + operation + "_params_init");
            Status.check(init.invokeInt(new Object[] {struct, size}));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return struct;
    }

    @ParameterizedTest
    @MethodSource("operations")
    void paramsAreAsLargeAsTheLibrarySays(String name) throws IsolineException {
        long size = Operation.of(name).paramsSize();
        assertEquals(size, init(name, size).getInt(0));
        // A struct smaller than that of the first release is refused, so these sizes are exact.
        assertThrows(IsolineException.class, () -> init(name, size - 8));
    }

    @ParameterizedTest
    @MethodSource("operations")
    void javaDefaultsAreTheLibrarys(String name) throws IsolineException {
        int size = (int) Operation.of(name).paramsSize();
        byte[] library = init(name, size).getByteArray(0, size);
        assertArrayEquals(library, new Params(name).struct(name).getByteArray(0, size));
    }

    @ParameterizedTest
    @MethodSource("operations")
    void everyParameterIsDescribedAndCanBeSet(String name) throws IsolineException {
        Params params = new Params(name);
        for (Parameter parameter : params.operation().parameters()) {
            String key = parameter.name();
            assertTrue(key.matches("[a-z_]+") && !parameter.title().isEmpty(), key);
            assertTrue(parameter.help().endsWith("."), parameter.help());
            assertEquals(parameter.defaultValue(), params.get(key), key);
            for (String word : parameter.words()) {
                params.set(key, word);
                assertEquals(word, parameter.wordOf(params.get(key)));
            }
            IsolineException e = assertThrows(IsolineException.class, () -> params.set(key, Double.NaN));
            assertTrue(e.getMessage().startsWith(key + " must be "), e.getMessage());
        }
        assertThrows(IllegalArgumentException.class, () -> params.set("rhoo", 1));
    }
}
