package io.github.isoline;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * Polygonal active contours that separate objects from the background of a noisy image by maximum likelihood (Perrot et
 * al. 2011). There may be one target or thousands, each independent of the others; they can be read, stopped and
 * continued.
 *
 * <p>It copies the image and keeps the polygons. Only one thread may use it at a time.
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
     * @param initial a polygon for each target; null for a rectangle that leaves a quarter of the image's width and
     *     height free on each side
     * @param params those of {@link #NAME}
     * @throws IsolineException with the library's message, also if a polygon crosses itself
     */
    public static Snake start(Context context, PixelBuffer input, Polygons initial, Params params)
            throws IsolineException {
        ImageStruct in = input.describe(1);
        PolygonsStruct polygons = initial == null ? null : initial.struct();
        Pointer struct = params.struct(NAME);
        Snake snake = new Snake();
        PointerByReference out = new PointerByReference();
        long began = System.nanoTime();
        // The lock keeps other threads from closing the context during the call.
        synchronized (context) {
            Status.check(IsolineLibrary.isoline_snake_new(context.pointer(), in, polygons, struct, out));
        }
        snake.seconds = (System.nanoTime() - began) * NANOS;
        snake.pointer = out.getValue();
        try {
            // A step of no iterations fills the report with the device, even if the run is stopped
            // at once.
            snake.step(0, null);
        } catch (IsolineException | RuntimeException e) {
            snake.close();
            throw e;
        }
        return snake;
    }

    /**
     * Continues by at most this number of iterations for each target that has not ended.
     *
     * @param iterations {@link Long#MAX_VALUE} until all have ended
     * @param progress the progress callback, which may cancel; may be null
     * @throws IsolineException with the library's message; after a cancel every target keeps its last whole iteration,
     *     and the snake can be read and stepped on
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

    /** Returns the number of targets. */
    public int count() throws IsolineException {
        return (int) IsolineLibrary.isoline_snake_count(open());
    }

    /** Returns the current polygons, in the order of the initial ones: clockwise on the screen. */
    public Polygons polygons() throws IsolineException {
        PolygonsStruct struct = new PolygonsStruct();
        Status.check(IsolineLibrary.isoline_polygons_init(struct, struct.size()));
        Status.check(IsolineLibrary.isoline_snake_polygons(open(), struct));
        return Polygons.copyOf(struct);
    }

    /** Returns the statistics of each target, in the order of the initial polygons. */
    public TargetStatistics[] statistics() throws IsolineException {
        int count = count();
        TargetStatistics[] all = new TargetStatistics[count];
        if (count > 0) {
            int bytes = new TargetStatisticsStruct().size();
            Memory memory = new Memory((long) bytes * count);
            Status.check(IsolineLibrary.isoline_snake_statistics(open(), 0, count, memory, new LongByReference()));
            for (int i = 0; i < count; i++) {
                Pointer at = memory.share((long) i * bytes, bytes);
                all[i] = new TargetStatistics(new TargetStatisticsStruct(at));
            }
        }
        return all;
    }

    /**
     * Writes the number of the target that contains a pixel, counted from 1, else 0. Where targets overlap the smallest
     * number is written.
     *
     * @param labels type U16, or F32 for more than 65535 targets
     */
    public void drawLabels(PixelBuffer labels) throws IsolineException {
        Status.check(IsolineLibrary.isoline_snake_draw_labels(open(), labels.describe(1)));
    }

    /** Returns true if every target has ended. */
    public boolean isEnded() {
        return last.converged != 0;
    }

    /** Returns the largest number of iterations of any target. */
    public long iterations() {
        return last.iterations;
    }

    /** Returns the report of all steps since the start, with their total time. */
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
