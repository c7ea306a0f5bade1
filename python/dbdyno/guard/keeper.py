"""The keeper: a process between the guard and a program that starts others, like fio, whose jobs
are processes, a script, or `initdb`, which starts servers.

When a guard is killed, the kernel signals its own children only (`PR_SET_PDEATHSIG` is not
inherited). So the guard starts such a program through a keeper, which adopts whatever loses its
parent below it (`PR_SET_CHILD_SUBREAPER`), and ends all of them when the program or the guard has
ended. If the keeper is killed, the program dies with it and the guard adopts the rest.

A keeper is a fork of the guard that never executes anything: it is made within a millisecond and
shares the guard's memory. Standard library only, like the guard.
"""

import ctypes
import os
import resource
import signal
from typing import NoReturn

from dbdyno.guard.family import end_children
from dbdyno.guard.ipc import remove_dead_ipc

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_AWAITED = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)

_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Descendants of the calling process become its children when their parents end."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int, death_signal: int) -> None:
    """The kernel signals the calling process when its parent ends.

    # Errors
    `ProcessLookupError` if the parent has ended already.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        raise ProcessLookupError


def keep(guard: int) -> None:
    """Makes the calling process, a child of the guard, the keeper of a new one. Returns only in the
    new process, which is to execute the program."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    die_with(guard, signal.SIGTERM)
    adopt_orphans()
    keeper = os.getpid()
    program = os.fork()
    if program == 0:
        die_with(keeper, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    try:
        _watch(program)
    finally:  # Whatever goes wrong here must not run on as a second guard.
        os._exit(1)


def _watch(program: int) -> NoReturn:
    """Ends as the program does. SIGINT is passed on; SIGTERM, also sent by the kernel when the
    guard is gone, ends everything at once."""
    # The guard's locks, too, which would be held for as long as the keeper lives.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    while True:
        match signal.sigwait(_AWAITED):
            case signal.SIGCHLD:
                if (status := _reaped(program)) is not None:
                    _end_rest()
                    _end_as(os.waitstatus_to_exitcode(status))
            case signal.SIGINT:
                os.kill(program, signal.SIGINT)
            case _:
                _end_rest()
                _end_as(-signal.SIGKILL)


def _end_rest() -> None:
    """Ends what the program has started, and removes the shared memory of servers among it."""
    end_children()
    remove_dead_ipc(os.geteuid())


def _reaped(program: int) -> int | None:
    """Reaps children that have ended; the status of the program if it is one of them."""
    status = None
    while status is None:
        pid, ended = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        if pid == program:
            status = ended
    return status


def _end_as(code: int) -> NoReturn:
    """With an exit code, or by a signal, where it is negative, without a core dump."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)
