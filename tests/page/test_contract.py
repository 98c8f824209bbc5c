"""What the page's sources have from the protocol is fresh: its types, and the cases that its own tests use."""

import hashlib
import importlib.util
from pathlib import Path
from types import ModuleType

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FRONTEND / "build" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_types_are_made_from_this_protocol() -> None:
    digest = hashlib.sha256(_load("schema").document().encode()).hexdigest()
    first = (FRONTEND / "src" / "api" / "schema.ts").read_text(encoding="utf-8").splitlines()[0]
    assert digest in first, "run `npm run types` in frontend/"


def test_cases_are_what_the_protocol_answers() -> None:
    kept = (FRONTEND / "src" / "contract" / "cases.json").read_text(encoding="utf-8")
    assert kept == _load("contract").document(), "run build/contract.py in frontend/"
