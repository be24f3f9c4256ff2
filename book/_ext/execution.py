"""Many notebooks are executed ahead of Sphinx, which reads the pages one by one.

myst-nb executes a page's notebook when Sphinx reads the page. Before the first page is read, all
of them go to a process of their own (`kernels.py`), and myst-nb is given what comes out of it.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_cache.executors.utils import ExecutionResult
from kernels import sockets
from myst_nb.core.execute import direct
from myst_nb.core.read import create_nb_reader
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parents[1]  # of the pages, and of what they read and write
KERNELS = Path(__file__).with_name("kernels.py")
FEW = 2  # notebooks, for which another process would not pay
execute = direct.single_nb_execution


def key(notebook):
    """Tell notebooks apart by what is executed."""
    return tuple(cell.source for cell in notebook.cells if cell.cell_type == "code")


def first_error(notebook):
    """Return the first error of an executed notebook, as an exception."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                return CellExecutionError.from_cell_and_msg(cell, output)
    return None


class Queue:
    """The notebooks of one build."""

    def __init__(self):
        self.folder = self.process = None
        self.copies, self.seconds = {}, {}

    def add(self, app, env, docnames):
        """Start with the notebooks of these pages, in the order in which they will be read."""
        notebooks = []
        for path in map(Path, map(env.doc2path, docnames)):
            text = path.read_text(encoding="utf-8")
            reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
            if reader is not None and path.parent == FOLDER:
                notebooks.append(reader.read(text))
        if len(notebooks) <= FEW:
            return
        self.folder = TemporaryDirectory()
        for number, notebook in enumerate(notebooks):
            copy = Path(self.folder.name, f"{number}.ipynb")
            nbformat.write(notebook, copy)
            self.copies[key(notebook)] = copy
        command = [sys.executable, KERNELS, *self.copies.values()]
        self.process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True)

    def take(self, notebook, cwd, **options):
        """Execute the notebook in place, as jupyter-cache does, by waiting for its turn."""
        copy = self.copies.get(key(notebook))
        if copy is None:
            with sockets() as config:
                return execute(notebook, cwd, config=config, **options)
        while copy not in self.seconds:
            if not (line := self.process.stdout.readline()):
                raise RuntimeError("a notebook was not run to its end; see above")
            seconds, path = line.split(maxsplit=1)
            self.seconds[Path(path.strip())] = float(seconds)
        result = nbformat.read(copy, as_version=4)
        notebook.cells, notebook.metadata = result.cells, result.metadata
        return ExecutionResult(notebook, cwd, self.seconds[copy], first_error(result))

    def stop(self, *_):
        """Execute no other notebook."""
        if self.process:
            self.process.terminate()
            self.process.communicate()
            self.folder.cleanup()


def setup(app):
    """Register the above with Sphinx."""
    queue = Queue()
    direct.single_nb_execution = queue.take
    app.connect("env-before-read-docs", queue.add)
    app.connect("build-finished", queue.stop)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
