"""Task memory when a part of it is down, and after it was moved."""

import pytest

pytestmark = pytest.mark.memory_suite

TOLD = {"task_description": "Users are logged out right after they log in", "project": "shop"}


async def test_while_the_model_is_down_words_find_what_was_stored(setup, moody_embedder):
    jay = await setup.open(embedder=moody_embedder)
    await jay.tasks.store_execution("before", "Kept the cookie", True, **TOLD)
    moody_embedder.down = True
    done = await jay.tasks.store_execution("meanwhile", "Kept the cookie", True, **TOLD)
    assert done.outcome == "stored"
    found = await jay.tasks.search_similar("logged out", similarity_threshold=0.9, project="shop")
    assert {task.task_id for task in found} == {"before", "meanwhile"}
    assert found.degraded == ("vectors",)
    assert all(task.similarity is None for task in found)
    known = await jay.tasks.get_task_context("logged out", project="shop")
    assert (len(known.similar_tasks), known.degraded) == (1, ("vectors",))
    assert "(and 1 more like it)" in known.text


async def test_what_waits_to_be_indexed_is_not_cut_by_a_threshold(setup, moody_embedder):
    jay = await setup.open(embedder=moody_embedder)
    moody_embedder.down = True
    await jay.tasks.store_execution("waiting", "Kept the cookie", True, **TOLD)
    moody_embedder.down = False
    [task] = await jay.tasks.search_similar("logged out", similarity_threshold=0.99, project="shop")
    assert task.similarity is None
    await jay.reindex()
    assert len(await jay.tasks.search_similar("logged out", similarity_threshold=0.99, project="shop")) == 0


async def test_executions_and_credit_survive_export_and_import(setup):
    jay = await setup.open()
    await jay.tasks.store_execution("SHOP-1", "Kept the cookie", True, **TOLD)
    [task] = await jay.tasks.search_similar("logged out", project="shop")
    await jay.tasks.used(task.receipt, "helped", project="shop")
    lines = [line async for line in jay.export()]
    await jay.forget(everything=True, purge=True)
    await jay.import_lines(lines)
    [again] = await jay.tasks.search_similar("logged out", project="shop")
    assert (again.memory_id, again.reused_count) == (task.memory_id, 1)
    assert not (await jay.tasks.used(task.receipt, "helped", project="shop")).counted
