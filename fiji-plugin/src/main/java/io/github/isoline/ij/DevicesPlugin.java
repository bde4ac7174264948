package io.github.isoline.ij;

import ij.IJ;
import ij.Macro;
import ij.gui.GenericDialog;
import ij.plugin.PlugIn;
import io.github.isoline.DeviceInfo;
import io.github.isoline.IsolineException;
import io.github.isoline.NativeLoader;
import java.awt.Font;
import java.awt.GraphicsEnvironment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/** Plugins > Isoline > Devices... */
public final class DevicesPlugin implements PlugIn {
    private static final String COMMAND = "Isoline Devices";
    private static final String DEVICE = "device";

    @Override
    public void run(String arg) {
        Host.guard(COMMAND, DevicesPlugin::execute);
    }

    /**
     * Returns the list of devices and versions as text; for macros:
     * {@code call("io.github.isoline.ij.DevicesPlugin.list")}.
     */
    public static String list() throws IsolineException {
        return describe(DeviceInfo.list());
    }

    private static void execute() throws IsolineException {
        List<DeviceInfo> devices = DeviceInfo.list();
        String options = Macro.getOptions();
        if (options == null && !GraphicsEnvironment.isHeadless()) {
            ask(devices);
            return;
        }
        MacroOptions macro = new MacroOptions(
                options, Collections.singletonList(DEVICE), Collections.emptyList(), Collections.emptyMap());
        if (macro.has(DEVICE)) {
            String device = macro.text(DEVICE, "");
            List<String> usable = DefaultDevice.choices(devices);
            if (!usable.contains(device)) {
                throw new BadInput(
                        "The device \"%s\" cannot be used here. Usable: %s.%s",
                        device, String.join(", ", usable), reasons(devices));
            }
            DefaultDevice.set(device);
        }
        IJ.log(describe(devices));
    }

    private static void ask(List<DeviceInfo> devices) {
        GenericDialog dialog = new GenericDialog(COMMAND);
        dialog.addMessage(Host.wrap(describe(devices)), new Font(Font.MONOSPACED, Font.PLAIN, 12));
        dialog.addMessage("The device that Isoline's dialogs offer first:");
        String[] usable = DefaultDevice.choices(devices).toArray(new String[0]);
        dialog.addChoice("Device", usable, DefaultDevice.get());
        dialog.addHelp(Help.text("devices"));
        dialog.showDialog();
        if (!dialog.wasCanceled()) {
            DefaultDevice.set(dialog.getNextChoice());
        }
    }

    private static String describe(List<DeviceInfo> devices) {
        StringBuilder text = new StringBuilder();
        try {
            text.append("Isoline plugin ").append(NativeLoader.pluginVersion());
            text.append(", library ").append(NativeLoader.libraryVersion());
        } catch (IsolineException e) {
            text.append(", no library: ").append(e.getMessage());
        }
        text.append(" from ").append(NativeLoader.libraryOrigin());
        text.append("\nImageJ ").append(IJ.getFullVersion());
        text.append(", Java ").append(System.getProperty("java.version"));
        text.append(", JNA ").append(NativeLoader.jnaVersion()).append("\n ");
        for (DeviceInfo device : devices) {
            text.append('\n').append(describe(device));
        }
        return text.toString();
    }

    private static String describe(DeviceInfo device) {
        List<String> facts = new ArrayList<>();
        // The reason of the CPU already names its threads.
        if (device.isCuda() && device.multiprocessors() > 0) {
            facts.add(device.multiprocessors() + " multiprocessors");
        }
        if (device.totalMemory() > 0) {
            facts.add("memory " + gib(device.totalMemory()) + ", free " + gib(device.freeMemory()));
        }
        if (!device.reason().contains("compute capability")
                && !device.computeCapability().isEmpty()) {
            facts.add("compute capability " + device.computeCapability());
        }
        if (!device.driverVersion().isEmpty()) {
            facts.add("driver for CUDA " + device.driverVersion());
        }
        String state = device.isUsable() ? "usable" : "not usable";
        String reason = device.reason();
        if (!reason.isEmpty()) {
            state = reason.startsWith(state) ? reason : state + ": " + reason;
        }
        return device + "\n  " + state + (facts.isEmpty() ? "" : "\n  " + String.join("; ", facts));
    }

    private static String reasons(List<DeviceInfo> devices) {
        return devices.stream()
                .filter(device -> !device.isUsable())
                .map(device -> " " + device.id() + ": " + device.reason() + ".")
                .collect(Collectors.joining());
    }

    private static String gib(long bytes) {
        return IJ.d2s(bytes / (double) (1L << 30), 1) + " GiB";
    }
}
