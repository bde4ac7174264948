package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * A surface that evolves with the intensity of an image and its own curvature (Mostofi 2009), with
 * its state: it can be looked at, stopped and gone on with.
 *
 * <p>It copies image and mask, and keeps φ (negative inside) on the context's device. One thread at
 * a time.
 */
public final class LevelSet implements AutoCloseable {
    /** The name of the operation. */
    public static final String NAME = "level_set";

    private static final double NANOS = 1e-9;

    private final int depth;
    private final ReportStruct last = new ReportStruct();
    private final LevelSetStateStruct state = new LevelSetStateStruct();
    private Pointer pointer;
    private double seconds;

    private LevelSet(int depth) throws IsolineException {
        this.depth = depth;
        Status.check(IsolineLibrary.isoline_report_init(last, last.size()));
        Status.check(IsolineLibrary.isoline_level_set_state_init(state, state.size()));
    }

    /**
     * Starts from the boundary of a mask.
     *
     * @param input pixels of any type, with their spacing
     * @param mask type U8 and the same size; pixels above 0 are inside
     * @param depth how many slices, from the first on
     * @param params those of {@link #NAME}
     * @throws IsolineException with the library's own words
     */
    public static LevelSet start(
            Context context, PixelBuffer input, PixelBuffer mask, int depth, Params params)
            throws IsolineException {
        ImageStruct in = input.describe(depth);
        ImageStruct initial = mask.describe(depth);
        Pointer struct = params.struct(NAME);
        LevelSet surface = new LevelSet(depth);
        PointerByReference out = new PointerByReference();
        long began = System.nanoTime();
        // Held during the call, so that nobody can close the context under it.
        synchronized (context) {
            Status.check(
                    IsolineLibrary.isoline_level_set_new(
                            context.pointer(), in, initial, struct, out));
        }
        surface.seconds = (System.nanoTime() - began) * NANOS;
        surface.pointer = out.getValue();
        try {
            // Of no iterations: who does the work is known even if it is stopped at once.
            surface.step(0, null);
        } catch (IsolineException | RuntimeException e) {
            surface.close();
            throw e;
        }
        return surface;
    }

    /** Sets a stopping criterion that is never met: exactly so many iterations are done. */
    public static Params neverStop(Params params) throws IsolineException {
        return params.set("change_tolerance", 0).set("rms_tolerance", 0);
    }

    /**
     * Evolves by up to so many iterations, fewer where it {@link #converged}.
     *
     * @param progress hears of the progress and may cancel; may be null
     * @throws IsolineException with the library's own words; when cancelled the last whole
     *     iteration is kept, and the surface can be read and stepped on
     */
    public void step(long iterations, Progress progress) throws IsolineException {
        if (iterations < 0) {
            throw new IsolineException("The iterations must be 0 or more, got " + iterations);
        }
        ProgressBridge bridge = new ProgressBridge(progress);
        long began = System.nanoTime();
        int status =
                IsolineLibrary.isoline_level_set_step(open(), iterations, bridge.struct(), last);
        seconds += (System.nanoTime() - began) * NANOS;
        String failure = status == Status.OK ? null : IsolineLibrary.isoline_last_error();
        // What it came to counts after a cancelled step, too.
        Status.check(IsolineLibrary.isoline_level_set_info(open(), state));
        bridge.rethrow();
        if (failure != null) {
            throw new IsolineException(status, failure);
        }
    }

    /** Copies the mask out: 255 inside, else 0. */
    public void readMask(PixelBuffer mask) throws IsolineException {
        Status.check(IsolineLibrary.isoline_level_set_read_mask(open(), mask.describe(depth)));
    }

    /** Copies φ out: type F32, near the front about the distance to it, negative inside. */
    public void readPhi(PixelBuffer phi) throws IsolineException {
        Status.check(IsolineLibrary.isoline_level_set_read_phi(open(), phi.describe(depth)));
    }

    /** Iterations done since the start. */
    public long iterations() {
        return state.iterations;
    }

    /** Whether the last step met the stop rule. */
    public boolean converged() {
        return state.converged != 0;
    }

    /** Voxels inside. */
    public long inside() {
        return state.inside;
    }

    /** T as it is used. */
    public double target() {
        return state.target;
    }

    /** ε as it is used. */
    public double epsilon() {
        return state.epsilon;
    }

    /** α as it is used. */
    public double alpha() {
        return state.alpha;
    }

    /** Δt as it is used. */
    public double timeStep() {
        return state.time_step;
    }

    /** What was done since the start, where, and how long it took in all. */
    public Report report() {
        ReportStruct all = new ReportStruct();
        last.write();
        all.getPointer().write(0, last.getPointer().getByteArray(0, last.size()), 0, last.size());
        all.read();
        all.iterations = state.iterations;
        all.converged = state.converged;
        all.seconds_total = seconds;
        return new Report(all);
    }

    /** Frees the surface; a second call does nothing. */
    @Override
    public void close() {
        if (pointer != null) {
            IsolineLibrary.isoline_level_set_free(pointer);
            pointer = null;
        }
    }

    private Pointer open() throws IsolineException {
        if (pointer == null) {
            throw new IsolineException("This level set was closed; start another.");
        }
        return pointer;
    }
}
