"""The estimate of a run before it starts: download, disk, tokens, jobs and hours of the missing results.

Times come from the records of the same systems on this machine; for other systems the estimate has a guess, and prints the
command that measures them. Sizes of corpora are known, or those of the BEIR paper; bytes and tokens per word are measured if a
system has run, and otherwise typical of English.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from beirflow.config.datasets import CorpusSize, corpus_size
from beirflow.config.expected_cost import Part, Rates, measured_rates, parts_of, stored_by
from beirflow.config.experiment import MOST_THREADS, Experiment
from beirflow.config.guess import Device, device_named, device_of, guessed_seconds
from beirflow.core.layout import BENCHMARK, METRICS, SUMMARY
from beirflow.run.overall import duration

CORPUS_BYTES = 4.0  # of a prepared corpus for each word: 3.7 on NFCorpus, 3.9 on SciFact
MODEL_BYTES = 5e8  # of an encoder that is not here yet
CANDIDATE_BYTES, RUN_BYTES = 12.0, 8.0  # of a document of a query, before and after the merge
SPILL_BYTES = 7.0  # of a text during its preparation, for each word

MOST_ROWS = 30  # most rows of systems on datasets, before they are of systems alone


def estimate(*, experiment: Experiment, results: Path, configured: str = "", on: str | None = None) -> str:
    """Estimate the cost of the remaining jobs of the whole experiment, as text for the terminal.

    ``configured`` is how the command line named the configuration, for the commands in the text. ``on`` is a machine elsewhere,
    as in :func:`~beirflow.config.guess.machine_named`: the time is then a guess for it, whatever was measured here.
    """
    device = device_named(on, experiment) if on else device_of(experiment)
    sizes = {name: corpus_size(experiment, results, name) for names in experiment.needed_rows.values() for name in names}
    rates = {system: measured_rates(experiment, results, system) for system in experiment.needed_systems}
    parts = parts_of(experiment, results, sizes, rates)
    preparation = None if on else _preparation(results, sizes)
    guessed = [part for part in parts if part.seconds is None or (on and part.done < 1)]
    guesses = {part: guessed_seconds(experiment, part, sizes[part.corpus], device) for part in guessed}
    cores = device.jobs * MOST_THREADS if on else os.cpu_count() or 1
    disk = highest_disk(experiment, sizes, parts, cores)
    command = f"snakemake --cores all{configured}"
    times = {part: guesses.get(part, part.seconds or 0.0) for part in parts}
    free = f"; free here: {_bytes(_free(results))}.{_advice(experiment, disk, results)}"
    resources = f" --resources gpu={device.jobs}" if on and device.gpus > 1 else ""
    lines = [
        "Datasets",
        _dataset_table(experiment, sizes),
        "\nSystems on datasets: remaining work",
        _system_table(experiment, parts, times, guesses),
        _of_changes(parts, command),
        f"\nDownload: {_bytes(_download(sizes.values()))}{_models(experiment, parts)}.",
        f"Jobs: {_jobs(parts, sizes):,} with the summary.",
        _hours(times, preparation, guesses, device, elsewhere=bool(on)),
        _bill(experiment, parts, (preparation or 0.0) + sum(times.values())),
        f"Disk: at most {_bytes(sum(disk.values()))} more{_by_kind(disk)}{'.' if on else free}",
        *([] if on else _measured(experiment, sizes, rates, parts, results, command)),
        f"To run it{' there' if on else ''}: {command}{resources} -- {results}/{SUMMARY}",
    ]
    return "\n{}\n".format("\n".join(line for line in lines if line))


def highest_disk(experiment: Experiment, sizes: Mapping[str, CorpusSize], parts: Sequence[Part], cores: int) -> dict[str, float]:
    """Return the peak of bytes written and not yet deleted, by kind, beyond those there now; their sum is an upper bound.

    ``cores`` are those of the machine: if a job takes all, a chunk is searched before another is encoded.
    """
    config, new = experiment.config, [size for size in sizes.values() if not size.prepared]
    archives = sorted({size.archive: size.download for size in sizes.values()}.values(), reverse=True)
    kept = {name: float(size.queries * min(config["top_k"], size.documents)) for name, size in sizes.items()}
    unfinished = [part for part in parts if part.done < 1]
    merged = [part.corpus for part in unfinished if part.system in experiment.merged_systems]
    return {
        # An archive is deleted once its corpora are prepared, while the next is downloaded.
        "archives": float(sum(archives if config["keep_archives"] else archives[:2])),
        "corpora": sum(size.documents * size.words for size in new) * CORPUS_BYTES
        + max((size.documents * size.words for size in new), default=0.0) * SPILL_BYTES,
        "models": _model_bytes(experiment, parts),
        "representations": _representations(experiment, sizes, parts, cores),
        # Candidates are deleted after the merge, so those of one corpus at a time count.
        "candidates": max((kept[name] * sizes[name].chunks for name in merged), default=0.0) * CANDIDATE_BYTES,
        "runs": sum(kept[part.corpus] for part in unfinished) * RUN_BYTES,
    }


def _model_bytes(experiment: Experiment, parts: Sequence[Part]) -> float:
    """Return the bytes of models that are made for datasets, and those that the largest needs while it is made."""
    sizes, spare = [0.0], [0.0]
    for part in parts:
        if part.done < 1 and (form := experiment.forms.get(part.system)):
            files = experiment.model_files(part.system)
            sizes.append(float(sum(Path(file).stat().st_size for file in files)) or MODEL_BYTES)
            spare.append(form.spare * sizes[-1])
    return sum(sizes) + max(spare)


def _representations(experiment: Experiment, sizes: Mapping[str, CorpusSize], parts: Sequence[Part], cores: int) -> float:
    """Return the bytes of vectors, postings and weights that are on the disk together."""
    new = [part for part in parts if part.done < 1]
    if experiment.config["keep_representations"]:
        return sum(part.index * (1 - part.done) for part in new)
    # What needs something of the whole corpus, such as its statistics, keeps every chunk until all are searched.
    together = {
        stored_by(experiment, name)
        for name in dict.fromkeys(part.system for part in parts)
        if any("{chunk}" not in pattern for pattern in experiment.family(name).searched(experiment.systems[name].settings))
    }
    shared = {other for name in experiment.chosen_datasets if (other := experiment.shared_with(name))}
    whole, chunks = 0.0, [0.0]
    for part in new:
        reused = experiment.reuses(part.system) and part.corpus in shared
        if stored_by(experiment, part.system) in together or reused:
            whole += part.index
        else:
            chunks.append(part.index / sizes[part.corpus].chunks)
    # Chunks of the jobs at work, and the one that is written next.
    return whole + (1 if cores <= MOST_THREADS else cores // MOST_THREADS + 1) * max(chunks)


def _of_changes(parts: Iterable[Part], command: str) -> str:
    """Say that finished results count as done, if there are any."""
    todo = "" if all(part.done < 1 for part in parts) else f"{command} --dry-run -- summary"
    return todo and f"What a change of settings makes again counts as done here; its jobs are listed by: {todo}"


def _download(sizes: Iterable[CorpusSize]) -> int:
    # Forums of a dataset share an archive.
    return sum({size.archive: size.download for size in sizes}.values())


def _models(experiment: Experiment, parts: Iterable[Part]) -> str:
    """Return the systems whose models come from a hub, for the end of a sentence; those in its cache included."""
    left = dict.fromkeys(part.system for part in parts if part.done < 1)
    added = {
        name: [each for each in experiment.expansions.of_system(name) if not experiment.expansions.files(each)] for name in left
    }
    with_model = [name for name in left if experiment.family(name).read_by_model]
    on_hub = [name for name in left if added[name] or (name in with_model and not experiment.model_files(name))]
    return f", and the models of {', '.join(on_hub)} where they are not here yet" if on_hub else ""


def _jobs(parts: Iterable[Part], sizes: Mapping[str, CorpusSize]) -> int:
    """Count the jobs of the summary, those of datasets included."""
    archives = {size.archive for size in sizes.values() if size.download}
    return sum(part.jobs for part in parts) + sum(not size.prepared for size in sizes.values()) + len(archives) + 1


def _by_kind(disk: Mapping[str, float]) -> str:
    """Return the bytes of each kind that counts, in brackets."""
    kinds = ", ".join(f"{name} {_bytes(value)}" for name, value in disk.items() if value >= 0.5e6)
    return f" ({kinds})" if kinds else ""


def _preparation(results: Path, sizes: Mapping[str, CorpusSize]) -> float | None:
    """Return the seconds to prepare the rest, at the speed of earlier preparations here; None without one."""
    seconds = words = 0.0
    for name, size in sizes.items():
        path = results / BENCHMARK(job=f"prepare_corpus/{name}")
        if size.prepared and path.is_file():
            seconds += float(pd.read_csv(path, sep="\t")["s"].sum())
            words += size.documents * size.words
    left = sum(size.documents * size.words for size in sizes.values() if not size.prepared)
    return 0.0 if not left else left * seconds / words if words else None


def _dataset_table(experiment: Experiment, sizes: Mapping[str, CorpusSize]) -> str:
    rows = []
    for row, names in experiment.needed_rows.items():
        of_row = [sizes[name] for name in names]
        rows.append(
            {
                "dataset": row,
                "documents": f"{sum(size.documents for size in of_row):,}",
                "queries": f"{sum(size.queries for size in of_row):,}",
                "chunks": sum(size.chunks for size in of_row),
                "download": _bytes(_download(of_row)),
                "prepared": _share(sum(size.prepared for size in of_row) / len(of_row)),
            }
        )
    return pd.DataFrame(rows).to_string(index=False)


def _system_table(
    experiment: Experiment, parts: Sequence[Part], times: Mapping[Part, float], guesses: Mapping[Part, float]
) -> str:
    rows, systems, shown = [], dict.fromkeys(part.system for part in parts), {row: [row] for row in experiment.needed_rows}
    if len(systems) * len(shown) > MOST_ROWS:
        shown = {f"all {len(shown)}": [*shown]}
    for system in systems:
        for row, members in shown.items():
            of_row = [part for part in parts if part.system == system and part.row in members]
            if not of_row:  # nothing is tuned on it with this system
                continue
            tokens, index = [part.tokens for part in of_row], sum(part.index for part in of_row)
            seconds, guess = sum(times[part] for part in of_row), any(guesses.get(part) for part in of_row)
            rows.append(
                {
                    "system": system,
                    "dataset": row,
                    "done": _share(sum(part.done for part in of_row) / len(of_row)),
                    "tokens": "-" if None in tokens else f"{sum(each or 0 for each in tokens):,.0f}",
                    "index": _bytes(index),
                    "jobs": f"{sum(part.jobs for part in of_row):,}",
                    "time": f"{duration(seconds)}{' (guess)' if guess else ''}",
                }
                | {f"price of {name}": price for name, price in _prices(experiment, seconds, index).items()}
            )
    return pd.DataFrame(rows).to_string(index=False)


def _hours(
    times: Mapping[Part, float], preparation: float | None, guesses: Mapping[Part, float], device: Device, *, elsewhere: bool
) -> str:
    """Describe the time of all jobs, the part of it that is a guess, and whether this machine has other work."""
    total = duration(sum(times.values()) + (preparation or 0.0))
    without = "".join(
        f", without {each}" for each in ["downloads", *(["the preparation of datasets"] if preparation is None else [])]
    )
    if elsewhere:
        order = "one system after another on each dataset" if device.gpus > 1 else "one job after another"
        return (
            f"Time: {total} on {device.name}, {order}{without}.\nAll of it is a guess: by parameters, tokens and {device.source}."
        )
    systems = sorted({part.system for part in guesses})
    guessed = (
        f"\nOf these, {duration(sum(guesses.values()))} are a guess, for {', '.join(systems)}: by parameters, tokens and"
        f" {device.name}."
        if systems
        else ""
    )
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = (
        f"\nThis machine is busy: {load:.0f} processes share its {cores} cores, and all takes longer."
        if load >= 2 * cores
        else ""
    )
    return f"Time: {total} on this machine, one job after another{without}.{guessed}{busy}"


def _prices(experiment: Experiment, seconds: float, stored: float) -> dict[str, str]:
    """Return what hours, and bytes kept for a month, cost at the prices of the configuration; nothing without a price."""
    of_each = {"time": ("hour", seconds / 3600), "a month of indexes": ("gigabyte_month", stored / 1e9)}
    prices = experiment.config["prices"]
    return {name: f"{prices[key] * amount:,.2f}" for name, (key, amount) in of_each.items() if key in prices}


def _bill(experiment: Experiment, parts: Sequence[Part], seconds: float) -> str:
    """Describe what all that is left costs; empty without prices."""
    prices = _prices(experiment, seconds, sum(part.index for part in parts))
    return f"Bill: {', '.join(f'{name} {price}' for name, price in prices.items())}." if prices else ""


def _measured(
    experiment: Experiment,
    sizes: Mapping[str, CorpusSize],
    rates: Mapping[str, Rates],
    parts: Sequence[Part],
    results: Path,
    command: str,
) -> list[str]:
    """Describe the origin of the hours, and the way to measure those that are not known."""
    lines = [
        f"The time of {system} is that of {', '.join(measured.corpora[:3])}{' …' if len(measured.corpora) > 3 else ''}."
        for system, measured in rates.items()
        if measured.corpora and any(part.system == system and part.done < 1 for part in parts)
    ]
    unknown = dict.fromkeys(part.system for part in parts if part.seconds is None)
    if unknown:
        smallest = min(sizes.values(), key=lambda size: size.documents * size.words).name
        names = ",".join(unknown) if len(unknown) == 1 else f"{{{','.join(unknown)}}}"  # which a shell writes out
        target = f"{results}/{METRICS(system=names, dataset=smallest)}"
        assumed = dict.fromkeys(experiment.family(system).assumed_size for system in unknown)
        if any(assumed):
            lines.append(f"Assumes {' and '.join(filter(None, assumed))} for systems that have not run here.")
        lines.append(f"To measure them on the smallest dataset (its results stay): {command} -- {target}")
    return lines


def _advice(experiment: Experiment, disk: Mapping[str, float], results: Path) -> str:
    """Return the advice for a disk that is too small."""
    if sum(disk.values()) < _free(results):
        return ""
    keys = [key for key in ("keep_representations", "keep_archives") if experiment.config[key]]
    todo = f" Set {' and '.join(f'{key}: false' for key in keys)}, or" if keys else " Choose fewer datasets, or"
    return f" THIS MAY NOT FIT.{todo} write elsewhere with results."


def _free(results: Path) -> int:
    there = next(folder for folder in (results, *results.absolute().parents) if folder.is_dir())
    return shutil.disk_usage(there).free


def _bytes(value: float) -> str:
    if value < 0.5e6:
        return "0" if value < 1 else "< 1 MB"
    return f"{value / 1e6:,.0f} MB" if value < 0.9995e9 else f"{value / 1e9:,.1f} GB"


def _share(value: float) -> str:
    return "yes" if value >= 1 else "no" if value <= 0 else f"{value:.0%}"
