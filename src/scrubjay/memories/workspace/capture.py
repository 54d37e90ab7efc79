"""Capture: a job tells what it makes while it runs, and is recorded when it ends well."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, ParamSpec, TypeAlias, TypeVar, cast

from scrubjay.model.checks import Json
from scrubjay.model.workspace import CompletionStatus

P = ParamSpec("P")
T = TypeVar("T")

Record: TypeAlias = Callable[..., bool]
"""Leaves a completion to be written: never raises, and says whether it will be."""

_TOLD: Final = ("summary", "tests", "artifact", "zip", "language", "model", "task_id", "status")


class Job:
    """A job that is under way: what it makes is told here, and recorded when it ends."""

    def __init__(self, goal: str, repo: str | Path, details: Mapping[str, Any]) -> None:
        self.goal = goal
        self.repo = repo
        self.summary: str | None = details.get("summary")
        self.tests: Json = details.get("tests")
        self.artifact: str | Path | None = details.get("artifact")
        self.zip: str | Path | None = details.get("zip")
        self.language: str | None = details.get("language")
        self.model: str | None = details.get("model")
        self.task_id: str | None = details.get("task_id")
        self.status: CompletionStatus = details.get("status", "succeeded")
        self._files: list[dict[str, object]] = []
        self._given = dict(details)

    def file(self, path: str | Path, content: str | bytes | None = None, *, language: str | None = None) -> None:
        """Tell of a file that the job made or changed. Without content, it is read from the working tree later."""
        told: dict[str, object] = {"path": path, "content": content, "language": language}
        self._files.append({name: value for name, value in told.items() if value is not None})

    def reject(self) -> None:
        """Say that another job won: this one is kept as an example of what was not chosen, if such are kept at all."""
        self.status = "rejected"

    def cancel(self) -> None:
        """Say that nothing came of it: it is not remembered."""
        self.status = "cancelled"

    @property
    def details(self) -> dict[str, Any]:
        """All that was told, as `record_completion` takes it."""
        return {**self._given, **{name: getattr(self, name) for name in _TOLD}, "files": self._all_files()}

    def _all_files(self) -> object:
        """Those that the capture was given, and those that were told here."""
        given = self._given.get("files")
        if not self._files or not given:
            return self._files or given
        if isinstance(given, Mapping):
            return [*({"path": path, "content": content} for path, content in given.items()), *self._files]
        return [*given, *self._files]

    def __repr__(self) -> str:
        return f"<Job {self.status} {self.goal[:60]!r}, {len(self._files)} files>"


class Capture:
    """Records what runs inside it: with `with`, with `async with`, or as the decorator of a job."""

    def __init__(
        self, record: Record, *, goal: str | Callable[..., str], repo: str | Path, details: Mapping[str, Any]
    ) -> None:
        self._record = record
        self._goal = goal
        self._repo = repo
        self._details = details
        self._jobs: list[Job] = []

    def __enter__(self) -> Job:
        job = Job(self._goal if isinstance(self._goal, str) else self._goal(), self._repo, self._details)
        self._jobs.append(job)
        return job

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        job = self._jobs.pop()
        if error is not None:
            # Somebody who presses Ctrl-C, or cancels the task, has not seen the job fail.
            stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit)
            job.status = "cancelled" if stopped else "failed"
        self._record(goal=job.goal, repo_path=job.repo, **job.details)
        return False

    async def __aenter__(self) -> Job:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        return self.__exit__(kind, error, trace)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """The same function; each call of it is a job of its own."""
        takes_job = "job" in inspect.signature(function).parameters

        def given(kwargs: dict[str, Any], job: Job) -> dict[str, Any]:
            return {**kwargs, "job": job} if takes_job else kwargs

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 -- the job's own
                with self._one(args, kwargs) as job:
                    return await function(*args, **given(kwargs, job))

            return cast("Callable[P, T]", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> T:  # noqa: ANN401 -- the job's own
            with self._one(args, kwargs) as job:
                return cast("Callable[..., T]", function)(*args, **given(kwargs, job))

        return cast("Callable[P, T]", called)

    def _one(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Capture":
        """One call of a decorated job: many may be under way at once."""
        goal = self._goal if isinstance(self._goal, str) else self._goal(*args, **kwargs)
        return Capture(self._record, goal=goal, repo=self._repo, details=self._details)
