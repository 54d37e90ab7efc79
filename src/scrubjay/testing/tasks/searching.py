"""Similar tasks are found by meaning and by words, cut by similarity, and kept to their scope."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.testing.tasks.storing import Jay, an_execution

QUESTION = "Users are logged out when they log in"


async def a_history(jay: Jay) -> None:
    """A few executions of two projects."""
    await jay.tasks.store_many(
        [
            an_execution("login", success=False, project="shop"),
            an_execution("login", attempt=2, error_patterns=["KeyError"], project="shop"),
            an_execution(
                "cart",
                task_description="The cart page is slow",
                execution_summary="Cached the total of the cart",
                files=["cart.py"],
                project="shop",
            ),
            an_execution("comments", task_description="Comments of users are lost", project="blog"),
        ]
    )


class Searching:
    """What `search_similar` promises."""

    async def test_the_most_alike_come_first_with_all_their_numbers(self, jay: Jay) -> None:
        await a_history(jay)
        found = await jay.tasks.search_similar(QUESTION, project="shop")
        assert [task.task_id for task in found] == ["login", "login", "cart"]
        best = found[0]
        assert best.similarity is not None
        assert best.semantic_score == pytest.approx(best.similarity)
        assert best.keyword_score is not None
        assert best.keyword_score > 0
        assert best.summary == "Kept the session cookie over the redirect"
        assert best.reused_count == 0
        assert best.memory_type in ("warning", "error_fix")
        assert [task.score for task in found] == sorted((task.score for task in found), reverse=True)
        assert len({task.receipt for task in found}) == 3

    async def test_only_so_many_are_given(self, jay: Jay) -> None:
        await a_history(jay)
        assert len(await jay.tasks.search_similar(QUESTION, top_k=2)) == 2

    async def test_other_kinds_of_memory_are_no_tasks(self, jay: Jay) -> None:
        await jay.remember(QUESTION)
        await jay.remember(QUESTION, kind="task")
        assert len(await jay.tasks.search_similar(QUESTION)) == 0

    async def test_a_project_sees_its_own_tasks(self, jay: Jay) -> None:
        await a_history(jay)
        found = await jay.tasks.search_similar("Comments of users are lost", project="shop")
        assert "comments" not in {task.task_id for task in found}
        everywhere = await jay.tasks.search_similar("Comments of users are lost")
        assert everywhere[0].task_id == "comments"

    async def test_another_tenant_sees_nothing(self, jay: Jay) -> None:
        await a_history(jay)
        assert len(await jay.for_tenant("other").tasks.search_similar(QUESTION)) == 0

    async def test_the_threshold_is_on_similarity_also_for_what_only_words_found(self, jay: Jay) -> None:
        await a_history(jay)
        everything = await jay.tasks.search_similar(QUESTION)
        assert all(task.similarity is not None for task in everything)
        middle = sorted(task.similarity for task in everything)[2]
        found = await jay.tasks.search_similar(QUESTION, similarity_threshold=middle)
        assert {task.memory_id for task in found} == {
            task.memory_id for task in everything if task.similarity >= middle
        }
        assert found.threshold == middle

    async def test_meaning_alone(self, jay: Jay) -> None:
        await a_history(jay)
        found = await jay.tasks.search_similar(QUESTION, mode="semantic")
        assert all(task.similarity is not None and task.keyword_score is None for task in found)

    async def test_keywords_have_no_similarity_and_say_so(self, jay: Jay) -> None:
        await a_history(jay)
        found = await jay.tasks.search_similar("cart", mode="keyword")
        assert [task.task_id for task in found] == ["cart"]
        assert (found[0].similarity, found[0].semantic_score, found.threshold) == (None, None, None)
        assert found[0].keyword_score > 0
        with pytest.raises(InvalidInput, match="no similarity"):
            await jay.tasks.search_similar("cart", mode="keyword", similarity_threshold=0.5)

    async def test_only_what_worked(self, jay: Jay) -> None:
        await a_history(jay)
        found = await jay.tasks.search_similar(QUESTION, success_only=True, project="shop")
        assert {(task.task_id, task.attempt) for task in found} == {("login", 2), ("cart", 1)}

    async def test_only_some_memory_types(self, jay: Jay) -> None:
        await a_history(jay)
        found = await jay.tasks.search_similar(QUESTION, memory_types=["warning", "codebase_knowledge"])
        assert {task.memory_type for task in found} == {"warning", "codebase_knowledge"}

    async def test_the_one_that_worked_is_found_among_many_that_did_not(self, jay: Jay) -> None:
        failures = [an_execution(f"failed-{number}", success=False) for number in range(150)]
        await jay.tasks.store_many([*failures, an_execution("worked", task_description="Users and the log")])
        found = await jay.tasks.search_similar(QUESTION, success_only=True)
        assert [task.task_id for task in found] == ["worked"]

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ({"task_description": "  "}, "task_description is"),
            ({"top_k": 0}, "top_k is 0"),
            ({"similarity_threshold": 1.5}, "similarity_threshold is 1.5"),
            ({"mode": "meaning"}, "mode is 'meaning'"),
            ({"memory_types": ["rumour"]}, "memory_types holds 'rumour'"),
            ({"colour": "blue"}, "colour='blue'"),
        ],
    )
    async def test_a_wrong_question_is_refused(self, jay: Jay, given: dict[str, object], named: str) -> None:
        with pytest.raises(InvalidInput, match=named):
            await jay.tasks.search_similar(**{"task_description": QUESTION, **given})
