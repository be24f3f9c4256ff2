"""The package stays a house that one can hold in the head: small modules, in one order."""

import ast
from pathlib import Path

import pytest

from shared import known

PACKAGE = Path(__file__).parents[1] / "src" / "sampled_metrics"
ORDER = """
    _checks _ids _items _files _columns _flat _pairs data _download _published movielens
    amazon recommenders
    ranks ties lists trec frames _rank_rows rank_tables _candidates _counting _models scoring
    metric metrics _engines _engine_ranks _values tables
    _terms _quadrature _distribution sampling popularity problem
    corrections estimator estimators priors dominance _programs bounds _curve explanation
    _same_users _fits _moments comparison power evaluation
    _aligned _significance _plot report answer cli __main__ __init__
""".split()
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
BY_NAME = {path.stem: path for path in PACKAGE.glob("*.py")}


def names(path):
    return str(path.relative_to(PACKAGE))


def imported(path):
    """Return the modules of the package that a module imports, inside of functions, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and name.startswith("sampled_metrics"):
            _, _, module = name.partition(".")
            yield from [module] if module else [alias.name for alias in node.names]


def test_every_module_has_its_place():
    assert set(ORDER) == set(BY_NAME)


@pytest.mark.parametrize("module", ORDER)
def test_nothing_imports_against_the_order(module):
    before = set(ORDER[: ORDER.index(module)])
    typing_only = {"ranks": {"ties"}, "corrections": {"estimator"}}  # names in signatures
    assert set(imported(BY_NAME[module])) <= before | typing_only.get(module, set())


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_modules_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 450


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                assert known(body[-1].end_lineno) - body[0].lineno < 40, node.name


def test_the_book_is_an_extra():
    for module, path in BY_NAME.items():
        assert not any(name.startswith("book") for name in imported(path)), module
