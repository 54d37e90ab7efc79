"""How people say who they are, what they like, what they want done and what they work with, as patterns."""

from scrubjay.memories.distill.rules.liking import LIKING
from scrubjay.memories.distill.rules.person import PERSON
from scrubjay.memories.distill.rules.project import PROJECT
from scrubjay.memories.distill.rules.rule import Rule
from scrubjay.memories.distill.rules.wishing import WISHING

RULES = (*PERSON, *LIKING, *WISHING, *PROJECT)
"""In the order they are tried: what one rule has read of a sentence, no later one reads."""

__all__ = ["RULES", "Rule"]
