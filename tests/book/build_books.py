"""Builds books as `jupyter-book build` does, one after another, without importing it anew.

Each build is a fork of this process. For every line that it reads (a command, a folder, a file for
what is printed, an environment) it writes the build's exit code.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

import yaml


def extensions():
    """List what a build imports, and what the book's own extensions do."""
    config = Path(__file__).parents[2] / "_config.yml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))["sphinx"]
    installed = [
        name
        for name in settings["config"]["extensions"]
        if name not in settings["local_extensions"]
    ]
    builtin = import_module("sphinx.application").builtin_extensions
    own = ["fontTools.subset", "sampled_metrics_book"]
    return [*builtin, *installed, "myst_nb.sphinx_ext", *own]


def build(command, folder, printed, environment):
    """Build and exit."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    file = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, sys.stdout.fileno())
    os.dup2(file, sys.stderr.fileno())
    import_module("jupyter_book.cli.main").main(command)


if __name__ == "__main__":
    for module in ("jupyter_book.cli.main", *extensions()):
        import_module(module)
    for line in sys.stdin:
        number = os.fork()
        if not number:
            build(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), flush=True)
