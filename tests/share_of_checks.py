"""Which share of the code validates, or words an error: `python tests/share_of_checks.py`.

Counted are lines of code, without comments, docstrings and blank lines. Of these, what validates is

- a statement that raises, and the `if` or `for` that only leads to one;
- a statement that only calls a check, such as ``as_kind("draw", draw, Draw, ...)``, or keeps what
  the check makes of an argument, such as ``m = as_integer("m", m)``;
- functions that do nothing else: those whose name says that they check or refuse, and all of
  `_arguments.py`, which is made of them.
"""

import ast
import re
import tokenize
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "sampled_metrics"
CHECK = re.compile(
    r"_?(as_(?!ranks$|csr$)|check_|refuse|no_(index|labels)$|same_index$|labeled_by$|"
    r"one_or_one_each$|entries$|flat_integers$|misfits$)"
)
QUIET = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def lines_of_code(path):
    """Return the numbers of the lines that hold code."""
    with path.open("rb") as file:
        tokens = [t for t in tokenize.tokenize(file.readline) if t.type not in QUIET]
    lines = {n for token in tokens for n in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant):
                lines -= set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    return lines


def is_check(node):
    """Tell whether an expression calls a check, by its name."""
    if isinstance(node, ast.IfExp):
        return is_check(node.body) or is_check(node.orelse)
    name = getattr(
        getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", "")
    )
    return isinstance(node, ast.Call) and bool(CHECK.match(name))


def validates(node):
    """Tell whether a statement does nothing but validate."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.FunctionDef):
        return bool(CHECK.match(node.name))
    if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return):
        return is_check(node.value)
    if isinstance(node, ast.If | ast.For | ast.With):
        ends = [*node.body, *getattr(node, "orelse", [])]
        return all(map(validates, ends)) and any(
            isinstance(end, ast.Raise) or validates(end) for end in ends
        )
    return False


def checking(tree):
    """Yield the lines of what validates."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt) and validates(node):
            yield from range(node.lineno, (node.end_lineno or 0) + 1)
        else:
            yield from checking(node)


def share():
    """Return the numbers of lines of code that validate and of all, by file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        code = lines_of_code(path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        ours = code if path.name == "_arguments.py" else code & set(checking(tree))
        found[path.relative_to(PACKAGE).as_posix()] = len(ours), len(code)
    return found


if __name__ == "__main__":
    table = share()
    for name, (checks, code) in sorted(table.items(), key=lambda row: -row[1][0]):
        print(f"{name:36} {checks:5} of {code:5}")
    checks, code = (sum(column) for column in zip(*table.values(), strict=True))
    print(f"{'all':36} {checks:5} of {code:5}: {checks / code:.1%}")
