package io.github.isoline;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * Polygons that split a noisy image into target and background by maximum likelihood, one or
 * thousands, each by itself (Perrot et al. 2011): they can be looked at, stopped and gone on with.
 *
 * <p>It copies the image and keeps the polygons. One thread at a time.
 */
public final class Snake implements AutoCloseable {
    /** The name of the operation. */
    public static final String NAME = "snake";

    private static final double NANOS = 1e-9;

    private final ReportStruct last = new ReportStruct();
    private Pointer pointer;
    private double seconds;

    private Snake() throws IsolineException {
        Status.check(IsolineLibrary.isoline_report_init(last, last.size()));
    }

    /**
     * Starts on one slice.
     *
     * @param input pixels of any type; the first slice is taken
     * @param initial a target for each; null for a rectangle that leaves a quarter of each side of
     *     the image free around it
     * @param params those of {@link #NAME}
     * @throws IsolineException with the library's own words, also if a polygon crosses itself
     */
    public static Snake start(Context context, PixelBuffer input, Polygons initial, Params params)
            throws IsolineException {
        ImageStruct in = input.describe(1);
        PolygonsStruct polygons = initial == null ? null : initial.struct();
        Pointer struct = params.struct(NAME);
        Snake snake = new Snake();
        PointerByReference out = new PointerByReference();
        long began = System.nanoTime();
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            Status.check(
                    IsolineLibrary.isoline_snake_new(context.pointer(), in, polygons, struct, out));
        }
        snake.seconds = (System.nanoTime() - began) * NANOS;
        snake.pointer = out.getValue();
        try {
            // Of no iterations: who does the work is known even if it is stopped at once.
            snake.step(0, null);
        } catch (IsolineException | RuntimeException e) {
            snake.close();
            throw e;
        }
        return snake;
    }

    /**
     * Goes on by up to so many steps of each target that has not ended.
     *
     * @param iterations {@link Long#MAX_VALUE} until all have ended
     * @param progress hears of the progress and may cancel; may be null
     * @throws IsolineException with the library's own words; when cancelled every target keeps its
     *     last whole step, and the snake can be read and stepped on
     */
    public void step(long iterations, Progress progress) throws IsolineException {
        if (iterations < 0) {
            throw new IsolineException("The iterations must be 0 or more, got " + iterations);
        }
        ProgressBridge bridge = new ProgressBridge(progress);
        long began = System.nanoTime();
        int status = IsolineLibrary.isoline_snake_step(open(), iterations, bridge.struct(), last);
        seconds += (System.nanoTime() - began) * NANOS;
        bridge.rethrow();
        Status.check(status);
    }

    /** How many targets there are. */
    public int count() throws IsolineException {
        return (int) IsolineLibrary.isoline_snake_count(open());
    }

    /** The polygons as they are, in the order of the initial ones: clockwise on the screen. */
    public Polygons polygons() throws IsolineException {
        PolygonsStruct struct = new PolygonsStruct();
        Status.check(IsolineLibrary.isoline_polygons_init(struct, struct.size()));
        Status.check(IsolineLibrary.isoline_snake_polygons(open(), struct));
        return Polygons.copyOf(struct);
    }

    /** What is known of each target, in the order of the initial polygons. */
    public TargetStatistics[] statistics() throws IsolineException {
        int count = count();
        TargetStatistics[] all = new TargetStatistics[count];
        if (count > 0) {
            int bytes = new TargetStatisticsStruct().size();
            Memory memory = new Memory((long) bytes * count);
            Status.check(
                    IsolineLibrary.isoline_snake_statistics(
                            open(), 0, count, memory, new LongByReference()));
            for (int i = 0; i < count; i++) {
                Pointer at = memory.share((long) i * bytes, bytes);
                all[i] = new TargetStatistics(new TargetStatisticsStruct(at));
            }
        }
        return all;
    }

    /**
     * Writes the number of the target that a pixel lies in, counted from 1, else 0. Where targets
     * overlap the smallest number stands.
     *
     * @param labels type U16, or F32 for more than 65535 targets
     */
    public void drawLabels(PixelBuffer labels) throws IsolineException {
        Status.check(IsolineLibrary.isoline_snake_draw_labels(open(), labels.describe(1)));
    }

    /** True if every target has ended. */
    public boolean isEnded() {
        return last.converged != 0;
    }

    /** The most steps that a target has done. */
    public long iterations() {
        return last.iterations;
    }

    /** What was done since the start, where, and how long it took in all. */
    public Report report() {
        ReportStruct all = new ReportStruct();
        last.write();
        all.getPointer().write(0, last.getPointer().getByteArray(0, last.size()), 0, last.size());
        all.read();
        all.seconds_total = seconds;
        return new Report(all);
    }

    /** Frees the snake; a second call does nothing. */
    @Override
    public void close() {
        if (pointer != null) {
            IsolineLibrary.isoline_snake_free(pointer);
            pointer = null;
        }
    }

    private Pointer open() throws IsolineException {
        if (pointer == null) {
            throw new IsolineException("This snake was closed; start another.");
        }
        return pointer;
    }
}
