package io.github.isoline.ij;

import ij.gui.NonBlockingGenericDialog;
import java.awt.BorderLayout;
import java.awt.Component;
import java.awt.Dimension;
import java.awt.FlowLayout;
import java.awt.GraphicsConfiguration;
import java.awt.GridBagConstraints;
import java.awt.GridBagLayout;
import java.awt.Insets;
import java.awt.Label;
import java.awt.Panel;
import java.awt.Point;
import java.awt.Rectangle;
import java.awt.ScrollPane;
import java.awt.Toolkit;
import java.awt.event.ActionEvent;
import java.awt.event.KeyEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * A dialog whose fields can be hidden. It arranges those that are shown in one column or two, and scrolls where the
 * screen is too small for them; the footer and the buttons are always visible.
 */
final class FieldDialog extends NonBlockingGenericDialog {
    private static final long serialVersionUID = 1;

    /** The height that is left to a task bar where the system does not report one. */
    private static final int TASK_BAR = 40;

    private static final int UNIT_INCREMENT = 24;
    private static final int GAP = 2;
    private static final int COLUMN_GAP = 16;

    /** The place of a field in its row. */
    enum Place {
        /** A row of its own. */
        ROW,
        /** A row of its own, with a space above it. */
        SECTION,
        /** A row of its own if there is room for it, else half a row. */
        ROW_OR_HALF,
        /** Half a row. */
        HALF
    }

    /** A label with its field, a switch, or a text. */
    static final class Field {
        private final List<Component> parts = new ArrayList<>();
        private final Place place;
        private boolean shown = true;

        private Field(Place place) {
            this.place = place;
        }
    }

    private final Panel content = new Panel(new GridBagLayout());
    private final Panel footer = new Panel(new BorderLayout());
    private final List<Field> fields = new ArrayList<>();

    /** The field whose parts are being added; null for the parts of the footer. */
    private Field current;

    /** Holds {@link #content} while it does not fit on the screen. */
    private ScrollPane scroller;

    /** Returns true if OK may close the dialog. */
    private final transient BooleanSupplier accepts;

    /** @param accepts is asked when OK is pressed, and returns true if the dialog may close */
    FieldDialog(String title, BooleanSupplier accepts) {
        super(title);
        this.accepts = accepts;
        setLayout(new BorderLayout());
        super.add(content, BorderLayout.CENTER);
        super.add(footer, BorderLayout.SOUTH);
    }

    /**
     * @param unit the text behind it, "" for none
     * @param adder calls one of the methods of GenericDialog that add a component
     */
    Field add(Place place, String unit, Runnable adder) {
        Field made = new Field(place);
        current = made;
        adder.run();
        if (!unit.isEmpty()) {
            Panel both = new Panel(new FlowLayout(FlowLayout.LEFT, 0, 0));
            both.add(made.parts.remove(made.parts.size() - 1));
            both.add(new Label(" " + unit));
            add(both);
        }
        current = null;
        fields.add(made);
        return made;
    }

    @Override
    public void actionPerformed(ActionEvent event) {
        if (event.getSource() != getButtons()[0] || accepts.getAsBoolean()) {
            super.actionPerformed(event);
        }
    }

    @Override
    public void keyPressed(KeyEvent event) {
        // To ImageJ the Enter key is OK in any field.
        boolean ok = event.getKeyCode() == KeyEvent.VK_ENTER && getButtons()[0].isEnabled();
        if (!ok || accepts.getAsBoolean()) {
            super.keyPressed(event);
        }
    }

    /** Takes a component that GenericDialog adds; its own layout is replaced by {@link #arrange}. */
    @Override
    public void add(Component part, Object constraints) {
        if (current == null) {
            // First the hint, then the buttons.
            footer.add(part, footer.getComponentCount() == 0 ? BorderLayout.CENTER : BorderLayout.SOUTH);
            return;
        }
        current.parts.add(part);
        content.add(part);
    }

    /** Takes a component from an ImageJ that sets constraints by itself. */
    @Override
    public Component add(Component part) {
        add(part, null);
        return part;
    }

