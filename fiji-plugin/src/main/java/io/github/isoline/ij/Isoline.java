package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.IsolineException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Isoline's operations for scripts and plugins: from an {@link ImagePlus} to images, selections and a table, without
 * windows. Works with and without a display, and with images that are not shown.
 *
 * <pre>
 * Result found = Isoline.edgeDrawing(image, "gradient_threshold=30 min_length=20");
 * for (Roi segment : found.getRois()) { ... }
 * </pre>
 *
 * <p><b>The options</b> have the keys, values, units and defaults of the commands' macro keys; {@link #options} lists
 * them, and so does docs/fiji.md. They are a text as the Recorder writes it, {@code "key=value key=[a value] switch"},
 * or a map from keys to texts, numbers, and true or false for switches. A key that is left out has its default: never
 * the value that a dialog remembers. In a map there may be
 *
 * <ul>
 *   <li>{@code rois}: a {@link Roi} or a collection of them to start from, instead of those of the ROI Manager (region
 *       snakes: areas, {@code start} is then {@code manager}; level sets: points, {@code start} is then
 *       {@code spheres});
 *   <li>an {@link ImagePlus} as the value of {@code mask_image} and {@code start_image}, which need not be shown;
 *   <li>a {@link ResultsTable} as the value of {@code results_table}: rows go below those that it has.
 * </ul>
 *
 * <p><b>The outputs</b> are those that the options name; if they name none, the image (edge map, mask, labels), the
 * selections and the rows. What a command would put into the ROI Manager is in {@link Result#getRois}, and its rows in
 * {@link Result#getTable}; {@code overlay} changes the overlay of the input, and {@code roi_file} writes a file. The
 * input is otherwise only read; of a hyperstack the channel and the frame that are shown, or all on request.
 *
 * <p><b>Errors</b>: every method throws an {@link IsolineException}, whose message says what was wanted, what was got
 * and what to do, for an option or an image that it cannot work with, for a device that fails, and for Escape in
 * ImageJ's window. Where only a file could not be written after the work it is an {@link IncompleteException}, which
 * has the result. Deviations that are no failure are in {@link Result#getWarnings}.
 *
 * <p>Calls from several threads are possible for different images; a call fails while another one uses its image.
 */
public final class Isoline {
    /** The operations by their names. */
    static final Map<String, Call<?>> OPERATIONS = new LinkedHashMap<>();

    static final Call<EdgeStrengthSettings> EDGE_STRENGTH = new Call<>(
            "edge_strength",
            "Edge Strength Function",
            EdgeStrengthSettings::new,
            EdgeStrengthDialog::new,
            EdgeStrengthJob::new);
    static final Call<EdgeDrawingSettings> EDGE_DRAWING = new Call<>(
            "edge_drawing", "Edge Drawing", EdgeDrawingSettings::new, EdgeDrawingDialog::new, EdgeDrawingJob::new);
    static final Call<DistanceSettings> SIGNED_DISTANCE = new Call<>(
            "signed_distance", "Signed Distance", DistanceSettings::new, DistanceDialog::new, DistanceJob::new);
    static final Call<IsolinesSettings> ISOLINES =
            new Call<>("isolines", "Isolines", IsolinesSettings::new, IsolinesDialog::new, IsolinesJob::new);
    static final Call<IsosurfaceSettings> ISOSURFACE =
            new Call<>("isosurface", "Isosurface", IsosurfaceSettings::new, IsosurfaceDialog::new, IsosurfaceJob::new);
    static final Call<ObjectsSettings> OBJECTS =
            new Call<>("grow_objects", "Grow Objects", ObjectsSettings::new, ObjectsDialog::new, ObjectsJob::new);
    static final Call<LevelSetSettings> LEVEL_SET =
            new Call<>("level_set", "Level Set", LevelSetSettings::new, LevelSetDialog::new, LevelSetJob::new);
    static final Call<SnakeSettings> REGION_SNAKE =
            new Call<>("region_snake", "Region Snake", SnakeSettings::new, SnakeDialog::new, SnakeJob::new);

    private Isoline() {}

    /**
     * Computes the edge strength function: 1 on a shape, decaying to 0 around it.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack
     * @param options such as {@code rho=64} (decay length, pixels), {@code mode=iterations} or {@code converged},
     *     {@code foreground=above}, {@code threshold=auto} (pixel value), {@code stack=slices}, {@code volume} or
     *     {@code current}; {@code find=axes} or {@code critical_points} for those of the skeleton, with
     *     {@code shortest_axis} (pixels)
     * @return one image of 32 bits with values from 0 to 1; with {@code find} a selection and a row for each that is
     *     found
     * @throws IsolineException as described above
     */
    public static Result edgeStrength(ImagePlus image, String options) throws IsolineException {
        return EDGE_STRENGTH.on(image, options);
    }

    /** Does what {@link #edgeStrength(ImagePlus, String)} does, with the options in a map. */
    public static Result edgeStrength(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return EDGE_STRENGTH.on(image, options);
    }

    /**
     * Finds edges as chains of pixels, or straight lines, circles and ellipses along them.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack
     * @param options such as {@code profile}, {@code sigma} (pixels), {@code gradient_threshold} (pixel values, or
     *     {@code auto}), {@code min_length} (pixels), {@code roi_shape=freeline} or {@code polyline};
     *     {@code find=lines} for straight lines, with {@code shortest_line} and {@code line_gap} (pixels);
     *     {@code find=ellipses} for circles and ellipses, with {@code smallest_radius} (pixels)
     * @return the edge map of 8 bits, a selection for each segment, line or ellipse, and a row for each
     * @throws IsolineException as described above
     */
    public static Result edgeDrawing(ImagePlus image, String options) throws IsolineException {
        return EDGE_DRAWING.on(image, options);
    }

    /** Does what {@link #edgeDrawing(ImagePlus, String)} does, with the options in a map. */
    public static Result edgeDrawing(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return EDGE_DRAWING.on(image, options);
    }

    /**
     * Computes the exact distance of every pixel from the boundary of the inside, in the image's unit of length.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack
     * @param options such as {@code inside=bright}, {@code threshold=auto} (pixel value), {@code region=signed},
     *     {@code stack=slices}, {@code volume} or {@code current}
     * @return one image of 32 bits, negative inside
     * @throws IsolineException as described above
     */
    public static Result signedDistance(ImagePlus image, String options) throws IsolineException {
        return SIGNED_DISTANCE.on(image, options);
    }

    /** Does what {@link #signedDistance(ImagePlus, String)} does, with the options in a map. */
    public static Result signedDistance(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return SIGNED_DISTANCE.on(image, options);
    }

    /**
     * Finds the curves on which an image has a value, between pixels.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack
     * @param options such as {@code levels=[20 40]} (pixel values) or {@code level_count=9}, {@code connect=low}
     * @return a selection for each curve, and a row for each
     * @throws IsolineException as described above
     */
    public static Result isolines(ImagePlus image, String options) throws IsolineException {
        return ISOLINES.on(image, options);
    }

    /** Does what {@link #isolines(ImagePlus, String)} does, with the options in a map. */
    public static Result isolines(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return ISOLINES.on(image, options);
    }

    /**
     * Computes the surface on which a volume has a value, and measures it.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, stack or hyperstack
     * @param options such as {@code level=100} (pixel value), {@code open_border}, {@code file=FILE.stl};
     *     {@code viewer} to show the surface in the 3D Viewer
     * @return a row for each volume
     * @throws IsolineException as described above
     */
    public static Result isosurface(ImagePlus image, String options) throws IsolineException {
        return ISOSURFACE.on(image, options);
    }

    /** Does what {@link #isosurface(ImagePlus, String)} does, with the options in a map. */
    public static Result isosurface(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return ISOSURFACE.on(image, options);
    }

    /**
     * Grows many objects at once, each from a start, until its front stops at the image or at a neighbour.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack
     * @param options such as {@code start=detect} (with {@code threshold}, pixel value, and {@code prominence}, in the
     *     image's unit) or {@code labels} (with {@code start_image}), {@code alpha=0.5}, {@code stack=slices},
     *     {@code volume} or {@code current}
     * @return the label image of 16 bits, or of 32 if that of the starts is, outlines, and a row for each object
     * @throws IsolineException as described above
     */
    public static Result growObjects(ImagePlus image, String options) throws IsolineException {
        return OBJECTS.on(image, options);
    }

    /** Does what {@link #growObjects(ImagePlus, String)} does, with the options in a map. */
    public static Result growObjects(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return OBJECTS.on(image, options);
    }

    /**
     * Segments by a level set that grows or shrinks from a start.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack; its selection is
     *     a start ({@code start=roi})
     * @param options such as {@code stack=volume}, {@code start=roi}, {@code spheres} (with {@code radius}, in the
     *     image's unit), {@code mask} or {@code box}, {@code range=auto}, {@code iterations}; {@code phi} for φ as well
     * @return the mask of 8 bits, φ of 32 bits on request, outlines, and a row for each slice or volume
     * @throws IsolineException as described above
     */
    public static Result levelSet(ImagePlus image, String options) throws IsolineException {
        return LEVEL_SET.on(image, options);
    }

    /** Does what {@link #levelSet(ImagePlus, String)} does, with the options in a map. */
    public static Result levelSet(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return LEVEL_SET.on(image, options);
    }

    /**
     * Outlines objects by region snakes, each from a start.
     *
     * @param image with 8, 16 or 32 bits, or RGB with {@code luminance}, single, stack or hyperstack; its selection is
     *     a start ({@code start=roi})
     * @param options such as {@code start=roi}, {@code manager} (with {@code rois}), {@code labels} (with
     *     {@code start_image}) or {@code rectangle}, {@code noise=gaussian}, {@code stack=track}
     * @return the label image, an outline and a row for each target on each slice
     * @throws IsolineException as described above
     */
    public static Result regionSnake(ImagePlus image, String options) throws IsolineException {
        return REGION_SNAKE.on(image, options);
    }

    /** Does what {@link #regionSnake(ImagePlus, String)} does, with the options in a map. */
    public static Result regionSnake(ImagePlus image, Map<String, ?> options) throws IsolineException {
        return REGION_SNAKE.on(image, options);
    }

    /**
     * Returns a line for each option of an operation: key, values, default, unit and meaning.
     *
     * @param operation {@code edge_strength}, {@code edge_drawing}, {@code signed_distance}, {@code isolines},
     *     {@code isosurface}, {@code grow_objects}, {@code level_set} or {@code region_snake}
     * @throws IsolineException if there is no such operation, or no native library
     */
    public static String options(String operation) throws IsolineException {
        Call<?> call = OPERATIONS.get(operation);
        if (call == null) {
            throw new BadInput("There is no operation \"" + operation + "\". The operations are "
                    + String.join(", ", OPERATIONS.keySet()) + ".");
        }
        StringBuilder text = new StringBuilder();
        Settings settings = call.newSettings.create();
        for (String key : settings.keys()) {
            text.append(settings.setting(key).describe()).append('\n');
        }
        return text.toString();
    }

    /** An operation that scripts and the menu can call, with the constructors of its classes. */
    static final class Call<S extends Settings> {
        /** The name of its command, without the dots of the menu. */
        final String command;

        final NewSettings<S> newSettings;
        final New<S, OperationDialog<S>> newDialog;
        final New<S, StackJob<S>> newJob;

        private Call(
                String name,
                String command,
                NewSettings<S> newSettings,
                New<S, OperationDialog<S>> newDialog,
                New<S, StackJob<S>> newJob) {
            this.command = command;
            this.newSettings = newSettings;
            this.newDialog = newDialog;
            this.newJob = newJob;
            OPERATIONS.put(name, this);
        }

        /** The constructor of the parameters, with their defaults. */
        @FunctionalInterface
        interface NewSettings<S> {
            S create() throws IsolineException;
        }

        /** The constructor of a dialog or a job. */
        @FunctionalInterface
        interface New<S, T> {
            T create(ImagePlus image, S settings) throws IsolineException;
        }

        /** @param options a text or a map */
        Result on(ImagePlus image, Object options) throws IsolineException {
            try {
                if (image == null) {
                    throw new BadInput("No image was given: the first argument must be an ImagePlus.");
                }
                ScriptWorkspace workspace = new ScriptWorkspace();
                S settings = newSettings.create();
                ScriptOptions.read(options, settings, workspace);
                StackJob<S> job = newJob.create(image, settings);
                ImagePlus made = job.runLocked();
                job.saveFiles();
                try {
                    job.deliver();
                    job.checkFiles();
                } catch (BadInput e) {
                    throw new IncompleteException(e, new Result(job, made, workspace));
                }
                return new Result(job, made, workspace);
            } catch (NoClassDefFoundError | OutOfMemoryError e) {
                throw new BadInput(Host.reason(e));
            }
        }
    }
}
