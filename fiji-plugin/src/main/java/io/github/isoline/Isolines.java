package io.github.isoline;

import com.sun.jna.Memory;
import java.util.Arrays;
import java.util.List;

/**
 * Isolines: the curves on which an image has a value, by marching squares with linear interpolation. Every slice of a
 * stack is processed on its own. Points are in pixels, lengths and areas in the unit of the input's spacing.
 */
public final class Isolines {
    /** The name of the operation. */
    public static final String NAME = "isolines";

    private Isolines() {}

    /**
     * Runs the operation.
     *
     * @param context the device to run on
     * @param params those of {@link #NAME}
     * @param levels the levels; none for the equally spaced ones of the parameters
     * @param input pixels of any type
     * @param depth the number of slices, from the first on
     * @param progress the progress callback, which may cancel; may be null
     * @return the report and the curves
     * @throws IsolineException with the library's message
     */
    public static Findings<Polylines> run(
            Context context, Params params, double[] levels, PixelBuffer input, int depth, Progress progress)
            throws IsolineException {
        Memory given = levels.length == 0 ? null : new Memory((long) levels.length * Double.BYTES);
        if (given != null) {
            given.write(0, levels, 0, levels.length);
        }
        List<Object> arguments = Arrays.asList(input.describe(depth), given, (long) levels.length, params.struct(NAME));
        return Operation.compute(
                NAME,
                context,
                arguments,
                progress,
                "polylines",
                Structs.init("polyline_arrays", new Structs.PolylineArrays()),
                (report, arrays) -> new Findings<>(report, new Polylines(arrays)));
    }
}
