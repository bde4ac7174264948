package io.github.isoline.ij;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ij.IJ;
import ij.ImagePlus;
import ij.Menus;
import ij.WindowManager;
import ij.plugin.frame.Editor;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.awt.Frame;
import java.awt.Menu;
import java.awt.MenuBar;
import java.io.File;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Plugins > Isoline with its submenus in ImageJ's window. */
class MenuTest extends WindowTest {
    @Test
    void submenusOpenMacrosAndImages() throws Exception {
        Map<String, String> seen = play("menu");
        List<String[]> macros = SampleImagesTest.entries("Macro examples");
        for (String[] macro : macros) {
            String text = MacroExample.text(macro[1]);
            assertTrue(text.contains("run(\""), text);
            assertEquals(String.valueOf(text.hashCode()), seen.get("Macro examples>" + macro[0]), macro[1]);
        }
        for (String[] image : SampleImagesTest.entries("Sample images")) {
            assertEquals(image[1], seen.get("Sample images>" + image[0]));
        }
    }

    @Test
    void everyExampleIsInTheMenu() {
        File folder = new File(System.getProperty("isoline.test.data"), "../../examples");
        String[] files = folder.list((in, name) -> name.endsWith(".ijm") && !name.equals("demo.ijm"));
        Arrays.sort(files);
        assertEquals(
                Arrays.asList(files),
                Arrays.asList(SampleImagesTest.entries("Macro examples").stream()
                        .map(entry -> entry[1])
                        .sorted()
                        .toArray()));
    }

    @Test
    void everyDialogHasItsHelp() throws Exception {
        Map<String, String> seen = play("help of all");
        for (String command : SampleImagesTest.commands()) {
            if (!command.equals("Devices")) {
                assertEquals(command + " Help", seen.get("help of " + command));
            }
        }
    }

    /** Chooses each item of the submenus, and says what it opened. */
    static final class Scenes extends GuiDriver {
        private Scenes() {}

        static void play() throws Exception {
            Menu isoline = item(plugins(Menus.getMenuBar()), "Isoline");
            for (Menu submenu : new Menu[] {item(isoline, "Macro examples"), item(isoline, "Sample images")}) {
                for (int i = 0; i < submenu.getItemCount(); i++) {
                    String command = submenu.getItem(i).getLabel();
                    int before = WindowManager.getImageCount();
                    IJ.doCommand(command);
                    await(command, () -> editor() != null || WindowManager.getImageCount() > before);
                    Editor editor = editor();
                    // Not the current image: without a window manager an earlier window may become active late.
                    String opened =
                            editor == null ? lastImage() : "" + editor.getText().hashCode();
                    say(submenu.getLabel() + ">" + command, opened);
                    if (editor != null) {
                        picture("macro-example");
                        EventQueue.invokeAndWait(editor::close);
                    }
                }
            }
            picture("sample-images");
        }

        /** Opens the help of each dialog. */
        static void helps(ImagePlus cell) throws Exception {
            // Some commands need a volume.
            ImagePlus volume = IJ.openImage(cell.getOriginalFileInfo().directory + "brain.tif");
            volume.show();
            Menu isoline = item(plugins(Menus.getMenuBar()), "Isoline");
            for (int i = 0; i < isoline.getItemCount(); i++) {
                String command = isoline.getItem(i).getLabel();
                if (isoline.getItem(i) instanceof Menu || command.equals("Devices...")) {
                    continue;
                }
                Dialog dialog = open(volume, command);
                press(button(dialog, "Help"));
                await("the help", () -> dialog() != dialog);
                Dialog help = dialog();
                help.setLocation(0, 0);
                picture("help-" + command.replace("...", "").toLowerCase().replace(' ', '-'));
                say("help of " + command.replace("...", ""), help.getTitle());
                EventQueue.invokeAndWait(help::dispose);
                press(button(dialog, "Cancel"));
                await("the end", () -> !dialog.isShowing() && !volume.isLocked());
            }
        }

        private static String lastImage() {
            int[] ids = WindowManager.getIDList();
            return WindowManager.getImage(ids[ids.length - 1]).getTitle();
        }

        private static Editor editor() {
            for (Frame frame : Frame.getFrames()) {
                // The text comes after the window.
                if (frame instanceof Editor
                        && frame.isShowing()
                        && !((Editor) frame).getText().isEmpty()) {
                    return (Editor) frame;
                }
            }
            return null;
        }

        private static Menu plugins(MenuBar bar) {
            for (int i = 0; i < bar.getMenuCount(); i++) {
                if (bar.getMenu(i).getLabel().equals("Plugins")) {
                    return bar.getMenu(i);
                }
            }
            throw new AssertionError("no menu Plugins");
        }

        private static Menu item(Menu menu, String label) {
            for (int i = 0; i < menu.getItemCount(); i++) {
                if (menu.getItem(i).getLabel().equals(label)) {
                    return (Menu) menu.getItem(i);
                }
            }
            throw new AssertionError("no submenu " + label + " in " + menu.getLabel());
        }
    }
}
