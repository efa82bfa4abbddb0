"""All localizers by name. A localizer is imported only when it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from fusesearch.core.errors import ConfigError

if TYPE_CHECKING:
    from fusesearch.localizers.base import Localizer, Setup


@dataclass(frozen=True)
class Entry:
    """A localizer: import path of its class, and one line about it.

    ``asks_model``: it needs a model. ``issues``, ``questions``: what it answers. ``pre_search``: ``agent.pre_search`` applies.
    ``draws``: without a model, its answer depends on the seed. ``bound``: others are measured against it, nobody acts on it.
    ``options``: its own, which ``agent.options`` and searches have beside :data:`FOR_ALL`; ``needs``: those without which it does
    not start, each with what the option of the command line says that is made from it.
    """

    path: str
    summary: str
    asks_model: bool = True
    issues: bool = True
    questions: bool = False
    pre_search: bool = True
    draws: bool = False
    bound: bool = False
    options: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)


WITHOUT_MODEL = "ranker"
"""The localizer if neither a model nor a localizer is named."""

_ENCODER = {"encoder": "Encoder of swerank: a directory, or a name on the hub."}

LOCALIZERS = {
    "fusesearch": Entry(
        "fusesearch.localizers.fusesearch:FuseSearchLocalizer",
        "three tools, several calls per turn at once (FuseSearch section 3.1)",
        questions=True,
    ),
    "fusesearch-sequential": Entry(
        "fusesearch.localizers.fusesearch:SequentialLocalizer",
        "the same with one call per turn (FuseSearch table 3)",
        questions=True,
    ),
    "ranker": Entry(
        "fusesearch.localizers.ranker.localizer:RankerLocalizer",
        "what an issue names, its words and history, ranked by trees; as many places as it is sure of",
        asks_model=False,
        options=("top",),
    ),
    "ranker-list": Entry(
        "fusesearch.localizers.ranker.localizer:RankedListLocalizer",
        "the same, always five files and ten functions",
        asks_model=False,
    ),
    "lexical": Entry(
        "fusesearch.localizers.lexical.localizer:LexicalLocalizer",
        "what the traceback or the example of an issue calls, looked up; the scripted teacher",
        asks_model=False,
    ),
    "locagent": Entry(
        "fusesearch.localizers.locagent:LocAgentLocalizer", "a graph of the code, walked by three tools (Chen et al., 2025)"
    ),
    "orcaloca": Entry(
        "fusesearch.localizers.orcaloca:OrcaLocaLocalizer",
        "searches scheduled by priority and scored by the model (Yu et al., 2025)",
    ),
    "agentless": Entry(
        "fusesearch.localizers.agentless:AgentlessLocalizer",
        "no agent: tree, suspicious files, elements from skeletons, places to edit (Agentless section 3.1)",
    ),
    "cosil": Entry(
        "fusesearch.localizers.cosil:CoSilLocalizer",
        "files from the tree and their imports, then functions along the call graph, pruned (CoSIL section 3)",
    ),
    "reposearcher": Entry(
        "fusesearch.localizers.fusesearch:RepoSearcherLocalizer",
        "six tools that look up definitions by file and name, ranked functions (ToolTrain 3.1)",
    ),
    "swerank": Entry(
        "fusesearch.localizers.swerank:SweRankLocalizer",
        "functions retrieved by an encoder, reranked in windows by the model (SweRank section 4)",
        pre_search=False,
        needs=_ENCODER,
    ),
    "swerank-embed": Entry(
        "fusesearch.localizers.swerank:SweRankEmbedLocalizer",
        "the encoder alone: functions by the cosine of issue and code",
        asks_model=False,
        needs=_ENCODER,
    ),
    "bm25": Entry(
        "fusesearch.localizers.bm25:Bm25Localizer",
        "words of the issue against those of every file and function",
        asks_model=False,
    ),
    "closed-book": Entry(
        "fusesearch.localizers.closed_book:ClosedBookLocalizer",
        "the model alone, without tools and without the code",
        issues=False,
        questions=True,
        pre_search=False,
    ),
    "rag": Entry(
        "fusesearch.localizers.retrieval:RagLocalizer",
        "one request, with the best passages by BM25 for the question",
        issues=False,
        questions=True,
        pre_search=False,
    ),
    "ircot": Entry(
        "fusesearch.localizers.retrieval:IrcotLocalizer",
        "thoughts in turn with passages by BM25, each thought the next query (Trivedi et al., 2023)",
        issues=False,
        questions=True,
        pre_search=False,
    ),
    "oracle": Entry(
        "fusesearch.localizers.bounds:OracleLocalizer", "the truth of the instance, the upper bound", asks_model=False, bound=True
    ),
    "random": Entry(
        "fusesearch.localizers.bounds:RandomLocalizer",
        "files and functions drawn by chance, the lower bound",
        asks_model=False,
        draws=True,
        bound=True,
    ),
}


OWN = {option: said for entry in LOCALIZERS.values() for option, said in entry.needs.items()}
"""Options that localizers need of their own, with what they say: fields of searches, and options of the command line."""

FOR_ALL = {
    "base_url": ("endpoint", "is for a model behind an endpoint: name the model"),
    "settings": ("endpoint", "is for a model behind an endpoint: name the model"),
    "tool_format": ("endpoint", "is for a model behind an endpoint: name the model"),
    "pre_search": ("model", "is for a model that searches: name a model or a checkpoint"),
    "max_new_tokens": ("model", "is for a model that searches: name a model or a checkpoint"),
}
"""Options of a search by who takes them, whatever the localizer: a model behind an endpoint, or any model."""


def refusals(name: str, kinds: Collection[str], given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The options of a search by the localizer ``name`` that do not fit, or that it lacks, each with what to do.

    ``kinds`` are those of :data:`FOR_ALL` that hold for the search.
    """
    for option, value in given.items():
        takers = [other for other, entry in LOCALIZERS.items() if option in (*entry.options, *entry.needs)]
        kind, said = FOR_ALL.get(option, ("", ""))
        if value is None:
            if option in LOCALIZERS[name.removesuffix(FUSED)].needs:
                yield option, f"{name} needs one"
        elif kind and kind not in kinds:
            yield option, said
        elif takers and name.removesuffix(FUSED) not in takers:
            yield option, f"is for {' and '.join(takers)} alone"


