"""Notebooks are executed two at a time, ahead of Sphinx, which reads the pages one by one.

myst-nb executes a page's notebook when Sphinx reads the page. Before the first page is read, all
of them are put into a queue here, and myst-nb is given what comes out of it.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from myst_nb.core.execute import direct
from myst_nb.core.read import create_nb_reader

AT_A_TIME = 2  # the threads only wait: each kernel is a process of its own
execute = direct.single_nb_execution


def key(notebook, folder):
    """Tell notebooks apart by what is executed, and where."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return str(folder), tuple(code)


class Queue:
    """The notebooks of one build."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(AT_A_TIME)
        self.results = {}

    def add(self, app, env, docnames):
        """Queue the notebooks of these pages, in the order in which they will be read."""
        config = env.mystnb_config
        for path in map(Path, map(env.doc2path, docnames)):
            text = path.read_text(encoding="utf-8")
            reader = create_nb_reader(str(path), env.myst_config, config, text)
            if reader is not None:
                notebook = reader.read(text)
                options = {
                    "timeout": config.execution_timeout,
                    "allow_errors": config.execution_allow_errors,
                }
                result = self.pool.submit(execute, notebook, str(path.parent), **options)
                self.results[key(notebook, path.parent)] = result

    def take(self, notebook, cwd, **options):
        """Execute the notebook in place, as jupyter-cache does, by waiting for its turn."""
        if key(notebook, cwd) not in self.results:
            return execute(notebook, cwd, **options)
        try:
            result = self.results[key(notebook, cwd)].result()
        except KeyboardInterrupt:
            self.stop()
            raise
        notebook.cells, notebook.metadata = result.nb.cells, result.nb.metadata
        return result

    def stop(self, *_):
        """Execute no other notebook."""
        self.pool.shutdown(wait=False, cancel_futures=True)


def setup(app):
    """Register the above with Sphinx."""
    queue = Queue()
    direct.single_nb_execution = queue.take
    app.connect("env-before-read-docs", queue.add)
    app.connect("build-finished", queue.stop)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
