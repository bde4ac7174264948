"""Progress of a call, and its end by an exception."""
from __future__ import annotations

from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_char_p, c_double, c_int, c_void_p

from ._native import Progress

# True for a bar, or a function of the share done (0 to 1, and 1 at the end of a call that succeeds) and the name of the
# step, which cancels by True or an exception.
ProgressLike = bool | Callable[[float, str], object] | None
Callback = CFUNCTYPE(c_int, c_void_p, c_double, c_char_p)


class Watch:
    """A `with` around a call, or several, each with an equal share: `argument` is what a call takes as its progress, and
    `done` how many are."""

    def __init__(self, progress: ProgressLike = None, calls: int = 1):
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress must be True, a function or None, but it is {progress!r}")
        self.tell = None if isinstance(progress, bool) else progress
        self.bar, self.raised = bar() if progress is True else None, None
        self.argument, self.done, self.calls, self.last = None, 0, calls, (0.0, b"")
        if self.bar is not None or self.tell is not None:
            # The function must live as long as the call. The struct has its address alone: Python before 3.12 does not
            # collect a cycle through byref.
            self.function = Callback(self.told)
            self.argument = byref(Progress(callback=c_void_p.from_buffer(self.function).value))

    def told(self, _user, fraction, stage):
        # The library's own 1 may come a little before the result, when the call can still be cancelled.
        self.last = min((self.done + fraction) / self.calls, 0.99), stage
        return self.say(*self.last)

    def say(self, fraction, stage):
        try:
            cancel = self.tell is not None and self.tell(fraction, stage.decode())
            if self.bar is not None:
                self.bar.set_description_str(stage.decode(), refresh=False)
                self.bar.update(fraction - self.bar.n)
            return int(bool(cancel))
        except BaseException as error:  # raised after the call, by __exit__
            self.raised = error
            return 1

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.argument is not None and kind is None and self.raised is None:
            self.say(1.0, self.last[1])
        if self.bar is not None:
            self.bar.close()
        self.function = None
        if self.raised is not None:
            raise self.raised


def bar():
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError("cannot show a bar: the package tqdm is not installed; install it, or give progress a function"
                          ) from None
    return tqdm(total=1.0, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")
