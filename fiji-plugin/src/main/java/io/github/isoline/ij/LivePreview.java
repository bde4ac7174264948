package io.github.isoline.ij;

import ij.ImageListener;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.gui.RoiListener;
import io.github.isoline.IsolineException;
import java.awt.EventQueue;
import java.util.function.Supplier;

/**
 * Shows on the current slice what a dialog's settings mean, while the user still changes them.
 * Computes in a thread of its own, where the newest wish stops the one before.
 *
 * @param <S> the settings, which must not change after they were handed over
 */
abstract class LivePreview<S> implements ImageListener, RoiListener {
    /** Hears on the event thread what was computed. */
    interface Listener {
        /**
         * @param text what is seen, or why nothing is
         */
        void status(String text);

        /**
         * @param why the command cannot run with these settings on the image as it is
         */
        void refused(String why);

        /** The image's window was closed. */
        void imageClosed();
    }

    /** One thing to do for the worker. */
    private static final class Wish<S> {
        final S settings;
        final boolean draw;

        Wish(S settings, boolean draw) {
            this.settings = settings;
            this.draw = draw;
        }
    }

    final ImagePlus image;
    private final Listener listener;
    private final Thread worker = new Thread(this::work, "Isoline preview");

    /** Of the event thread alone. */
    private final GuestOverlay guests;

    // Under the monitor of this:
    private Wish<S> wish;
    private Wish<S> last;
    private boolean closed;

    LivePreview(ImagePlus image, Listener listener) {
        this.image = image;
        this.listener = listener;
        guests = new GuestOverlay(image);
        worker.setDaemon(true);
    }

    /**
     * Computes in the worker's thread, looks now and then whether it {@link #isOutdated}, and
     * shows.
     *
     * @param draw false if the image is to be left alone
     * @return what the dialog is to say; null if a newer wish has come
     */
    abstract String compute(S settings, boolean draw) throws BadInput, IsolineException;

    /** Pixels of a slice have changed, or another slice is shown. */
    void slicesChanged(int slice) {}

    /** The last thing that the worker does. */
    void release() {}

    /**
     * Takes a wish; an older one that is not done yet is dropped.
     *
     * @param draw false: take the preview from the image
     */
    final synchronized void request(S settings, boolean draw) {
        if (last == null) {
            worker.start();
            ImagePlus.addImageListener(this);
        }
        wish = new Wish<>(settings, draw);
        last = wish;
        notifyAll();
    }

    /** Takes the preview from the image: the settings make no sense. */
    final void clear() {
        request(null, false);
    }

    /** The last wish once more: something that it depends on has changed. */
    final synchronized void requestAgain() {
        if (last != null && wish == null) {
            wish = last;
            notifyAll();
        }
    }

    /** Computes anew when the image's selection changes. */
    final void followSelection() {
        Roi.addRoiListener(this);
    }

    @Override
    public final void roiModified(ImagePlus which, int what) {
        if (which == image) {
            // ImageJ says that a selection is deleted while the image still has it.
            EventQueue.invokeLater(this::requestAgain);
        }
    }

    /** Ends the preview and gives the image its overlay back. Not on the event thread. */
    final void close() {
        ImagePlus.removeImageListener(this);
        Roi.removeRoiListener(this);
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            worker.join();
            EventQueue.invokeAndWait(guests::restore);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    final synchronized boolean isOutdated() {
        return closed || wish != null;
    }

    /** Shows elements on the image, unless it is too late for that. */
    final void show(Supplier<Roi[]> elements) {
        EventQueue.invokeLater(
                () -> {
                    synchronized (this) {
                        if (closed || last != null && !last.draw) {
                            return;
                        }
                    }
                    guests.show(elements.get());
                });
    }

    /** Takes everything from the image. */
    final void hide() {
        EventQueue.invokeLater(guests::restore);
    }

    private synchronized Wish<S> next() throws InterruptedException {
        while (wish == null && !closed) {
            wait();
        }
        Wish<S> next = closed ? null : wish;
        wish = null;
        return next;
    }

    /** Says what a wish came to, unless there is a newer one by the time that it can be said. */
    private void tell(Wish<S> done, Runnable words) {
        EventQueue.invokeLater(
                () -> {
                    synchronized (this) {
                        if (closed || done != last) {
                            return;
                        }
                    }
                    words.run();
                });
    }

    private void work() {
        try {
            for (Wish<S> next = next(); next != null; next = next()) {
                if (next.settings == null) {
                    hide();
                    continue;
                }
                String status;
                try {
                    status = compute(next.settings, next.draw);
                } catch (BadInput e) {
                    tell(next, () -> listener.refused(e.getMessage()));
                    continue;
                } catch (IsolineException e) {
                    status = e.isCancelled() ? null : e.getMessage();
                } catch (OutOfMemoryError e) {
                    status = "not enough memory in Java for the preview";
                } catch (RuntimeException e) {
                    // An image that is closed or changed meanwhile loses its pixels at any time.
                    status = isOutdated() ? null : "failed: " + e;
                }
                if (status != null) {
                    String text = status;
                    tell(next, () -> listener.status(text));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            release();
        }
    }

    @Override
    public final void imageOpened(ImagePlus opened) {}

    @Override
    public final void imageClosed(ImagePlus which) {
        if (which == image) {
            listener.imageClosed();
        }
    }

    @Override
    public final void imageUpdated(ImagePlus which) {
        if (which == image) {
            slicesChanged(image.getCurrentSlice());
            requestAgain();
        }
    }
}
