package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.ImagePlus;
import io.github.isoline.Distance;
import io.github.isoline.IsolineException;
import io.github.isoline.Params;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Progress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the thread of a preview without a window. */
@Timeout(60)
class LivePreviewTest extends HeadlessTest implements LivePreview.Listener {
    private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

    @Override
    public void status(String text) {
        said.add(text);
    }

    @Override
    public void refused(String why) {
        said.add("refused: " + why);
    }

    @Override
    public void imageClosed() {}

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
        CountDownLatch ended = new CountDownLatch(1);
        LivePreview<String> preview = new LivePreview<String>(image, this) {
            @Override
            String compute(String settings, boolean draw) throws IsolineException {
                try {
                    distance(image, null);
                    return "computed";
                } finally {
                    ended.countDown();
                }
            }
        };
        preview.request("", true);
        Thread.sleep(100);
        long began = System.nanoTime();
        preview.close();
        assertTrue(System.nanoTime() - began < TimeUnit.SECONDS.toNanos(10));
        assertTrue(ended.await(10, TimeUnit.SECONDS), "the worker still waits for the device");
        enough.countDown();
        run.join();
        assertEquals(0, said.size(), said.toString());
    }
}
