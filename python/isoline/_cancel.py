"""The end of a call from outside: the cancel flag of each thread, and Ctrl-C in the main thread.

Each thread has one flag that the library reads. It is set while any CancelFlag is set that the thread has entered, and by
Ctrl-C. While the library computes, Python runs no signal handler; so a thread of its own waits for the signal meanwhile.
"""
from __future__ import annotations

import contextlib
import functools
import os
import selectors
import signal
import socket
import threading
from collections.abc import Iterator
from ctypes import byref, c_int

LOCK = threading.RLock()  # of all flags; a signal handler may set one, too


class State:
    """The flag of a thread, the reasons for which it is set, and the libraries that know it."""

    def __init__(self):
        self.flag, self.entered, self.interrupted, self.libraries = c_int(0), [], False, []

    def update(self):
        with LOCK:
            self.flag.value = self.interrupted or any(one.value for one in self.entered)

    def interrupt(self, *_):
        self.interrupted = True
        self.update()

    def give_to(self, library):
        """Lets a library read the flag; in a callback it already has one of its own thread."""
        if library not in self.libraries and library.isoline_set_cancel_flag(byref(self.flag)) == 0:
            self.libraries.append(library)


class Here(threading.local):
    """The state of this thread."""

    def __init__(self):
        self.state = State()


HERE = Here()


class CancelFlag:
    """A cancel flag of the thread that enters it: its calls end with Cancelled once another thread calls `set`.

    A thread may enter several, one within another, and several threads one: a call ends once any flag is set that its thread
    is within.
    """

    def __init__(self):
        self.value, self.states = False, []

    def __enter__(self) -> CancelFlag:
        with LOCK:
            self.states.append(HERE.state)
            HERE.state.entered.append(self)
            HERE.state.update()
        return self

    def __exit__(self, *_):
        with LOCK:
            self.states.remove(HERE.state)
            HERE.state.entered.remove(self)
            HERE.state.update()

    def set(self) -> None:
        self.change(True)

    def clear(self) -> None:
        self.change(False)

    def change(self, value):
        with LOCK:
            self.value = value
            for state in self.states:
                state.update()


class Watcher:
    """A thread that gets the signals of a call as bytes, which Python writes at once, and passes them on."""

    def __init__(self):
        self.reader, self.writer = socket.socketpair()
        self.reader.setblocking(False)
        self.writer.setblocking(False)
        self.state, self.other = None, -1
        threading.Thread(target=self.run, name="isoline-interrupts", daemon=True).start()

    def run(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            while True:
                selector.select()
                self.take()

    def take(self):
        """Passes on the signals that have come; another thread may have taken them."""
        with LOCK, contextlib.suppress(OSError):
            signals = self.reader.recv(4096)
            if self.state is not None and signal.SIGINT in signals:
                self.state.interrupt()
            if self.other != -1:
                os.write(self.other, signals)

    def begin(self, state):
        with LOCK:
            # Those of the call before, after which the thread has not yet run, must not end this one.
            self.take()
            self.state = state
            self.other = signal.set_wakeup_fd(self.writer.fileno(), warn_on_full_buffer=False)

    def end(self):
        with LOCK:
            self.state, other = None, self.other
        signal.set_wakeup_fd(other)


watcher = functools.cache(Watcher)


def forget():
    """The child of a fork has no thread that watches, and the lock may be one that the parent's held."""
    global LOCK
    LOCK = threading.RLock()
    watcher.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


@contextlib.contextmanager
def interruptible(state: State) -> Iterator[None]:
    """Lets Ctrl-C in the main thread end a call, and raises KeyboardInterrupt after it: callbacks must not be interrupted.
    A handler of the program's own stays."""
    if (threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
        yield
        return
    watching = watcher()
    signal.signal(signal.SIGINT, state.interrupt)
    watching.begin(state)
    try:
        yield
    finally:
        watching.end()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupted, state.interrupted = state.interrupted, False
        state.update()
        if interrupted:
            raise KeyboardInterrupt
