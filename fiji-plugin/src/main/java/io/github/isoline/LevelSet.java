package io.github.isoline;

import com.sun.jna.Pointer;

/**
 * A front that evolves with the intensity of an image and its own curvature (Mostofi 2009), with its state: it can be
 * read, stopped and continued.
 *
 * <p>It copies image and mask, and keeps φ (negative inside) on the context's device. Only one thread may use it at a
 * time. A step ends early if the front has {@link #converged}.
 */
public final class LevelSet extends Solver {
    /** The name of the operation. */
    public static final String NAME = "level_set";

    /** ISOLINE_LEVEL_SET_OUTSIDE, a side that only a state has. */
    private static final int OUTSIDE = 4;

    /** The ways in which a level set can end, in the order of {@code isoline_level_set_outcome}. */
    public static final String MOVING = "moving";

    public static final String FRONT = "front";
    public static final String AT_LIMIT = "at limit";
    public static final String FILLED = "filled";
    public static final String LOST = "lost";
    private static final String[] OUTCOMES = {MOVING, FRONT, AT_LIMIT, FILLED, LOST};

    private final int depth;
    private final Structs.LevelSetState state = Structs.init("level_set_state", new Structs.LevelSetState());

    private LevelSet(int depth) throws IsolineException {
        super("level set");
        this.depth = depth;
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
        Structs.Image in = input.describe(depth);
        Structs.Image initial = mask.describe(depth);
        Pointer struct = params.struct(NAME);
        LevelSet surface = new LevelSet(depth);
        surface.create(context, (at, out) -> IsolineLibrary.isoline_level_set_new(at, in, initial, struct, out));
        return surface;
    }

    /** Sets every tolerance to 0: a stopping criterion that is never met, so that all iterations are done. */
    public static Params neverStop(Params params) throws IsolineException {
        for (Parameter parameter : params.operation().parameters()) {
            if (parameter.name().endsWith("_tolerance")) {
                params.set(parameter.name(), 0);
            }
        }
        return params;
    }

    @Override
    int step(Pointer solver, long iterations, Structs.Progress progress) {
        return IsolineLibrary.isoline_level_set_step(solver, iterations, progress, last);
    }

    @Override
    void stepped() throws IsolineException {
        Status.check(IsolineLibrary.isoline_level_set_info(pointer(), state));
    }

    @Override
    void free(Pointer solver) {
        IsolineLibrary.isoline_level_set_free(solver);
    }

    @Override
    Structs.Report total() {
        Structs.Report all = super.total();
        all.iterations = state.iterations;
        all.converged = state.converged;
        return all;
    }

    /** Copies the mask out: 255 inside, else 0. */
    public void readMask(PixelBuffer mask) throws IsolineException {
        Status.check(IsolineLibrary.isoline_level_set_read_mask(pointer(), mask.describe(depth)));
    }

    /** Copies φ out: type F32, close to the signed distance near the front, negative inside. */
    public void readPhi(PixelBuffer phi) throws IsolineException {
        Status.check(IsolineLibrary.isoline_level_set_read_phi(pointer(), phi.describe(depth)));
    }

    /** Returns the number of iterations since the start. */
    public long iterations() {
        return state.iterations;
    }

    /** Returns the number of iterations of all coarse levels together. */
    public long coarseIterations() {
        return state.coarse_iterations;
    }

    /** Returns true if the last step met the stopping criterion. */
    public boolean converged() {
        return state.converged != 0;
    }

    /**
     * Returns how the last step ended: a front that still {@link #MOVING moves}, a {@link #FRONT} at rest, one
     * {@link #AT_LIMIT} of the range of intensities, or none, since all is inside ({@link #FILLED}) or nothing is
     * ({@link #LOST}).
     */
    public String outcome() {
        return OUTCOMES[state.outcome];
    }

    /**
     * Returns the iterations, since the start, after which the front is likely to be at rest; negative if it never
     * stops.
     */
    public long expectedIterations() {
        return state.expected_iterations;
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

    /**
     * Returns the limits of the range that is used: "within", "above" or "below"; between two regions also "outside",
     * for intensities farther from T than ε.
     */
    public String side() throws IsolineException {
        if (state.side == OUTSIDE) {
            return "outside";
        }
        return Operation.of(NAME).parameter("side").wordOf(state.side);
    }

    /** Returns the α that is used. */
    public double alpha() {
        return state.alpha;
    }

    /** Returns the Δt that is used. */
    public double timeStep() {
        return state.time_step;
    }
}
