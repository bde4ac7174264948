package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import java.awt.Color;
import java.awt.EventQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/** The picture of a running computation, drawn on the slice that is shown. */
final class RunOverlay implements AutoCloseable {
    static final Color COLOUR = new Color(0xff5a00);

    /** The smallest time between two pictures, which the eye could not follow if it were shorter. */
    private static final long LEAST_NANOS = 40_000_000;

    private final GuestOverlay guests;
    private final AtomicBoolean pending = new AtomicBoolean();
    private long last = System.nanoTime() - LEAST_NANOS;

    RunOverlay(ImagePlus image) {
        guests = new GuestOverlay(image);
    }

    /** Returns true if enough time has passed since the last picture for a new one to be seen. */
    boolean isDue() {
        return System.nanoTime() - last >= LEAST_NANOS && !pending.get();
    }

    /** Draws an element instead of the last one; null for none. */
    void show(Roi element) {
        last = System.nanoTime();
        pending.set(true);
        Roi[] shown = element == null ? new Roi[0] : new Roi[] {element};
        for (Roi roi : shown) {
            roi.setStrokeColor(COLOUR);
        }
        EventQueue.invokeLater(() -> {
            pending.set(false);
            guests.show(shown);
        });
    }

    /** Restores the image's overlay. Must not be called on the event thread. */
    @Override
    public void close() {
        // This runs after the events that show() has queued.
        Host.onEventThread(guests::restore);
    }
}
