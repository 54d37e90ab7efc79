"""Cut code where its structure says: functions and classes as wholes, large classes by their members."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from scrubjay.memories.workspace.ingest.grammars import GRAMMARS, Grammar, parser_of
from scrubjay.memories.workspace.ingest.windows import LARGEST, WINDOW, Span, is_blank, trimmed

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST: Final = 200
"""Nested nodes that are looked through for a name: far more than any real declarator has."""

SLIGHT: Final = 2
"""Lines between two definitions that are too few to be looked for by themselves."""

_NAMES: Final = frozenset({
    "identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name", "operator_name",
})  # fmt: skip
_CLASS_LIKE: Final = frozenset({"class", "arrow_function", "function_expression", "generator_function", "function"})
_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "multiline_comment"})


def spans_of(text: str, language: str) -> list[Span] | None:
    """The pieces of a file, in order, without gaps but for empty lines; None when no grammar reads its language."""
    parser = parser_of(language)
    if parser is None:
        return None
    tree = parser.parse(text.encode())
    lines = text.split("\n")
    cutter = _Cutter(GRAMMARS[language], lines)
    return list(cutter.cut(tree.root_node, 0, len(lines), above=""))


class _Cutter:
    def __init__(self, grammar: Grammar, lines: Sequence[str]) -> None:
        self._grammar = grammar
        self._lines = lines

    def cut(self, node: "Node", start: int, stop: int, *, above: str) -> Iterator[Span]:
        """The lines from start to stop, all of them inside the node: definitions, and what stands between them."""
        done = start
        owner = above or None
        for child, definition in self._definitions(node):
            first = max(done, self._with_comments(child))
            last = min(_last_line(child), stop)
            if last <= first:
                # On one line with the definition before it, which holds it already.
                continue
            if done > start and self._is_slight(done, first):
                # A heading between methods or a lone constant is no piece by itself: it goes with what follows.
                first = trimmed(self._lines, Span(done, first + 1)).start
            yield from self._between(done, first, owner)
            yield from self._piece(definition, first, last, above=above)
            done = last
        yield from self._between(done, stop, owner)

    def _piece(self, definition: "Node", first: int, last: int, *, above: str) -> Iterator[Span]:
        name = self._name(definition)
        symbol = ".".join(part for part in (above, name) if part) or None
        if definition.type in self._grammar.containers and self._is_large(first, last):
            yield from self.cut(definition, first, last, above=symbol or "")
            return
        names = tuple(dict.fromkeys(one for one in (symbol, *self._inner(definition, symbol or "")) if one))
        yield Span(first, last, symbol, names)

    def _is_large(self, first: int, last: int) -> bool:
        return last - first > WINDOW or sum(map(len, self._lines[first:last])) > LARGEST // 2

    def _is_slight(self, start: int, stop: int) -> bool:
        return 0 < sum(bool(line.strip()) for line in self._lines[start:stop]) <= SLIGHT

    def _between(self, start: int, stop: int, owner: str | None) -> Iterator[Span]:
        span = Span(start, stop, owner, (owner,) if owner else ())
        if not is_blank(self._lines, span):
            yield trimmed(self._lines, span)

    def _definitions(self, node: "Node") -> Iterator[tuple["Node", "Node"]]:
        """The definitions right inside the node: each with what is wrapped around it, and by itself."""
        for child in node.named_children:
            inner = self._unwrapped(child)
            if inner is not None:
                yield child, inner
            elif (child.type in self._grammar.definitions and not self._defines(child)) or not self._is_body(child):
                continue
            else:
                yield from self._definitions(child)

    def _is_body(self, node: "Node") -> bool:
        """Whether definitions inside it belong to what it stands in: blocks and lists do, statements do not."""
        return node.type in self._grammar.containers or node.type.endswith(
            (
                "body",
                "body_statement",
                "block",
                "declaration_list",
                "statements",
                "list",
                "source_file",
                "program",
                "compilation_unit",
            )
        )

    def _unwrapped(self, node: "Node") -> "Node | None":
        """The definition that the node is or wraps; None when it is neither."""
        if node.type in self._grammar.definitions:
            return node if self._defines(node) else None
        if node.type in self._grammar.wrappers:
            for child in reversed(node.named_children):
                inner = self._unwrapped(child)
                if inner is not None:
                    return inner
                if child.type in self._grammar.containers:
                    return next((one for _, one in self._definitions(child)), None)
        return None

    def _defines(self, node: "Node") -> bool:
        """Whether it is more than a mention: a struct needs a body, a variable has to hold a function or a class."""
        if node.type == "variable_declarator":
            value = node.child_by_field_name("value")
            return value is not None and value.type in _CLASS_LIKE
        if node.type.endswith("_specifier"):
            return node.child_by_field_name("body") is not None
        return True

    def _inner(self, node: "Node", above: str) -> Iterator[str]:
        for _, definition in self._definitions(node):
            name = f"{above}.{self._name(definition)}" if above else self._name(definition)
            yield name
            if definition.type in self._grammar.containers:
                yield from self._inner(definition, name)

    def _name(self, node: "Node") -> str:
        named = node.child_by_field_name(self._grammar.named_by.get(node.type, "name"))
        if named is None:
            named = next((child for child in node.named_children if child.type in _NAMES), None)
        for _ in range(DEEPEST):
            inner = named.child_by_field_name("declarator") if named is not None else None
            if inner is None:
                break
            named = inner
        text = (named.text or b"").decode(errors="replace") if named is not None else ""
        receiver = node.child_by_field_name("receiver")
        if receiver is not None and receiver.text is not None:
            kind = receiver.text.decode(errors="replace").strip("()").split()[-1:]
            text = f"{kind[0].lstrip('*')}.{text}" if kind else text
        return " ".join(text.split())

    def _with_comments(self, node: "Node") -> int:
        """The line that a definition begins on, with the comments and attributes right above it."""
        first = int(node.start_point.row)
        before = node.prev_named_sibling
        while before is not None and before.type in _COMMENTS and before.end_point.row >= first - 1:
            if before.start_point.row >= first or self._shares_its_line(before):
                break
            first = int(before.start_point.row)
            before = before.prev_named_sibling
        return first

    def _shares_its_line(self, comment: "Node") -> bool:
        """Whether something stands before the comment on its line: then it belongs to that."""
        return bool(self._lines[comment.start_point.row][: comment.start_point.column].strip())


def _last_line(node: "Node") -> int:
    """The line after the last one of the node. One that ends with a newline ends before the next line begins."""
    row, column = node.end_point
    return int(row) if column == 0 and row > node.start_point.row else int(row) + 1
