package io.github.isoline;

import com.sun.jna.Native;
import com.sun.jna.Pointer;

/** The report of a run: its device, iterations, convergence and time. */
public final class Report {
    private static final int KIND_CUDA = 1;

    private final Structs.Report struct;

    Report(Structs.Report struct) {
        this.struct = struct;
    }

    /** A call to the library that fills a report. */
    @FunctionalInterface
    interface Call {
        int run(Pointer context, Structs.Progress progress, Structs.Report report);
    }

    /** Makes a call, and returns its report. */
    static Report of(Context context, Progress progress, Call call) throws IsolineException {
        Structs.Report struct = Structs.init("report", new Structs.Report());
        ProgressBridge bridge = new ProgressBridge(progress);
        int status = context.call(pointer -> call.run(pointer, bridge.struct(), struct));
        bridge.rethrow();
        Status.check(status);
        return new Report(struct);
    }

    /** Adds the time of a further call of the same run. */
    void add(Report further) {
        struct.seconds_total += further.struct.seconds_total;
    }

    /**
     * Returns the device that computed: "cpu" or "cuda:N", with its name; of several the first, and how many more; and
     * into how many parts a volume that did not fit its memory was cut.
     */
    public String device() {
        String id = struct.device_kind == KIND_CUDA ? "cuda:" + struct.device_index : "cpu";
        String name = Native.toString(struct.device_name, "UTF-8");
        String more = struct.device_count > 1 ? " and " + (struct.device_count - 1) + " more" : "";
        String parts = struct.part_count > 1 ? ", in " + struct.part_count + " parts" : "";
        return (name.isEmpty() ? id : id + " (" + name + ")") + more + parts;
    }

    /** Returns the number of iterations, or of cycles in converged mode. */
    public long iterations() {
        return struct.iterations;
    }

    /** Returns true unless the requested tolerance was not reached. */
    public boolean converged() {
        return struct.converged != 0;
    }

    /** Returns the residual after the last cycle; converged mode only. */
    public double residual() {
        return struct.residual;
    }

    /** Returns the wall time of the whole run in seconds. */
    public double seconds() {
        return struct.seconds_total;
    }

    /** Returns the most device memory in use at any time, in bytes. */
    public long peakDeviceBytes() {
        return struct.peak_device_bytes;
    }
}
