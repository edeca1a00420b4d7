"""Ctrl-C that cannot get lost on its way through somebody else's native code."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def remember_interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether SIGINT has arrived since.

    The signal becomes an exception wherever the program happens to be. Inside a DuckDB query that exception can be
    dropped (its type checks call back into Python and ignore what is raised there), and the program would go on, or it
    can be told as an error like any other ("Query interrupted"). The interpreter writes every signal's number to the
    wakeup descriptor first, whatever becomes of the exception. Outside the main thread no signal is delivered: the
    function then says no.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def is_interrupted() -> bool:
        try:
            return signal.SIGINT in os.read(reader, 4096)
        except BlockingIOError:
            return False

    try:
        yield is_interrupted
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
