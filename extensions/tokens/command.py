"""``beirflow tokens``: the tokens that each model of a configuration reads of one text."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beirflow.config.experiment import Experiment
    from beirflow.data.document_text import Kind

HELP = "print the tokens that each model of a configuration reads of a text"

MOST_SETTINGS = 3  # most settings of one system, which may differ by dataset, that are shown
CAREFUL = 2  # exit status where a model cannot be read


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("config", metavar="my.yaml", help="a configuration")
    parser.add_argument("text", metavar="TEXT", help="the text")
    parser.epilog = 'Example: beirflow tokens my.yaml "a sentence"'


def main(options: Namespace) -> int:
    """Print the tokens; return the exit status."""
    return print_tokens([options.config], options.text)


def print_tokens(config_files: Sequence[str], text: str) -> int:
    """Print the tokens of a text as a query and as a document, for every system of a configuration; return the exit status.

    They are those of the encoders themselves, which are loaded on the CPU; nothing is downloaded. Raises ConfigError for a
    configuration that cannot be used.
    """
    from beirflow.cli.configuration import load_files
    from beirflow.core.errors import BeirflowError

    experiment = load_files(config_files)
    status = 0
    for name in experiment.needed_systems:
        try:
            lines = _of_system(experiment, name, text)
        except BeirflowError as error:
            lines, status = [str(error)], CAREFUL
        sys.stdout.write("\n".join([name, *(f"  {line}" for line in lines), ""]))
        sys.stdout.flush()
    return status


def _of_system(experiment: "Experiment", name: str, text: str) -> list[str]:
    """Return the tokens of a system in lines; they may differ by dataset."""
    system, family = experiment.systems[name], experiment.family(name)
    if (other := experiment.encoder_of(name)) != name:
        return [f"as {other}, whose vectors it searches"]
    if type(system.settings) not in _readers():
        first = experiment.first_stages(name)
        return [f"nothing: it reads the runs of {', '.join(first)}" if first else "nothing: it is imported"]
    by_settings: list[tuple[Any, list[str]]] = []
    for corpus in (experiment.datasets[each] for each in experiment.chosen_datasets):
        settings = family.for_dataset(system.settings, corpus.whole_row, corpus.whole_name)
        names = next((names for known, names in by_settings if known == settings), None)
        if names is None:
            by_settings.append((settings, names := []))
        names.append(corpus.name)
    on = {"device": "cpu", **{key: experiment.config[key] for key in ("precision", "token_budget")}}
    lines = list[str]()
    for settings, names in by_settings[:MOST_SETTINGS]:
        lines += [f"on {', '.join(names[:4])}{' …' * (len(names) > 4)}:"] if len(by_settings) > 1 else []
        lines += _tokens(settings, text, on)
    more = len(by_settings) - MOST_SETTINGS
    return lines + ([f"and in {more} other ways on other datasets"] if more > 0 else [])


def _tokens(settings: Any, text: str, on: Mapping[str, Any]) -> Iterable[str]:
    """Return what the model of a system reads of a text."""
    own = vars(settings).get("encoder")
    return [f"not known: {own} reads the text itself"] if own else _readers()[type(settings)](settings, text, on)


def _readers() -> "Mapping[type, Callable[[Any, str, Mapping[str, Any]], Iterable[str]]]":
    """Return by class of settings the function that reads a text."""
    from beirflow.families.dense.settings import DenseSettings
    from beirflow.families.late_interaction.settings import LateSettings
    from beirflow.families.lexical import LexicalSettings
    from beirflow.families.rerank.settings import RerankSettings
    from beirflow.families.sparse.settings import SparseSettings

    return {
        DenseSettings: _of_encoder,
        LateSettings: _of_late_interaction,
        LexicalSettings: _of_analyzer,
        RerankSettings: _of_reranker,
        SparseSettings: _of_weigher,
    }


def _of_analyzer(settings: Any, text: str, on: Mapping[str, Any]) -> Iterator[str]:
    """Yield the terms of BM25."""
    from beirflow.families.postings.analyzer import analyze

    terms = analyze(text, settings.analyzer)
    yield _line("query and document", terms, "term", f" of {settings.analyzer}")
    if settings.expansion:
        yield "a document has the terms of its added queries, too"
    if settings.weights:
        yield "the terms of a document are those that its model weighs"


def _of_encoder(settings: Any, text: str, on: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tokens of an encoder that gives one vector a text."""
    from beirflow.models.encoders.encoder import TransformersEncoder
    from beirflow.models.encoders.load import load_encoder

    for kind, read in _texts(text, settings.between):
        encoder = load_encoder(settings.encoding, kind, **on)
        if not isinstance(encoder, TransformersEncoder):
            yield f"not known: {settings.model} reads the text itself"
            return
        prompt, tokenizer = encoder.card.prompts[kind], getattr(encoder.backbone, "tokenizer", None)
        names = _names(tokenizer, encoder.tokens_of([read], kind).ids.tolist())
        whole = _whole(tokenizer, prompt + read)
        yield _line(kind, names, limit=encoder.max_length, whole=whole)


