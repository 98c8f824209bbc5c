"""Lets the tests import the programs of deploy/, which are no package: they run where nothing is installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "deploy"))
