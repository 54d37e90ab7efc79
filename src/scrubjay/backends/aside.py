"""Threads for what takes long and nobody waits for."""

from collections.abc import Callable
from threading import Event, Thread, current_thread

from scrubjay.errors import Closed


class Aside:
    """Does things on threads of their own, until it is shut."""

    def __init__(self) -> None:
        self.stop = Event()
        """Set when whatever is being done should come to an end."""
        self._threads: set[Thread] = set()

    def begin(self, work: Callable[[], None], *, name: str) -> None:
        """Begin with this. Raises Closed when it has been shut."""
        if self.stop.is_set():
            raise Closed

        def whole() -> None:
            try:
                work()
            finally:
                self._threads.discard(current_thread())

        # A daemon, so that a program that ends without shutting the memory does not wait for it.
        thread = Thread(target=whole, name=name, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # There are too many threads already.
            self._threads.discard(thread)
            raise

    def shut(self) -> None:
        """Stop what is being done, and wait until it has stopped."""
        self.stop.set()
        for thread in list(self._threads):
            thread.join()
