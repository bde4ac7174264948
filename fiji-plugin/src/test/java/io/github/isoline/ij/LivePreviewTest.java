package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import ij.ImageStack;
import ij.gui.NewImage;
import ij.process.ByteProcessor;
import io.github.isoline.Distance;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the thread of a preview without a window. */
@Timeout(60)
class LivePreviewTest extends HeadlessTest {
    private final PreviewMessages messages = new PreviewMessages();
    private final BlockingQueue<String> said = messages.said;

    private static Void distance(ImagePlus image, Progress progress) throws IsolineException {
        return Contexts.use("cpu", context -> {
            try (PixelBuffer mask = Pixels.buffer(context, PixelBuffer.Type.U8, image, 1);
                    PixelBuffer output = Pixels.buffer(context, PixelBuffer.Type.F32, image, 1)) {
                mask.write(0, new byte[image.getWidth() * image.getHeight()]);
                Distance.run(context, new Params(Distance.NAME), mask, output, 1, progress);
                return null;
            }
        });
    }

    @Test
    void closingDoesNotWaitForTheRunOfAnotherImage() throws Exception {
        ImagePlus image = open("horse.png");
        CountDownLatch holding = new CountDownLatch(1);
        CountDownLatch enough = new CountDownLatch(1);
        Thread run = new Thread(() -> {
            try {
                distance(image, (fraction, stage) -> {
                    holding.countDown();
                    try {
                        return enough.await(30, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        return false;
                    }
                });
            } catch (IsolineException e) {
                said.add(e.getMessage());
            }
        });
        run.start();
        holding.await();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        LivePreview<String> preview = new LivePreview<String>(image, messages) {
            @Override
            String compute(String settings, boolean draw) throws IsolineException {
                begun.countDown();
                try {
                    distance(image, null);
                    return "computed";
                } finally {
                    ended.countDown();
                }
            }
        };
        preview.request("", true);
        assertTrue(begun.await(30, TimeUnit.SECONDS));
        // It is in the library soon after.
        Thread.sleep(100);
        long began = System.nanoTime();
        preview.close();
        assertTrue(System.nanoTime() - began < TimeUnit.SECONDS.toNanos(10));
        assertTrue(ended.await(10, TimeUnit.SECONDS), "the worker still waits for the device");
        enough.countDown();
        run.join();
        assertEquals(0, said.size(), said.toString());
    }

    /** Shows the number of slices and their largest value, for which each slice is read once. */
    private final class Largest extends LivePreview<String> {
        Largest(ImagePlus image) {
            super(image, messages);
        }

        @Override
        String compute(String settings, boolean draw) throws IsolineException {
            int[] all = HyperStackSelection.everything(image).indices();
            GreyRange range = new GreyRange();
            eachSlice(all, GreyRange::of, range::add);
            pixels("cpu", image.getCurrentSlice());
            return all.length + " " + (int) range.max;
        }
    }

    @Test
    void imageMayChangeWhileADialogIsOpen() throws Exception {
        ImagePlus image = NewImage.createByteImage("changing", 8, 8, 3, NewImage.FILL_BLACK);
        Largest preview = new Largest(image);
        preview.request("", true);
        assertEquals("3 0", messages.next());
        image.getStack().getProcessor(2).set(4, 4, 90);
        preview.imageUpdated(image);
        assertEquals("3 90", messages.next(), "another slice than the one shown has changed");
        ImageStack longer = image.getStack().duplicate();
        longer.addSlice(new ByteProcessor(8, 8));
        longer.getProcessor(4).set(1, 1, 99);
        image.setStack(longer);
        preview.imageUpdated(image);
        assertEquals("4 99", last());
        convert(image, 32);
        preview.imageUpdated(image);
        assertEquals("4 99", last());
        image.setStack(NewImage.createByteImage("larger", 30, 20, 2, NewImage.FILL_WHITE)
                .getStack());
        preview.imageUpdated(image);
        assertEquals("2 255", last());
        preview.close();
    }

    /** Returns what was said last: ImageJ may tell of a change more than once. */
    private String last() throws InterruptedException {
        String last = messages.next();
        for (String more = last; more != null; more = said.poll(300, TimeUnit.MILLISECONDS)) {
            last = more;
        }
        return last;
    }
}
