package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.OvalRoi;
import java.awt.Checkbox;
import java.awt.Choice;
import java.awt.Component;
import java.awt.Container;
import java.awt.Dialog;
import java.awt.Dimension;
import java.awt.Label;
import java.awt.ScrollPane;
import java.awt.TextField;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that every dialog fits the screen of a small laptop, in ImageJ's normal size and twice as large. */
class DialogSizeTest extends WindowTest {
    private static final int WIDTH = 1366;
    private static final int HEIGHT = 768;
    private static final int TASK_BAR = 40;

    /** The observations of all dialogs in the normal size and twice as large, by the command and a key. */
    private static Map<String, String> normal;

    private static Map<String, String> large;

    @BeforeAll
    static void showEveryDialogOnASmallScreen() throws Exception {
        stopDisplay();
        startDisplay(WIDTH + "x" + HEIGHT + "x24");
        normal = play("size " + String.join(",", commands()), "-Disoline.gui.scale=1");
        large = play("size " + String.join(",", commands()), "-Disoline.gui.scale=2");
    }

    static List<String> commands() {
        return SampleImagesTest.commands();
    }

    @ParameterizedTest
    @MethodSource("commands")
    void dialogFitsTheScreen(String command) {
        boolean folds = !command.equals("Devices");
        String states = folds ? "folded,unfolded,hyperstack folded,hyperstack unfolded" : "shown";
        for (String shown : states.split(",")) {
            String state = command + " " + shown;
            for (Map<String, String> seen : Arrays.asList(normal, large)) {
                String[] size = seen.get(state).split(" ");
                assertTrue(Integer.parseInt(size[0]) <= WIDTH, state + ": " + seen);
                assertTrue(Integer.parseInt(size[1]) <= HEIGHT - TASK_BAR, state + ": " + seen);
                assertEquals("", seen.get(state + " cut"), state);
                assertEquals("true", seen.get(state + " buttons"), state);
            }
            assertEquals("false", normal.get(state + " scrolls"), state);
            // Each text is twice as large as in the normal size.
            assertEquals(twice(normal.get(state + " texts")), large.get(state + " texts"), state);
        }
        if (folds) {
            assertFolds(normal, command + " ");
            assertFolds(large, command + " ");
        }
    }

    private static String twice(String texts) {
        return Arrays.stream(texts.split(" "))
                .map(text -> text.split(":"))
                .map(text -> text[0] + ":" + 2 * Integer.parseInt(text[1]))
                .collect(Collectors.joining(" "));
    }

    /** Asserts that the unfolded dialog shows more, and is as small as before when it is folded again. */
    private static void assertFolds(Map<String, String> seen, String command) {
        int unfolded = Integer.parseInt(seen.get(command + "fields unfolded"));
        assertTrue(unfolded > Integer.parseInt(seen.get(command + "fields folded")), seen.toString());
        int again = Integer.parseInt(seen.get(command + "folded again").split(" ")[1]);
        assertTrue(again <= Integer.parseInt(seen.get(command + "folded").split(" ")[1]), seen.toString());
    }

    /** Plays a user who unfolds a dialog. {@link GuiDriver} does so in a process of its own, without JUnit. */
    static final class Scenes extends GuiDriver {
        private static final int SIDE = 100;

        private Scenes() {}

        /** Shows the dialogs of commands whose names are separated by commas. */
        static void play(String names, ImagePlus cell) throws Exception {
            for (String name : names.split(",")) {
                ImagePlus image = IJ.openImage(cell.getOriginalFileInfo().directory + cell.getTitle());
                image.show();
                show(name, image);
                for (int id : WindowManager.getIDList()) {
                    // Otherwise ImageJ would ask whether it should be saved.
                    WindowManager.getImage(id).changes = false;
                    WindowManager.getImage(id).close();
                }
            }
        }

