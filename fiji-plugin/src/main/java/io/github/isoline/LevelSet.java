package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * A front that evolves with the intensity of an image and its own curvature (Mostofi 2009), with its state: it can be
 * read, stopped and continued.
 *
 * <p>It copies image and mask, and keeps φ (negative inside) on the context's device. Only one thread may use it at a
 * time.
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
     * @param depth the number of slices, from the first on
     * @param params those of {@link #NAME}
     * @throws IsolineException with the library's message
     */
    public static LevelSet start(Context context, PixelBuffer input, PixelBuffer mask, int depth, Params params)
            throws IsolineException {
        ImageStruct in = input.describe(depth);
        ImageStruct initial = mask.describe(depth);
        Pointer struct = params.struct(NAME);
        LevelSet surface = new LevelSet(depth);
        PointerByReference out = new PointerByReference();
        long began = System.nanoTime();
        // The lock keeps other threads from closing the context during the call.
        synchronized (context) {
            Status.check(IsolineLibrary.isoline_level_set_new(context.pointer(), in, initial, struct, out));
        }
        surface.seconds = (System.nanoTime() - began) * NANOS;
        surface.pointer = out.getValue();
        try {
            // A step of no iterations fills the report with the device, even if the run is stopped
            // at once.
            surface.step(0, null);
        } catch (IsolineException | RuntimeException e) {
            surface.close();
            throw e;
        }
        return surface;
    }

    /** Sets a stopping criterion that is never met, so that all iterations are done. */
    public static Params neverStop(Params params) throws IsolineException {
        return params.set("change_tolerance", 0).set("rms_tolerance", 0);
    }

    /**
     * Evolves by at most this number of iterations, fewer if it has {@link #converged}.
     *
     * @param progress the progress callback, which may cancel; may be null
     * @throws IsolineException with the library's message; after a cancel the last whole iteration is kept, and the
     *     front can be read and stepped on
     */
    public void step(long iterations, Progress progress) throws IsolineException {
        if (iterations < 0) {
            throw new IsolineException("The iterations must be 0 or more, got " + iterations);
        }
        ProgressBridge bridge = new ProgressBridge(progress);
        long began = System.nanoTime();
        int status = IsolineLibrary.isoline_level_set_step(open(), iterations, bridge.struct(), last);
        seconds += (System.nanoTime() - began) * NANOS;
        String failure = status == Status.OK ? null : IsolineLibrary.isoline_last_error();
        // The state is also valid after a cancelled step.
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

    /** Copies φ out: type F32, close to the signed distance near the front, negative inside. */
    public void readPhi(PixelBuffer phi) throws IsolineException {
        Status.check(IsolineLibrary.isoline_level_set_read_phi(open(), phi.describe(depth)));
    }

    /** Returns the number of iterations since the start. */
    public long iterations() {
        return state.iterations;
    }

    /** Returns true if the last step met the stopping criterion. */
    public boolean converged() {
        return state.converged != 0;
    }

    /** Returns the number of voxels inside. */
    public long inside() {
        return state.inside;
    }

    /** Returns the T that is used. */
    public double target() {
        return state.target;
    }

    /** Returns the ε that is used. */
    public double epsilon() {
        return state.epsilon;
    }

    /** Returns the α that is used. */
    public double alpha() {
        return state.alpha;
    }

    /** Returns the Δt that is used. */
    public double timeStep() {
        return state.time_step;
    }

    /** Returns the report of all steps since the start, with their total time. */
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

    /** Frees the level set; a second call does nothing. */
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
