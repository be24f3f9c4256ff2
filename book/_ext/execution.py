"""The pages' notebooks are run two at a time, before Sphinx reads the pages one by one.

myst-nb finds what comes out in its cache. What fails is not there: myst-nb runs it again, and says
why it fails. From its cache myst-nb writes notebooks without outputs, so they are written here.
"""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import create_nb_reader
from myst_nb.ext.glue import extract_glue_data_cell
from sphinx.util import logging

logger = logging.getLogger(__name__)


def executed(app, docname):
    """Return where the page's notebook is with its outputs."""
    return Path(app.outdir).parent / "executed" / f"{docname}.ipynb"


def execute(app, env, docnames):
    """Fill the cache with the pages that will be read, and with nothing else."""
    config = env.mystnb_config

    def run(docname):
        path = Path(env.doc2path(docname))
        text = path.read_text(encoding="utf-8")
        if reader := create_nb_reader(str(path), env.myst_config, config, text):
            notebook = reader.read(text)
            logger.info("Executing notebook", location=docname)
            result = single_nb_execution(
                notebook,
                path.parent,
                config.execution_timeout,
                allow_errors=False,
                coalesce_streams=True,  # however busy the machine is, what is printed is one text
            )
            if not result.err:
                data = {"execution_seconds": result.time}
                bundle = CacheBundleIn(deepcopy(notebook), str(path), data=data)
                for cell in notebook.cells:
                    extract_glue_data_cell(cell)  # readers have no use for it
                target = executed(app, docname)
                target.parent.mkdir(parents=True, exist_ok=True)
                nbformat.write(notebook, target)
                return bundle

    cache = get_cache(config.execution_cache_path)
    cache.clear_cache()
    # In threads, as jupyter_client gives no two kernels of one process the same port.
    with ThreadPoolExecutor(2) as pool:
        for bundle in filter(None, pool.map(run, docnames)):
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def setup(app):
    """Register the above with Sphinx."""
    app.connect("env-before-read-docs", execute)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
