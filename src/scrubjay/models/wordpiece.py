"""The tokenizer of the bundled model, loaded once and shared by whoever counts or embeds."""

import threading
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from scrubjay.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_loading = threading.Lock()


def wordpiece() -> "Tokenizer":
    """Return the tokenizer, which neither cuts nor pads."""
    with _loading:
        return _load()


@cache
def _load() -> "Tokenizer":
    # Here, because it takes as long to import as the rest of the library.
    from tokenizers import Tokenizer  # noqa: PLC0415  # on first use

    path = files("scrubjay.models.minilm") / "tokenizer.json"
    try:
        return Tokenizer.from_str(path.read_text("utf-8"))
    except OSError as error:
        raise EmbedderUnavailable(f"{path} cannot be read ({error}). Install scrubjay again") from error


def encode(tokenizer: "Tokenizer", texts: Sequence[str], *, special: bool = True) -> list[list[int]]:
    """Return the token ids of each text. Halves of surrogate pairs, which are no text, count as one odd character."""
    try:
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=special)
    except TypeError:
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        encodings = tokenizer.encode_batch(whole, add_special_tokens=special)
    return [encoding.ids for encoding in encodings]
