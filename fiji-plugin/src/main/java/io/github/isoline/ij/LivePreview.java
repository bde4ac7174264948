package io.github.isoline.ij;

import ij.ImageListener;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.gui.RoiListener;
import io.github.isoline.CancelFlag;
import io.github.isoline.Context;
import io.github.isoline.Findings;
import io.github.isoline.IsolineException;
import io.github.isoline.Isolines;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Polylines;
import io.github.isoline.Progress;
import io.github.isoline.Report;
import java.awt.EventQueue;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Shows on the current slice the effect of a dialog's parameters while the user changes them. Computes in its own
 * thread, where a new request cancels the running one.
 *
 * @param <S> the parameters, which must not change after a request
 */
abstract class LivePreview<S> implements ImageListener, RoiListener {
    /** Receives results on the event thread. */
    interface Listener {
        /** Receives a description of the preview for the dialog, or why there is none. */
        void status(String text);

        /** Receives the reason why the command cannot run with these parameters on the current image. */
        void refused(String why);

        /** Reports that the image's window was closed. */
        void imageClosed();
    }

    /** One request for the worker. */
    private static final class PreviewRequest<S> {
        final S settings;
        final boolean draw;

        PreviewRequest(S settings, boolean draw) {
            this.settings = settings;
            this.draw = draw;
        }
    }

    private static final double PERCENT = 100;

    /** The longest time in which a closed dialog waits for the worker, which frees its memory by itself. */
    private static final long CLOSING_MILLIS = 1000;

    /** The time after a step of scrolling in which updates may be those of more steps. */
    private static final long STEP_NANOS = 300_000_000;

    final ImagePlus image;

    /** Ends what is computed when a newer request has come. */
    final Progress valid = (fraction, stage) -> {
        tellOfWait(stage);
        return !isOutdated();
    };

    private final Listener listener;
    private final Thread worker = new Thread(this::work, "Isoline preview");

    /** Only the event thread uses this field. */
    private final GuestOverlay guests;

    /** Holds what is known of slices by their stack index; only the worker adds, but others may remove. */
    private final Map<Integer, Object> known = new HashMap<>();

    /** The number of updates of the image, guarded by {@link #known}: what was computed before the last is not kept. */
    private int changes;

    // Only the event thread uses these fields: the slice that was shown when the image was updated last, and the
    // number of slices; and when the user last scrolled.
    private List<Integer> seen;
    private long scrolled = System.nanoTime() - STEP_NANOS;

    // Only the worker uses these fields: the request that is computed, and whether the dialog says that it waits; the
    // buffers by their use, and the size and pixel type of the image that they are for.
    private PreviewRequest<S> current;
    private boolean told;
    private final Map<String, PixelBuffer> buffers = new HashMap<>();
    private List<Integer> format;

    // These fields are guarded by the monitor of this object.
    private PreviewRequest<S> pending;
    private PreviewRequest<S> last;
    private boolean closed;
    private CancelFlag flag;

    LivePreview(ImagePlus image, Listener listener) {
        this.image = image;
        this.listener = listener;
        guests = new GuestOverlay(image);
        seen = shown();
        worker.setDaemon(true);
    }

    /**
     * Computes in the worker's thread, checks at intervals whether it {@link #isOutdated}, and shows the result.
     *
     * @param draw false if the image is to be left alone
     * @return the text for the dialog; null if a newer request has come
     * @throws BadInput if the command cannot run; the preview is then removed from the image
     */
    abstract String compute(S settings, boolean draw) throws IsolineException;

    /** A computation on a device. */
    @FunctionalInterface
    interface Run<T> {
        T on(Context context, Progress progress) throws IsolineException;
    }

    /** Computes on a device until a newer request comes. */
    final <T> T run(String device, Run<T> computation) throws IsolineException {
        return Turn.use(device, valid, context -> computation.on(context, valid));
    }

