package io.github.isoline.ij;

import ij.ImagePlus;
import ij.gui.Overlay;
import ij.gui.Roi;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Shows elements among those of an image's overlay for a while. The overlay itself is untouched
 * behind them and comes back. On the event thread only.
 */
final class GuestOverlay {
    private static final String PROPERTY = "isoline-guest";

    private final ImagePlus image;
    private Overlay own;
    private boolean ownHidden;
    private Overlay shown;
    private Set<Roi> known;

    GuestOverlay(ImagePlus image) {
        this.image = image;
    }

    /** True for an element that is here for a while only. */
    static boolean isGuest(Roi roi) {
        return roi.getProperty(PROPERTY) != null;
    }

    /** Shows these, and none that were shown before. */
    void show(Roi... guests) {
        if (shown == null) {
            own = image.getOverlay();
            ownHidden = image.getHideOverlay();
            // What the user has hidden stays hidden.
            shown = own == null || ownHidden ? new Overlay() : own.duplicate();
            shown.selectable(false);
            known = Collections.newSetFromMap(new IdentityHashMap<>());
            known.addAll(Arrays.asList(shown.toArray()));
            addAll(guests);
            image.setOverlay(shown);
        } else {
            removeGuests(shown);
            addAll(guests);
        }
        image.draw();
    }

    private void addAll(Roi... guests) {
        for (Roi guest : guests) {
            guest.setProperty(PROPERTY, "1");
            shown.add(guest);
        }
    }

    private static void removeGuests(Overlay overlay) {
        for (Roi element : overlay.toArray()) {
            if (isGuest(element)) {
                overlay.remove(element);
            }
        }
    }

    /** Puts the image's overlay back as it was, with what was added to it meanwhile. */
    void restore() {
        if (shown == null) {
            return;
        }
        if (image.getOverlay() == shown) {
            for (Roi added : shown.toArray()) {
                if (!known.contains(added) && !isGuest(added)) {
                    own = own == null ? new Overlay() : own;
                    own.add(added);
                }
            }
            image.setOverlay(own);
            image.setHideOverlay(ownHidden);
        } else if (image.getOverlay() != null) {
            // Somebody has given the image another overlay, which is not ours to replace.
            removeGuests(image.getOverlay());
        }
        shown = null;
        own = null;
        known = null;
    }
}
