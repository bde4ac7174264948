package io.github.isoline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Native;
import com.sun.jna.Platform;
import com.sun.jna.Pointer;
import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The warnings of the library, which come through its own logger. */
public class LibraryLogTest {
    private static final String WARNING = "isoline_buffer_free ignores the address 0x";

    /** Makes the library log a warning for each of these addresses, at which there is no buffer. */
    public static void provoke(long... addresses) throws IsolineException {
        NativeLoader.load();
        for (long address : addresses) {
            IsolineLibrary.isoline_buffer_free(new Pointer(address));
        }
    }

    @Test
    void warningsOfAllThreadsAreKeptUntilTheyAreTaken() throws Exception {
        LibraryLog.take();
        System.gc();
        provoke(0x10);
        Thread other = new Thread(() -> IsolineLibrary.isoline_buffer_free(new Pointer(0x20)));
        other.start();
        other.join();
        List<String> taken = LibraryLog.take();
        assertEquals(2, taken.size(), taken.toString());
        assertTrue(taken.get(0).startsWith(WARNING + "10: no buffer of this process is there"), taken.get(0));
        assertTrue(taken.get(1).startsWith(WARNING + "20: "), taken.get(1));
        provoke(LongStream.rangeClosed(1, 1000).toArray());
        taken = LibraryLog.take();
        assertEquals(64, taken.size());
        assertTrue(taken.get(0).startsWith(WARNING + "1: "), taken.get(0));
        assertTrue(LibraryLog.take().isEmpty());
    }

    /** A copy of the plugin's classes, as ImageJ makes one when it loads its plugins anew. */
    private static final class Copy {
        private final ClassLoader loader;

        Copy() throws Exception {
            URL classes = LibraryLog.class.getProtectionDomain().getCodeSource().getLocation();
            loader = new URLClassLoader(new URL[] {classes}, null) {
                @Override
                protected Class<?> findClass(String name) throws ClassNotFoundException {
                    return name.startsWith("com.sun.jna")
                            ? LibraryLogTest.class.getClassLoader().loadClass(name)
                            : super.findClass(name);
                }
            };
            call("NativeLoader", "load");
        }

        Object call(String type, String method, Object... arguments) throws Exception {
            Class<?> of = loader.loadClass("io.github.isoline." + type);
            for (Method each : of.getDeclaredMethods()) {
                if (each.getName().equals(method)) {
                    each.setAccessible(true);
                    return each.invoke(null, arguments);
                }
            }
            throw new NoSuchMethodException(method);
        }

        int taken() throws Exception {
            return ((List<?>) call("LibraryLog", "take")).size();
        }
    }

    @Test
    void newestCopyOfThePluginGetsTheWarnings() throws Exception {
        File library = Native.extractFromResourcePath(
                "/" + Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("isoline"),
                LibraryLog.class.getClassLoader());
        System.setProperty(NativeLoader.PATH_PROPERTY, library.getPath());
        try {
            Copy first = new Copy();
            first.call("IsolineLibrary", "isoline_buffer_free", new Pointer(0x10));
            assertEquals(1, first.taken());
            Copy second = new Copy();
            first.call("IsolineLibrary", "isoline_buffer_free", new Pointer(0x10));
            assertEquals(0, first.taken());
            assertEquals(1, second.taken());
        } finally {
            System.clearProperty(NativeLoader.PATH_PROPERTY);
            // Later tests get the warnings again: the file may be the one that they use.
            NativeLoader.load();
            LibraryLog.start();
        }
    }
}
