"""The boxes that tests/sandbox tries too, with canaries planted around them."""

from tests.sandbox.conftest import box, planted, strong, weak

__all__ = ["box", "planted", "strong", "weak"]