def _of_late_interaction(settings: Any, text: str, on: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tokens of a model of late interaction, those without a vector in brackets."""
    from beirflow.families.late_interaction.encoder import encoder_of

    for kind, read in _texts(text):
        encoder = encoder_of(settings, kind, **on)
        window, tokenizer = encoder.window_of(read), encoder.backbone.tokenizer
        tokens = _names(tokenizer, window.tokens.ids.tolist())
        shown = [token if kept else f"({token})" for token, kept in zip(tokens, window.kept.tolist(), strict=True)]
        whole = _whole(tokenizer, encoder.reading.prompt + read) + (encoder.reading.marker is not None)
        own = int(window.own[0])
        line = _line(kind, shown, limit=encoder.max_length, whole=max(whole, own), read=own)
        yield line if window.kept.all() else f"{line}; in brackets: no vector"


def _of_weigher(settings: Any, text: str, on: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tokens of a learned sparse system."""
    from beirflow.families.sparse.layouts import read_parts
    from beirflow.families.sparse.tokens import WITHOUT_SPECIAL_TOKENS
    from beirflow.families.sparse.weigher import Weigher

    parts = read_parts(settings)
    for kind, read in _texts(text):
        part = parts.of(kind)
        weigher = Weigher(settings.name, part, **on)
        names = _names(weigher.tokenizer, weigher.tokens_of(read).ids.tolist())
        if part.expansion_length is not None:
            yield _line(kind, names, after=" without those of the added queries")
        else:
            whole = _whole(weigher.tokenizer, part.prefix + read, special=part.kind not in WITHOUT_SPECIAL_TOKENS)
            yield _line(kind, names, limit=weigher.max_length, whole=whole)


def _of_reranker(settings: Any, text: str, on: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tokens of a pair of the text with itself; of a reranker that encodes texts apart, those of its encoder."""
    from beirflow.families.rerank.scorers.load import load_scorer
    from beirflow.families.rerank.scorers.pair_scorer import PairScorer

    if settings.encoder_settings:
        yield from _tokens(settings.encoder_settings, text, on)
        return
    scorer = load_scorer(settings, **on)
    assert isinstance(scorer, PairScorer)  # noqa: S101 - for the type checker: the others have settings of an encoder
    (_, query), (_, document) = _texts(text, settings.separator)
    ids = scorer.tokens_of((query, document)).ids.ids.tolist()
    # A pair that is as long as the maximum counts as cut, as in the records.
    whole = len(ids) + (len(ids) >= scorer.max_length)
    names = _names(scorer.tokenizer, ids)
    yield _line("the text as query with itself as document", names, limit=scorer.max_length, whole=whole)


def _texts(text: str, separator: str | None = None) -> "Iterator[tuple[Kind, str]]":
    """Yield a text as models read it, as a query, and as a document without a title."""
    from beirflow.data.document_text import document_text

    yield "queries", text
    yield "documents", document_text("", text, " " if separator is None else separator)


def _names(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Return tokens as the tokenizer has them; without one, their numbers."""
    if tokenizer is None:
        return [str(number) for number in ids]
    return [str(token) for token in tokenizer.convert_ids_to_tokens(list(ids))]


def _whole(tokenizer: Any, text: str, *, special: bool = True) -> int:
    """Count the tokens of a text that is not cut; 0 if that is not known. The tokenizer cuts no text afterwards."""
    return len(tokenizer(text, add_special_tokens=special, truncation=False)["input_ids"]) if tokenizer is not None else 0


def _line(
    what: str,
    tokens: Sequence[str],
    unit: str = "token",
    after: str = "",
    *,
    limit: int | None = None,
    whole: int = 0,
    read: int | None = None,
) -> str:
    """Return tokens in a line; ``whole`` counts those of the text before it was cut, ``read`` those before an expansion."""
    name = {"queries": "query", "documents": "document"}.get(what, what)
    shown = " ".join(token if token.isprintable() and " " not in token else repr(token) for token in tokens)
    count = len(tokens) if read is None else read
    notes = [f"at most {limit:,}"] if limit is not None else []
    notes += [f"{len(tokens) - count} more fill it up"] if len(tokens) > count else []
    in_brackets = f" ({', '.join(notes)})" if notes else ""
    end = f" | CUT, the whole text has {whole:,}" if whole > count else ""
    return f"{name}, {count:,} {unit}{'s' * (count != 1)}{after}{in_brackets}: {shown or 'none'}{end}"
