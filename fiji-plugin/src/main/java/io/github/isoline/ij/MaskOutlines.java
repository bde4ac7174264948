package io.github.isoline.ij;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The outer outlines of the parts of a picture: pixels of one value that are joined by their sides.
 * Holes are filled.
 */
final class MaskOutlines {
    /** One part. */
    static final class Part {
        /** The value of its pixels. */
        final int value;

        final int pixels;

        /** Its outline between the pixels, clockwise: corners, x and y in turn. Simple. */
        final int[] outline;

        Part(int value, int pixels, int[] outline) {
            this.value = value;
            this.pixels = pixels;
            this.outline = outline;
        }

        /** True if the outline holds pixels that are none of its own. */
        boolean hasHoles() {
            return SimplePolygon.twiceArea(outline) / 2 > pixels;
        }
    }

    /** Right, down, left, up. */
    private static final int[] DX = {1, 0, -1, 0};

    private static final int[] DY = {0, 1, 0, -1};

    private final int width;
    private final int height;
    private final int[] values;

    /** The number of the part that a pixel is in, from 1 on; 0 outside all. */
    private final int[] parts;

    private MaskOutlines(int[] values, int width) {
        this.values = values;
        this.width = width;
        height = values.length / width;
        parts = new int[values.length];
    }

    /**
     * All parts, in the order of their first pixels, row by row.
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

    /** Numbers the pixels of a part, and counts them. */
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

    /** Walks round a part between the pixels, with it on the right hand. */
    private int[] trace(int first, int number) {
        int startX = first % width;
        int startY = first / width;
        int[] corners = new int[16];
        int used = 0;
        int x = startX;
        int y = startY;
        // The first pixel is the part's topmost: its upper side is a piece of the outline.
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

    /** Where to go on at a corner. */
    private int turn(int x, int y, int heading, int number) {
        // The pixels ahead: those whose shared corner with the ones behind is this one.
        int right = (heading + 1) % DX.length;
        int left = (heading + 3) % DX.length;
        if (!isAhead(x, y, heading, right, number)) {
            return right;
        }
        return isAhead(x, y, heading, left, number) ? left : heading;
    }

    private boolean isAhead(int x, int y, int heading, int hand, int number) {
        // From the corner half a pixel ahead and half a pixel to that hand, to a pixel's number.
        int px = x + (DX[heading] + DX[hand] - 1) / 2;
        int py = y + (DY[heading] + DY[hand] - 1) / 2;
        return isIn(px, py, number);
    }

    /**
     * An outline that comes by a corner twice is cut there: pieces that touch only by a corner. The
     * largest is kept; the others lie in it, or outside as pieces of other parts.
     */
    private static int[] largestLoop(int[] corners) {
        int[] best = corners;
        boolean cut = false;
        // Corners so far that are not cut off, with the last place of each.
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
