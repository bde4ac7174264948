package io.github.isoline.ij;

import ij.IJ;
import ij.ImageJ;
import ij.ImagePlus;
import ij.Prefs;
import ij.WindowManager;
import ij.gui.MultiLineLabel;
import ij.gui.Overlay;
import ij.gui.Roi;
import ij.plugin.frame.Recorder;
import java.awt.Button;
import java.awt.Checkbox;
import java.awt.Choice;
import java.awt.Component;
import java.awt.Container;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.awt.Rectangle;
import java.awt.Robot;
import java.awt.TextField;
import java.awt.Toolkit;
import java.awt.Window;
import java.awt.event.ActionEvent;
import java.awt.event.ItemEvent;
import java.awt.event.ItemListener;
import java.awt.image.BufferedImage;
import java.io.File;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import javax.imageio.ImageIO;

/**
 * Plays a user of a real ImageJ window: started by WindowTest on its own display, once per scene. Prints its
 * observations as lines "key: value", and saves screenshots in the given folder.
 */
class GuiDriver {
    private static final int PATIENCE_MS = 180_000;
    private static final int GLANCE_MS = 20;
    private static final int SETTLED_MS = 800;

    /** The folder for screenshots. */
    private static File pictures;

    /** Takes the arguments: the scene, the image to open, the folder for screenshots. */
    public static void main(String[] args) {
        pictures = new File(args[2]);
        try {
            play(args);
            System.exit(0);
        } catch (Throwable e) {
            e.printStackTrace();
            try {
                say("current", title());
                picture("failed " + args[0]);
            } catch (Exception unseen) {
                unseen.printStackTrace();
            }
            // The open windows would keep the process alive.
            System.exit(1);
        }
    }

    private static void play(String... args) throws Exception {
        ImageJ imagej = new ImageJ(ImageJ.STANDALONE);
        Prefs.setGuiScale(Double.parseDouble(System.getProperty("isoline.gui.scale", "1")));
        ImagePlus image = IJ.openImage(args[1]);
        image.getCalibration().pixelWidth = 0.107;
        image.getCalibration().pixelHeight = 0.107;
        image.getCalibration().setUnit("um");
        image.show();
        imagej.setLocation(20, 20);
        image.getWindow().setLocation(620, 200);
        // On a busy computer the image takes a while to open; a command before that finds none.
        await("the image", () -> makesCurrent(image));
        switch (args[0]) {
            case "menu":
                MenuTest.Scenes.play();
                break;
            case "help of all":
                MenuTest.Scenes.helps(image);
                break;
            case "hyperstack":
                HyperStackScenes.play(image);
                break;
            case "stack":
                HyperStackScenes.stack(image);
                break;
            default:
                if (args[0].startsWith("first ")) {
                    FirstMinutesTest.Scenes.play(args[0], image);
                } else if (args[0].startsWith("size ")) {
                    DialogSizeTest.Scenes.play(args[0].substring(5), image);
                } else if (args[0].indexOf('|') > 0) {
                    RecordScenes.play(args[0], image);
                } else {
                    play(args[0], image);
                }
                break;
        }
    }

    /** The scenes of a command: that of "edge drawing closed image" is the method closedImage. */
    abstract static class Scenes extends GuiDriver {
        void play(String scene, ImagePlus image) throws Exception {
            Method method = getClass().getDeclaredMethod(scene, ImagePlus.class);
            method.setAccessible(true);
            method.invoke(this, image);
        }
    }

    /**
     * Plays a scene of the command whose words its name begins with: those of "level set preview" are the class
     * LevelSetScenes, or else the class Scenes in LevelSetWindowTest.
     */
    private static void play(String name, ImagePlus image) throws Exception {
        String command = "";
        String[] words = name.split(" ");
        for (int i = 0; i < words.length; i++) {
            command += capital(words[i]);
            String scene = i + 1 < words.length ? words[i + 1] : "";
            for (int more = i + 2; more < words.length; more++) {
                scene += capital(words[more]);
            }
            for (String end : new String[] {"Scenes", "WindowTest$Scenes"}) {
                Class<?> type;
                try {
                    type = Class.forName(GuiDriver.class.getPackage().getName() + "." + command + end);
                } catch (ClassNotFoundException e) {
                    // Another word may belong to the command.
                    continue;
                }
                ((Scenes) type.getDeclaredConstructor().newInstance()).play(scene, image);
                return;
            }
        }
        throw new ClassNotFoundException("no class has the scene \"" + name + "\"");
    }

