"""The driver's end of the line to one system's process."""

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any, Self

from systems import HERE, ROOT, System

IDLE = 2.0
"""Seconds in which a system that has settled does next to nothing."""


class Ended(Exception):
    """A process said no more. The message is the last that it wrote."""


class TookTooLong(Exception):
    """A process did not answer in its time and was ended."""


class House:
    """One process with one system on one store. `source` is where its Scrubjay is imported from."""

    def __init__(
        self,
        system: System,
        python: Path,
        *,
        material: Path,
        questions: Path,
        store: Path,
        embedder: str,
        looks_up: bool,
        source: Path = ROOT / "src",
    ) -> None:
        store.mkdir(parents=True, exist_ok=True)
        self._said = store.parent / f"{store.name}-{time.monotonic_ns()}.log"
        self._log = self._said.open("w", encoding="utf-8")
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [
                python, HERE / "inhabit.py", system.adapter, material, questions, store,
                embedder, "look-up" if looks_up else "embed",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment(system, store, source),
            cwd=store,
        )  # fmt: skip
        os.set_blocking(self._process.stdout.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, do: str, **details: object) -> None:
        """Give an order; `hear` has the answer."""
        line = json.dumps({"do": do, **details}) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Ended(self._last_words()) from None

    def hear(self, seconds: float) -> dict[str, Any]:
        """The answer to the last order. Raises Ended, or TookTooLong after so many seconds."""
        heard, deadline = b"", time.monotonic() + seconds
        while not heard.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                self.end()
                raise TookTooLong(f"no answer in {seconds:.0f} s")
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                raise Ended(self._last_words())
            heard += part
        return json.loads(heard)

    def order(self, do: str, *, seconds: float, **details: object) -> dict[str, Any]:
        """Give an order and wait that long for its answer."""
        self.tell(do, **details)
        return self.hear(seconds)

    def settled(self, seconds: float) -> float:
        """Wait until it hardly works any more, or so many seconds; returns after how many it stopped to."""
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            worked = self._worked()
            time.sleep(IDLE)
            if self._worked() - worked < IDLE / 20:
                return now
        return seconds

    def _worked(self) -> float:
        """Seconds of processor time that it has used; 0 where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def shut(self, seconds: float) -> None:
        """Let the system close its store, and the process end."""
        self.order("shut", seconds=seconds)
        self._process.wait()
        self.end()

    def end(self) -> None:
        """End the process, whatever it is doing. Safe to call twice."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._log.close()

    def _last_words(self) -> str:
        self.end()
        lines = [line for line in self._said.read_text("utf-8", errors="replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"ended with {self._process.returncode}, without a word"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def environment(system: System, store: Path, source: Path) -> dict[str, str]:
    """Nothing of the user's configuration, no network, a home of its own, and Scrubjay's model within reach."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    quiet = dict(one.split("=", 1) for one in system.quiet)
    # A peer that would fetch a model finds no network: better an error than a minute of trying.
    nowhere = "http://127.0.0.1:9"
    away = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "http_proxy": nowhere, "https_proxy": nowhere}
    # Threads that share one product of matrices wait for each other where a machine is busy, and times jump.
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {**kept, **quiet, **away, **one_thread, "HOME": str(store), "PYTHONPATH": str(source)}