    /** Scrolls to a component. */
    void reveal(Component part) {
        if (scroller != null) {
            int top = 0;
            for (Component at = part; at != content; at = at.getParent()) {
                top += at.getY();
            }
            int lowest = top + part.getHeight() + GAP - scroller.getViewportSize().height;
            Point at = scroller.getScrollPosition();
            scroller.setScrollPosition(at.x, Math.max(lowest, Math.min(at.y, top)));
        }
    }

    /** Shows or hides a field; returns true if that is a change, after which the dialog needs {@link #pack}. */
    boolean show(Field field, boolean shown) {
        boolean changed = field.shown != shown;
        field.shown = shown;
        return changed;
    }

    /** @param compact true if there is no room for fields in rows of their own */
    private void arrange(boolean compact) {
        GridBagLayout grid = (GridBagLayout) content.getLayout();
        int row = 0;
        boolean left = true;
        for (Field field : fields) {
            field.parts.forEach(part -> part.setVisible(field.shown));
            if (!field.shown) {
                continue;
            }
            boolean half = field.place == Place.HALF || compact && field.place == Place.ROW_OR_HALF;
            if (!half && !left) {
                left = true;
                row++;
            }
            int column = left ? 0 : 2;
            int count = field.parts.size();
            for (int i = 0; i < count; i++) {
                GridBagConstraints at = new GridBagConstraints();
                boolean last = i == count - 1;
                at.gridx = column + i;
                at.gridy = row;
                at.gridwidth = !last ? 1 : half ? 2 - i : GridBagConstraints.REMAINDER;
                at.anchor = last ? GridBagConstraints.WEST : GridBagConstraints.EAST;
                int above = field.place == Place.SECTION ? 4 * GAP : GAP;
                at.insets = new Insets(above, i == 0 && column > 0 ? COLUMN_GAP : 0, GAP, 2 * GAP);
                grid.setConstraints(field.parts.get(i), at);
            }
            left = !half || !left;
            row += left ? 1 : 0;
        }
        content.invalidate();
    }

    /** Fits the dialog to the fields that are shown, and to the screen. */
    @Override
    public void pack() {
        arrange(false);
        if (!isDisplayable()) {
            // Texts have a size on a display only.
            super.pack();
        }
        Rectangle screen = screen();
        Insets border = getInsets();
        int most = screen.height - border.top - border.bottom - footer.getPreferredSize().height;
        int widest = screen.width - border.left - border.right;
        if (content.getPreferredSize().height > most) {
            arrange(true);
        }
        Dimension wanted = content.getPreferredSize();
        boolean fits = wanted.height <= most && wanted.width <= widest;
        if (!fits) {
            ScrollPane around = scroller == null ? new ScrollPane(ScrollPane.SCROLLBARS_AS_NEEDED) : scroller;
            around.getVAdjustable().setUnitIncrement(UNIT_INCREMENT);
            int bar = around.getVScrollbarWidth() + 2 * GAP;
            around.setPreferredSize(
                    new Dimension(Math.min(widest, wanted.width + bar), Math.min(most, wanted.height + bar)));
            hold(around);
        } else {
            hold(null);
        }
        super.pack();
        if (isShowing()) {
            int x = Math.max(screen.x, Math.min(getX(), screen.x + screen.width - getWidth()));
            int y = Math.max(screen.y, Math.min(getY(), screen.y + screen.height - getHeight()));
            setLocation(x, y);
        }
    }

    /** Puts the fields into this pane, or with null into the dialog itself. */
    private void hold(ScrollPane around) {
        if (scroller != around) {
            super.remove(scroller == null ? content : scroller);
            if (around != null) {
                around.add(content);
            }
            super.add(around == null ? content : around, BorderLayout.CENTER);
            scroller = around;
        }
    }

    /** Returns the part of the screen that a window may take. */
    private Rectangle screen() {
        GraphicsConfiguration configuration = getGraphicsConfiguration();
        Rectangle bounds = configuration.getBounds();
        Insets taken = Toolkit.getDefaultToolkit().getScreenInsets(configuration);
        int bars = Math.max(TASK_BAR, taken.top + taken.bottom);
        return new Rectangle(
                bounds.x + taken.left,
                bounds.y + taken.top,
                bounds.width - taken.left - taken.right,
                bounds.height - bars);
    }
}
