"""A user's encoder class: its source files, found without running them, and its import.

Configuring such a class runs its code: in the jobs that encode, and in an audit that encodes a sample again.
"""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from beirflow.core.addresses import with_variables, without_credentials
from beirflow.core.errors import BeirflowError, ModelError
from beirflow.core.extensions import encoders
from beirflow.models.model_layout import all_files
from beirflow.models.settings import ModelSettings

NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")  # a module and a class in it

INSTALLED = ("site-packages", "dist-packages")  # folders whose packages have nothing to do with each other


CLASS_FOLDERS = "BEIRFLOW_CLASS_FOLDERS"
"""The environment variable with the folders that are searched for classes, behind Python's path, for a run and its jobs."""


def search_for_classes(folders: Iterable[Path]) -> None:
    """Search these folders for classes, before those that a run around this one searches, in this process and its jobs."""
    if new := list(map(str, folders)):
        before = filter(None, os.environ.get(CLASS_FOLDERS, "").split(os.pathsep))
        os.environ[CLASS_FOLDERS] = os.pathsep.join(dict.fromkeys([*new, *before]))


def class_folders() -> list[str]:
    """Return the folders that are searched for classes, behind Python's path; outside a run the working folder."""
    return list(filter(None, os.environ.get(CLASS_FOLDERS, "").split(os.pathsep))) or [os.getcwd()]  # noqa: PTH109


def class_problem(system: ModelSettings) -> str | None:
    """Return, in a sentence with its remedy, why a class cannot be used, judging by its files; None if it can."""
    try:
        class_files(system)
    except ModelError as error:
        return str(error)
    return None


def class_files(system: ModelSettings) -> dict[str, Path]:
    """Return the files that define a class, by name for the record.

    They are the module, its static imports from its own package or folder, of an extension all of its modules, and files that
    arguments name with an absolute path, directly or by their folder. Raises ModelError for a missing module or class, or code
    that cannot be parsed.
    """
    module, name = _parts(system)
    path = _module_file(module)
    root = path.parents[module.count(".") + (path.name == "__init__.py")]
    reached = path.parent.glob("*.py") if system.encoder in encoders() else _reached(root, module, path, name)
    files = {each.relative_to(root).as_posix(): each for each in reached} | _argument_files(system)
    return dict(sorted(files.items()))


def load_class(system: ModelSettings, **others: Any) -> Any:
    """Import the class and create an object with the configured arguments, environment variables replaced, or else the others.

    The class of a library gets the settings of the system first. Raises ModelError if that fails, or if the imported file is not
    the one that was hashed.
    """
    module, name = _parts(system)
    settings = [system] if system.model else []
    expected = _module_file(module)
    # Last, so that no file in them hides an installed module.
    sys.path += [folder for folder in class_folders() if folder not in sys.path]
    try:
        imported = importlib.import_module(module)
        if not expected.samefile(str(imported.__file__)):
            raise ModelError(f"{module} is {imported.__file__} when it is imported, but {expected} was found; rename yours")
        return getattr(imported, name)(*settings, **others | with_variables(dict(system.arguments or {})))
    except BeirflowError as error:
        raise ModelError(str(error)) from error
    except (Exception, SystemExit) as error:  # of code that is not ours
        raise ModelError(f"{system.encoder} cannot be made: {described_error(error)}") from error


def described_error(error: BaseException) -> str:
    """Return type, first line and place of an error of the user's code, without secrets of its arguments."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}: {without_credentials(str(error).strip().partition(chr(10))[0])}{place}"


def _parts(system: ModelSettings) -> tuple[str, str]:
    named = system.encoder or ""
    name = NAME.fullmatch(encoders().get(named, {}).get(system.family, named))
    if name is None:
        raise ModelError(f"{named!r} names no class; expected {' or '.join(['package.module:Class', *encoders()])}")
    return name[1], name[2]


def _module_file(module: str) -> Path:
    """Return the source of a module, from Python's path and then the :func:`class_folders`, without importing it."""
    parts = module.split(".")
    spec = _installed(parts[0]) or PathFinder.find_spec(parts[0], class_folders())
    for i in range(1, len(parts)):
        places = spec.submodule_search_locations if spec else None
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), list(places or []))
    if spec is None or not str(spec.origin).endswith(".py"):
        todo = "put it next to the configuration file or the Snakefile, install it, or name its folder in PYTHONPATH"
        searched = " and ".join(class_folders())
        raise ModelError(f"there is no module {module} with a source file on Python's path, nor in {searched}; {todo}")
    return Path(str(spec.origin)).absolute()


def _installed(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ValueError:  # of a module that was made and not imported
        return None


class _Imports(ModuleFinder):
    """The modules below a folder that a module imports at any depth, found without running them.

    ``own`` is the package that they are in; None for any.
    """

    def __init__(self, root: Path, own: str | None) -> None:
        super().__init__([str(root)])
        self._own = own

    def import_module(self, partname: str, fqname: str, parent: Any) -> Any:
        """Find and read a module; None for one of another package."""
        return super().import_module(partname, fqname, parent) if self._own in (None, fqname.partition(".")[0]) else None

    def files(self) -> list[Path]:
        """Return the source files of the modules that were found, with those of the packages around them."""
        modules: Any = self.modules
        return [Path(each.__file__) for each in modules.values() if str(each.__file__).endswith(".py")]


def _reached(root: Path, module: str, path: Path, name: str) -> list[Path]:
    """Return the files of a module, which defines or imports a name, and of what it imports from its own package or folder."""
    found: Any = _Imports(root, module.partition(".")[0] if root.name in INSTALLED else None)
    try:
        found.import_hook(module)
    except (ImportError, OSError, SyntaxError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read as Python: {error}") from error
    if name not in found.modules[module].globalnames:
        raise ModelError(f"{path} does not define {name}, nor import it by that name")
    files: list[Path] = found.files()
    return files


def _argument_files(system: ModelSettings) -> dict[str, Path]:
    """Return the files that arguments name with an absolute path; of a folder, all files in it."""
    files: dict[str, Path] = {}
    for key, value in (system.arguments or {}).items():
        place = Path(value).expanduser() if isinstance(value, str) and value.startswith(("/", "~")) else None
        if place is None or not place.exists():
            continue
        paths = [place] if place.is_file() else all_files(place)
        files |= {f"arguments/{key}/{path.relative_to(place.parent).as_posix()}": path for path in paths}
    return files
