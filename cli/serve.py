"""`warpyard serve`: the page, the API, the workers and their Redis, with one command and in the foreground."""

import os
from pathlib import Path
from typing import Annotated

import typer


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every one of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Runs that go at the same time.", min=1, max=64)] = 2,
    data: Annotated[
        Path | None, typer.Option(help="Folder of database, queue, cache and logs.", show_default=False)
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Logs to the terminal instead of files.")] = False,
) -> None:
    """Serve the page until Ctrl+C. Nothing else is needed: no Redis, no database, no GPU."""
    if data is not None:
        os.environ["WARPYARD_DATA_DIR"] = str(data.absolute())

    from cli.supervisor import Place, Supervisor
    from cli.usage import Refused
    from store.settings import Settings

    settings = Settings()
    try:
        settings.prepare()
    except OSError as error:
        raise Refused(f"the data folder {settings.data_dir}: {error.strerror} (--data names another)") from None
    supervisor = Supervisor(settings, Place(host, port, workers, verbose), lambda text: print(text, flush=True))
    raise typer.Exit(supervisor.run())