    /**
     * Returns memory for one slice, the same at each call until the image has another size or type. It is freed with
     * the preview, suits the device, and can be used on others.
     *
     * @param what it is for
     */
    final PixelBuffer buffer(String what, String device, PixelBuffer.Type type) throws IsolineException {
        PixelBuffer buffer = buffers.get(what);
        if (buffer == null) {
            buffer = Pixels.buffer(Contexts.of(device), type, image, 1);
            buffers.put(what, buffer);
        }
        return buffer;
    }

    private void freeBuffers() {
        buffers.values().forEach(PixelBuffer::close);
        buffers.clear();
    }

    /** Returns memory with the pixels of a slice, the same memory at each call. */
    final PixelBuffer pixels(String device, int slice) throws IsolineException {
        PixelBuffer pixels = buffer("pixels", device, Pixels.type(image));
        pixels.write(0, Pixels.of(image, slice));
        return pixels;
    }

    /** Finds isolines of the current slice and shows them. */
    final Findings<Polylines> showIsolines(String device, Params params, double... levels) throws IsolineException {
        int slice = image.getCurrentSlice();
        PixelBuffer input = pixels(device, slice);
        Findings<Polylines> result =
                run(device, (context, progress) -> Isolines.run(context, params, levels, input, 1, progress));
        PreviewPaths curves = PreviewPaths.of(result.found(), image, slice);
        show(() -> new Roi[] {curves});
        return result;
    }

    /** Returns what was found in the current slice, with the time that it took. */
    final String found(String what, Report report) {
        return what + (image.getStackSize() > 1 ? " in this slice" : "") + timed(report);
    }

    /** Returns the end of a text: the time of a run, and its device. */
    static String timed(Report report) {
        return String.format(Locale.ROOT, ", %.1f ms on %s", report.seconds() * 1000, report.device());
    }

    /**
     * Takes what is known of some slices; it is computed once for each, until the pixels change.
     *
     * @param compute the same for all calls
     * @param taker returns false to end early
     * @return false if a newer request has come
     */
    @SuppressWarnings("unchecked")
    final <T> boolean eachSlice(int[] indices, Function<Object, T> compute, Predicate<T> taker) throws BadInput {
        for (int index : indices) {
            T one;
            int before;
            synchronized (known) {
                one = (T) known.get(index);
                before = changes;
            }
            if (one == null) {
                if (isOutdated()) {
                    return false;
                }
                one = compute.apply(Pixels.of(image, index));
                synchronized (known) {
                    if (changes == before) {
                        known.put(index, one);
                    }
                }
            }
            if (!taker.test(one)) {
                return true;
            }
        }
        return true;
    }

    /** Returns the values of some slices; null if a newer request has come. */
    final TwoValues values(int[] indices) throws BadInput {
        TwoValues all = new TwoValues();
        return eachSlice(indices, TwoValues::of, all::add) ? all : null;
    }

    /** Returns a share in percent. */
    static double percent(int part, int all) {
        return PERCENT * part / all;
    }

    /** Requests a preview instead of an older one that is not finished, or that it is removed from the image. */
    final synchronized void request(S settings, boolean draw) {
        if (last == null) {
            worker.start();
            ImagePlus.addImageListener(this);
        }
        pending = new PreviewRequest<>(settings, draw);
        last = pending;
        notifyAll();
    }

    /** Removes the preview from the image, because the parameters are not valid. */
    final void clear() {
        request(null, false);
    }

    /** Repeats the last request, because something that it depends on has changed. */
    final synchronized void requestAgain() {
        if (last != null && pending == null) {
            pending = last;
            notifyAll();
        }
    }

    /** Computes again when the image's selection changes. */
    final void followSelection() {
        Roi.addRoiListener(this);
    }

    @Override
    public final void roiModified(ImagePlus which, int what) {
        if (which == image) {
            // ImageJ reports the deletion of a selection while the image still has it.
            EventQueue.invokeLater(this::requestAgain);
        }
    }

