package io.github.isoline.ij;

import ij.gui.Roi;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Snake;
import io.github.isoline.TargetStatistics;
import java.awt.Rectangle;

/** The pixels of each target on a plane where targets meet: there a target is not its whole polygon. */
final class SnakePixels {
    /** Holds for each pixel the number of its target, from 1 on, else 0. */
    private final int[] numbers;

    private final int width;

    /** Holds the number of pixels by number of target. */
    private final int[] counts;

    private SnakePixels(int[] numbers, int width, int targets) {
        this.numbers = numbers;
        this.width = width;
        counts = new int[targets + 1];
        for (int number : numbers) {
            counts[number]++;
        }
    }

    /**
     * Draws the labels of a plane.
     *
     * @param output receives them; null for none
     * @return null if no targets meet
     */
    static SnakePixels of(
            Context context, Snake snake, PixelBuffer output, TargetStatistics[] statistics, int width, int height)
            throws IsolineException {
        boolean meet = false;
        for (TargetStatistics target : statistics) {
            meet |= target.overlaps();
        }
        if (output != null) {
            snake.drawLabels(output);
            return meet ? new SnakePixels(read(output, width * height), width, statistics.length) : null;
        }
        if (!meet) {
            return null;
        }
        try (PixelBuffer own = new PixelBuffer(context, SnakeLabels.type(statistics.length), width, height, 1)) {
            snake.drawLabels(own);
            return new SnakePixels(read(own, width * height), width, statistics.length);
        }
    }

    private static int[] read(PixelBuffer labels, int count) {
        Object pixels = labels.type() == PixelBuffer.Type.U16 ? new short[count] : new float[count];
        labels.read(0, pixels);
        int[] numbers = new int[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = (int) IntensitySample.value(pixels, i);
        }
        return numbers;
    }

    /** Returns true if a target has no pixel. */
    boolean isHidden(int number) {
        return counts[number] == 0;
    }

    /** Returns the border of the pixels of a target, which has some, within its polygon. */
    Roi outline(int number, int... nodes) {
        Rectangle box = SimplePolygon.bounds(nodes);
        byte[] mask = new byte[box.width * box.height];
        for (int i = 0; i < mask.length; i++) {
            int at = (box.y + i / box.width) * width + box.x + i % box.width;
            mask[i] = (byte) (numbers[at] == number ? 0xff : 0);
        }
        Roi outline = Outline.of(mask, box.width, box.height);
        Rectangle found = outline.getBounds();
        outline.setLocation(box.x + found.x, box.y + found.y);
        return outline;
    }
}
