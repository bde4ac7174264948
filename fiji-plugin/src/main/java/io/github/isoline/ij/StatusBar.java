package io.github.isoline.ij;

import ij.IJ;
import io.github.isoline.DeviceInfo;
import io.github.isoline.Progress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The progress in ImageJ's window, until it is closed; Escape ends the run. Of two commands, one of which waits for the
 * other, the one that computes has the bar, the line and the Escape key.
 */
final class StatusBar implements Progress, AutoCloseable {
    /** The smallest time between two updates: more frequent ones could not be seen. */
    private static final long REPAINT_NANOS = 40_000_000;

    /** The largest value shown: ImageJ takes 1 as the end and hides the bar. */
    private static final double ALMOST_DONE = 0.999;

    /** The time after which a command that has not reported that it waits is taken for one that does not. */
    private static final long RECENT_NANOS = 1_000_000_000;

    /** Those of the commands that run and do not wait, even if they report nothing for a while. */
    private static final Set<StatusBar> AT_WORK = ConcurrentHashMap.newKeySet();

    /** The time at which any command last waited. */
    private static volatile long waited = System.nanoTime() - RECENT_NANOS;

    private final DeviceInfo device;
    private final String escape;
    private long last = System.nanoTime() - REPAINT_NANOS;
    private volatile boolean isEscaped;

    /** @param escape a few words that say what the Escape key does */
    StatusBar(DeviceInfo device, String escape) {
        this.device = device;
        this.escape = escape;
        AT_WORK.add(this);
    }

    @Override
    public boolean step(double fraction, String stage) {
        long now = System.nanoTime();
        boolean waits = stage.equals(Turn.WAITING);
        if (!waits) {
            AT_WORK.add(this);
        } else {
            waited = now;
            AT_WORK.remove(this);
            if (!AT_WORK.isEmpty()) {
                return true;
            }
        }
        if (now - last >= REPAINT_NANOS) {
            last = now;
            String other = "";
            if (!waits) {
                IJ.showProgress(Math.min(fraction, ALMOST_DONE));
                other = now - waited < RECENT_NANOS ? ", another command waits" : "";
            }
            IJ.showStatus("Isoline on " + device.id() + ": " + stage + other + " (Esc: " + escape + ")");
        }
        if (IJ.escapePressed()) {
            // The key is this command's, and must not end one that waits for it.
            IJ.resetEscape();
            isEscaped = true;
        }
        return !isEscaped;
    }

    @Override
    public void close() {
        AT_WORK.remove(this);
    }
}
