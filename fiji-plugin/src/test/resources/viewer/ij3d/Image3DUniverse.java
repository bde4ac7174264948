package ij3d;

import java.awt.EventQueue;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** A stand-in for the class of this name, which prints what it is given. */
public class Image3DUniverse extends DefaultUniverse {
    public static ArrayList<Image3DUniverse> universes = new ArrayList<Image3DUniverse>();

    private final Map<String, Content> contents = new LinkedHashMap<>();

    public Image3DUniverse() {
        if (Boolean.getBoolean("viewer.fails")) {
            throw new IllegalStateException("no OpenGL");
        }
        universes.add(this);
        System.out.println("universes: " + universes.size());
    }

    public void show() {
        win = new ImageWindow3D();
        win.setSize(200, 200);
        win.setVisible(true);
    }

    public Collection getContents() {
        return contents.values();
    }

    public String getSafeContentName(String suggested) {
        return contents.containsKey(suggested) ? suggested + " (2)" : suggested;
    }

    public Content addContent(Content c) {
        if (EventQueue.isDispatchThread()) {
            throw new IllegalStateException("on the event thread");
        }
        contents.put(c.name, c);
        System.out.println("content " + contents.size() + ": " + c.name);
        System.out.println("times " + contents.size() + ": " + c.contents.keySet());
        for (ContentInstant instant : c.contents.values()) {
            System.out.println("mesh " + contents.size() + ": " + instant.mesh.describe());
        }
        return c;
    }
}
