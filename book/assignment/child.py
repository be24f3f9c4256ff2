"""The process in which a submission runs. grade.py starts one for each, and kills it if need be.

It answers one request a line, in JSON, and knows neither the tests nor the right answers.
"""

import ast
import asyncio
import codeop
import contextlib
import importlib.abc
import inspect
import json
import os
import re
import reprlib
import sys
import types
import warnings

import numpy as np

PACKAGE = "sampled_metrics"
LONGEST = 2**23
"""How many characters an answer may have."""

# --- What leaves and enters this process ---------------------------------------------------------


def encode(argument):
    """Return an argument as JSON can hold it."""
    if isinstance(argument, np.ndarray):
        return {"array": argument.tolist(), "dtype": str(argument.dtype)}
    if isinstance(argument, list | tuple):
        return [encode(entry) for entry in argument]
    return argument.item() if isinstance(argument, np.generic) else argument


def decode(argument):
    """Return an argument from what `encode` has made of it."""
    if isinstance(argument, dict):
        return np.array(argument["array"], argument["dtype"])
    return [decode(entry) for entry in argument] if isinstance(argument, list) else argument


def plain(result):
    """Return a result as numbers in lists; nothing else leaves this process."""
    if hasattr(result, "tolist"):
        result = result.tolist()
    if isinstance(result, list | tuple):
        return [plain(entry) for entry in result]
    if isinstance(result, int) and abs(result) < 2**63:
        return result
    if hasattr(type(result), "__float__"):  # Fraction and its like, too
        return float(result)
    raise TypeError


# --- Cells ---------------------------------------------------------------------------------------

TIMED_CELL = re.compile(r"\s*%%(?:time|timeit|capture)\b.*(?:\n|\Z)")
TIMED_LINE = re.compile(r"(\s*(?:[\w, ]+=\s*)?)%time\s+(?=\S)")
JUPYTER_LINE = re.compile(r"(\s*)(?:(?:[\w, ]+=\s*)?[%!]|\?|.*\?\s*$)")


def parse(code):
    """Return the statements of a cell, and the lines left out because only Jupyter knows them.

    A line is taken for one of Jupyter's only where Python stumbles over it: a string may hold
    a line that looks like one.
    """
    code = TIMED_CELL.sub(lambda first: "\n" * first[0].count("\n"), code, count=1)
    if code.lstrip().startswith("%%"):
        return [], [(1, code.lstrip().partition("\n")[0])]
    lines, left_out = code.split("\n"), []
    while True:
        try:
            return ast.parse("\n".join(lines)).body, sorted(left_out)
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            jupyter = JUPYTER_LINE.match(lines[at]) if 0 <= at < len(lines) else None
            if not jupyter:
                raise
        timed = TIMED_LINE.match(lines[at])
        if timed:
            lines[at] = timed[1] + lines[at][timed.end() :]
        else:
            left_out.append((at + 1, lines[at].strip()))
            lines[at] = jupyter[1] + "pass"


def in_words(error, cell=""):
    """Say what was raised, and where in the submission."""
    line, step = getattr(error, "lineno", None), error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename.startswith("cell "):
            cell, line = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f" ({cell}, line {line})" if cell and line else ""
    return f"{type(error).__name__}{message and ': '}{message[:1000]}{where}"


class Submission:
    """The names that a submission defines.

    Its statements are run one by one, so that a slip in one takes no points from the functions of
    another.
    """

    def __init__(self):
        module = types.ModuleType("submission")
        sys.modules["submission"] = module  # where dataclasses and pickles look for it
        self.names = vars(module)
        self.names["display"] = lambda *_, **__: None
        self.cells = {}
        self.compile = codeop.Compile()  # remembers imports from __future__
        self.compile.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    def parse(self, cell, code):
        """Parse a cell; return the first line of each statement, and what is left out."""
        self.cells[cell] = []
        try:
            self.cells[cell], left_out = parse(code)
        except (SyntaxError, ValueError) as error:
            return {"lines": [], "notes": [in_words(error, f"cell {cell}")]}
        notes = [f"Left out, as only Jupyter knows it: {what} (cell {cell}, line {line})"
                 for line, what in left_out]  # fmt: skip
        return {"lines": [statement.lineno for statement in self.cells[cell]], "notes": notes}

    def run(self, cell, statement):
        """Run a statement of a cell."""
        one = ast.Module([self.cells[cell][statement]], type_ignores=[])
        code = self.compile(one, f"cell {cell}", "exec")
        result = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(result)
        return {}

    def call(self, name, arguments):
        """Call a function; return its result, and the arguments as it left them."""
        if not callable(self.names.get(name)):
            return {"missing": True}
        arguments = decode(arguments)
        result = self.names[name](*arguments)
        after = None
        with contextlib.suppress(Exception):
            after = encode(arguments)
        try:
            return {"result": plain(result), "after": after}
        except (TypeError, ValueError, OverflowError, RecursionError):
            return {"shown": reprlib.repr(result)}

    def answer(self, kind, *arguments):
        """Answer a request; what the submission raises, SystemExit too, is part of the answer."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return {"parse": self.parse, "run": self.run, "call": self.call}[kind](*arguments)
        except BaseException as error:
            where = f"cell {arguments[0]}" if kind == "run" else ""
            unwritten = isinstance(error, NotImplementedError)
            return {"raised": in_words(error, where), "unwritten": unwritten}


# --- Limits --------------------------------------------------------------------------------------


class NoPackage(importlib.abc.MetaPathFinder):
    """Refuses to import the package, however that is written."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == PACKAGE:
            raise ImportError(f"the task is to write it without the package {PACKAGE}")


def limit(seconds, memory):
    """Set the limits that the system knows; the parent holds the clock in any case."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"RLIMIT_AS": memory, "RLIMIT_CPU": seconds, "RLIMIT_FSIZE": 2**27, "RLIMIT_CORE": 0}
    for name, most in limits.items():
        with contextlib.suppress(AttributeError, OSError, ValueError):
            if most is not None:
                resource.setrlimit(getattr(resource, name), (most, most))


def serve():
    """Answer requests until there are none."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the submission's, whatever it prints or reads
        os.dup2(nothing, stream)
    first = json.loads(requests.readline())
    if first["scipy"]:
        import scipy.stats  # noqa: F401 - on a cold disk this takes longer than a function may
    limit(first["seconds"], first["memory"])
    sys.meta_path.insert(0, NoPackage())
    submission = Submission()
    for line in requests:
        number, *request = json.loads(line)
        text = json.dumps({"number": number, **submission.answer(*request)})
        if len(text) > LONGEST:
            text = json.dumps({"number": number, "shown": "far more numbers than were asked for"})
        answers.write(text.encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    serve()
