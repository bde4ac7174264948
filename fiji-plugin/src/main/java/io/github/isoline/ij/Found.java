package io.github.isoline.ij;

import ij.IJ;
import ij.ImagePlus;
import ij.gui.Roi;
import ij.measure.ResultsTable;
import io.github.isoline.InSlices;
import io.github.isoline.IsolineException;
import java.awt.Color;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Holds all that a command found in an image, which may come from several calls to the library, and makes a selection
 * and a row of each.
 *
 * @param <T> what one call finds
 */
abstract class Found<T extends InSlices> {
    /**
     * The offset from a pixel's index to its centre, for areas and tables: their coordinates are those of the pixels'
     * corners. For lines and points ImageJ itself counts from the centres.
     */
    static final float CENTRE = 0.5f;

    private static final int LEAST_DIGITS = 4;

    /** The number of selections made between two checks of the Escape key. */
    private static final int CANCEL_INTERVAL = 1024;

    final ImagePlus image;

    /** The column of the numbers, which names what was found. */
    final String column;

    private final HyperStackSelection planes;
    private final Settings settings;
    private final String prefix;
    private final List<T> calls = new ArrayList<>();
    private final List<int[]> parts = new ArrayList<>();
    private int count;

    /**
     * @param column a noun, with a capital letter
     * @param prefix of the selections' names
     */
    Found(HyperStackSelection planes, Settings settings, String column, String prefix) {
        image = planes.image;
        this.planes = planes;
        this.settings = settings;
        this.column = column;
        this.prefix = prefix;
    }

    /** Returns the length by which the longest are chosen, in pixels or in the image's unit. */
    abstract double length(T some, int at);

    /** Returns the selection, without name, colour and position. */
    abstract Roi shape(T some, int at);

    /** Returns the colour of a selection, unlike that of its neighbours. */
    Color colour(int number, T some, int at) {
        return SegmentColours.of(number);
    }

    /** Returns the beginning of a selection's name. */
    String prefix(T some, int at) {
        return prefix;
    }

    /** Adds the values of a row; the number is that of its element among all, from 0 on. */
    abstract void addValues(ResultsTable table, int number, T some, int at);

    /** Adds what one call found, with the stack index of each slice of the call. */
    void add(T some, int[] part) {
        count = Math.addExact(count, some.count());
        calls.add(some);
        parts.add(part);
    }

    final int count() {
        return count;
    }

    /** Returns the name of what was found, for messages. */
    final String noun() {
        return column.toLowerCase(Locale.ROOT);
    }

    /** A visitor of single elements. */
    @FunctionalInterface
    private interface Visitor<T, E extends Exception> {
        /**
         * Visits an element.
         *
         * @param number its index among all, from 0 on
         * @param some the list that holds it
         * @param at the index in that list
         * @param index its slice in the input stack, from 1 on
         */
        void visit(int number, T some, int at, int index) throws IsolineException, E;
    }

    /** Visits every element in order. */
    private <E extends Exception> void forEach(Visitor<T, E> visitor) throws IsolineException, E {
        int number = 0;
        for (int call = 0; call < calls.size(); call++) {
            T some = calls.get(call);
            int[] part = parts.get(call);
            for (int at = 0; at < some.count(); at++) {
                visitor.visit(number, some, at, part[some.slice(at)]);
                number++;
            }
        }
    }

    /** Returns the longest as selections, in their own order, named by their number among all; of equals the first. */
    final List<Roi> longest(int most) throws IsolineException {
        double[] lengths = new double[count];
        forEach((number, some, at, index) -> lengths[number] = length(some, at));
        double[] sorted = lengths.clone();
        Arrays.sort(sorted);
        double least = count > most ? sorted[count - most] : 0;
        long longer = Arrays.stream(lengths).filter(length -> length > least).count();
        long[] room = {most - longer};
        List<Roi> rois = new ArrayList<>(Math.min(most, count));
        forEach((number, some, at, index) -> {
            if (lengths[number] > least || lengths[number] == least && room[0]-- > 0) {
                rois.add(roi(number, some, at, index));
            }
            glance(number);
        });
        return rois;
    }

    /** Converts every element to a selection, one after the other: all at once would need much memory. */
    final void all(RoiOutput.Taker taker) throws IsolineException, IOException {
        this.<IOException>forEach((number, some, at, index) -> {
            taker.take(roi(number, some, at, index));
            glance(number);
        });
    }

    final void addRows(ResultsTable table) throws IsolineException {
        forEach((number, some, at, index) -> {
            StackJob.startRow(table, image);
            table.addValue(column, number + 1);
            StackJob.addPosition(table, planes, index, true);
            addValues(table, number, some, at);
            ShapeColumns.addUnit(table, image);
        });
    }

    /** Returns a selection with a name that is short, since the ROI Manager's list is narrow: "seg-0012 s3". */
    private Roi roi(int number, T some, int at, int index) {
        int digits = Math.max(LEAST_DIGITS, Integer.toString(count).length());
        String name = prefix(some, at) + IJ.pad(number + 1, digits) + ResultImage.where(image, index);
        return RoiOutput.dress(shape(some, at), name, colour(number, some, at), settings.kind, planes, index);
    }

    private void glance(int number) throws IsolineException {
        if (number % CANCEL_INTERVAL == 0) {
            IJ.showProgress(number, count);
            StackJob.checkEscape();
        }
    }
}
