package io.github.isoline.ij;

import ij.gui.Roi;
import io.github.isoline.Context;
import io.github.isoline.IsolineException;
import io.github.isoline.PixelBuffer;
import io.github.isoline.Snake;
import io.github.isoline.TargetStatistics;
import java.awt.Rectangle;
import java.lang.reflect.Array;

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
     * @param always true for a result also if no targets meet
     * @return null if no targets meet
     */
    static SnakePixels of(
            Context context,
            Snake snake,
            PixelBuffer output,
            TargetStatistics[] statistics,
            boolean always,
            int width,
            int height)
            throws IsolineException {
        boolean meet = always;
        for (TargetStatistics target : statistics) {
            meet |= target.overlaps();
        }
        if (output != null) {
            snake.drawLabels(output);
            return meet ? new SnakePixels(read(output), width, statistics.length) : null;
        }
        if (!meet) {
            return null;
        }
        try (PixelBuffer own = new PixelBuffer(context, SnakeLabels.type(statistics.length), width, height, 1)) {
            snake.drawLabels(own);
            return new SnakePixels(read(own), width, statistics.length);
        }
    }

    /** Returns the numbers of a plane that the library has drawn. */
    static int[] read(PixelBuffer labels) {
        Object pixels = labels.plane(0);
        int[] numbers = new int[Array.getLength(pixels)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (int) IntensitySample.value(pixels, i);
        }
        return numbers;
    }

    /** Returns true if a target has no pixel. */
    boolean isHidden(int number) {
        return counts[number] == 0;
    }

    /** Writes the labels. */
    void write(PixelBuffer labels) {
        labels.write(0, SnakeLabels.pixels(labels.type(), numbers), 0, numbers.length);
    }

    /** Returns the number of the target that a pixel belongs to, 0 for none. */
    int number(int x, int y) {
        return numbers[y * width + x];
    }

    /** Gives a pixel to a target; 0 for none. */
    void set(int x, int y, int number) {
        counts[number(x, y)]--;
        counts[number]++;
        numbers[y * width + x] = number;
    }

    /** Passes on each pixel of a target, all of which lie in a box within the image. */
    void forEach(int number, Rectangle box, AreaPixels.Visitor visitor) {
        for (int y = box.y; y < box.y + box.height; y++) {
            for (int x = box.x; x < box.x + box.width; x++) {
                if (number(x, y) == number) {
                    visitor.visit(x, y);
                }
            }
        }
    }

    /** Returns the border of the pixels of a target, which has some and all of them in a box within the image. */
    Roi outline(int number, Rectangle box) {
        return Outline.of(numbers, width, number, box);
    }
}
