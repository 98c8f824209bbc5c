"""The version of this release, as pyproject.toml states it."""

VERSION = "0.1.0"
