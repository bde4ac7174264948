package io.github.isoline.ij;

import ij.Prefs;

/** The device that dialogs offer first: the user's choice in the Devices command. */
final class DefaultDevice {
    private static final String KEY = "isoline.device";

    private DefaultDevice() {}

    static String get() {
        return Prefs.get(KEY, EdgeStrengthSettings.AUTO);
    }

    static void set(String device) {
        Prefs.set(KEY, device);
        // ImageJ writes its preferences only when its window is closed.
        Prefs.savePreferences();
    }
}
