"""Values: frozen, checked when they are born, free of I/O."""

from scrubjay.model.answers import (
    Context,
    ContextItem,
    ForgetReceipt,
    Generation,
    GenerationState,
    Hit,
    Hits,
    Identity,
    Outcome,
    Remembered,
    Stats,
)
from scrubjay.model.checks import Json
from scrubjay.model.facts import BoostedFact, Fact, FactConflict, FactContext, FactType, Level, StoredFact
from scrubjay.model.finding import Finding
from scrubjay.model.health import Health, HealthState, StoreHealth, StoreState
from scrubjay.model.ids import id_of, new_id, new_ids
from scrubjay.model.memory import DEFAULT_KIND, EVENT_KINDS, STANDING_KINDS, Memory, Trust
from scrubjay.model.query import AsOf, Filter, Mode, Order, Query, Reach
from scrubjay.model.scope import DEFAULT_TENANT, PLACE_NAMES, SCOPE_NAMES, Scope, Where, scope_of

__all__ = [
    "DEFAULT_KIND",
    "DEFAULT_TENANT",
    "EVENT_KINDS",
    "PLACE_NAMES",
    "SCOPE_NAMES",
    "STANDING_KINDS",
    "AsOf",
    "BoostedFact",
    "Context",
    "ContextItem",
    "Fact",
    "FactConflict",
    "FactContext",
    "FactType",
    "Filter",
    "Finding",
    "ForgetReceipt",
    "Generation",
    "GenerationState",
    "Health",
    "HealthState",
    "Hit",
    "Hits",
    "Identity",
    "Json",
    "Level",
    "Memory",
    "Mode",
    "Order",
    "Outcome",
    "Query",
    "Reach",
    "Remembered",
    "Scope",
    "Stats",
    "StoreHealth",
    "StoreState",
    "StoredFact",
    "Trust",
    "Where",
    "id_of",
    "new_id",
    "new_ids",
    "scope_of",
]
