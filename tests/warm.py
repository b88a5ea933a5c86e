"""Python processes that start with scikit-learn in memory.

Importing scikit-learn takes two seconds of processor time, far more than everything else. One
process that has imported it (`serve`) forks for every program. A test starts a small process
(`relay`) that passes its arguments, environment, directory, standard streams and signals to the
fork and ends the same way. The fork imports this package itself, like any other process.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import sys
from pathlib import Path


def serve(path: str) -> None:
    """Fork a process per request, and return in the fork."""
    import sklearn.base  # noqa: F401

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no keeper is waited for
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                break
            connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    if (command := os.fork()) != 0:
        connection.sendall(command.to_bytes(4, "big"))
        _, status = os.waitpid(command, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    words, environment, folder = json.loads(request)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = words
    closed = environment.get("LABELGROVE_TEST_CLOSED", "")  # a number
    if closed:
        os.close(int(closed))
    sys.stdin, sys.stdout, sys.stderr = (
        None  # as of any Python that starts so
        if closed == str(number)
        else io.TextIOWrapper(
            open(number, "rb" if number == 0 else "wb"),  # noqa: PTH123, SIM115
            encoding="utf-8",
            errors="backslashreplace" if number == 2 else "strict",
            line_buffering=number == 2 or os.isatty(number),
        )
        for number in range(3)
    )


def relay(path: str, words: list[str]) -> None:
    """Let `serve` run a command on our streams, forward Ctrl-C, and exit like it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        request = json.dumps([words, dict(os.environ), str(Path.cwd())]).encode()
        socket.send_fds(connection, [request], [0, 1, 2])
        command = int.from_bytes(connection.recv(4), "big")
        for stream in range(3):
            os.close(stream)
        signal.signal(signal.SIGINT, lambda number, _: os.kill(command, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        answer = connection.recv(4) or b"\0\0\0\xff"  # none where the keeper was killed
    status = int.from_bytes(answer, "big", signed=True)
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        relay(sys.argv[1], sys.argv[2:])
    serve(sys.argv[1])
    sys.path[0] = ""
    _, how, program, *sys.argv[1:] = sys.argv
    if how == "-c":
        exec(compile(program, "<string>", "exec"))
    else:
        import runpy

        runpy.run_module(program, run_name="__main__", alter_sys=True)