    private static String capital(String word) {
        return Character.toUpperCase(word.charAt(0)) + word.substring(1);
    }

    /** Takes the picture of a dialog with its preview, as the manual shows it, and cancels. */
    static void dialogPicture(ImagePlus image, String command, String name) throws Exception {
        Dialog dialog = open(image, command);
        await("a preview", () -> status(dialog).startsWith("Preview: ") && image.getOverlay() != null);
        picture(name);
        say("elements of the picture", names(image).trim());
        press(button(dialog, "Cancel"));
        await("the end", () -> !dialog.isShowing() && image.getOverlay() == null);
    }

    static Dialog dialog() throws Exception {
        Dialog[] found = new Dialog[1];
        await("a dialog", () -> {
            for (Window window : Window.getWindows()) {
                if (window instanceof Dialog && window.isShowing()) {
                    found[0] = (Dialog) window;
                }
            }
            return found[0] != null;
        });
        return found[0];
    }

    static Button button(Container root, String label) {
        for (Button button : all(root, Button.class)) {
            if (button.getLabel().trim().equals(label)) {
                return button;
            }
        }
        throw new AssertionError("no button " + label);
    }

    static void press(Button button) {
        ActionEvent event = new ActionEvent(button, ActionEvent.ACTION_PERFORMED, button.getLabel());
        Toolkit.getDefaultToolkit().getSystemEventQueue().postEvent(event);
    }

    static <T extends Component> List<T> all(Container root, Class<T> type) {
        List<T> found = new ArrayList<>();
        for (Component child : root.getComponents()) {
            if (type.isInstance(child)) {
                found.add(type.cast(child));
            }
            if (child instanceof Container) {
                found.addAll(all((Container) child, type));
            }
        }
        return found;
    }

    /** Types into the text field of a parameter, by its macro key. */
    static void type(Dialog dialog, String key, String text) throws Exception {
        TextField field = field(dialog, key);
        EventQueue.invokeAndWait(() -> field.setText(text));
    }

    /** Returns the text field of a parameter, by its macro key. */
    static TextField field(Dialog dialog, String key) {
        for (TextField field : all(dialog, TextField.class)) {
            if (field.getName().equals(key)) {
                return field;
            }
        }
        throw new AssertionError("no field " + key);
    }

    /** Returns the checkbox with a label, whose underscores are shown as spaces. */
    static Checkbox checkbox(Dialog dialog, String label) {
        for (Checkbox box : all(dialog, Checkbox.class)) {
            if (box.getLabel().trim().equals(label)) {
                return box;
            }
        }
        throw new AssertionError("no checkbox " + label);
    }

    /** Sets a checkbox on or off. */
    static void toggle(Checkbox box, boolean state) throws Exception {
        EventQueue.invokeAndWait(() -> {
            box.setState(state);
            for (ItemListener listener : box.getItemListeners()) {
                listener.itemStateChanged(
                        new ItemEvent(box, ItemEvent.ITEM_STATE_CHANGED, box.getLabel(), state ? 1 : 2));
            }
        });
    }

    /** Chooses a word in each list that has it; one must. */
    static void choose(Dialog dialog, String word) throws Exception {
        if (!chooseIfThere(dialog, word)) {
            throw new AssertionError("no list has " + word);
        }
    }

    /** Chooses a word in each list that has it; returns whether one has. */
    static boolean chooseIfThere(Dialog dialog, String word) throws Exception {
        boolean[] found = {false};
        EventQueue.invokeAndWait(() -> {
            for (Choice choice : all(dialog, Choice.class)) {
                for (int i = 0; i < choice.getItemCount(); i++) {
                    if (choice.getItem(i).equals(word)) {
                        found[0] = true;
                        choice.select(i);
                        for (ItemListener l : choice.getItemListeners()) {
                            l.itemStateChanged(new ItemEvent(choice, ItemEvent.ITEM_STATE_CHANGED, word, 1));
                        }
                    }
                }
            }
        });
        return found[0];
    }

    /** Returns the dialog's hint about its parameters. */
    static String hint(Dialog dialog) {
        StringBuilder text = new StringBuilder();
        for (MultiLineLabel label : all(dialog, MultiLineLabel.class)) {
            String description = label.getAccessibleContext().getAccessibleDescription();
            text.append(description == null ? "" : description + "\n");
        }
        return text.toString();
    }

