"""The tests of each module are at the mirrored path.

The test of sparkdl/a/b/c.py is tests/a/b/test_c.py, another test in tests/a/b that covers the
folder, or tests/a/test_b.py if one table of cases covers the folder.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARE = 0.9


def modules():
    found = sorted((ROOT / "sparkdl").rglob("*.py"))
    return [path.relative_to(ROOT) for path in found if not path.name.startswith("__")]


def has_test(module):
    folder = ROOT / "tests" / module.parent.relative_to("sparkdl")
    own = folder / f"test_{module.name}"
    family = folder.parent / f"test_{folder.name}.py"
    beside = module.parent.name != "sparkdl" and any(folder.glob("test_*.py"))
    return own.exists() or family.exists() or beside


def test_nine_modules_in_ten_have_their_test_at_their_path():
    alone = [str(module) for module in modules() if not has_test(module)]
    assert len(alone) <= (1 - SHARE) * len(modules()), "\n".join(alone)
