"""The rows of the original design of workspace memory, in its words: what a queue of coding jobs remembers."""

import pytest

import scrubjay

JOBS = (
    ("Customers are logged out right after they log in", "The session cookie was dropped by the redirect", "python"),
    ("Compute VAT for orders shipped to Switzerland", "A tax table for each country, rounded to five Rappen", "python"),
    ("Export invoices as PDF", "One template for each language, rendered with weasyprint", "python"),
    ("Debounce the search box in the catalogue", "Wait 300 ms, and cancel the stale request", "typescript"),
    ("Make the checkout button accessible by keyboard", "A real button with a focus ring", "typescript"),
    ("Retry failed webhooks with exponential backoff", "With jitter; given up after eight attempts", "python"),
    ("Speed up the product listing query", "A composite index on category and price", "sql"),
    ("Rotate the API keys without downtime", "Two keys are valid during a grace period", "go"),
)
FITTING = {
    "customers get logged out": 0,
    "session cookie": 0,
    "job0.py": 0,
    "tax in Switzerland": 1,
    "PDF invoices": 2,
    "debounce": 3,
    "keyboard": 4,
    "webhook retry": 5,
    "slow database query": 6,
    "key rotation": 7,
}
FOREIGN = (
    "how do I bake sourdough bread",
    "kubernetes ingress with TLS",
    "train a neural network for image segmentation",
    "the weather in Paris tomorrow",
    "football results",
    "parse CSV files",
    "Wie backe ich Brot?",
)


@pytest.fixture
def shop(memory, tmp_path):
    """A memory of eight jobs in one repository."""
    repo = tmp_path / "shop"
    repo.mkdir()
    for number, (goal, summary, language) in enumerate(JOBS):
        memory.workspace.store_completion(
            goal=goal,
            repo_path=repo,
            task_id=f"SHOP-{number}",
            summary=summary,
            language=language,
            files={f"job{number}.py": f"def job_{number}(): ...\n"},
        )
    return memory, repo


def test_a_completion_keeps_its_include_globs(opened, tmp_path):
    repo = tmp_path / "shop"
    repo.mkdir()
    globs = ["shop/**/*.py", "!shop/tests/**", "*.toml"]
    with opened() as memory:
        done = memory.workspace.store_completion(goal="Sort the basket", repo_path=repo, include_globs=globs)
        assert done.completion.include_globs == tuple(globs)
        with memory.workspace.capture(goal="Empty the basket", repo=repo, include_globs=("*.py",)):
            pass
        memory.workspace.flush()
    with opened() as memory:
        assert memory.workspace.get(done.id).completion.include_globs == tuple(globs)
        [hit] = memory.workspace.search_memories(repo, query="empty the basket", limit=1)
        assert hit.completion.include_globs == ("*.py",)
        without = memory.workspace.store_completion(goal="Paint the basket", repo_path=repo, include_globs=None)
        assert without.completion.include_globs == ()


@pytest.mark.parametrize("wrong", ["*.py", [""], ["x" * 2_000], [7], ["*.py"] * 200, {"*.py": 1}])
def test_include_globs_that_are_none_are_refused_by_name(tmp_path, wrong):
    with (
        scrubjay.open(tmp_path / "home", background=False) as memory,
        pytest.raises(scrubjay.InvalidInput, match="include_globs"),
    ):
        memory.workspace.store_completion(goal="Sort the basket", repo_path=tmp_path, include_globs=wrong)


def test_a_search_finds_the_job_that_fits(shop):
    memory, repo = shop
    for question, number in FITTING.items():
        found = memory.workspace.search_memories(repo, query=question)
        assert found[0].completion.task_id == f"SHOP-{number}", question


def test_a_search_that_no_job_fits_finds_none(shop):
    memory, repo = shop
    for question in FOREIGN:
        assert [hit.completion.goal for hit in memory.workspace.search_memories(repo, query=question)] == [], question
    assert len(memory.workspace.search_memories(repo)) == 5, "an empty question finds the newest"


def test_the_only_job_is_found_by_a_word_of_it(memory, tmp_path):
    goal = "<script>alert(1)</script> keep customers logged in"
    memory.workspace.store_completion(goal=goal, repo_path=tmp_path, summary="<img src=x> the cookie", task_id="S-1")
    for question in ("customers", "the cookie", "logged in customers"):
        assert len(memory.workspace.search_memories(query=question)) == 1, question
    for question in FOREIGN:
        assert len(memory.workspace.search_memories(query=question)) == 0, question


def test_a_job_that_is_not_indexed_yet_is_found_by_its_words(opened, tmp_path):
    with opened(workspace_embeddings=False) as memory:
        memory.workspace.store_completion(goal="Sort the basket by price", repo_path=tmp_path)
        assert len(memory.workspace.search_memories(query="basket")) == 1
        assert len(memory.workspace.search_memories(query="sourdough bread")) == 0


def test_a_rejected_job_is_never_among_plain_recall_hits(opened, tmp_path):
    with opened(workspace_rejected=True) as memory:
        winner = memory.workspace.store_completion(goal="Sort the basket by price", repo_path=tmp_path, task_id="S-1")
        for number in range(30):
            memory.workspace.store_completion(
                goal="Sort the basket by price",
                repo_path=tmp_path,
                task_id="S-1",
                status="rejected",
                summary=f"By colour, attempt {number}",
            )
        note = memory.remember("The basket is sorted by price, says Anna")
        for mode in ("hybrid", "words", "meaning"):
            hits = memory.recall("sort the basket by price", limit=10, mode=mode)
            assert {hit.memory.id for hit in hits} == {winner.id, note.id}, mode
        assert {hit.memory.id for hit in memory.recall("", limit=10)} == {winner.id, note.id}
        assert "colour" not in str(memory.context("sort the basket by price"))
        found = memory.workspace.search_memories(query="sort the basket", status="rejected", limit=3)
        assert [hit.is_advice for hit in found] == [False] * 3
        assert len(memory.recall("sort the basket", kinds=["rejected_completion"], limit=10)) == 10, (
            "asked for, they are"
        )
        assert len(memory.list(limit=100)) == 32, "and whoever lists what is kept sees them"
