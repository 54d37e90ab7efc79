"""Completions as values: what names them, what a model reads apart, and what they refuse."""

from datetime import timedelta

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model.workspace import Completion, CompletionFile, WorkspaceRules, stretches
from scrubjay.testing import a_memory

HASH = "a" * 64


def a_completion(**overrides):
    return Completion(**{"goal": "Do it", "repo": "/repo", **overrides})


def a_file(**overrides):
    return CompletionFile(**{"path": "a.py", "size": 3, "hash": HASH, **overrides})


def as_memory(completion):
    return a_memory(completion.content, kind=completion.kind, key=completion.key, data=completion.data)


def test_it_comes_back_from_its_memory():
    told = a_completion(
        summary="Did it",
        tests={"passed": 1},
        files=(a_file(kept="whole", blob="b" * 64, bytes=3, redacted=("jwt",)), a_file(path="b.bin")),
        symbols=("go",),
        cuts=("b.bin: not text",),
    )
    memory = as_memory(told)
    assert Completion.of(memory) == Completion(
        **{**{name: getattr(told, name) for name in told.__slots__}, "at": memory.valid_from}
    )


def test_a_model_reads_goal_summary_and_names_apart():
    for summary in (None, "One.\n\nFiles: are mentioned here"):
        for files, symbols in (((), ()), ((a_file(),), ()), ((), ("go",)), ((a_file(),), ("go",))):
            told = a_completion(goal="First.\n\nSecond.", summary=summary, files=files, symbols=symbols)
            memory = as_memory(told)
            parts = [memory.content[start:stop] for start, stop in stretches(memory)]
            names = "\n".join(
                [*(["Files: a.py"] if files else []), *(["Symbols: go"] if symbols else [])],
            )
            assert parts[0] == told.goal
            assert "\n\n".join(parts) == memory.content
            if names:
                assert parts[-1] == names


def test_a_name_of_its_own_for_each_task_and_each_loser():
    assert a_completion(task_id="T-1").key == a_completion(task_id="T-1", goal="Otherwise").key
    assert a_completion(task_id="T-1").key != a_completion(task_id="T-1", repo="/other").key
    assert a_completion().key != a_completion(goal="Otherwise").key
    lost = {a_completion(task_id="T-1", status="rejected", model=model).key for model in ("a", "b")}
    assert len(lost) == 2
    assert max(len(a_completion(task_id="x" * 200, status="rejected").key), 0) <= 255


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"status": "failed"}, "status is 'failed'"),
        ({"repo": ""}, "repo is ''"),
        ({"task_id": "x" * 201}, "task_id has 201"),
        ({"zip": ""}, "zip is ''"),
        ({"files": (a_file(),) * 2_001}, "files has 2,001"),
    ],
)
def test_what_is_wrong_is_named(wrong, match):
    with pytest.raises(InvalidInput, match=match):
        a_completion(**wrong)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"hash": "abc"}, "hash is 'abc'"),
        ({"kept": "whole"}, "kept is 'whole'"),
        ({"blob": HASH}, "kept is 'nothing'"),
        ({"size": -1}, "size is -1"),
        ({"path": "x" * 1_001}, "path is"),
    ],
)
def test_a_file_checks_itself(wrong, match):
    with pytest.raises(InvalidInput, match=match):
        a_file(**wrong)


@pytest.mark.parametrize("wrong", [{"head": -1}, {"workspace_bytes": 0}, {"keep_for": timedelta(0)}, {"keep_for": 3}])
def test_rules_check_themselves(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        WorkspaceRules(**wrong)
