package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * The common behaviour of the Java layer of every operation: structs of the right size, the library's defaults,
 * progress that cancels. The test of an operation implements this.
 */
interface OperationContract {
    /** Returns the name of the operation. */
    String name();

    /**
     * Runs the operation on the CPU.
     *
     * @param progress is called at least three times; null: a short run
     */
    void play(Progress progress) throws IsolineException;

    /** Returns a params struct of a size after its own init function, or throws its refusal. */
    static Memory init(String operation, long size) throws IsolineException {
        String resource = "/" + Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("isoline");
        Memory struct = new Memory(size);
        try {
            ClassLoader loader = OperationContract.class.getClassLoader();
            String path = Native.extractFromResourcePath(resource, loader).getPath();
            Function init = NativeLibrary.getInstance(path).getFunction("isoline_" + operation + "_params_init");
            Status.check(init.invokeInt(new Object[] {struct, size}));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return struct;
    }

    @Test
    default void paramsAreAsLargeAsTheLibrarySays() throws IsolineException {
        long size = Operation.of(name()).paramsSize();
        assertEquals(size, init(name(), size).getInt(0));
        // A struct smaller than that of the first release is refused, so these sizes are exact.
        assertThrows(IsolineException.class, () -> init(name(), size - 8));
    }

    @Test
    default void javaDefaultsAreTheLibrarys() throws IsolineException {
        int size = (int) Operation.of(name()).paramsSize();
        byte[] library = init(name(), size).getByteArray(0, size);
        assertArrayEquals(library, new Params(name()).struct(name()).getByteArray(0, size));
    }

    @Test
    default void everyParameterIsDescribedAndCanBeSet() throws IsolineException {
        Params params = new Params(name());
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

    @Test
    default void progressCancels() {
        AtomicInteger calls = new AtomicInteger();
        IsolineException e = assertThrows(IsolineException.class, () -> play((f, s) -> calls.incrementAndGet() < 2));
        assertTrue(e.isCancelled(), e.getMessage());
        assertEquals(2, calls.get(), "no call after the one that cancelled");
    }

    @Test
    default void exceptionInProgressComesOutOfTheCall() throws IsolineException {
        RuntimeException mine = new RuntimeException("mine");
        RuntimeException thrown = assertThrows(
                RuntimeException.class,
                () -> play((f, s) -> {
                    throw mine;
                }));
        assertSame(mine, thrown);
        play(null);
    }
}
