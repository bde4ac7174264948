package io.github.isoline.ij;

import ij.Prefs;
import io.github.isoline.DeviceInfo;
import java.util.ArrayList;
import java.util.List;

/** The device that dialogs offer first: the user's choice in the Devices command. */
final class DefaultDevice {
    /** The word for a GPU if one works, else the CPU. */
    static final String AUTO = "auto";

    private static final String KEY = "isoline.device";

    /** The library's name for the first CUDA device that works. */
    private static final String CUDA = "cuda";

    private DefaultDevice() {}

    static String get() {
        return Prefs.get(KEY, AUTO);
    }

    /**
     * Returns the choices of a dialog and of macros: auto, every device that can be used now, and cuda (the first CUDA
     * device that works) where there is one.
     */
    static List<String> choices(List<DeviceInfo> devices) {
        List<String> ids = new ArrayList<>();
        ids.add(AUTO);
        for (DeviceInfo device : devices) {
            if (device.isUsable()) {
                if (device.id().startsWith(CUDA + ":") && !ids.contains(CUDA)) {
                    ids.add(CUDA);
                }
                ids.add(device.id());
            }
        }
        return ids;
    }

    static void set(String device) {
        Prefs.set(KEY, device);
        // ImageJ writes its preferences only when its window is closed.
        Prefs.savePreferences();
    }
}
