package io.github.isoline.ij;

import ij.Prefs;
import io.github.isoline.DeviceInfo;
import java.util.ArrayList;
import java.util.List;

/** The device that dialogs offer first: the user's choice in the Devices command. */
final class DefaultDevice {
    private static final String KEY = "isoline.device";

    private DefaultDevice() {}

    static String get() {
        return Prefs.get(KEY, EdgeStrengthSettings.AUTO);
    }

    /** What a dialog offers: auto, and every device that can be used now. */
    static List<String> choices(List<DeviceInfo> devices) {
        List<String> ids = new ArrayList<>();
        ids.add(EdgeStrengthSettings.AUTO);
        for (DeviceInfo device : devices) {
            if (device.isUsable()) {
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
