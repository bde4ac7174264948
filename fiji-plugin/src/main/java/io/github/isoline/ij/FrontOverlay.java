package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Roi;
import io.github.isoline.IsolineException;
import io.github.isoline.LevelSet;
import io.github.isoline.PixelBuffer;
import java.awt.Color;
import java.awt.EventQueue;
import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.atomic.AtomicBoolean;

/** The front of a running level set, drawn on the slice that is shown. */
final class FrontOverlay implements AutoCloseable {
    static final Color COLOUR = new Color(0xff5a00);

    /** The smallest time between two pictures, which the eye could not follow if it were shorter. */
    static final long LEAST_NANOS = 40_000_000;

    private final ImagePlus image;
    private final HyperStackSelection planes;
    private final int[] part;
    private final GuestOverlay guests;
    private final AtomicBoolean pending = new AtomicBoolean();
    private long last = System.nanoTime() - LEAST_NANOS;

    /**
     * Creates the overlay.
     *
     * @param part stack indices of the slices that evolve
     */
    FrontOverlay(HyperStackSelection planes, int[] part) {
        image = planes.image;
        this.planes = planes;
        this.part = part;
        guests = new GuestOverlay(image);
    }

    /** Draws the current front, unless the last picture is very recent. */
    void show(LevelSet surface, PixelBuffer buffer) throws IsolineException {
        long now = System.nanoTime();
        if (now - last < LEAST_NANOS || !pending.compareAndSet(false, true)) {
            return;
        }
        last = now;
        int index = image.getCurrentSlice();
        Roi front = null;
        for (int slot = 0; slot < part.length; slot++) {
            if (part[slot] == index) {
                surface.readMask(buffer);
                byte[] mask = new byte[image.getWidth() * image.getHeight()];
                buffer.read(slot, mask);
                front = Outline.of(mask, image.getWidth(), image.getHeight());
            }
        }
        Roi[] shown = front == null ? new Roi[0] : new Roi[] {front};
        for (Roi roi : shown) {
            roi.setName("Isoline front");
            roi.setStrokeColor(COLOUR);
            // A cursor element has no label and is not saved with the image.
            roi.setIsCursor(true);
            ResultImage.setPosition(roi, image, planes.position(index));
        }
        EventQueue.invokeLater(() -> {
            pending.set(false);
            guests.show(shown);
        });
    }

    /** Restores the image's overlay. Must not be called on the event thread. */
    @Override
    public void close() {
        try {
            // This runs after the events that show() has queued.
            EventQueue.invokeAndWait(guests::restore);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        }
    }
}
