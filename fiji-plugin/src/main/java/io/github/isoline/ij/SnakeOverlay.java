package io.github.isoline.ij;

import ij.gui.Roi;
import ij.gui.ShapeRoi;
import io.github.isoline.Polygons;
import java.awt.Color;
import java.awt.EventQueue;
import java.awt.geom.Path2D;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/** The moving polygons, drawn on the slice that is shown. */
final class SnakeOverlay implements AutoCloseable {
    static final Color COLOUR = FrontOverlay.COLOUR;

    private final HyperStackSelection planes;
    private final GuestOverlay guests;
    private final AtomicBoolean pending = new AtomicBoolean();

    /** Holds the last polygons of every plane. */
    private final Map<Integer, Polygons> known = new HashMap<>();

    private long last = System.nanoTime() - FrontOverlay.LEAST_NANOS;

    SnakeOverlay(HyperStackSelection planes) {
        this.planes = planes;
        guests = new GuestOverlay(planes.image);
    }

    /** Returns true if enough time has passed since the last picture for a new one to be seen. */
    boolean isDue() {
        return System.nanoTime() - last >= FrontOverlay.LEAST_NANOS && !pending.get();
    }

    /** Draws the known polygons of the slice that is shown. */
    void show(int index, Polygons polygons) {
        known.put(index, polygons);
        if (!isDue() || !pending.compareAndSet(false, true)) {
            return;
        }
        last = System.nanoTime();
        int here = planes.image.getCurrentSlice();
        Polygons shown = known.get(here);
        Roi[] drawn = {};
        if (shown != null && shown.count() > 0) {
            Roi roi = all(shown);
            roi.setName("Isoline snake");
            roi.setStrokeColor(COLOUR);
            // A cursor element has no label and is not saved with the image.
            roi.setIsCursor(true);
            ResultImage.setPosition(roi, planes.image, planes.position(here));
            drawn = new Roi[] {roi};
        }
        Roi[] elements = drawn;
        EventQueue.invokeLater(() -> {
            pending.set(false);
            guests.show(elements);
        });
    }

    /** Returns any number of polygons as one element. */
    static Roi all(Polygons polygons) {
        Path2D.Double path = new Path2D.Double(Path2D.WIND_EVEN_ODD);
        for (int p = 0; p < polygons.count(); p++) {
            int[] nodes = polygons.get(p);
            for (int i = 0; i < nodes.length; i += 2) {
                if (i == 0) {
                    path.moveTo(nodes[i], nodes[i + 1]);
                } else {
                    path.lineTo(nodes[i], nodes[i + 1]);
                }
            }
            path.closePath();
        }
        return new ShapeRoi(path);
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