FUSED = "+ranker"
"""After the name of a localizer that asks a model: its answer, fused with the ranker's."""
_FUSION = "fusesearch.localizers.fusion:FusedLocalizer"
_PRE_SEARCH = "fusesearch.localizers.presearch:PreSearched"


def entry_of(name: str) -> Entry:
    """The entry of ``name``, without :data:`FUSED`. Raises :class:`ConfigError` for an unknown name."""
    base = name.removesuffix(FUSED)
    entry = LOCALIZERS.get(base)
    if entry is None or (base != name and not entry.asks_model):
        known = f"use one of {', '.join(LOCALIZERS)}, or one that asks a model with {FUSED} at its end"
        raise ConfigError(f"localizer {name!r} is unknown: {known}")
    return entry


def paths_of(name: str) -> list[str]:
    """Import paths of the classes that make the localizer called ``name``. Raises :class:`ConfigError` for an unknown name."""
    return [entry_of(name).path, *([_FUSION] if name.endswith(FUSED) else [])]


def asks_model(name: str) -> bool:
    """Whether the localizer called ``name`` asks a model. Raises :class:`ConfigError` for an unknown name."""
    return entry_of(name).asks_model


def make_localizer(name: str, setup: Setup) -> Localizer:
    """The localizer called ``name``. Raises :class:`ConfigError` for an unknown name, and if a model or an option is missing."""
    entry = entry_of(name)
    if entry.asks_model and setup.model is None:
        raise ConfigError("this localizer asks a model: give --model and --base-url, or --checkpoint")
    if missing := [option for option in entry.needs if not setup.agent.options.get(option)]:
        raise ConfigError(f"{name} needs --{missing[0]} (agent.options.{missing[0]})")
    made, *fusion = map(resolve_name, paths_of(name))
    localizer = made(setup)
    if setup.agent.pre_search == "ranker" and entry.asks_model and entry.pre_search:
        localizer = resolve_name(_PRE_SEARCH)(localizer, setup)
    return fusion[0](localizer, setup) if fusion else localizer
