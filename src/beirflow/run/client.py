"""Client in the command of every rule: the warm worker runs the job, or a new Python replaces the client and runs it.

Its arguments are those of :func:`beirflow.run.rule_call.main`. It imports what CPython has built in and nothing else, since that
takes two milliseconds and ``socket``, ``signal`` and ``json`` thirty, for every job.
"""

import _signal  # type: ignore[import-not-found]  # built in
import _socket
import marshal
import os
import sys

WORKER = "BEIRFLOW_WORKER"
"""Variable of the environment with the process of the Snakemake that has a worker, and the worker's address."""

RUN_HERE = "import sys; sys.path.append(sys.argv.pop(1)); from beirflow.run.rule_call import main; main(*sys.argv[1:])"
"""Code that runs a job. Its first argument is the folder of this package, for a Python that has none of its own."""

PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 (imports nothing)

STOPS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
"""Signals that the client forwards to its job."""

LENGTH_BYTES = 8  # of the number before a request
UNKNOWN_UID = -1


def main() -> None:
    """Have the job run, and end as it ends."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(descriptor, True)  # replaces streams that were closed before this process started
    os.close(descriptor)
    for number in STOPS:
        if _signal.getsignal(number) != _signal.SIG_IGN:  # as SIGINT is in the background of a shell
            _signal.signal(number, _signal.SIG_DFL)
    owner, _, address = os.environ.get(WORKER, "").partition(":")
    # The Snakemake that a job starts has the variable too, and its jobs another Python or other code than those of the worker.
    if owner == str(os.getppid()) and (connection := connected(address)):
        if process := begun(connection, {"arguments": sys.argv[1:]}):
            pass_signals_on(process)
            end_as(exit_status(connection))
        connection.close()
    os.execv(sys.executable, [sys.executable, "-P", "-c", RUN_HERE, PACKAGES, *sys.argv[1:]])  # noqa: S606 (this Python)


def connected(address: str) -> "_socket.socket | None":
    """Connect to a worker of this user at an abstract address; None if there is none any more."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(f"\0{address}")
        if peer_of(connection) == os.getuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None


def peer_of(connection: "_socket.socket") -> int:
    """Return the user of the process at the other end: anybody on a machine can have or reach an abstract address."""
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # three ints: process, user and group
    return int.from_bytes(credentials[4:8], sys.byteorder) if len(credentials) == 12 else UNKNOWN_UID


def begun(connection: "_socket.socket", request: dict[str, object], streams: tuple[int, int, int] = (0, 1, 2)) -> int:
    """Send a request with folder, environment and streams of this process; return the process of the job, 0 if there is none."""
    content = marshal.dumps({"folder": os.getcwd(), "environment": dict(os.environ), **request})  # noqa: PTH109 (imports nothing)
    descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in streams)
    try:
        head = len(content).to_bytes(LENGTH_BYTES, "big")
        connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        connection.sendall(content)
        return received(connection) or 0
    except OSError:
        return 0


def exit_status(connection: "_socket.socket") -> int:
    """Wait for the end of the job; return its exit status, below 0 the signal that killed it. It is killed with the worker."""
    try:
        status = received(connection)
    except OSError:
        status = None
    return -_signal.SIGKILL if status is None else status


def received(connection: "_socket.socket") -> int | None:
    """Receive a number; None from a worker that has ended."""
    content = b""
    while part := connection.recv(LENGTH_BYTES - len(content)):
        content += part
        if len(content) == LENGTH_BYTES:
            return int.from_bytes(content, "big", signed=True)
    return None


def pass_signals_on(process: int) -> None:
    """Have the process of the job get the signals of this one. Its number is not another's until the worker loses this client."""

    def pass_on(number: int, _: object) -> None:
        """Send a signal to the worker's process."""
        os.kill(process, number)

    for number in STOPS:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, pass_on)


def end_as(status: int) -> None:
    """End this process with an exit status, below 0 by a signal."""
    if status < 0:
        if status not in (-_signal.SIGKILL, -_signal.SIGSTOP):
            _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
        status = 128 - status  # of a signal that ends no process
    os._exit(status)


if __name__ == "__main__":
    main()
