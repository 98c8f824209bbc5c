"""What holds for the repository as a whole: sizes, names, imports, and documents that say what is so."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from cli.application import application
from cli.argument_syntax import DTYPES, parse_argument, parse_initialiser

ROOT = Path(__file__).resolve().parent.parent
LONGEST = {".py": 400, ".ts": 400, ".css": 400, ".cu": 400, ".lua": 400, "": 400, ".svelte": 250}
MEANINGLESS = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("debian", "org"))]
PLACES = [f"/{name}/" for name in ("root", "home", "work", "Users")]
BINARY = {".npz", ".npy", ".png", ".woff2", ".ico"}
COMMAND = re.compile(r"(?:\./)?warpyard ([a-z]+)([^`\n]*)")


@cache
def files() -> tuple[Path, ...]:
    """Every file that is or will be committed."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(sorted({ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}))


def written() -> Iterator[Path]:
    """Files that people write: no data, no build, no lock."""
    for path in files():
        inside = path.relative_to(ROOT).as_posix()
        if inside.startswith(("tests/data/", "frontend/dist/")) or inside.endswith((".lock", "-lock.json", "LICENSE")):
            continue
        yield path


def documents() -> list[Path]:
    return [path for path in files() if path.suffix == ".md" and "data" not in path.relative_to(ROOT).parts]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_too_long() -> None:
    long = {}
    for path in written():
        limit = LONGEST.get(path.suffix)
        if limit and path.suffix not in BINARY and not path.name.startswith("."):
            text = path.read_text(encoding="utf-8")
            if "// Made by `npm run types`" not in text[:200] and text.count("\n") > limit:
                long[named(path)] = text.count("\n")
    assert long == {}


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [named(path) for path in files() if path.stem.lower() in MEANINGLESS] == []


def test_nothing_names_a_machine_or_a_registry() -> None:
    found = []
    for path in files():
        if path.suffix in BINARY or path == Path(__file__) or named(path).startswith("tests/data/attacks"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{named(path)}: {host}" for host in HOSTS if host in text]
        if not named(path).startswith("tests/"):
            found += [f"{named(path)}: {place}" for place in PLACES if re.search(rf"(?<![\w.~/-]){place}\w", text)]
    assert found == []


def test_every_module_says_its_purpose() -> None:
    silent = []
    for path in files():
        if path.suffix == ".py" and not named(path).startswith("tests/data/"):
            text = path.read_text(encoding="utf-8").removeprefix("#!/usr/bin/env python3\n")
            if text and not text.startswith(('"""', 'r"""', "'''! warpyard\n")):
                silent.append(named(path))
    assert silent == []


def test_import_rules() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_start_script_runs_on_old_pythons_far_enough_to_say_so() -> None:
    text = (ROOT / "warpyard").read_text(encoding="utf-8")
    text.encode("ascii")
    compile(text, "warpyard", "exec", dont_inherit=True)
    for newer in (r"\bf\"", r"\bmatch ", ":=", " -> ", r"\basync\b"):
        assert re.search(newer, text) is None, newer


@pytest.mark.parametrize("path", documents(), ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", documents(), ids=named)
def test_commands_and_options_of_documents_exist(path: Path) -> None:
    commands = get_command(application).commands  # type: ignore[attr-defined]
    for name, rest in COMMAND.findall(path.read_text(encoding="utf-8")):
        assert name in commands, f"warpyard {name}"
        known = {option for parameter in commands[name].params for option in parameter.opts} | {"-h", "--help"}
        for option in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", rest):
            assert option in known, f"warpyard {name} {option}"


@pytest.mark.parametrize("path", documents(), ids=named)
def test_arguments_in_documents_are_read(path: Path) -> None:
    for quoted, plain in re.findall(r"--arg (?:'([^']+)'|([^\s`|)…]+))", path.read_text(encoding="utf-8")):
        parse_argument(quoted or plain)


def test_the_syntax_page_knows_every_dtype_and_start() -> None:
    text = (ROOT / "docs/launching.md").read_text(encoding="utf-8")
    listed = re.search(r"\*\*dtypes\*\*: ([a-z0-9, ]+)\.", text)
    assert listed is not None
    assert tuple(listed[1].split(", ")) == DTYPES
    table = text.split("| START |")[1].split("\n\n")[0]
    starts = [word for row in table.splitlines()[2:] for word in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(starts) > 12
    for start in starts:
        if not start.startswith("@"):
            typed = start.replace("SEED", "7").replace("LOW,HIGH", "0,9").replace("MEAN,DEVIATION", "0,1")
            parse_initialiser(typed.replace("…", "i"))


def test_documented_settings_exist() -> None:
    from store.settings import Settings

    fields = {f"WARPYARD_{name.upper()}" for name in Settings.model_fields}
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for name in re.findall(r"WARPYARD_[A-Z_]+", path.read_text(encoding="utf-8")):
            assert name in fields, f"{named(path)}: {name}"


def test_documented_calls_are_those_of_the_api(tmp_path: Path) -> None:
    from app.main import create_app
    from store.settings import Settings

    paths = create_app(Settings(data_dir=tmp_path)).openapi()["paths"]
    plain = {path.replace("run_id", "id").replace("share_id", "id"): methods for path, methods in paths.items()}
    served = {f"{method.upper()} {path}" for path, methods in plain.items() for method in methods}
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:GET|POST|DELETE) [^|]+) \|", text, re.MULTILINE)
    listed = {f"{row.split(' ')[0]} {path}" for row in rows for path in row.split(" ", 1)[1].split(", ")}
    assert {row for row in served if not re.match("GET /(k/|$)", row)} == listed
