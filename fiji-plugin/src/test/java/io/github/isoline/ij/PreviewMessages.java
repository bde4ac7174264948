package io.github.isoline.ij;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Keeps what a preview says. */
final class PreviewMessages implements LivePreview.Listener {
    final BlockingQueue<String> said = new LinkedBlockingQueue<>();

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

    String next() throws InterruptedException {
        return said.poll(30, TimeUnit.SECONDS);
    }
}
