package io.github.isoline.ij;

import ij.IJ;
import ij.gui.GUI;
import ij.measure.Calibration;
import io.github.isoline.Isosurface;
import java.awt.Color;
import java.awt.GraphicsEnvironment;
import java.awt.Window;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/**
 * A window of Fiji's 3D Viewer. Its classes are called by reflection: a plain ImageJ has none, and since they are not
 * on Maven Central, this plugin is built without them.
 */
final class Viewer3D {
    private static final String UNIVERSE = "ij3d.Image3DUniverse";
    private static final String FAILED = "The surface cannot be shown in the 3D Viewer: ";
    private static final String INSTEAD = ", or leave viewer out and give a file that ends with .stl, .ply or .obj.";

    /** The memory that a triangle of a closed surface takes in the viewer: 206 bytes were measured, and a reserve. */
    private static final int TRIANGLE_BYTES = 250;

    /**
     * The transparency at first: it cannot be seen, but with 0 the viewer would not make the surface transparent later.
     */
    private static final float SLIGHTEST = Float.MIN_NORMAL;

    private static final int CORNERS = 3;

    /** The colours of Okabe and Ito, which colour-blind people, too, can tell from each other. */
    private static final int[] COLOURS = {0xE69F00, 0x56B4E9, 0x009E73, 0xF0E442, 0x0072B2, 0xD55E00, 0xCC79A7};

    private final ClassLoader loader;
    private final Object universe;
    private final Constructor<?> newMesh;
    private final double[] origin;

    /** The number of contents that the window had before. */
    private final int before;

    private Viewer3D(ClassLoader loader, Calibration calibration) throws ReflectiveOperationException {
        this.loader = loader;
        Class<?> type = type(UNIVERSE);
        Object open = null;
        for (Object each : (List<?>) type.getField("universes").get(null)) {
            // The viewer's own macro functions, too, work on its first window.
            open = open == null && call(each, "getWindow") != null ? each : open;
        }
        if (open == null) {
            open = type.getConstructor().newInstance();
            call(open, "show");
            GUI.center((Window) call(open, "getWindow"));
        }
        universe = open;
        before = ((Collection<?>) call(open, "getContents")).size();
        Constructor<?> found = null;
        for (Constructor<?> each : type("customnode.CustomIndexedTriangleMesh").getConstructors()) {
            // The package of points and colours differs between versions of the viewer.
            found = each.getParameterCount() == 4 ? each : found;
        }
        newMesh = found;
        // The viewer puts the first voxel of an image here, whose unit it takes to be that of lengths.
        origin = new double[] {calibration.xOrigin, calibration.yOrigin, calibration.zOrigin};
    }

    /** Returns true if ImageJ has the viewer, as a plugin or beside this plugin. */
    static boolean isInstalled() {
        return loader() != null;
    }

    private static ClassLoader loader() {
        for (ClassLoader loader : new ClassLoader[] {IJ.getClassLoader(), Viewer3D.class.getClassLoader()}) {
            try {
                Class.forName(UNIVERSE, false, loader);
                return loader;
            } catch (ClassNotFoundException | LinkageError e) {
                // The other one may have it. A viewer without Java 3D cannot be linked.
            }
        }
        return null;
    }

    /**
     * Returns the viewer's first window, or a new one. Must not be called on the event thread, on which the viewer's
     * own commands do not run either.
     *
     * @param triangles the number that will be added
     * @param calibration that of their image
     */
    static Viewer3D open(long triangles, Calibration calibration) throws BadInput {
        ClassLoader loader = loader();
        if (loader == null) {
            throw new BadInput(FAILED + "it is not installed. Run the macro in Fiji, which has it" + INSTEAD);
        }
        if (GraphicsEnvironment.isHeadless()) {
            throw new BadInput(FAILED + "there is no display. Run the macro in ImageJ's window (without a screen under"
                    + " xvfb-run)" + INSTEAD);
        }
        if (triangles * TRIANGLE_BYTES > freeBytes()) {
            // Memory that ImageJ no longer uses is not free before it is collected.
            System.gc();
        }
        OperationDialog.refuse(memoryProblem(triangles, freeBytes()));
        IJ.showStatus("Adding the surface to the 3D Viewer");
        return attempt(() -> new Viewer3D(loader, calibration));
    }

    private static long freeBytes() {
        Runtime java = Runtime.getRuntime();
        return java.maxMemory() - java.totalMemory() + java.freeMemory();
    }

