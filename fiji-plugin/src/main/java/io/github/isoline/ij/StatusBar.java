package io.github.isoline.ij;

import ij.IJ;
import io.github.isoline.DeviceInfo;
import io.github.isoline.Progress;

/** The progress in ImageJ's window; Escape ends the run. */
final class StatusBar implements Progress {
    /** The smallest time between two updates: more frequent ones could not be seen. */
    private static final long REPAINT_NANOS = 40_000_000;

    /** The largest value shown: ImageJ takes 1 as the end and hides the bar. */
    private static final double ALMOST_DONE = 0.999;

    private final DeviceInfo device;
    private final String escape;
    private long last = System.nanoTime() - REPAINT_NANOS;

    /** @param escape a few words that say what the Escape key does */
    StatusBar(DeviceInfo device, String escape) {
        this.device = device;
        this.escape = escape;
    }

    @Override
    public boolean step(double fraction, String stage) {
        long now = System.nanoTime();
        if (now - last >= REPAINT_NANOS) {
            last = now;
            IJ.showProgress(Math.min(fraction, ALMOST_DONE));
            IJ.showStatus("Isoline on " + device.id() + ": " + stage + " (Esc: " + escape + ")");
        }
        return !IJ.escapePressed();
    }
}
