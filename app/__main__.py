"""Serves the API and the page: python -m app --host 127.0.0.1 --port 8000, or --uds PATH, or --fd N."""

import argparse
import ipaddress
import sys
from types import FrameType

import uvicorn

from app.main import create_app
from store.logs import configure_logs
from store.settings import Settings

GRACE = 5


class Server(uvicorn.Server):
    """Ends the event streams as soon as it is told to stop: uvicorn itself would wait for their readers."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app = self.config.loaded_app
        while app is not None and not hasattr(app, "state"):
            app = getattr(app, "app", None)
        service = getattr(getattr(app, "state", None), "service", None)
        if service is not None:
            service.hub.close()
        super().handle_exit(sig, frame)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m app", description="Serves the API and the page.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--uds", help="a unix socket instead of host and port")
    parser.add_argument("--fd", type=int, help="a socket that listens already, inherited from the parent")
    parser.add_argument("--forwarded-allow-ips", default="127.0.0.1", help="proxies whose X-Forwarded-For is believed")
    options = parser.parse_args()
    settings = _with_host(Settings(), options.host)
    settings.prepare()
    configure_logs(settings, "api")
    config = uvicorn.Config(
        create_app(settings),
        host=options.host,
        port=options.port,
        uds=options.uds,
        fd=options.fd,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=GRACE,
        forwarded_allow_ips=options.forwarded_allow_ips,
    )
    server = Server(config)
    server.run()
    return 0 if server.started else 3


def _with_host(settings: Settings, host: str) -> Settings:
    """A name that the service is bound to is one that it answers to."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return settings.model_copy(update={"allowed_hosts": (*settings.allowed_hosts, host.lower())})
    return settings


if __name__ == "__main__":
    sys.exit(main())
