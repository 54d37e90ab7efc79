"""Which grammar reads which language, and which of its nodes define something. The grammars are the extra `code`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """How one language writes its definitions."""

    module: str
    entry: str = "language"
    definitions: frozenset[str]
    """Nodes that define something with a name: functions, methods, types."""
    containers: frozenset[str] = frozenset()
    """Those of them, and others, that hold definitions: classes, modules, namespaces."""
    wrappers: frozenset[str] = frozenset()
    """Nodes around a definition that belong to it: decorators, `export`, templates."""
    named_by: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The field that names a node, where it is not `name`."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _script(module: str, entry: str) -> Grammar:
    """JavaScript and TypeScript write their definitions alike."""
    return Grammar(
        module=module,
        entry=entry,
        definitions=_words(
            "function_declaration generator_function_declaration class_declaration abstract_class_declaration "
            "method_definition variable_declarator interface_declaration enum_declaration type_alias_declaration "
            "internal_module"
        ),
        containers=_words(
            "class_declaration abstract_class_declaration interface_declaration internal_module lexical_declaration "
            "variable_declaration"
        ),
        wrappers=_words("export_statement ambient_declaration expression_statement"),
    )


GRAMMARS: Final[dict[str, Grammar]] = {
    "python": Grammar(
        module="tree_sitter_python",
        definitions=_words("function_definition class_definition"),
        containers=_words("class_definition"),
        wrappers=_words("decorated_definition"),
    ),
    "javascript": _script("tree_sitter_javascript", "language"),
    "typescript": _script("tree_sitter_typescript", "language_typescript"),
    "tsx": _script("tree_sitter_typescript", "language_tsx"),
    "go": Grammar(
        module="tree_sitter_go",
        definitions=_words("function_declaration method_declaration type_spec"),
        containers=_words("type_declaration"),
    ),
    "rust": Grammar(
        module="tree_sitter_rust",
        definitions=_words(
            "function_item struct_item enum_item union_item trait_item impl_item mod_item macro_definition type_item"
        ),
        containers=_words("impl_item trait_item mod_item"),
        named_by={"impl_item": "type"},
    ),
    "java": Grammar(
        module="tree_sitter_java",
        definitions=_words(
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration "
            "method_declaration constructor_declaration"
        ),
        containers=_words("class_declaration interface_declaration enum_declaration record_declaration"),
    ),
    "kotlin": Grammar(
        module="tree_sitter_kotlin",
        definitions=_words("class_declaration object_declaration function_declaration type_alias"),
        containers=_words("class_declaration object_declaration"),
    ),
    "scala": Grammar(
        module="tree_sitter_scala",
        definitions=_words("class_definition object_definition trait_definition function_definition enum_definition"),
        containers=_words("class_definition object_definition trait_definition"),
    ),
    "c": Grammar(
        module="tree_sitter_c",
        definitions=_words("function_definition struct_specifier enum_specifier union_specifier type_definition"),
        containers=_words("preproc_ifdef preproc_if"),
        named_by={"function_definition": "declarator", "type_definition": "declarator"},
    ),
    "cpp": Grammar(
        module="tree_sitter_cpp",
        definitions=_words(
            "function_definition class_specifier struct_specifier enum_specifier union_specifier namespace_definition "
            "type_definition"
        ),
        containers=_words(
            "class_specifier struct_specifier namespace_definition linkage_specification preproc_ifdef preproc_if"
        ),
        wrappers=_words("template_declaration"),
        named_by={"function_definition": "declarator", "type_definition": "declarator"},
    ),
    "csharp": Grammar(
        module="tree_sitter_c_sharp",
        definitions=_words(
            "namespace_declaration class_declaration interface_declaration struct_declaration enum_declaration "
            "record_declaration method_declaration constructor_declaration property_declaration delegate_declaration"
        ),
        containers=_words(
            "namespace_declaration class_declaration interface_declaration struct_declaration record_declaration "
            "file_scoped_namespace_declaration"
        ),
    ),
    "ruby": Grammar(
        module="tree_sitter_ruby",
        definitions=_words("class module method singleton_method"),
        containers=_words("class module"),
    ),
    "php": Grammar(
        module="tree_sitter_php",
        entry="language_php",
        definitions=_words(
            "function_definition class_declaration interface_declaration trait_declaration enum_declaration "
            "method_declaration"
        ),
        containers=_words(
            "class_declaration interface_declaration trait_declaration enum_declaration namespace_definition"
        ),
    ),
    "bash": Grammar(module="tree_sitter_bash", definitions=_words("function_definition")),
}


@cache
def parser_of(language: str) -> "Parser | None":
    """A parser for the language; None when there is no grammar for it, or it is not installed."""
    grammar = GRAMMARS.get(language)
    if grammar is None:
        return None
    try:
        from tree_sitter import Language, Parser  # noqa: PLC0415 -- the extra `code`; without it there are windows

        module = import_module(grammar.module)
    except ModuleNotFoundError:
        return None
    return Parser(Language(getattr(module, grammar.entry)()))


def is_installed() -> bool:
    """Whether the extra `code` is: any grammar stands for all of them."""
    return parser_of("python") is not None
