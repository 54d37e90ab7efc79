"""Threads for what takes long and nobody waits for."""

from collections.abc import Callable
from threading import Event, Lock, Thread, current_thread

from scrubjay.errors import Closed


class Aside:
    """Does things on threads of their own, until it is shut."""

    def __init__(self) -> None:
        self.stop = Event()
        """Set when whatever is being done should come to an end."""
        self._threads: set[Thread] = set()
        self._lock = Lock()

    @property
    def busy(self) -> int:
        """How many things are being done."""
        return len(self._threads)

    def begin(self, work: Callable[[], None], *, name: str) -> None:
        """Begin with this. Raises Closed when it has been shut, and RuntimeError when no thread is to be had."""

        def whole() -> None:
            try:
                work()
            finally:
                self._threads.discard(current_thread())

        # With the lock held: who shuts it finds either nothing of this, or a thread that has begun.
        with self._lock:
            if self.stop.is_set():
                raise Closed
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
        with self._lock:
            self.stop.set()
            threads = list(self._threads)
        for thread in threads:
            thread.join()
