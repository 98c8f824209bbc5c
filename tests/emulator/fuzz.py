"""Mutates real PTX and looks for exceptions, hangs and crashes: `python -m tests.emulator.fuzz COUNT [SEED]`.

Every mutant is parsed and each of its entries checked; one in 40 is lowered to LLVM's text, and one in 2,000 of those
compiled to machine code. What a mutant must never do is raise anything but CompileProblems, or take longer than
DEADLINE seconds.
"""

from __future__ import annotations

import random
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

from emulator import CompileProblems, parse
from emulator.analysis.inline import FlattenProblem, flatten
from emulator.lowering.validate import validate
from emulator.runtime.compile import lower_entry
from emulator.runtime.jit import to_object

DATA = Path(__file__).parents[1] / "data"
DEADLINE = 20.0
LOWER_EVERY, COMPILE_EVERY = 40, 2000
_LONGEST = 9000  # characters of a seed
_TOKEN = re.compile(r"[%$\w.:]+|\s+|.", re.DOTALL)
_CHARACTERS = '{}[]();,|!@+-.%_0aß\\"\0\n'


@cache
def seeds() -> tuple[str, ...]:
    """Small modules of one entry each."""
    found = []
    for path in sorted([*DATA.glob("ptx/*.ptx"), *DATA.glob("filetests/*.ptx")]):
        text = path.read_text()
        start = text.find(".visible .entry")
        end = text.find("\t.section")
        head = text[:start]
        for entry in re.split(r"(?m)^(?=\s*(?:\.visible )?\.entry)", text[start : end if end > 0 else None])[1:]:
            if len(head) + len(entry) < _LONGEST:
                found.append(head + entry)
    return tuple(found)


@cache
def words() -> tuple[str, ...]:
    """Every word of every seed, the alphabet of replacements."""
    return tuple(sorted({word for seed in seeds() for word in _TOKEN.findall(seed) if not word.isspace()}))


def mutants(count: int, seed: int) -> Iterator[tuple[str, random.Random]]:
    generator = random.Random(seed)
    for _ in range(count):
        tokens = _TOKEN.findall(generator.choice(seeds()))
        for _ in range(generator.choice((1, 1, 1, 2, 3, 8))):
            _mutate(tokens, generator)
        yield "".join(tokens), generator


def _mutate(tokens: list[str], generator: random.Random) -> None:
    """One change of the tokens, in place."""
    if len(tokens) < 4:
        return
    at = generator.randrange(len(tokens))
    other = generator.randrange(len(tokens))
    match generator.randrange(9):
        case 0:
            del tokens[at]
        case 1:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 2 | 3:
            tokens[at] = generator.choice(words())
        case 4:
            parts = tokens[at].split(".")
            generator.shuffle(parts)
            tokens[at] = ".".join(parts)
        case 5:
            tokens[at] += "." + generator.choice(words()).lstrip(".").split(".")[0]
        case 6:
            tokens[at] = re.sub(r"\d", lambda _: str(generator.randrange(10)), tokens[at])
        case 7:
            tokens.insert(at, generator.choice(_CHARACTERS))
        case _:
            length = generator.randrange(1, 30)
            tokens[at:at] = tokens[other : other + length]


def check(text: str, lower: bool, compile_: bool) -> str:
    """What became of a text: 'syntax', 'refused', 'accepted'. Raises what is at fault."""
    module, problems = parse(text)
    if problems:
        return "syntax"
    accepted = False
    for name, function in module.functions.items():
        if not function.is_entry:
            continue
        try:
            if validate(flatten(module, name)):
                continue
            if lower:
                lowered = lower_entry(module, name, (48, 1, 1))[1]
                if compile_:
                    to_object(lowered.ir, fast=True)
        except (FlattenProblem, CompileProblems):
            continue
        accepted = True
    return "accepted" if accepted else "refused"


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"longer than {DEADLINE} s")


def fuzz(count: int, seed: int, folder: Path | None = None, report_every: int = 0) -> tuple[Counter[str], list[str]]:
    """Counts of what became of the mutants, and one line a failure; texts that fail are kept in `folder`."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    before = signal.signal(signal.SIGALRM, _too_long)
    try:
        for number, (text, generator) in enumerate(mutants(count, seed)):
            lower = generator.randrange(LOWER_EVERY) == 0
            compile_ = generator.randrange(COMPILE_EVERY // LOWER_EVERY) == 0
            signal.setitimer(signal.ITIMER_REAL, DEADLINE)
            try:
                counts[check(text, lower, lower and compile_)] += 1
            except Exception as error:
                counts["failed"] += 1
                place = traceback.extract_tb(error.__traceback__)[-1]
                failures.append(f"{seed}:{number} {type(error).__name__} {error} at {place.filename}:{place.lineno}")
                if folder is not None:
                    (folder / f"{seed}-{number}.ptx").write_text(text)
                    (folder / f"{seed}-{number}.txt").write_text(traceback.format_exc())
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            counts["lowered"] += lower
            counts["compiled"] += lower and compile_
            if report_every and (number + 1) % report_every == 0:
                print(number + 1, dict(counts), f"{time.process_time():.0f} s", flush=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    return counts, failures


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    counts, failures = fuzz(count, seed, folder, 10_000)
    print(dict(counts))
    print("\n".join(failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
