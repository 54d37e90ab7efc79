"""Python that is already warm: each command is a process of its own, forked from one that has imported everything.

A page of documentation starts `scrubjay` a dozen times, and each time most of a second goes into imports and models.
Here programs named `scrubjay` and `python` hand their arguments, environment, folder and streams to a server, which
forks. What cold starts are like is tested in tests/doors/cli/test_cli_process.py.
"""

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import random
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NoReturn

IMPORTED = (
    "alembic.command",
    "numpy.ma",
    "numpy.random",
    "psycopg_pool",
    "pydantic_settings",
    "rich.progress",
    "rich.table",
    "rs_bpe",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "subprocess",
    "tokenizers",
)
"""None of these starts a thread, which a fork would lose."""

LEFT_OUT = (
    "scrubjay.__main__",
    "scrubjay.adapters",
    "scrubjay.backends.sql.migrations",
    "scrubjay.backends.vectors.chroma",
    "scrubjay.backends.vectors.qdrant",
    "scrubjay.client",
    "scrubjay.doors.http",
    "scrubjay.doors.mcp",
    "scrubjay.testing",
)
"""What few commands need and what takes long to import, or cannot be: all else of Scrubjay is."""

CLIENT = """\
#!{python} -SEs
# Modules in C only, whose import takes no time: socket, signal and json take as long as the start of Python does.
import _signal, _socket, marshal, posix, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
body = marshal.dumps(([{program!r}, *sys.argv[1:]], posix.environ, posix.getcwd()))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server.sendmsg([len(body).to_bytes(8)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(body)
process = int.from_bytes(server.recv(8))
passed_on = _signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP
for number in passed_on:
    _signal.signal(number, lambda number, frame: posix.kill(process, number))
answer = server.recv(8)
if not answer:
    sys.exit("the warm server is gone")
code = int.from_bytes(answer, signed=True)
if code < 0:
    for number in passed_on:
        _signal.signal(number, _signal.SIG_DFL)
    posix.kill(posix.getpid(), -code)
posix._exit(code)
"""


@contextlib.contextmanager
def warm_programs(folder: Path) -> Iterator[Path]:
    """Put `scrubjay` and `python` into the folder, which goes before all others on PATH."""
    address = folder / "socket"
    server = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE)
    try:
        with server.stdout:
            assert server.stdout.readline() == b"warm\n"
        for program in ("scrubjay", "python"):
            client = CLIENT.format(python=sys.executable, address=str(address), program=program)
            (folder / program).write_text(client, encoding="utf-8")
            (folder / program).chmod(0o755)
        yield folder
    finally:
        server.terminate()
        server.wait(60)


def import_all(package: ModuleType) -> None:
    """Import the modules of a package and of those inside it: most are loaded at their first use otherwise."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not found.name.startswith(LEFT_OUT):
            module = importlib.import_module(found.name)
            if found.ispkg:
                import_all(module)


def load_models() -> None:
    """Load the bundled models and the vocabularies that count tokens, for all forked processes to share."""
    from scrubjay.models import minilm, static, tokens, wordpiece

    wordpiece.wordpiece()
    tokens.tokens_of("auto").count("")
    # With one thread, since a fork has no other. A process whose texts are long loads the model with more by itself.
    minilm._load = cache(minilm._load)
    minilm._load(1)
    static._read = cache(static._read)
    static._read(static._folder())


def serve(address: str) -> None:
    """Fork for every visitor until a signal ends this process. Returns in the processes that are to run a program."""
    for name in IMPORTED:
        importlib.import_module(name)
    import_all(importlib.import_module("scrubjay"))
    load_models()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen()
        selector.register(listener, selectors.EVENT_READ)
        sys.stdout.write("warm\n")
        sys.stdout.flush()
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    selector.unregister(key.fd)
                    tell_end(key.fd, *key.data)
                    continue
                visitor, _ = listener.accept()
                if (child := begin(visitor)) is None:
                    return
                selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, visitor))


def begin(visitor: socket.socket) -> int | None:
    """Fork, and tell the visitor the number of the child. None: this is the child, ready to run."""
    length, streams, _, _ = socket.recv_fds(visitor, 8, 3)
    body = b""
    while len(body) < int.from_bytes(length) and (more := visitor.recv(65536)):
        body += more
    if (child := os.fork()) == 0:
        visitor.close()
        become(streams, *marshal.loads(body))
        return None
    for stream in streams:
        # Whoever reads the other end waits until all have let go of it.
        os.close(stream)
    with contextlib.suppress(BrokenPipeError):
        visitor.sendall(child.to_bytes(8))
    return child


def tell_end(handle: int, child: int, visitor: socket.socket) -> None:
    os.close(handle)
    _, status = os.waitpid(child, 0)
    with visitor, contextlib.suppress(BrokenPipeError):
        visitor.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, signed=True))


def become(streams: list[int], command: list[str], environment: dict[bytes, bytes], folder: str) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode, closefd=False) for number, mode in enumerate("rww"))  # noqa: SIM115 -- they last as long as the process
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    os.environ.clear()
    os.environb.update(environment)
    os.chdir(folder)
    sys.argv = command


def run() -> None:
    """Run the program that `sys.argv` names: `scrubjay`, or a file of Python."""
    if sys.argv[0] == "scrubjay":
        from scrubjay.doors.cli import main

        main()
        return
    del sys.argv[0]
    sys.stdout.reconfigure(line_buffering=True)
    sys.path[0] = str(Path(sys.argv[0]).absolute().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


def leave(code: int) -> NoReturn:
    """End as a process does, but for taking every module apart, which takes longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
    try:
        run()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        leave(end.code if isinstance(end.code, int) else int(end.code is not None))
    except BaseException:  # noqa: BLE001 -- as the interpreter does
        traceback.print_exc()
        leave(1)
    leave(0)
