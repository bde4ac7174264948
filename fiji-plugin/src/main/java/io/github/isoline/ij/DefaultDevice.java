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

    /** The library's name for all CUDA devices that work. */
    private static final String ALL = "cuda:all";

    private DefaultDevice() {}

    static String get() {
        return Prefs.get(KEY, AUTO);
    }

    /**
     * Returns the choices of a dialog and of the Devices command: auto, every device that can be used now, cuda (the
     * first CUDA device that works) where there is one, and all of them where there are several. Macros of commands may
     * name a list, too.
     */
    static List<String> choices(List<DeviceInfo> devices) {
        List<String> ids = new ArrayList<>();
        int gpus = 0;
        ids.add(AUTO);
        for (DeviceInfo device : devices) {
            if (device.isUsable()) {
                if (device.id().startsWith(CUDA + ":")) {
                    if (gpus == 0) {
                        ids.add(CUDA);
                    }
                    gpus++;
                }
                ids.add(device.id());
            }
        }
        if (gpus > 1) {
            ids.add(ALL);
        }
        return ids;
    }

    static void set(String device) {
        Prefs.set(KEY, device);
        // ImageJ writes its preferences only when its window is closed.
        Prefs.savePreferences();
    }
}
