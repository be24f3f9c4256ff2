"""A submission: its cells, read from what was handed in, and the process in which they run."""

import contextlib
import json
import os
import queue
import re
import reprlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

try:
    import psutil
except ImportError:
    psutil = None

import child

KINDS = (".ipynb", ".md", ".py")
LARGEST = 50 * 2**20
"""How many bytes a notebook may have."""
SYSTEM_LIMITS_MEMORY = sys.platform == "linux"


class Failed(Exception):
    """A check fails: the problem, and what was expected, which one may want to keep back."""

    def __init__(self, problem, expected=""):
        super().__init__(problem)
        self.problem, self.expected = problem, expected


def short(value, keep=()):
    """Write an argument, or a result, in one line: of many entries the ends, and those to keep."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        rows = any(isinstance(entry, list | tuple | np.ndarray) for entry in value)
        ends, text, before = 1 if rows else 3, [], -1
        for at, entry in enumerate(value):
            if len(value) <= 2 * ends + 1 or at in keep or not ends <= at < len(value) - ends:
                text += ["..."] * (at > before + 1) + [short(entry)]
                before = at
        return f"[{', '.join(text)}]"
    return reprlib.repr(value)


class Call(str):
    """A call as text, with few entries of its arguments."""

    def __new__(cls, name, arguments, keep=()):
        """Write the call; `keep` are entries to show besides the first and the last."""
        shown = (short(argument, keep) for argument in arguments)
        text = super().__new__(cls, f"{name}({', '.join(shown)})")
        text.parts = name, arguments
        return text

    def showing(self, entry):
        """Return the same call, with this entry of its arguments, too."""
        return Call(*self.parts, keep=[entry])


# --- Reading a submission ------------------------------------------------------------------------


def read_cells(text, kind):
    """Return the code cells of a notebook, or those of a module, which may be a single one."""
    if kind == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
        return [code for code in sources if "### BEGIN HIDDEN TESTS" not in code]  # nbgrader's own
    if kind == ".md":
        fenced = re.findall(r"^(`{3,})\{code-cell\}.*\n((?:.*\n)*?)\1", text, re.MULTILINE)
        options = r"\A(?:---\n(?:.*\n)*?---\n)?(?:\s*:[\w-]+:.*\n)*"
        return [re.sub(options, "", code) for _, code in fenced]
    return re.split(r"^# %%(?!%).*\n", text, flags=re.MULTILINE)


def only_notebook(names):
    """Return the one notebook among the files of a folder or a zip."""
    names = [name for name in names if not re.search(r"(^|[/\\])(\.|__|README)", name)]
    for kind in KINDS:
        found = [name for name in names if Path(name).suffix.lower() == kind]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"it holds {len(found)} notebooks: {', '.join(sorted(found))}")
    raise ValueError("it holds no notebook: .ipynb, .md or .py")


def read_submission(path):
    """Return the cells of a submission: a file, or a folder or a zip that holds one."""
    name = path.name
    if path.is_dir():
        name = only_notebook(
            [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
        )
        file = (path / name).open("rb")
    elif path.suffix.lower() == ".zip":
        archive = zipfile.ZipFile(path)
        name = only_notebook(archive.namelist())
        file = archive.open(name)
    else:
        file = path.open("rb")
    kind = Path(name).suffix.lower()
    with file:
        if kind not in KINDS:
            raise ValueError(f"{kind or 'no'} extension; it should be .ipynb, .md, .py or .zip")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST // 2**20} MB")
    return read_cells(content.decode("utf-8-sig").replace("\r\n", "\n"), kind)


# --- The process of a submission -----------------------------------------------------------------


@dataclass
class Limits:
    """What a submission may use."""

    seconds: float = 10.0
    """For one call of a function, or one statement outside of functions."""
    total: float = 300.0
    """Seconds for everything."""
    memory: int = 2048
    """MB. Linux keeps to it; elsewhere psutil watches, where it is installed."""
    until: float = field(default=0.0, init=False)

    def start(self):
        """Start the clock."""
        self.until = time.monotonic() + self.total


class Died(Exception):
    """The process has come to its end, and why: time, memory, or an error."""

    def __init__(self, how, kind="error"):
        super().__init__(how)
        self.kind = kind


class Process:
    """A process that runs child.py, and what is asked of it."""

    def __init__(self, limits, scipy):
        self.limits, self.number = limits, 0
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        single = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self.folder.name)
        self.process = subprocess.Popen(
            [sys.executable, "-P", child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder.name,
            env={**os.environ, **single, **temporary, "MPLBACKEND": "agg"},  # no windows
            start_new_session=True,  # a signal to its group is not for us
        )
        self.lines = queue.Queue(1)  # so a flood waits outside
        threading.Thread(target=self._read, daemon=True).start()
        memory = limits.memory * 2**20 if SYSTEM_LIMITS_MEMORY else None
        self._write({"seconds": int(limits.total) + 1, "memory": memory, "scipy": scipy})

    def _read(self):
        with self.process.stdout as answers:
            while line := answers.readline(child.LONGEST + 100):
                self.lines.put(line)
            self.lines.put(b"")

    def _write(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, *request, seconds=None):
        """Return the answer to a request, or raise Died."""
        seconds = seconds or self.limits.seconds
        self.number += 1
        try:
            self._write([self.number, *request])
            answer = json.loads(self._line(seconds))
            if answer.pop("number") != self.number:
                raise ValueError
        except Died:
            self.end()
            raise
        except Exception:  # whatever a submission may have done to the pipe
            words = self._last_words()
            raise Died(words, "time" if "SIGXCPU" in words else "error") from None
        return answer

    def _line(self, seconds):
        """Wait for a line, and no longer than there is time and memory."""
        start = time.monotonic()
        while True:
            if time.monotonic() > self.limits.until:
                raise Died("was stopped: the time for the whole submission is over", "time")
            try:
                return self.lines.get(timeout=min(0.1, seconds))
            except queue.Empty:
                if time.monotonic() - start > seconds:
                    raise Died(f"took more than {seconds:g} seconds", "time") from None
            if psutil and self.process.poll() is None:
                if psutil.Process(self.process.pid).memory_info().rss > self.limits.memory * 2**20:
                    raise Died(f"took more than {self.limits.memory} MB of memory", "memory")

    def _last_words(self):
        """Say how the process has ended."""
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "broke the connection to the grader"
        finally:
            self.end()
        if code >= 0:
            return f"ended the process (exit status {code})"
        return f"crashed the process ({signal.Signals(-code).name})"

    def end(self):
        """Kill the process and what it has started, as far as they still run."""
        with contextlib.suppress(AttributeError, OSError):  # Windows has no groups
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(queue.Empty):  # let the reader come to the end
            while self.lines.get(timeout=0.1):
                pass
        self.folder.cleanup()


class Absent(Failed):
    """There is no such function."""


class Submission:
    """A submission and its process, which is started again when a statement or a call ends it."""

    def __init__(self, cells, limits, lost):
        self.cells, self.limits = cells, limits
        self.process, self.notes = None, []
        self.lost = lost  # which statements of which cells end the process, and how
        self.deaths = Counter()
        self.happened = set()  # what went wrong: time, memory, error

    def note(self, raised):
        """Remember that an exception was raised, if one was."""
        if raised:
            self.happened.add("memory" if "MemoryError" in raised else "error")
        return raised

    def start(self):
        """Start a process that has run all cells, except for what ends it."""
        while self.process is None:
            if time.monotonic() > self.limits.until:
                self.happened.add("time")
                raise Failed("the time for the whole submission was over before this was tried")
            process = Process(self.limits, any("scipy" in code for code in self.cells))
            try:
                if self.run_cells(process):
                    self.process = process
            finally:
                if self.process is None:
                    process.end()

    def run_cells(self, process):
        """Run all cells, or up to a statement that ends the process, which is then left out."""
        try:
            process.ask("parse", 0, "", seconds=60)
        except Died as death:
            raise Failed(f"no process for the submission: it {death}") from None
        self.notes = list(self.lost.values())
        for cell, code in enumerate(self.cells, 1):
            at, line = (cell, None), 1
            try:
                parsed = process.ask("parse", cell, code) if at not in self.lost else {}
                self.notes += filter(self.note, parsed.get("notes", []))
                for number, line in enumerate(parsed.get("lines", [])):  # noqa: B007 - see below
                    at = cell, number
                    if at not in self.lost:
                        answer = process.ask("run", cell, number)
                        self.notes += filter(self.note, [answer.get("raised")])
            except Died as death:
                self.happened.add(death.kind)
                self.lost[at] = f"A statement {death}, and is left out (cell {cell}, line {line})"
                return False
        return True

    def __call__(self, name, *arguments, unchanged=False):
        """Call a function; return its result, and the call as text."""
        call = Call(name, arguments)
        if self.deaths[name] == 2:
            raise Failed(f"{name} is not called any more, after two calls that did not return")
        self.start()
        sent = child.encode(arguments)
        try:
            answer = self.process.ask("call", name, sent)
        except Died as death:
            self.process = None
            self.deaths[name] += 1
            self.happened.add(death.kind)
            raise Failed(f"{call} {death}") from None
        if answer.get("missing"):
            raise Absent(f"there is no function {name}")
        if answer.get("unwritten"):
            raise Failed(f"{name} is not written yet")
        if self.note(answer.get("raised")):
            raise Failed(f"{call} raised {answer['raised']}")
        if "result" not in answer:
            raise Failed(f"{call} returned {answer.get('shown')}, not numbers")
        if unchanged and answer.get("after") != sent:
            raise Failed(f"{name} changed its arguments", "They should be left as they were.")
        return answer["result"], call

    def end(self):
        """End the process."""
        if self.process:
            self.process.end()
            self.process = None
