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
    private final int[] values;

    /** Holds the number of the part that contains a pixel, from 1 on; 0 outside all. */
    private final int[] parts;

    private MaskOutlines(int[] values, int width) {
        this.values = values;
        this.width = width;
        height = values.length / width;
        parts = new int[values.length];
    }

    /**
     * Returns all parts, in the order of their first pixels, row by row.
     *
     * @param values 0 outside
     */
    static List<Part> of(int[] values, int width) {
        MaskOutlines outlines = new MaskOutlines(values, width);
        List<Part> found = new ArrayList<>();
        for (int pixel = 0; pixel < values.length; pixel++) {
            if (values[pixel] != 0 && outlines.parts[pixel] == 0) {
                int number = found.size() + 1;
                int pixels = outlines.fill(pixel, number);
                found.add(new Part(values[pixel], pixels, outlines.trace(pixel, number)));
            }
        }
        return found;
    }

    /** Numbers the pixels of a part, and returns their count. */
    private int fill(int first, int number) {
        int[] open = new int[64];
        int waiting = 0;
        int count = 0;
        parts[first] = number;
        open[waiting++] = first;
        while (waiting > 0) {
            int pixel = open[--waiting];
            count++;
            if (waiting + DX.length > open.length) {
                open = Arrays.copyOf(open, 2 * open.length);
            }
            for (int d = 0; d < DX.length; d++) {
                int x = pixel % width + DX[d];
                int y = pixel / width + DY[d];
                if (x >= 0 && x < width && y >= 0 && y < height) {
                    int next = y * width + x;
                    if (parts[next] == 0 && values[next] == values[first]) {
                        parts[next] = number;
                        open[waiting++] = next;
                    }
                }
            }
        }
        return count;
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
