# SPDX-License-Identifier: Apache-2.0
"""A program for CPython 3.7 and newer whose threads stop in known places. It then tells, as JSON on
standard output, the stacks that it sees itself, and stays until its standard input ends."""
import asyncio
import functools
import gc
import json
import os
import sys
import threading
import time
import types

stop = threading.Event()
started = []


def wait():
    """Blocks in C code."""
    stop.wait()


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)
    return wrapper


class Outer:
    class Inner:
        @decorated
        def method(self):
            def nested():
                return (lambda: wait())()
            return nested()

        @classmethod
        def cls_method(cls):
            return cls.static()

        @staticmethod
        def static():
            return Outer.Inner().method()

    @property
    def prop(self):
        return [Outer.Inner.cls_method() for _ in range(1)]

    def __call__(self):
        return {k: v for k, v in ((1, self.prop),)}


def generator(n):
    if n > 0:
        yield from generator(n - 1)
    else:
        wait()
        yield 1


async def coroutine(n):
    if n > 0:
        await coroutine(n - 1)
    else:
        wait()


async def agen():
    yield 1
    await coroutine(2)
    yield 2


async def over():
    async for _ in agen():
        pass


def deep(n):
    if n == 0:
        wait()
        return
    (deep
     if n % 2
     else other)(
        n - 1)


def other(n):
    return deep(n)


def recursion():
    sys.setrecursionlimit(20000)
    deep(1500)


def executed():
    space = {"wait": wait}
    exec(compile("\n" * 70 + "def made():\n    x = 1\n    wait()\nmade()\n", "<made here>", "exec"),
         space)


def wide():
    """Names of each width of characters, and one that is long."""
    space = {"wait": wait}
    names = ["caf\u00e9", "\u0444\u0443\u043d\u043a\u0446\u0438\u044f", "\U00010300\U00010301", "n" * 10000]
    source = "def leaf():\n  wait()\n"
    last = "leaf"
    for name in names:
        source += "def %s():\n  %s()\n" % (name, last)
        last = name
    exec(compile(source + last + "()\n", "/tmp/\u00fcber/\u0444\udcff.py", "exec"), space)


def sorting():
    def key(x):
        wait()
        return x
    return sorted([1], key=key)


def far_line():
    code = "\n" * 100000 + "wait()\n"
    exec(compile(code, "far.py", "exec"), {"wait": wait})


def class_body():
    class Made:
        class Within:
            wait()
    return Made


def sleeping():
    time.sleep(100000)


def reading():
    r, _ = os.pipe()
    os.read(r, 1)


def many_lines():
    return max(
        1,
        *[
            wait()
            for _ in
            "a"
        ])


JOBS = [wait, Outer(), lambda: list(generator(3)), lambda: asyncio.new_event_loop().run_until_complete(over()),
        recursion, executed, wide, sorting, far_line, class_body, many_lines]
DAEMONS = [sleeping, reading]


class Worker(threading.Thread):
    def __init__(self, job):
        threading.Thread.__init__(self, daemon=True)
        self.job = job

    def run(self):
        self.tid = threading.get_native_id() if hasattr(threading, "get_native_id") else 0
        started.append(self)
        self.job()


def qualnames():
    """Qualified names of all functions that there are, by code object."""
    found = {}
    for o in gc.get_objects():
        if isinstance(o, types.FunctionType):
            found[o.__code__] = o.__qualname__
        elif isinstance(o, (types.GeneratorType, types.CoroutineType)):
            found[o.gi_code if hasattr(o, "gi_code") else o.cr_code] = o.__qualname__
        elif isinstance(o, types.AsyncGeneratorType):
            found[o.ag_code] = o.__qualname__
    return found


def stacks(me):
    known = qualnames()
    tids = {t.ident: t.tid for t in started}
    reported = []
    for ident, frame in sys._current_frames().items():
        frames = []
        while frame and ident != me:
            code = frame.f_code
            frames.append({
                "function": getattr(code, "co_qualname", None) or known.get(code, code.co_name),
                "name": code.co_name, "line": frame.f_lineno or 0, "offset": frame.f_lasti,
                "first_line": code.co_firstlineno, "code": id(code),
                "file": os.fsencode(code.co_filename).decode("latin-1")})
            frame = frame.f_back
        reported.append({"ident": ident, "tid": tids.get(ident, 0), "me": ident == me, "frames": frames})
    return reported


def tell():
    workers = [Worker(job) for job in JOBS + DAEMONS]
    for w in workers:
        w.start()
    before = None
    while True:
        time.sleep(0.1)
        now = [(t["ident"], [(f["code"], f["offset"]) for f in t["frames"]])
               for t in stacks(threading.get_ident())]
        # Event.wait() is Python's own code, and counts who is about to block in it.
        if now == before and len(started) == len(workers) and \
                len(stop._cond._waiters) == len(JOBS):
            break
        before = now
    print(json.dumps({"version": sys.version.split()[0], "pid": os.getpid(),
                      "me": threading.get_ident(), "threads": stacks(threading.get_ident())}))
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


teller = threading.Thread(target=tell)
if __name__ == "__main__":
    threading.stack_size(16 << 20)
    teller.start()
    teller.join()