        private static void show(String name, ImagePlus cell) throws Exception {
            if (name.equals("Devices")) {
                command(cell, name + "...");
                Dialog devices = dialog();
                report(devices, name + " shown");
                press(button(devices, "Cancel"));
                await("the end", () -> !devices.isShowing());
                return;
            }
            ImagePlus first = cell;
            if (name.equals("Isosurface")) {
                // It takes volumes only.
                first = IJ.openImage(cell.getOriginalFileInfo().directory + "brain.tif");
                first.show();
            }
            first.setRoi(new OvalRoi(375, 320, 100, 100));
            first.getWindow().setLocation(700, 60);
            command(first, name + "...");
            Dialog plain = dialog();
            report(plain, name + " folded");
            say(name + " fields folded", fields(plain));
            toggle(checkbox(plain, "Advanced"), true);
            report(plain, name + " unfolded");
            say(name + " fields unfolded", fields(plain));
            toggle(checkbox(plain, "Advanced"), false);
            settle(plain);
            say(name + " folded again", plain.getWidth() + " " + plain.getHeight());
            press(button(plain, "Cancel"));
            await("the end", () -> !plain.isShowing());

            // An image with all axes, in 32 bits, and the choices that need the most fields.
            ImageStack planes = new ImageStack(SIDE, SIDE);
            for (int i = 0; i < 24; i++) {
                cell.getProcessor().setRoi(300 - 5 * i, 250 + 5 * i, SIDE, SIDE);
                planes.addSlice(cell.getProcessor().crop().convertToFloat());
            }
            ImagePlus image = new ImagePlus("planes", planes);
            image.setDimensions(2, 3, 4);
            image.setOpenAsHyperStack(true);
            image.setRoi(new OvalRoi(30, 30, 40, 40));
            image.show();
            image.getWindow().setLocation(900, 60);
            command(image, name + "...");
            Dialog dialog = dialog();
            for (String word :
                    new String[] {"volume", "track", "box", "detect", "gamma", "window", "polyline", "paper"}) {
                chooseIfThere(dialog, word);
            }
            for (Checkbox box : all(dialog, Checkbox.class)) {
                toggle(box, !box.getLabel().equals("Advanced"));
            }
            report(dialog, name + " hyperstack folded");
            toggle(checkbox(dialog, "Advanced"), true);
            report(dialog, name + " hyperstack unfolded");
            press(button(dialog, "Cancel"));
            await("the end", () -> !dialog.isShowing());
        }

        /** Waits until a dialog's size has not changed for 0.2 s: its fields and the text of its preview come later. */
        private static void settle(Dialog dialog) {
            Dimension last = null;
            for (int same = 0; same < 3; same++) {
                IJ.wait(100);
                Dimension size = dialog.getSize();
                same = size.equals(last) ? same : 0;
                last = size;
            }
        }

        private static void report(Dialog dialog, String fold) throws Exception {
            settle(dialog);
            picture("size-" + fold.toLowerCase().replace(' ', '-') + "-" + System.getProperty("isoline.gui.scale"));
            say(fold, dialog.getWidth() + " " + dialog.getHeight());
            say(fold + " scrolls", !all(dialog, ScrollPane.class).isEmpty());
            say(fold + " cut", cut(dialog));
            say(fold + " texts", texts(dialog));
            Component ok = button(dialog, "OK");
            int bottom = ok.getLocationOnScreen().y + ok.getHeight();
            say(fold + " buttons", bottom <= dialog.getY() + dialog.getHeight() && dialog.getY() >= 0);
        }

        private static int fields(Dialog dialog) {
            int shown = 0;
            for (Component part : all(dialog, Component.class)) {
                boolean field = part instanceof TextField || part instanceof Choice || part instanceof Checkbox;
                shown += field && part.isShowing() ? 1 : 0;
            }
            return shown;
        }

        /** Returns the size of the font of each component with a text, in the order of their kinds. */
        private static String texts(Dialog dialog) {
            return all(dialog, Component.class).stream()
                    .filter(part -> part.isShowing() && !(part instanceof Container))
                    .map(part -> part.getClass().getSimpleName() + ":"
                            + part.getFont().getSize())
                    .sorted()
                    .collect(Collectors.joining(" "));
        }

        /** Returns the texts that have less room than they need. */
        private static String cut(Dialog dialog) {
            StringBuilder texts = new StringBuilder();
            for (Component part : all(dialog, Component.class)) {
                Dimension wanted = part.getPreferredSize();
                boolean small = part.getWidth() < wanted.width || part.getHeight() < wanted.height;
                if (part.isShowing() && small && !(part instanceof ScrollPane) && !(part instanceof Container)) {
                    String text = part instanceof Label ? ((Label) part).getText() : part.getName();
                    texts.append(text).append(", ");
                }
            }
            return texts.toString();
        }
    }
}
