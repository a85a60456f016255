"""The comparison of a server with a model's files: the settings by which the model would have the server's vectors."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from beirflow.core.errors import ConfigError, ModelError
from beirflow.data.document_text import KINDS
from beirflow.extensions.parity.local_model import Finish, Ids, LocalModel, Probe, Reading, cosines, distances
from beirflow.extensions.parity.probes import BLANK, PLAIN, SPECIAL, long_text
from beirflow.extensions.parity.real_texts import RealTexts, draw, rankings
from beirflow.extensions.parity.server import RefusedError, Server, connect
from beirflow.models.json_server import TooLargeError
from beirflow.models.model_files import model_digests
from beirflow.models.model_places import HUB_ID
from beirflow.models.settings import EncoderSettings

FLOAT32 = 1e-4
"""Largest relative difference of vectors that libraries and kernels make in float32; those of one kernel are below 1e-5."""

SPREADS = 3.0
"""Times the change that a precision makes here to the same weights and texts, the largest difference that it explains."""

TRIED = "pooling, prompts, special tokens, case, accents, normalisation, modules left out, dimensions and precision"
OWN = "the model's own settings"
USUAL_LENGTHS = (64, 128, 256, 384, 512, 1024, 2048, 4096, 8192)
UNRELATED = 0.5  # cosine below which vectors of the nearest explanation are probably those of another model


class Explanation(NamedTuple):
    """Settings by which the model would have the server's vectors."""

    causes: tuple[str, ...]  # settings that are not the model's own
    reading: Reading
    finish: Finish
    distance: float  # largest one of any text
    cosine: float  # smallest one


def settings_of(name: str, config_files: Sequence[str]) -> EncoderSettings:
    """Return the settings of a model, which is a system, a folder, or on the hub."""
    from beirflow.cli.configuration import load_files
    from beirflow.config.systems import catalogue_systems
    from beirflow.families.dense.settings import DenseSettings

    systems = load_files(config_files).systems if config_files else catalogue_systems()
    if name in systems:
        settings = systems[name].settings
        if not isinstance(settings, DenseSettings):
            raise ConfigError(f"--model {name}: expected a dense system, and this one is of the family {systems[name].family}")
        return settings.encoding
    model, _, revision = name.partition("@") if HUB_ID.fullmatch(name.partition("@")[0]) else (name, "", "")
    return EncoderSettings(name="parity", model=model, revision=revision or None)


def compare(options: Namespace) -> dict[str, Any]:
    """Return the verdict on a server, and what it rests on. Raises BeirflowError for what permits none."""
    settings, real = settings_of(options.model, options.config), draw(options.dataset)
    served = options.served or (settings.model if options.model == settings.name else options.model.partition("@")[0])
    server = connect(options.url, options.protocol, model=served, key_variable=options.key_variable, timeout=options.timeout)
    return Comparison(server, LocalModel(settings, server.dim), by_client=options.prompts == "client").found(real) | {
        "model": options.model,
        "files": model_digests(settings),
        "prompts_are_written_by": options.prompts,
    }


