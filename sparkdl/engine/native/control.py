"""Building blocks of generated functions: arguments, a thread's share of the work, loops.

A function takes the address of 64-bit words. The first two are OpenMP's functions thread_num and
num_threads (0: single-threaded); the others depend on the function.
"""

from contextlib import contextmanager
from dataclasses import replace

NAME = "kernel"
THREAD, THREADS, FIRST = range(3)  # indices of words


def module(code):
    """Returns the text of a module with a single function, NAME."""
    body = "\n  ".join([*code.lines, "ret void"])
    attributes = 'nounwind "prefer-vector-width"="512"'
    text = f"define void @{NAME}(ptr %words) {attributes} {{\n  {body}\n}}"
    return "\n".join([text, *sorted(code.declared.values())]) + "\n"


def word(code, index):
    return code.define(f"load i64, ptr {code.pointer('%words', 'i64', index)}")


def pointer(code, index):
    return code.define(f"load ptr, ptr {code.pointer('%words', 'i64', index)}")


def share(code, total, grain, team=None):
    """Returns (begin, end) of this thread's share of `total`, in multiples of `grain`."""
    me, threads = team or find_team(code)
    grains = code.define(f"add i64 {total}, {grain - 1}")
    grains = code.define(f"udiv i64 {grains}, {grain}")
    above = code.define(f"sub i64 {code.define(f'add i64 {grains}, {threads}')}, 1")
    each = code.define(f"mul i64 {code.define(f'udiv i64 {above}, {threads}')}, {grain}")
    begin = least(code, code.define(f"mul i64 {me}, {each}"), total)
    return begin, least(code, code.define(f"add i64 {begin}, {each}"), total)


def find_team(code):
    """Returns (this thread's number, the number of threads); (0, 1) if single-threaded."""
    number, count = pointer(code, THREAD), pointer(code, THREADS)
    alone = code.define(f"icmp eq ptr {number}, null")
    one, several, go = (code.name()[1:] for _ in range(3))
    code.add(f"br i1 {alone}, label %{one}, label %{several}")
    code.add(f"{one}:\n  br label %{go}")
    code.add(f"{several}:")
    me, threads = (
        code.define(f"zext i32 {code.define(f'call i32 {f}()')} to i64") for f in (number, count)
    )
    code.add(f"br label %{go}\n{go}:")
    mine = code.define(f"phi i64 [0, %{one}], [{me}, %{several}]")
    return mine, code.define(f"phi i64 [1, %{one}], [{threads}, %{several}]")


def least(code, a, b):
    return code.define(f"select i1 {code.define(f'icmp ult i64 {a}, {b}')}, i64 {a}, i64 {b}")


def most(code, a, b):
    return code.define(f"select i1 {code.define(f'icmp ugt i64 {a}, {b}')}, i64 {a}, i64 {b}")


@contextmanager
def counting(code, begin, end, step):
    """Emits a loop: code added inside `with counting(...) as i` runs for i from begin below end."""
    with loop(code, begin, end, step) as (index, _):
        yield index


def accumulate(code, begin, end, step, vectors, body):
    """Emits a loop; returns `vectors` after body(i, *vectors) for i from begin below end."""
    current = [replace(v, name=code.name()) for v in vectors]
    with loop(code, begin, end, step) as (index, carried):
        new = body(index, *current)
        carried += zip(current, vectors, new, strict=True)
    return current


@contextmanager
def loop(code, begin, end, step):
    """Emits a loop; yields (index, carried).

    `carried` takes (vector, its initial value, its value for the next iteration).
    """
    entry, top, inside, latch, after = (code.name()[1:] for _ in range(5))
    index, following, carried = code.name(), code.name(), []
    code.add(f"br label %{entry}\n{entry}:\n  br label %{top}\n{top}:")
    code.add(f"{index} = phi i64 [{begin}, %{entry}], [{following}, %{latch}]")
    place = len(code.lines)
    more = code.define(f"icmp ult i64 {index}, {end}")
    code.add(f"br i1 {more}, label %{inside}, label %{after}\n{inside}:")
    yield index, carried
    code.lines[place:place] = [
        f"{now.name} = phi {now.type} [{first.name}, %{entry}], [{then.name}, %{latch}]"
        for now, first, then in carried
    ]
    code.add(f"br label %{latch}\n{latch}:")
    code.add(f"{following} = add i64 {index}, {step}")
    code.add(f"br label %{top}\n{after}:")
