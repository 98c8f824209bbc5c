"""Entry of `python -m cli`, which the start script runs."""

from cli.application import main

main()
