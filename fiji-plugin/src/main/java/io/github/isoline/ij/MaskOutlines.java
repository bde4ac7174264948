package io.github.isoline.ij;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Computes the outer outlines of the parts of a picture: connected pixels of one value. Pixels are connected by their
 * sides; holes are filled.
 */
final class MaskOutlines {
    /** One connected part. */
    static final class Part {
        /** The value of its pixels. */
        final int value;

        final int pixels;

        /** The outline between the pixels, clockwise: corners, x and y alternately. It is simple. */
        final int[] outline;

        Part(int value, int pixels, int[] outline) {
            this.value = value;
            this.pixels = pixels;
            this.outline = outline;
        }

        /** Returns true if the outline encloses pixels that are not of the part. */
        boolean hasHoles() {
            return SimplePolygon.twiceArea(outline) / 2 > pixels;
        }
    }

    /** The directions right, down, left, up. */
    private static final int[] DX = {1, 0, -1, 0};

    private static final int[] DY = {0, 1, 0, -1};

    private final int width;
    private final int height;

    /** Holds the number of the part that contains a pixel, from 1 on; 0 outside all. */
    private final int[] parts;

    private MaskOutlines(int[] parts, int width) {
        this.parts = parts;
        this.width = width;
        height = parts.length / width;
    }

    /** Returns all parts of values other than 0, in the order of their first pixels, row by row. */
    static List<Part> of(int[] values, int width) {
        MaskObjects objects = new MaskObjects(new int[1][values.length], width, (z, pixel) -> values[pixel]);
        MaskOutlines outlines = new MaskOutlines(objects.labels[0], width);
        int[] pixels = new int[objects.count + 1];
        int[] firsts = new int[objects.count + 1];
        for (int pixel = 0; pixel < values.length; pixel++) {
            int number = outlines.parts[pixel];
            if (pixels[number]++ == 0) {
                firsts[number] = pixel;
            }
        }
        List<Part> found = new ArrayList<>();
        for (int number = 1; number <= objects.count; number++) {
            int first = firsts[number];
            found.add(new Part(values[first], pixels[number], outlines.trace(first, number)));
        }
        return found;
    }

    private boolean isIn(int x, int y, int number) {
        return x >= 0 && x < width && y >= 0 && y < height && parts[y * width + x] == number;
    }

    /** Traces the border of a part between the pixels, with the part on the right-hand side. */
    private int[] trace(int first, int number) {
        int startX = first % width;
        int startY = first / width;
        int[] corners = new int[16];
        int used = 0;
        int x = startX;
        int y = startY;
        // The first pixel is the part's topmost: its upper side lies on the outline.
        int heading = 0;
        do {
            x += DX[heading];
            y += DY[heading];
            int turned = turn(x, y, heading, number);
            if (turned != heading) {
                if (used + 2 > corners.length) {
                    corners = Arrays.copyOf(corners, 2 * corners.length);
                }
                corners[used++] = x;
                corners[used++] = y;
            }
            heading = turned;
        } while (x != startX || y != startY || heading != 0);
        return largestLoop(Arrays.copyOf(corners, used));
    }

    /** Returns the heading after a corner. */
    private int turn(int x, int y, int heading, int number) {
        // These are the two pixels ahead of the corner.
        int right = (heading + 1) % DX.length;
        int left = (heading + 3) % DX.length;
        if (!isAhead(x, y, heading, right, number)) {
            return right;
        }
        return isAhead(x, y, heading, left, number) ? left : heading;
    }

    private boolean isAhead(int x, int y, int heading, int hand, int number) {
        // The corner plus half a pixel ahead and half a pixel to that side is a pixel's centre.
        int px = x + (DX[heading] + DX[hand] - 1) / 2;
        int py = y + (DY[heading] + DY[hand] - 1) / 2;
        return isIn(px, py, number);
    }

    /**
     * Returns the largest loop of an outline. An outline that passes a corner twice, where pixels touch only by a
     * corner, is divided there. The other loops lie inside it, or outside as parts of their own.
     */
    private static int[] largestLoop(int[] corners) {
        int[] best = corners;
        boolean cut = false;
        // These are the remaining corners, with the last index of each.
        java.util.Map<Long, Integer> places = new java.util.HashMap<>();
        int[] open = new int[corners.length];
        int used = 0;
        long largest = 0;
        for (int i = 0; i < corners.length; i += 2) {
            long key = (long) corners[i] << Integer.SIZE | corners[i + 1];
            Integer before = places.get(key);
            if (before != null) {
                int[] loop = Arrays.copyOfRange(open, before, used);
                cut = true;
                if (SimplePolygon.twiceArea(loop) > largest) {
                    largest = SimplePolygon.twiceArea(loop);
                    best = loop;
                }
                for (int at = before; at < used; at += 2) {
                    places.remove((long) open[at] << Integer.SIZE | open[at + 1]);
                }
                used = before;
            }
            places.put(key, used);
            open[used++] = corners[i];
            open[used++] = corners[i + 1];
        }
        int[] rest = Arrays.copyOf(open, used);
        return !cut || SimplePolygon.twiceArea(rest) > largest ? rest : best;
    }
}
