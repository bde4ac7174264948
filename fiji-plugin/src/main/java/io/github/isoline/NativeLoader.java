package io.github.isoline;

import com.sun.jna.Function;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.net.URL;
import java.util.Collections;
import java.util.Properties;

/**
 * Finds, checks and binds the native library, once.
 *
 * <p>The library lies in the plugin's jar under JNA's folder names ({@code linux-x86-64/libisoline.so}, ...). It is
 * unpacked once, into the user's cache; where that is not possible, JNA unpacks it at every start. Developers may point
 * elsewhere with the system property {@link #PATH_PROPERTY}. A failed load leaves nothing behind: the next call tries
 * anew.
 */
public final class NativeLoader {
    /** The system property that names a library file, or its folder, to use instead of the jar's. */
    public static final String PATH_PROPERTY = "isoline.library.path";

    private static final int OLDEST_JNA = 5;
    private static final int POINTER_BYTES = 8;

    /** The library, once it is bound. */
    private static NativeLibrary library;

    private static String origin = "";

    private NativeLoader() {}

    /**
     * Makes the native library ready for use; does nothing when it already is.
     *
     * @throws IsolineException if there is no library for this platform, it cannot be loaded, or it is of another
     *     version than this plugin
     */
    public static synchronized void load() throws IsolineException {
        if (library != null) {
            return;
        }
        try {
            checkJna();
            if (Native.POINTER_SIZE != POINTER_BYTES) {
                throw unavailable("Isoline needs a 64-bit Java; this one is 32-bit.");
            }
            bindAny();
        } catch (LinkageError e) {
            // These are all failures of JNA to link: JNA is missing, or cannot unpack its own native part.
            throw unavailable(explainLinkage(e));
        }
    }

    /** Returns a function of the loaded library, for calls that are not mapped directly. */
    static synchronized Function function(String name) {
        return library.getFunction(name);
    }