class Comparison:
    """A server and a model; ``by_client`` is whether prompts are part of the texts that the server gets."""

    def __init__(self, server: Server, model: LocalModel, *, by_client: bool) -> None:
        self.server, self.model, self._by_client = server, model, by_client
        self._kinds = KINDS if model.prompts["queries"] != model.prompts["documents"] else KINDS[1:]
        self.notes: list[str] = []
        self._asked: dict[Probe, np.ndarray] = {}

    def found(self, real: RealTexts) -> dict[str, Any]:
        """Return the verdict, with its reasons."""
        plain: list[Probe] = [(kind, text) for kind in self._kinds for text in PLAIN]
        special: list[Probe] = [("documents", text) for text in SPECIAL.values()]
        probes = [*plain, *special]
        self._asked = dict(zip(probes, self.server.alone(self._sent(probes)), strict=True))
        self._ask_blank()
        tried = self._tried(plain)
        best = self._best(tried)
        level = self._level(best.distance) if best else None
        if best is None or level is None:
            causes = self._unexplained(best)
        else:
            causes = self._causes(best, tried, special, level[1])
            reading, more = self._explain_long(best, level)
            causes += more + self._explain_special(best._replace(reading=reading), special, level[1])
            causes += self._of_requests(probes, level[1]) + self._of_base64(plain[:3], level[1])
        ranked, more = self._of_real(real, best if level and not causes else None, level)
        noise = float(distances(self.server.alone(self._sent(plain[:1])), self._vectors(plain[:1]))[0])
        undecided = noise > max(FLOAT32, level[1] if level else 0.0)
        rows = self._rows(probes)
        verdict = "undecided" if undecided else "differs" if causes + more else "same"
        return {
            "verdict": verdict,
            "sentence": self._sentence(verdict, [*causes, *more], rows, level, noise),
            "causes": [*causes, *more],
            "server": self.server.shown,
            "protocol": self.server.protocol,
            "dimensions": self.server.dim,
            "precision": level and level[0],
            "tolerance": level and level[1],
            "texts": rows,
            "tried": [
                {"causes": " and ".join(each.causes) or OWN, "difference": each.distance, "cosine": each.cosine}
                for each in sorted(tried, key=lambda each: each.distance)[:12]
            ],
            "rankings": ranked,
            "notes": self.notes,
        }

    def _sent(self, probes: Sequence[Probe]) -> list[str]:
        return [(self.model.prompts[kind] if self._by_client else "") + text for kind, text in probes]

    def _vectors(self, probes: Sequence[Probe]) -> np.ndarray:
        return np.stack([self._asked[probe] for probe in probes])

    def _ask_blank(self) -> None:
        """Ask for texts that servers may refuse; an answer is compared, and what is wrong with it is noted."""
        for name, text in BLANK.items():
            probe: Probe = ("documents", text)
            try:
                found = self.server.alone(self._sent([probe]))
            except ModelError as error:
                self.notes.append(f"the {name} text has no vector: {error}")
                continue
            own = self.model.own([probe])
            if found.shape != own.shape or distances(found, own)[0] > FLOAT32:
                self.notes.append(f"the {name} text has another vector than that of the model")

    def _tried(self, probes: Sequence[Probe]) -> list[Explanation]:
        """Return changes of reading and finish with their distances; none of reading if the model's own explains the vectors."""
        expected, own, tried = self._vectors(probes), list[tuple[int, ...]](), list[Explanation]()
        for reading in self.model.readings():
            ids = self.model.tokens(probes, reading)
            if ids == own or not all(ids):
                continue
            own = own or ids
            for finish in self.model.finishes():
                vectors = self.model.vectors(probes, ids, finish)
                if vectors is not None:
                    causes = (*([reading.cause] if reading.cause else []), *finish.causes)
                    far, near = distances(expected, vectors).max(), cosines(expected, vectors).min()
                    tried.append(Explanation(causes, reading, finish, float(far), float(near)))
            if not reading.cause and any(each.distance <= FLOAT32 for each in tried):
                break
        return tried

    def _causes(self, best: Explanation, tried: Sequence[Explanation], special: Sequence[Probe], tolerance: float) -> list[str]:
        """Return the causes of the best explanation, together with those of others that fit equally."""
        near = [each for each in tried if each.distance <= tolerance and len(each.causes) == len(best.causes)]
        far = {each.causes: self._far(special, self._vectors(special), each.reading, each.finish) for each in (best, *near)}
        fit = [" and ".join(causes) for causes, each in far.items() if each.max() <= max(tolerance, far[best.causes].max())]
        return [*best.causes] if len(fit) == 1 else [", or equally ".join(fit)]

    def _far(self, probes: Sequence[Probe], found: np.ndarray, reading: Reading, finish: Finish) -> np.ndarray:
        """Return the distance of the server's vector of each probe from that of a reading; infinite if it has none."""
        ids = self.model.tokens(probes, reading)
        vectors = self.model.vectors(probes, ids, finish) if all(ids) else None
        return np.full(len(probes), np.inf) if vectors is None else distances(found, vectors)

    def _best(self, tried: Sequence[Explanation]) -> Explanation | None:
        """Return the explanation of the finest precision, of these the one with the fewest causes."""
        near = [each for each in tried if each.distance <= FLOAT32]
        levels = [] if near else [tolerance for _, tolerance in self._levels]

        def order(each: Explanation) -> tuple[int, int, float]:
            """Return the precision that it needs, its number of causes, and its distance."""
            return sum(each.distance > tolerance for tolerance in levels), len(each.causes), each.distance

        return min(near or tried, key=order, default=None)

    @cached_property
    def _levels(self) -> list[tuple[str, float]]:
        """Precisions with their tolerances, ascending."""
        probes = [*self._asked]
        values = self._vectors(probes).astype(np.float64)
        levels = [("float32", FLOAT32)]
        for decimals in range(1, 5):
            scaled = values * 10**decimals
            if np.abs(scaled - np.rint(scaled)).max() < 0.01:
                most = 0.51 * 10**-decimals * np.sqrt(values.shape[1]) / np.linalg.norm(values, axis=1).min()
                levels.append((f"values rounded to {decimals} decimals", FLOAT32 + float(most)))
                break
        levels += [(name, SPREADS * spread + FLOAT32) for name, spread in self.model.spreads(probes)]
        return sorted(levels, key=lambda level: level[1])

    def _level(self, distance: float) -> tuple[str, float] | None:
        """Return the finest precision that explains a distance, with its tolerance; None if none does."""
        if distance <= FLOAT32:
            return "float32", FLOAT32
        return next((level for level in self._levels if distance <= level[1]), None)

    def _unexplained(self, best: Explanation | None) -> list[str]:
        if best is None or self.server.dim > self.model.encoder.dim:
            return [f"vectors have {self.server.dim} dimensions, and {self.model.encoder.dim} of the model: it is another model"]
        nearest = f"the nearest, {' and '.join(best.causes) or OWN}, has a cosine of {best.cosine:.4f}"
        other = "; it is probably another model" if best.cosine < UNRELATED else ""
        return self._confused() or [f"none of {TRIED} explains it: {nearest}{other}"]

    def _confused(self) -> list[str]:
        """Return two texts with exactly the same vector."""
        rows = [*self._asked]
        pairs = ((one, other) for place, one in enumerate(rows) for other in rows[:place] if one[0] == other[0])
        same = next((pair for pair in pairs if np.array_equal(self._asked[pair[0]], self._asked[pair[1]])), None)
        return [f"the text {same[0][1]!r} has the vector of {same[1][1]!r}: a cache or a list confuses texts"] if same else []

    def _explain_special(self, best: Explanation, special: Sequence[Probe], tolerance: float) -> list[str]:
        """Return what explains the vectors of texts that tokenizers read differently; nothing if the reading does."""
        far = self._far(special, self._vectors(special), best.reading, best.finish)
        if far.max() <= tolerance:
            return []
        changed = [*self.model.changed(best.reading)]
        if fit := [
            each.cause for each in changed if self._far(special, self._vectors(special), each, best.finish).max() <= tolerance
        ]:
            return [", or equally ".join(fit)]
        names = [name for name, each in zip(SPECIAL, far, strict=True) if each > tolerance]
        return self._confused() or [f"texts with {', '.join(names)} have other tokens: another vocabulary or tokenizer"]

    def _explain_long(self, best: Explanation, level: tuple[str, float]) -> tuple[Reading, list[str]]:
        """Return the reading that explains a text beyond the model's limit, and its cause."""
        model, reading, limit = self.model, best.reading, self.model.max_length
        words = limit
        while len(model.whole(("documents", long_text(words)))) < 1.4 * limit + 16:
            words *= 2
        probe: Probe = ("documents", long_text(words))
        try:
            found = self.server.alone(self._sent([probe]))
        except (RefusedError, TooLargeError) as error:
            self.notes.append(f"a text of {words} words, which the model cuts, is refused: {error}")
            return reading, []

        if self._far([probe], found, reading, best.finish)[0] <= level[1]:
            return reading, []
        for cause, cut in self._cuts(words, found, level):
            if self._far([probe], found, changed := reading._replace(cut=cut), best.finish)[0] <= level[1]:
                return changed, [cause]
        return reading, ["long texts have other vectors, and no length or side of a cut explains it"]

    def _cuts(self, words: int, found: np.ndarray, level: tuple[str, float]) -> Iterator[tuple[str, Callable[[Ids], Ids]]]:
        """Yield ways to cut a long text; where the server cuts, it tells itself: it has the same vector for fewer words."""
        model, limit = self.model, self.model.max_length
        yield (
            f"long texts lose their beginning in place of their end, beyond {limit} tokens",
            partial(model.cut, longest=limit, side="left"),
        )
        yield "the token after texts is cut off long ones", lambda ids: ids[:limit]
        parts, low, high = long_text(words).split(), 0, words
        while high - low > 1:
            middle = (low + high) // 2
            vectors = self.server.alone(self._sent([("documents", " ".join(parts[:middle]))]))
            low, high = (low, middle) if distances(vectors, found)[0] <= level[1] else (middle, high)
        end, about = len(model.whole(("documents", " ".join(parts[:high])))), "" if level[0] == "float32" else "about "
        near = {each for each in (*USUAL_LENGTHS, *range(end - 8, end + 9)) if 4 <= each <= model.readable}
        for length in sorted(near, key=lambda each: abs(each - end)):
            cause = f"texts are cut after {about}{length} tokens, and the model's files say {limit}"
            yield cause, partial(model.cut, longest=length)

    def _of_requests(self, probes: Sequence[Probe], tolerance: float) -> list[str]:
        """Return whether vectors of texts that are sent together are those of single ones."""
        alone, together = self._vectors(probes), self.server.together(self._sent(probes))
        if distances(together, alone).max() <= tolerance:
            return []
        nearest = np.array([distances(alone, np.tile(each, (len(alone), 1))).argmin() for each in together])
        if distances(together, alone[nearest]).max() <= tolerance:
            return ["vectors of a request come in another order than its texts"]
        changed = int((distances(together, alone) > tolerance).sum())
        return [f"{changed} of {len(probes)} vectors depend on the other texts of a request, perhaps on padding"]

    def _of_base64(self, probes: Sequence[Probe], tolerance: float) -> list[str]:
        try:
            found = self.server.in_base64(self._sent(probes))
        except ModelError as error:
            return [f"numbers in base64 cannot be read as float32 in little-endian order ({error})"]
        if found is None or distances(found, self._vectors(probes)).max() <= tolerance:
            return []
        return ["numbers in base64 are others than those in JSON"]

    def _of_real(
        self, real: RealTexts, best: Explanation | None, level: tuple[str, float] | None
    ) -> tuple[dict[str, Any], list[str]]:
        """Return how rankings of real texts differ, and what their vectors show that the probes did not."""
        probes: list[Probe] = [("queries", text) for text in real.queries.values()]
        probes += [("documents", text) for text in real.documents.values()]
        own, found = self.model.own(probes), self.server.together(self._sent(probes))
        cut = len(real.queries)
        similarity = self.model.encoder.card.similarity or "cosine"
        ranked = rankings(real, {"weights": (own[:cut], own[cut:]), "server": (found[:cut], found[cut:])}, similarity)
        if best is None or level is None or own.shape != found.shape:
            return ranked, []
        far = distances(found, own)
        ranked["largest_difference"] = float(far.max())
        # Precisions change long texts more than probes.
        wrong = np.flatnonzero(far > level[1] * (1 if level[0] == "float32" else 2))
        where = f"such as {probes[wrong[0]][1][:60]!r}" if len(wrong) else ""
        return ranked, [f"{len(wrong)} of {len(far)} real texts have other vectors, {where}, unlike all probes"] if where else []

    def _rows(self, probes: Sequence[Probe]) -> list[dict[str, Any]]:
        """Return the probes with the server's vectors and the model's own."""
        found, own = self._vectors(probes), self.model.own(probes)
        names, numbers = {text: name for name, text in SPECIAL.items()}, {"length": np.linalg.norm(found, axis=1)}
        if found.shape == own.shape:
            numbers |= {"cosine": cosines(found, own), "difference": distances(found, own)}
        rows = [{"about": names.get(text, "plain"), "kind": kind, "text": text} for kind, text in probes]
        return [row | {key: float(values[place]) for key, values in numbers.items()} for place, row in enumerate(rows)]

    def _sentence(
        self, verdict: str, causes: Sequence[str], rows: Sequence[dict[str, Any]], level: tuple[str, float] | None, noise: float
    ) -> str:
        who = f"{self.server.shown} ({self.server.protocol})"
        if verdict == "undecided":
            return f"Undecided: {who} has other vectors when it gets a text again, by a share of {noise:.1e}."
        if verdict == "differs":
            return f"Differs: {who} does not compute what these weights compute; {'; '.join(causes)}."
        precision, tolerance = level or ("", 0.0)
        how = "Same" if precision == "float32" else f"Same within {precision}"
        far = max(row["difference"] for row in rows)
        limits = f"vectors differ by {far:.1e} at most, the tolerance is {tolerance:.1e}"
        return f"{how}: {who} computes what these weights compute; {limits}."
