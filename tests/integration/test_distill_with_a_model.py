"""Consolidation with a language model on a server: what it writes is kept when it is true, and not waited for."""

import pytest
from chat_server import chatting

import scrubjay
from scrubjay.errors import Misconfigured
from scrubjay.model import Trust
from scrubjay.models import server as server_module

WHERE = {"user": "anna", "session": "s-1"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(server_module, "ATTEMPTS", 1)


async def consolidated(home, answer):
    """The summary of one session, and the facts that were found."""
    with chatting(answer) as url:
        async with scrubjay.open_async(
            home, embedder="none", background=False, chat="openai:some", chat_url=url
        ) as jay:
            await jay.working.append(
                [
                    {"role": "user", "content": "The launch in Lisbon moved to 14 May."},
                    {"role": "assistant", "content": "Noted. You always like Acme boxes."},
                    {"role": "user", "content": "I prefer tabs over spaces."},
                ],
                **WHERE,
            )
            await jay.working.end(**WHERE)
            await jay.consolidate(steps=["drain", "distill"])
            [summary] = await jay.list(user="anna", kinds=["summary"])
            facts = [fact.content for fact in await jay.list(user="anna", kinds=["preference", "fact", "instruction"])]
            return summary, facts


async def test_what_is_true_is_kept_and_what_is_made_up_is_not(tmp_path):
    def answer(asked):
        ids = [one["id"] for one in asked["sources"]]
        return {
            "summary": [
                {"text": "The launch in Lisbon moved to 14 May.", "sources": ids[:1]},
                {"text": "Olaf bought 99 castles.", "sources": ids[:1]},
            ],
            "facts": [{"content": "likes Acme boxes", "type": "preference", "value": "Acme", "sources": [ids[1]]}],
        }

    summary, facts = await consolidated(tmp_path, answer)
    assert summary.content == "The launch in Lisbon moved to 14 May."
    assert summary.data["method"] == "openai:some"
    assert summary.trust is Trust.CONCLUDED
    assert facts == ["I prefer tabs over spaces"]


async def test_a_model_that_fails_costs_nothing_but_its_words(tmp_path):
    summary, facts = await consolidated(tmp_path, lambda asked: None)
    assert summary.data["method"] == "extractive"
    assert "Lisbon moved to 14 May" in summary.content
    assert facts == ["I prefer tabs over spaces"]


def test_a_model_that_is_not_known_is_refused(tmp_path):
    with pytest.raises(Misconfigured, match="SCRUBJAY_CHAT is 'gpt'"):
        scrubjay.open_async(tmp_path, chat="gpt")
