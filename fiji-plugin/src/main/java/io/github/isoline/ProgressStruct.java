package io.github.isoline;

import com.sun.jna.Callback;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;

/** {@code isoline_progress} of the C API. Public only because JNA fills the fields by reflection. */
@Structure.FieldOrder({"struct_size", "reserved", "callback", "user"})
public final class ProgressStruct extends Structure {
    /** {@code isoline_progress_fn}: any result but 0 cancels the call. */
    public interface Function extends Callback {
        /** Is called on the thread that called the operation. */
        int invoke(Pointer user, double fraction, String stage);
    }

    public int struct_size;
    public int reserved;
    public Function callback;
    public Pointer user;
}
