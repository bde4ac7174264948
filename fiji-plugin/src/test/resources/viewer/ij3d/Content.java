package ij3d;

import java.util.TreeMap;

/** A stand-in for the class of this name. */
public class Content {
    final String name;
    final TreeMap<Integer, ContentInstant> contents;

    public Content(String name) {
        this(name, 0);
    }

    public Content(String name, int tp) {
        throw new UnsupportedOperationException();
    }

    public Content(String name, TreeMap<Integer, ContentInstant> contents) {
        this.name = name;
        this.contents = contents;
    }
}
