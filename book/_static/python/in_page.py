"""Run the cells of a page in a browser: what they print, and the value of their last line.

The page's worker imports this into its Python, beside NumPy and `sampled_metrics`.
"""

import ast
import io
import json
import linecache
import traceback
from contextlib import redirect_stderr, redirect_stdout
from functools import wraps

import numpy as np

LEFT_OUT = "pandas, SciPy and Matplotlib"
HINT = f"Python in the page has NumPy and sampled_metrics, and not {LEFT_OUT}.\n"
names = {"__name__": "__main__"}


def _as_counts(values):
    """Take whole numbers of 64 bits where NumPy wants those of the machine, which has 32 here."""
    return np.asarray(values).astype(np.intp, casting="same_kind")


def _with_counts(function, place):
    @wraps(function)
    def call(*values, **options):
        values = [_as_counts(v) if i == place else v for i, v in enumerate(values)]
        return function(*values, **options)

    return call


np.repeat, np.bincount = _with_counts(np.repeat, 1), _with_counts(np.bincount, 0)


def import_what_is_here(code):
    """Run the imports of a page's setup, one by one, without those of what is not here."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            try:
                exec(compile(ast.Module([node], []), "<setup>", "exec"), names)
            except ImportError:
                pass


def run(code):
    """Return, as JSON, what a cell prints, and whether it ended in an error."""
    out, failed = io.StringIO(), False
    # An error names the line and shows it.
    linecache.cache["<cell>"] = len(code), None, code.splitlines(keepends=True), "<cell>"
    with redirect_stdout(out), redirect_stderr(out):
        try:
            _execute(code)
        except BaseException as error:
            failed = True
            _explain(error)
    return json.dumps({"text": out.getvalue(), "failed": failed})


def _execute(code):
    tree = ast.parse(code, "<cell>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        if value is not None:
            print(_shown(value))


def _shown(value):
    """Print numbers as `sampled_metrics_book` does in a notebook: in six digits."""
    if isinstance(value, float):
        return repr(float(f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"))
    if type(value) is dict:
        return f"{{{', '.join(f'{key!r}: {_shown(each)}' for key, each in value.items())}}}"
    if type(value) in (list, tuple):
        inner = ", ".join(map(_shown, value)) + "," * (type(value) is tuple and len(value) == 1)
        return f"[{inner}]" if type(value) is list else f"({inner})"
    return repr(value)


def _explain(error):
    """Print an error with the lines of the cell that led to it, and not those of this file."""
    steps = error.__traceback__
    while steps and steps.tb_frame.f_code.co_filename != "<cell>":
        steps = steps.tb_next
    traceback.print_exception(error.with_traceback(steps), chain=False)
    if isinstance(error, ImportError | NameError):
        print(HINT, end="")
