"""A room of the package imports rooms below it, and private names stay in their room."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "sampled_metrics"
FLOORS = [  # of each room, what it may import: all that stands before it
    "_arguments",
    "ranks",
    "metrics",
    "io sampling",
    "scoring corrections bounds",
    "evaluation experiments",
    "cli",
    "__init__ __main__",
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    """Yield what a file imports of the package, inside of functions and for types, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            if node.module == "sampled_metrics":
                yield from (([alias.name], "") for alias in node.names)
            elif node.module and node.module.startswith("sampled_metrics."):
                inside = node.module.split(".")[1:]
                yield from ((inside, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("sampled_metrics") for alias in node.names)


def test_every_room_has_its_floor():
    assert set(FLOOR) == {room_of(path) for path in MODULES}


@pytest.mark.parametrize("room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
def test_a_face_has_the_names_that_it_promises(room):
    face = import_module(f"sampled_metrics.{room}")
    assert all(hasattr(face, name) for name in face.__all__)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_the_faces_of_rooms_below_it(path):
    here = room_of(path)
    for (room, *inside), name in imported(path):
        if room != here:
            assert FLOOR[room] < FLOOR[here], f"{room} is not below {here}"
            assert not inside, f"{room}/{inside[0]}: import from the face of {room}"
            assert not name.startswith("_"), f"{name} is private to {room}"


def test_files_of_a_room_import_each_other_in_no_circle():
    behind = {
        path: {
            PACKAGE.joinpath(*parts).with_suffix(".py")
            for parts, _ in imported(path)
            if parts[0] == room_of(path) and len(parts) > 1
        }
        for path in MODULES
    }
    while behind:
        free = {path for path, needs in behind.items() if not needs & behind.keys()}
        assert free, f"a circle: {sorted(map(str, behind))}"
        behind = {path: needs for path, needs in behind.items() if path not in free}