    /** Ends the preview and restores the image's overlay. Must not be called on the event thread. */
    final void close() {
        ImagePlus.removeImageListener(this);
        Roi.removeRoiListener(this);
        synchronized (this) {
            closed = true;
            notifyAll();
            if (flag != null) {
                // The worker may be waiting for the device, which a long run of another image has.
                flag.cancel();
            }
        }
        try {
            worker.join(CLOSING_MILLIS);
            Host.onEventThread(guests::restore);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    final synchronized boolean isOutdated() {
        return closed || pending != null;
    }

    /** Shows elements on the image, unless the preview was closed or a newer request has come. */
    final void show(Supplier<Roi[]> elements) {
        EventQueue.invokeLater(() -> {
            synchronized (this) {
                if (closed || last != null && !last.draw) {
                    return;
                }
            }
            guests.show(elements.get());
        });
    }

    /** Removes all elements from the image. */
    final void hide() {
        EventQueue.invokeLater(guests::restore);
    }

    private synchronized PreviewRequest<S> next() throws InterruptedException {
        while (pending == null && !closed) {
            wait();
        }
        PreviewRequest<S> next = closed ? null : pending;
        pending = null;
        return next;
    }

    /** Reports once that a request waits for a command, which may take long. */
    private void tellOfWait(String stage) {
        if (!told && stage.equals(Turn.WAITING)) {
            told = true;
            publish(current, () -> listener.status(stage + "..."));
        }
    }

    /** Reports the result of a request, unless there is a newer one by then. */
    private void publish(PreviewRequest<S> done, Runnable words) {
        EventQueue.invokeLater(() -> {
            synchronized (this) {
                if (closed || done != last) {
                    return;
                }
            }
            words.run();
        });
    }

    private void work() {
        try (CancelFlag own = new CancelFlag()) {
            synchronized (this) {
                flag = own;
            }
            for (PreviewRequest<S> next = next(); next != null; next = next()) {
                if (next.settings == null) {
                    hide();
                } else {
                    answer(next);
                }
            }
        } catch (IsolineException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            freeBuffers();
            Contexts.rest();
        }
    }

    private void answer(PreviewRequest<S> next) {
        String status;
        current = next;
        told = false;
        List<Integer> now = format();
        if (!now.equals(format)) {
            freeBuffers();
            format = now;
        }
        try {
            status = compute(next.settings, next.draw);
        } catch (BadInput e) {
            hide();
            publish(next, () -> listener.refused(e.getMessage()));
            return;
        } catch (IsolineException e) {
            status = e.isCancelled() ? null : e.getMessage();
        } catch (OutOfMemoryError e) {
            status = "not enough memory in Java for the preview";
        } catch (RuntimeException e) {
            // An image that is closed or changed may lose its pixels at any time.
            boolean converted = !format().equals(format);
            status = converted || isOutdated() ? null : "failed: " + e;
            if (converted) {
                requestAgain();
            }
        }
        if (status != null) {
            String text = status;
            publish(next, () -> listener.status(text));
        }
    }

    private List<Integer> format() {
        return Arrays.asList(image.getWidth(), image.getHeight(), image.getType());
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
            List<Integer> now = shown();
            if (!now.get(0).equals(seen.get(0))) {
                scrolled = System.nanoTime();
            }
            // The updates of several steps may come after the last of them.
            boolean mayBeAStep = System.nanoTime() - scrolled < STEP_NANOS;
            synchronized (known) {
                known.remove(now.get(0));
                if (!mayBeAStep || !now.get(1).equals(seen.get(1))) {
                    // The user did not scroll: any slice may have changed.
                    known.clear();
                }
                changes++;
                seen = now;
            }
            requestAgain();
        }
    }

    private List<Integer> shown() {
        return Arrays.asList(image.getCurrentSlice(), image.getStackSize());
    }
}
