package io.github.isoline.ij;

import java.awt.Color;

/** Colours that distinguish neighbours in a list, on dark and on bright images. */
final class SegmentColours {
    private static final Color[] COLOURS = {
        new Color(0xff4b4b),
        new Color(0x35d05b),
        new Color(0x4a90ff),
        new Color(0xffb000),
        new Color(0xd86bff),
        new Color(0x00d5d5),
        new Color(0xff7ab8),
        new Color(0xb6d800),
        new Color(0xff8748),
        new Color(0x6fb8ff),
    };

    private SegmentColours() {}

    /** Returns the colour of a segment by its number, from 0 on. */
    static Color of(int number) {
        return COLOURS[number % COLOURS.length];
    }

    static int count() {
        return COLOURS.length;
    }
}