    /** Returns the problem that there is not enough memory for triangles; null if there is. */
    static String memoryProblem(long triangles, long freeBytes) {
        long bytes = triangles * TRIANGLE_BYTES;
        return bytes <= freeBytes
                ? null
                : String.format(
                        "%s%s triangles need %s MB of Java's memory, of which %s MB are free. Smooth the image or scale it"
                                + " down for fewer triangles, raise the limit in Edit > Options > Memory & Threads%s",
                        FAILED, triangles, bytes >> 20, freeBytes >> 20, INSTEAD);
    }

    /**
     * Adds the surfaces of some frames as one of the viewer's contents, and waits until it is there.
     *
     * @param frames the surface of each point in time; an empty one is left out
     * @param name its name in the viewer, which adds a number to one that is taken
     * @param colour the index of its colour, after those of the contents that the window had before
     */
    void add(List<Isosurface> frames, String name, int colour) throws BadInput {
        if (frames.stream().allMatch(frame -> frame.triangleCount() == 0)) {
            return;
        }
        Object added = attempt(() -> {
            Object free = universe.getClass()
                    .getMethod("getSafeContentName", String.class)
                    .invoke(universe, name);
            Class<?> meshType = type("customnode.CustomMesh");
            Constructor<?> newNode = type("customnode.CustomMeshNode").getConstructor(meshType);
            Class<?> instantType = type("ij3d.ContentInstant");
            Class<?> colourType = newMesh.getParameterTypes()[2];
            Object shown = colourType.getConstructor(float[].class).newInstance((Object)
                    new Color(COLOURS[(before + colour) % COLOURS.length]).getRGBColorComponents(null));
            TreeMap<Integer, Object> instants = new TreeMap<>();
            for (int time = 0; time < frames.size(); time++) {
                if (frames.get(time).triangleCount() > 0) {
                    Object instant = instantType.getConstructor(String.class).newInstance(free);
                    instantType.getMethod("setColor", colourType).invoke(instant, shown);
                    instantType
                            .getMethod("display", type("ij3d.ContentNode"))
                            .invoke(instant, newNode.newInstance(mesh(frames.get(time), shown)));
                    instants.put(time, instant);
                }
            }
            Class<?> contentType = type("ij3d.Content");
            Object content =
                    contentType.getConstructor(String.class, TreeMap.class).newInstance(free, instants);
            return universe.getClass().getMethod("addContent", contentType).invoke(universe, content);
        });
        if (added == null) {
            throw new BadInput(FAILED + "it has not taken it. See Window > Console" + INSTEAD);
        }
    }

    /** Returns the viewer's mesh with shared vertices, which takes a fifth of the memory of one without. */
    private Object mesh(Isosurface surface, Object colour) throws ReflectiveOperationException {
        Class<?> point = newMesh.getParameterTypes()[0].getComponentType();
        Constructor<?> newPoint = point.getConstructor(float[].class);
        Object vertices = Array.newInstance(point, surface.vertexCount());
        float[] place = new float[CORNERS];
        for (int i = 0; i < surface.vertexCount(); i++) {
            for (int axis = 0; axis < CORNERS; axis++) {
                place[axis] = (float) (surface.vertex(i, axis) + origin[axis]);
            }
            Array.set(vertices, i, newPoint.newInstance((Object) place));
        }
        int[] corners = new int[CORNERS * surface.triangleCount()];
        for (int i = 0; i < corners.length; i++) {
            corners[i] = surface.corner(i / CORNERS, i % CORNERS);
        }
        return newMesh.newInstance(vertices, corners, colour, SLIGHTEST);
    }

    private Class<?> type(String name) throws ClassNotFoundException {
        return Class.forName(name, true, loader);
    }

    private static Object call(Object target, String method) throws ReflectiveOperationException {
        return target.getClass().getMethod(method).invoke(target);
    }

    /** Calls the viewer, and turns its failures into one that says so. */
    private static <T> T attempt(Callable<T> call) throws BadInput {
        Throwable why;
        try {
            return call.call();
        } catch (InvocationTargetException e) {
            why = e.getCause();
        } catch (Exception | LinkageError e) {
            why = e;
        }
        throw new BadInput(FAILED + "it failed (" + why + "). Try Plugins > 3D Viewer" + INSTEAD);
    }
}
