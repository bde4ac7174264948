package io.github.isoline;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/** An operation with a state, which can be read, stopped and continued. Only one thread may use it at a time. */
public abstract class Solver implements AutoCloseable {
    private static final double NANOS = 1e-9;

    final Structs.Report last = Structs.init("report", new Structs.Report());
    private final String name;
    private Pointer pointer;
    private double seconds;

    /** @param name of what it computes, for messages */
    Solver(String name) throws IsolineException {
        this.name = name;
    }

    /** A call to the library that creates the native object. */
    @FunctionalInterface
    interface Creation {
        int call(Pointer context, PointerByReference out);
    }

    /** Creates the native object, or closes this one. */
    final void create(Context context, Creation creation) throws IsolineException {
        PointerByReference out = new PointerByReference();
        long began = System.nanoTime();
        Status.check(context.call(at -> creation.call(at, out)));
        seconds = (System.nanoTime() - began) * NANOS;
        pointer = out.getValue();
        try {
            // A step of no iterations fills the report with the device, even if the run is stopped at once.
            step(0, null);
        } catch (IsolineException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Makes the library's step. */
    abstract int step(Pointer solver, long iterations, Structs.Progress progress);

    /** Frees the native object. */
    abstract void free(Pointer solver);

    /** Reads the state after a step, which is also valid after a cancelled one. */
    void stepped() throws IsolineException {}

    /**
     * Continues by at most this number of iterations.
     *
     * @param iterations {@link Long#MAX_VALUE} until the end
     * @param progress the progress callback, which may cancel; may be null
     * @throws IsolineException with the library's message; after a cancel the last whole iteration is kept, and the
     *     state can be read and stepped on
     */
    public final void step(long iterations, Progress progress) throws IsolineException {
        if (iterations < 0) {
            throw new IsolineException("The iterations must be 0 or more, got " + iterations);
        }
        ProgressBridge bridge = new ProgressBridge(progress);
        long began = System.nanoTime();
        int status = step(pointer(), iterations, bridge.struct());
        seconds += (System.nanoTime() - began) * NANOS;
        IsolineException failure = Status.failure(status);
        stepped();
        bridge.rethrow();
        if (failure != null) {
            throw failure;
        }
    }

    /** Returns the report of all steps since the start, with their total time. */
    public Report report() {
        return new Report(total());
    }

    /** Returns a copy of the last report, with the time of all steps. */
    Structs.Report total() {
        Structs.Report all = new Structs.Report();
        last.write();
        all.getPointer().write(0, last.getPointer().getByteArray(0, last.size()), 0, last.size());
        all.read();
        all.seconds_total = seconds;
        return all;
    }

    /** Frees the native object; a second call does nothing. */
    @Override
    public final void close() {
        if (pointer != null) {
            free(pointer);
            pointer = null;
        }
    }

    /** Returns the native object. */
    final Pointer pointer() throws IsolineException {
        if (pointer == null) {
            throw new IsolineException("This " + name + " was closed; start another.");
        }
        return pointer;
    }
}
