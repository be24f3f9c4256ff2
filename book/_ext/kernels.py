"""Run notebooks in place, two at a time, to their ends: `python kernels.py NOTEBOOK...`.

A kernel takes seconds to import what nearly every notebook imports. Where forks are safe, this
process imports it once, and every notebook has its own kernel all the same: a fork of it.

For each notebook a line says when it has ended: how many seconds it took, and its path.
"""

import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import Pipe
from tempfile import TemporaryDirectory

import nbclient
import nbformat
import zmq
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning import local_provisioner
from traitlets.config import Config

AT_A_TIME = 2
PACKAGE = "sampled_metrics_book"


@contextmanager
def sockets():
    """Say where a kernel listens: in files of a folder of its own, if the system can.

    A port that was free may be another's before the kernel has it, and then the kernel ends.
    """
    with TemporaryDirectory() as folder:
        address = f"{folder}/kernel"  # of several files, with a number each
        if sys.platform == "linux" and len(address) + 2 <= zmq.IPC_PATH_MAX_LEN:
            yield Config(KernelManager={"transport": "ipc", "ip": address})
        else:
            yield Config()


def run(path):
    notebook, start = nbformat.read(path, as_version=4), time.monotonic()
    with sockets() as config:
        # five minutes a cell, as in _config.yml
        nbclient.execute(notebook, allow_errors=True, timeout=300, config=config)
    nbformat.write(notebook, path)
    # In one piece: of two that are written at a time, `print` may mix the lines.
    sys.stdout.write(f"{time.monotonic() - start:.2f} {path}\n")
    sys.stdout.flush()


def fork(function, *arguments):
    """Call the function in a copy of this process, and return the copy's number."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        function(*arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


class Kernel:
    """A forked kernel, with what jupyter_client asks of the `Popen` that it would start.

    It is forked while there is one thread and no event loop, and waits for its options.
    """

    stdin = stdout = stderr = code = None

    def __init__(self):
        self.receives, self.sends = Pipe(duplex=False)
        self.pid = fork(self.serve)
        os.setpgid(self.pid, self.pid)  # signals go to the kernel's whole group

    def serve(self):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # only `run` says what has ended
        IPKernelApp.launch_instance(self.receives.recv())

    def launch(self, command, **_):
        parent = f"--IPKernelApp.parent_handle={os.getpid()}"
        self.sends.send([*command[command.index("-f") :], parent])
        return self

    def poll(self):
        if self.code is None:
            number, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if number else None
        return self.code

    wait = poll  # it is asked only after the end

    def send_signal(self, signal):
        os.kill(self.pid, signal)


def warm_up():
    """Import what takes long, with the settings that a kernel would give it."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # no warning of a debugger
    for module in ("ipykernel.debugger", "pandas.io.formats.style", "scipy.stats", PACKAGE):
        import_module(module)
    import_module("pandas").set_option("display.max_columns", 20)


def run_forked(path):
    local_provisioner.launch_kernel = Kernel().launch
    run(path)


def run_all_forked(paths):
    """Give each notebook two forks: one that sends its cells, and its kernel."""
    warm_up()
    waiting, running, failed = list(reversed(paths)), 0, False
    while waiting or running:
        if waiting and running < AT_A_TIME:
            fork(run_forked, waiting.pop())
            running += 1
        else:
            failed |= os.wait()[1] != 0
            running -= 1
    sys.exit(failed)


def main(paths):
    if sys.platform == "linux":
        run_all_forked(paths)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(run, paths))


if __name__ == "__main__":
    main(sys.argv[1:])