    /** Returns the version of this plugin, from its build. */
    public static String pluginVersion() {
        Properties properties = new Properties();
        try (InputStream in = NativeLoader.class.getResourceAsStream("plugin.properties")) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            return "unknown";
        }
        return properties.getProperty("version", "unknown");
    }

    /** Returns the version of the loaded native library. */
    public static String libraryVersion() throws IsolineException {
        load();
        return IsolineLibrary.isoline_version_string();
    }

    /** Returns the origin of the loaded library: a file, or "the plugin's jar" and where it is unpacked. */
    public static synchronized String libraryOrigin() {
        return origin;
    }

    /** Returns the version of JNA that is running, which the host chooses and not this plugin. */
    public static String jnaVersion() {
        try {
            // Reflection is needed: the compiler would copy the constant of the JNA compiled against.
            Field version = Native.class.getField("VERSION");
            version.setAccessible(true); // it is inherited from an interface that is not public
            return (String) version.get(null);
        } catch (ReflectiveOperationException e) {
            return "unknown";
        }
    }

    private static void checkJna() throws IsolineException {
        String version = jnaVersion();
        int major;
        try {
            major = Integer.parseInt(version.split("\\.")[0]);
        } catch (NumberFormatException e) {
            major = 0;
        }
        if (major < OLDEST_JNA) {
            throw unavailable(
                    "Isoline needs JNA %s or newer; this ImageJ runs JNA %s. Replace the old jna jar in the "
                            + "folder \"jars\" or \"plugins\", or update Fiji.",
                    OLDEST_JNA, version);
        }
    }

    /** Binds the library that the user points to, or else that of the jar. */
    private static void bindAny() throws IsolineException {
        String path = System.getProperty(PATH_PROPERTY);
        if (path != null && !path.isEmpty()) {
            File file = pointedTo(path);
            origin = file.getPath();
            bind(file);
            return;
        }
        String resource = Platform.RESOURCE_PREFIX + "/" + System.mapLibraryName("isoline");
        ClassLoader loader = NativeLoader.class.getClassLoader();
        URL url = loader.getResource(resource);
        if (url == null) {
            throw unavailable(
                    "This copy of the Isoline plugin has no native library for this computer (%s). Install the "
                            + "plugin for all platforms; its documentation lists them.",
                    Platform.RESOURCE_PREFIX);
        }
        String problem = bindCached(url);
        if (problem != null) {
            origin = "the plugin's jar" + problem;
            bind(unpacked(resource, loader));
        }
    }

    private static File pointedTo(String path) throws IsolineException {
        File file = new File(path);
        if (file.isDirectory()) {
            file = new File(file, System.mapLibraryName("isoline"));
        }
        if (!file.isFile()) {
            throw unavailable(
                    "There is no Isoline library at %s, where the system property %s points. Correct the "
                            + "property, or remove it to use the library inside the plugin.",
                    file, PATH_PROPERTY);
        }
        return file;
    }

    /**
     * Binds the library in the user's cache.
     *
     * @return null if that was possible, else the reason for the report of the devices; "" where there is no jar
     */
    private static String bindCached(URL url) {
        try {
            LibraryCache cache = LibraryCache.ofUser(
                    System.getProperty("os.name"), System.getenv(), System.getProperty("user.home"));
            File file = cache.file(url, pluginVersion());
            if (file == null) {
                return "";
            }
            bind(file);
            origin = "the plugin's jar, unpacked to " + file;
            return null;
        } catch (IOException | IsolineException | RuntimeException e) {
            // A folder that cannot be written, or from which no programs may run, is no reason to fail.
            // The message of a Java exception is often no more than the name of a file.
            String reason = e instanceof IsolineException ? e.getMessage() : e.toString();
            return ", unpacked for this start only (" + reason + ")";
        }
    }

    private static File unpacked(String resource, ClassLoader loader) throws IsolineException {
        try {
            return Native.extractFromResourcePath("/" + resource, loader);
        } catch (IOException e) {
            throw unavailable(
                    "The Isoline library could not be unpacked from the plugin (%s). Check that the disk is not "
                            + "full and that the folder for temporary files can be written.",
                    e.getMessage());
        }
    }

    private static void bind(File file) throws IsolineException {
        NativeLibrary found;
        try {
            found = NativeLibrary.getInstance(
                    file.getPath(), Collections.singletonMap(Library.OPTION_STRING_ENCODING, "UTF-8"));
        } catch (UnsatisfiedLinkError e) {
            throw unavailable(
                    "The Isoline library (%s) cannot be loaded: %s. %s",
                    file, systemsReason(e), explainRefusal(systemsReason(e)));
        }
        Function version;
        try {
            version = found.getFunction("isoline_version");
        } catch (UnsatisfiedLinkError e) {
            discard(found);
            throw unavailable("The file " + file + " is not the Isoline library: it has no isoline_version.");
        }
        String mismatch = versionMismatch(pluginVersion(), version.invokeInt(new Object[0]));
        if (mismatch != null) {
            discard(found);
            throw unavailable(mismatch);
        }
        try {
            Native.register(IsolineLibrary.class, found);
            library = found;
            LibraryLog.start();
        } catch (UnsatisfiedLinkError e) {
            discard(found);
            throw unavailable(
                    "The Isoline library (%s) lacks a function that this plugin needs: %s. Install plugin and "
                            + "library of the same version.",
                    file, firstLine(e));
        }
    }

    @SuppressWarnings("deprecation") // close() came only with JNA 5.12
    private static void discard(NativeLibrary library) {
        library.dispose();
    }

    /**
     * Returns null if a library of that version fits this plugin, else a sentence for the user. The patch number may
     * differ; major and minor must be the plugin's own, since the two ship together.
     */
    static String versionMismatch(String plugin, int packed) {
        int major = packed >>> 16;
        int minor = packed >>> 8 & 0xff;
        int patch = packed & 0xff;
        String[] wanted = plugin.split("[.-]");
        if (wanted.length >= 2
                && wanted[0].equals(Integer.toString(major))
                && wanted[1].equals(Integer.toString(minor))) {
            return null;
        }
        return String.format(
                "The Isoline plugin %s needs its own library, but found version %s.%s.%s. Remove other "
                        + "copies of the Isoline plugin, install it anew, and restart ImageJ.",
                plugin, major, minor, patch);
    }

    /** Returns a likely cause for the system's refusal of the library, and what to do. */
    private static String explainRefusal(String reason) {
        if (reason.contains("GLIBC_")) {
            return "This Linux is older than the one that the library was built for. Use the plugin for all"
                    + " platforms, which needs glibc 2.17 or newer, or build the plugin on this system.";
        }
        return "It may be damaged, built for another system, or lie in a folder from which programs" + " may not run.";
    }

    private static String explainLinkage(LinkageError e) {
        String text = firstLine(e);
        if (e instanceof NoClassDefFoundError && text.contains("com/sun/jna")) {
            return MISSING_JNA;
        }
        return String.format(
                "JNA, which connects ImageJ to the Isoline library, cannot start: %s. If the folder for "
                        + "temporary files does not allow programs, start ImageJ with -Djna.tmpdir=FOLDER.",
                text);
    }

    /** The message for a host without JNA; also used where this class cannot be loaded. */
    public static final String MISSING_JNA =
            "Isoline needs JNA, which this ImageJ lacks. Fiji brings it along; in a plain ImageJ put"
                    + " jna.jar into the folder \"plugins/jars\" and restart.";

    private static IsolineException unavailable(String format, Object... values) {
        return new IsolineException(Status.UNSUPPORTED, format, values);
    }

    /**
     * Returns the system's reason for refusing the file. JNA names the library on the first line; the system's reason
     * is on the second, and the reasons of searches elsewhere follow. An old JNA writes one line only.
     */
    private static String systemsReason(Throwable e) {
        String[] lines = String.valueOf(e.getMessage()).trim().split("\n");
        return lines[Math.min(1, lines.length - 1)];
    }

    private static String firstLine(Throwable e) {
        String message = String.valueOf(e.getMessage()).trim();
        int end = message.indexOf('\n');
        return end < 0 ? message : message.substring(0, end);
    }
}
