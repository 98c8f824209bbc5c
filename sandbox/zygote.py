"""A fork server behind the wall: imports once, never runs user code, forks one init a job."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

from sandbox import control, job_init, linux, namespaces, root
from sandbox.job_init import Household
from sandbox.profiles import PROFILES

_JOINED_THREAD_SECONDS = 0.5


class PreloadFailed(Exception):
    """Our own code does not load, which no other mode would change."""


def main(descriptor: int) -> NoReturn:
    """Serve the supervisor at the other end of `descriptor` until it closes it."""
    channel = socket.socket(fileno=descriptor)
    linux.close_all_but({0, 1, 2, descriptor})
    try:
        settings, _ = control.receive(channel)
        if settings is not None:
            house = _prepare(settings, channel)
            _serve(channel, house)
    except BaseException as error:
        reason = "".join(traceback.format_exception_only(type(error), error)).strip()
        where = traceback.extract_tb(error.__traceback__)[-1]
        walls = not isinstance(error, PreloadFailed)
        control.send(channel, {"error": f"{reason} ({where.name})"[:2000] if walls else str(error), "walls": walls})
        os._exit(1)
    os._exit(0)


def _prepare(settings: dict[str, Any], channel: socket.socket) -> Household:
    kinds, strong = settings["readable"], settings["strong"]
    os.umask(0o022)
    proc = namespaces.open_proc()
    began = time.perf_counter()
    if strong:
        namespaces.enter(proc, keep=channel.fileno())
    entered = time.perf_counter()
    # Imports come before the walls: this is our own code, and a checkout may lie where nobody else can read.
    _preload(kinds, settings["preload"], settings["libraries"])
    imported = time.perf_counter()
    if strong:
        everything = [path for paths in kinds.values() for path in paths]
        proc_wanted = any(PROFILES[kind].proc for kind in kinds)
        root.build(everything, settings["covered"], [*settings["devices"], *settings["driven"]], proc_wanted)
        namespaces.settle()
        linux.die_with_parent()  # after the last change of ids, which clears it; the parent waits outside
    else:
        # No such tie here: it would follow the thread that started us. The channel's end tells us to go.
        if settings["drop_to"] is not None:
            linux.become_user(settings["drop_to"])
        linux.drop_capabilities()
    linux.no_new_privileges()
    os.umask(0o077)
    if not _one_thread(proc):
        raise PreloadFailed(f"preloading for {' and '.join(kinds)} jobs started a thread; a fork would lose it")
    gc.collect()
    gc.freeze()
    ready = {
        "ready": True,
        "enter_ms": (entered - began) * 1e3,
        "import_ms": (imported - entered) * 1e3,
        "wall_ms": (time.perf_counter() - imported) * 1e3,
    }
    control.send(channel, ready)
    return Household(
        strong=strong,
        readable={kind: tuple(paths) for kind, paths in kinds.items()},
        devices=tuple(settings["devices"]),
        driven=tuple(settings["driven"]),
        proc=proc,
        uid=os.getuid(),
        gid=os.getgid(),
    )


def _preload(kinds: Iterable[str], modules: Iterable[str], libraries: Iterable[str]) -> None:
    try:
        for path in libraries:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)  # what asks for it by name later finds it loaded
        child = importlib.import_module("sandbox.child")
        for kind in kinds:
            child.preload(kind)
        for name in modules:
            importlib.import_module(name)
    except BaseException as error:
        reason = "".join(traceback.format_exception_only(type(error), error)).strip()
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise PreloadFailed(f"preloading failed: {reason} ({where.filename}:{where.lineno})"[:2000]) from error


def _one_thread(proc: int) -> bool:
    """Whether this is the only thread; one that was joined may take the kernel another moment to take away."""
    end = time.perf_counter() + _JOINED_THREAD_SECONDS
    while linux.thread_count(proc) > 1:
        if time.perf_counter() > end:
            return False
        time.sleep(0.001)
    return True


def _serve(channel: socket.socket, house: Household) -> None:
    """Clone an init an order; tell each init's own status socket when it has ended."""
    living: dict[int, tuple[int, socket.socket]] = {}
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor in living:
                poll.unregister(descriptor)
                _bury(descriptor, *living.pop(descriptor))
                continue
            order, handles = control.receive(channel)
            if order is None:
                for pidfd in living:
                    _kill(pidfd)
                return
            started = _start(house, socket.socket(fileno=handles[0]))
            if started is not None:
                pidfd, pid, status = started
                living[pidfd] = (pid, status)
                poll.register(pidfd, select.POLLIN)


def _start(house: Household, status: socket.socket) -> tuple[int, int, socket.socket] | None:
    """Clone an init that waits at its end of `status` for a job."""
    mounts = any(PROFILES[kind].scratch or PROFILES[kind].gpu for kind in house.readable)
    flags = namespaces.job_flags(mounts) if house.strong else 0
    try:
        pid = linux.fork(flags)
    except OSError as error:
        control.send(status, {"error": f"no process for a job: {error}"})
        status.close()
        return None
    if pid == 0:
        job_init.run(house, status)
    pidfd = os.pidfd_open(pid)
    try:
        control.send(status, {"waiting": True}, [pidfd])
    except OSError:
        _kill(pidfd)  # the supervisor gave up meanwhile
    return pidfd, pid, status


def _bury(pidfd: int, pid: int, status: socket.socket) -> None:
    _, exit_status = os.waitpid(pid, 0)
    os.close(pidfd)
    try:
        control.send(status, {"ended": exit_status})
    except OSError:
        pass  # the supervisor has let go of this job
    finally:
        status.close()


def _kill(pidfd: int) -> None:
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return
