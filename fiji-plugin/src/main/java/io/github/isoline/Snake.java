package io.github.isoline;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;

/**
 * Polygonal active contours that separate objects from the background of a noisy image by maximum likelihood (Perrot et
 * al. 2011). There may be one target or thousands, independent of each other or competing for pixels; they can be read,
 * stopped and continued.
 *
 * <p>It copies the image and keeps the polygons. Only one thread may use it at a time. A step continues each target
 * that has not ended.
 */
public final class Snake extends Solver {
    /** The name of the operation. */
    public static final String NAME = "snake";

    private Snake() throws IsolineException {
        super("snake");
    }

    /**
     * Starts on one slice.
     *
     * @param input pixels of any type; the first slice is taken
     * @param initial a polygon for each target; null for a rectangle that leaves a quarter of the image's width and
     *     height free on each side
     * @param params those of {@link #NAME}
     * @throws IsolineException with the library's message, also if a polygon crosses itself
     */
    public static Snake start(Context context, PixelBuffer input, Polygons initial, Params params)
            throws IsolineException {
        Structs.Image in = input.describe(1);
        Structs.Polygons polygons = initial == null ? null : initial.struct();
        Pointer struct = params.struct(NAME);
        Snake snake = new Snake();
        snake.create(context, (at, out) -> IsolineLibrary.isoline_snake_new(at, in, polygons, struct, out));
        return snake;
    }

    @Override
    int step(Pointer solver, long iterations, Structs.Progress progress) {
        return IsolineLibrary.isoline_snake_step(solver, iterations, progress, last);
    }

    @Override
    void free(Pointer solver) {
        IsolineLibrary.isoline_snake_free(solver);
    }

    /** Returns the number of targets. */
    public int count() throws IsolineException {
        return (int) IsolineLibrary.isoline_snake_count(pointer());
    }

    /** Returns the current polygons, in the order of the initial ones: clockwise on the screen. */
    public Polygons polygons() throws IsolineException {
        Structs.Polygons struct = Structs.init("polygons", new Structs.Polygons());
        Status.check(IsolineLibrary.isoline_snake_polygons(pointer(), struct));
        return Polygons.copyOf(struct);
    }

    /** Returns the statistics of each target, in the order of the initial polygons. */
    public TargetStatistics[] statistics() throws IsolineException {
        int count = count();
        TargetStatistics[] all = new TargetStatistics[count];
        if (count > 0) {
            int bytes = new Structs.TargetStatistics().size();
            Memory memory = new Memory((long) bytes * count);
            Status.check(IsolineLibrary.isoline_snake_statistics(pointer(), 0, count, memory, new LongByReference()));
            for (int i = 0; i < count; i++) {
                Pointer at = memory.share((long) i * bytes, bytes);
                all[i] = new TargetStatistics(new Structs.TargetStatistics(at));
            }
        }
        return all;
    }

    /**
     * Writes the number of the target that a pixel belongs to, counted from 1, else 0. Where targets overlap the
     * smallest number is written.
     *
     * @param labels type U16, or F32 for more than 65535 targets
     */
    public void drawLabels(PixelBuffer labels) throws IsolineException {
        Status.check(IsolineLibrary.isoline_snake_draw_labels(pointer(), labels.describe(1)));
    }

    /** Returns true if every target has ended. */
    public boolean isEnded() {
        return last.converged != 0;
    }

    /** Returns the largest number of iterations of any target. */
    public long iterations() {
        return last.iterations;
    }
}