    /** Returns the dialog's description of its preview, which may be broken into several lines; "" if there is none. */
    static String status(Dialog dialog) {
        StringBuilder status = new StringBuilder();
        for (String line : hint(dialog).split("\n")) {
            if (line.startsWith("Advanced: ") || line.startsWith("Device auto: ")) {
                break;
            }
            status.append(status.length() > 0 || line.startsWith("Preview: ") ? line : "");
        }
        return status.toString();
    }

    /** Returns the names of the elements of an image's overlay. */
    static String names(ImagePlus image) {
        StringBuilder names = new StringBuilder();
        Overlay overlay = image.getOverlay();
        for (Roi roi : overlay == null ? new Roi[0] : overlay.toArray()) {
            names.append(roi.getName()).append(' ');
        }
        return names.toString();
    }

    static String title() {
        ImagePlus image = WindowManager.getCurrentImage();
        return image == null ? "" : image.getTitle();
    }

    /**
     * Returns the image opened last whose title begins so; null if there is none. Which of several new images becomes
     * the current one depends on when their windows become active.
     */
    static ImagePlus opened(String title) {
        int[] all = WindowManager.getIDList();
        for (int index = all == null ? 0 : all.length; index-- > 0; ) {
            ImagePlus image = WindowManager.getImage(all[index]);
            // ImageJ lists an image a little before it has its window.
            boolean whole = image != null && image.getWindow() != null;
            if (whole && image.getTitle().startsWith(title)) {
                return image;
            }
        }
        return null;
    }

    /** Runs a command of the menus on an image, and returns its dialog. */
    static Dialog open(ImagePlus image, String command) throws Exception {
        command(image, command);
        Dialog dialog = dialog();
        dialog.setLocation(20, 100);
        return dialog;
    }

    /**
     * Runs a command of the menus on this image, after it has been the current one for a while: a window that was just
     * opened may become active, and its image current, a little later.
     */
    static void command(ImagePlus image, String name) throws Exception {
        long since = System.currentTimeMillis();
        while (System.currentTimeMillis() - since < SETTLED_MS) {
            if (!makesCurrent(image)) {
                since = System.currentTimeMillis();
            }
            Thread.sleep(GLANCE_MS);
        }
        IJ.doCommand(name);
    }

    /**
     * Makes an image the current one; returns whether it was. The window of another may become active a little later.
     */
    static boolean makesCurrent(ImagePlus image) {
        boolean is = WindowManager.getCurrentImage() == image;
        if (!is) {
            WindowManager.setCurrentWindow(image.getWindow());
        }
        return is;
    }

    static void await(String what, Callable<Boolean> condition) throws Exception {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (!condition.call()) {
            if (System.currentTimeMillis() > end) {
                throw new AssertionError("waited in vain for " + what);
            }
            Thread.sleep(GLANCE_MS);
        }
    }

    /**
     * Waits for the first result of a command, and then for its end: later results may be missing before, and ImageJ
     * does not allow one thread to read a table while another one formats it.
     */
    static void awaitEnd(String what, Callable<Boolean> condition) throws Exception {
        await(what, condition);
        // ImageJ gives the thread of a command the command's name, with the dots of the menu.
        await("the end of the command", () -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().endsWith("...")));
    }

    /** Saves a picture of a window, or of a part of one. */
    static void picture(String name, Component part) throws Exception {
        IJ.wait(300);
        Rectangle place = new Rectangle(part.getLocationOnScreen(), part.getSize());
        ImageIO.write(screen(place), "png", new File(pictures, name + ".png"));
    }

    static void picture(String name) throws Exception {
        IJ.wait(300);
        Rectangle all = new Rectangle(Toolkit.getDefaultToolkit().getScreenSize());
        ImageIO.write(screen(all), "png", new File(pictures, name + ".png"));
    }

    static BufferedImage screen(Rectangle part) throws Exception {
        return new Robot().createScreenCapture(part);
    }

    /** Says the last line that the recorder has of a command. */
    static void sayRecorded(String key, Recorder recorder, String command) {
        for (String line : recorder.getText().trim().split("\n")) {
            if (line.startsWith("run(\"" + command)) {
                say(key, line);
            }
        }
    }

    static void say(String key, Object value) {
        System.out.println(key + ": " + value);
    }
}
