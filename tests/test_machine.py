"""Effects of machine and process: kernels, memory, threads, and exit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelgrove
from labelgrove import OnlinePLTClassifier, _core, load
from labelgrove._parameters import thread_count
from labelgrove.models.engine._staged import StagedEngine


def python(
    script: str, *words: str, by: Sequence[str] = (sys.executable,), **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*by, "-c", textwrap.dedent(script), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )


# --- kernels -------------------------------------------------------------------------------------


def with_core(wanted: str, script: str, *words: str) -> str:
    """Output of the script with these kernels; it imports only the extension, which is fast."""
    loading = """
        import sys
        from importlib.util import module_from_spec, spec_from_file_location
        spec = spec_from_file_location("_core", sys.argv[1])
        core = module_from_spec(spec)
    """
    whole = textwrap.dedent(loading) + textwrap.dedent(script)
    run = python(whole, _core.__file__, *words, LABELGROVE_KERNELS=wanted)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.strip()


def kernels_with(wanted: str) -> str:
    """The extension's variant, or why there is none."""
    script = """
        try:
            spec.loader.exec_module(core)
            print(core.kernel_variant())
        except ImportError as error:
            print(error)
    """
    return with_core(wanted, script)


def test_the_environment_chooses_the_kernels() -> None:
    for name in _core.available_kernels():
        assert kernels_with(name) == name
    assert kernels_with("") == _core.available_kernels()[-1]


def test_the_extension_loads_before_numpy_is_installed() -> None:
    script = """
        sys.modules["numpy"] = None
        spec.loader.exec_module(core)
        print(core.kernel_variant())
    """
    assert with_core("", script) == _core.available_kernels()[-1]


def test_every_model_is_the_same_bytes_with_all_kernels(warm: Sequence[str]) -> None:
    script = """
        import zlib
        import numpy as np
        from labelgrove import *
        rng = np.random.default_rng(0)
        X, y = rng.random((300, 40)) * (rng.random((300, 40)) < 0.3), rng.integers(0, 30, 300)
        Y = [{label, label // 4} for label in y.tolist()]
        for model, labels in [
            (OnlinePLTClassifier(max_leaves=8, arity=4), Y),
            (OnlinePLTClassifier(), y),
            (OnlinePLTClassifier(preset="paper"), Y),
            (OnlinePLTClassifier(learner="sgd"), Y),
            (PLTClassifier(arity=4, max_leaf_size=8), Y),
            (PLTClassifier(tree="interpolated", interpolation=0.5, loss="log"), Y),
            (PLTClassifier(link="softmax"), y),
            (LOMTreeClassifier(), y),
            (LOMTreeClassifier(learner="adagrad"), y),
            (MemoryTreeClassifier(), Y),
            (LdSMClassifier(n_estimators=2, tail_weight=0.3), Y),
            (FastXMLClassifier(n_estimators=2), Y),
            (EmbeddingClassifier(dimension=20), Y),
        ]:
            model.fit(X, labels)
            arrays = model._learned.engine.save(False)
            bits = {name: zlib.crc32(array.tobytes()) for name, array in sorted(arrays.items())}
            print(model, sorted(bits.items()), zlib.crc32(model.predict_topk(X, 5)[1].tobytes()))
    """
    one, *others = (
        python(script, by=warm, LABELGROVE_KERNELS=name) for name in _core.available_kernels()
    )
    assert (one.returncode, one.stderr) == (0, "")
    assert len(one.stdout.splitlines()) == 13
    for other in others:
        assert other.stdout.splitlines() == one.stdout.splitlines()


def test_what_numpy_rounds_by_processor_reaches_no_model(
    warm: Sequence[str], tmp_path: Path
) -> None:
    script = """
        import sys, zlib
        from pathlib import Path
        import numpy as np
        from labelgrove import *
        from labelgrove.metrics import inverse_propensity
        from labelgrove.text import HashedText
        path = Path(sys.argv[1])
        rng = np.random.default_rng(0)
        X, y = rng.random((1200, 40)) * (rng.random((1200, 40)) < 0.3), rng.integers(0, 30, 1200)
        Y = [{label, label // 4} for label in y.tolist()]
        texts = [" ".join(f"word{j}" for j in np.flatnonzero(row > 0.5)) for row in X] * 2
        for model, given, labels in [
            (OnlinePLTClassifier(second_stage="tail"), X, Y),
            (PLTClassifier(second_stage=0.5), X, Y),
            (PLTClassifier(class_weight="propensity"), X, Y),
            (PLTClassifier(arity=4, max_leaf_size=8), X.astype(np.float32), Y),
            (FastXMLClassifier(n_estimators=2, gain="propensity"), X, Y),
            (OnlinePLTClassifier(), X, y),
            (TextClassifier(text=HashedText()), texts, Y * 2),
        ]:
            model.fit(given, labels)
            if labels is Y:
                model.tune_thresholds(X, Y, labels_per_row=1.5)
            model.save(path)
            print(model, zlib.crc32(path.read_bytes()), zlib.crc32(model.predict_proba(given).data))
        print(inverse_propensity(range(3000), n_examples=4000).tobytes().hex())
    """
    found = np.show_config("dicts")["SIMD Extensions"].get("found", [])
    other = {"NPY_DISABLE_CPU_FEATURES": " ".join(found), "OPENBLAS_CORETYPE": "Nehalem"}
    path = str(tmp_path / "model.lg")
    one, another = python(script, path, by=warm), python(script, path, **other)
    assert (one.returncode, one.stderr) == (0, "")
    assert another.stdout.splitlines() == one.stdout.splitlines()


def test_kernels_that_do_not_run_here_are_an_error_at_import(warm: Sequence[str]) -> None:
    for wanted in ("AVX2", "sse2"):
        assert kernels_with(wanted) == (
            f"the environment variable LABELGROVE_KERNELS is '{wanted}'; expected a variant that "
            f"this processor can run: {', '.join(_core.available_kernels())}"
        )
    run = python("import labelgrove", by=warm, LABELGROVE_KERNELS="sse2")
    assert run.stderr.splitlines()[-1] == f"ImportError: {kernels_with('sse2')}"


def test_show_versions(capsys: pytest.CaptureFixture[str]) -> None:
    labelgrove.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["labelgrove"] == labelgrove.__version__
    assert shown["kernels"].startswith(f"{_core.kernel_variant()} (available: baseline")
    assert shown["compiler"].split()[0] in ("GCC", "Clang")
    assert int(shown["threads"]) >= 1
    assert shown["numpy"] == np.__version__


@pytest.mark.parametrize(("n_jobs", "threads"), [(1, 1), (2, 2), (5, 5), (1000, 6), (-1, 3)])
def test_there_are_at_most_two_threads_for_each_processor(
    monkeypatch: pytest.MonkeyPatch, n_jobs: int, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert thread_count(n_jobs) == threads
    assert thread_count(n_jobs, here=False) == max(n_jobs, threads)  # another machine may have more


# --- arrays that another thread writes to --------------------------------------------------------


def rows(ids: list[int], ends: list[int]) -> tuple[Any, ...]:
    return (
        np.array(ends, np.int64),
        np.array(ids, np.uint32),
        np.ones(len(ids), np.float32),
    )


def engines() -> dict[str, Any]:
    X, y = np.eye(5, dtype=np.float32), list("abcde")
    many = [[label] for label in y]
    return {
        "OnlinePlt": labelgrove.OnlinePLTClassifier().fit(X, many)._learned.engine,
        "CompactPlt": labelgrove.PLTClassifier().fit(X, many)._learned.engine,
        "two trees": labelgrove.PLTClassifier(n_trees=2).fit(X, many)._learned.engine,
        "LomTree": labelgrove.LOMTreeClassifier().fit(X, y)._learned.engine,
        "MemoryTree": labelgrove.MemoryTreeClassifier().fit(X, many)._learned.engine,
        "Forest": labelgrove.LdSMClassifier(n_estimators=2).fit(X, many)._learned.engine,
    }


SPOILT = {
    "ids": rows([3, 1], [0, 2]),
    "equal ids": rows([3, 3], [0, 2]),
    "huge ids": rows([1, 2**32 - 1], [0, 2]),
    "row ends": rows([1, 2], [0, 2**40, 2]),
    "negative ends": rows([1, 2], [0, -1, 2]),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_rows_are_checked_where_they_are_read(spoilt: str) -> None:
    """The arrays pass the checks and are changed afterwards."""
    bad = SPOILT[spoilt]
    n = len(bad[0]) - 1
    labels = (np.arange(n + 1, dtype=np.int64), np.zeros(n, np.uint32))
    for name, engine in engines().items():
        before = {key: array.copy() for key, array in engine.save(False).items()}
        with pytest.raises(ValueError, match="rows"):
            engine.top_k(*bad, 2, 0, None, 1)
        with pytest.raises(ValueError, match="rows"):
            engine.above_threshold(*bad, engine.scope(np.array([0.1], np.float32)), 2)
        if name in ("OnlinePlt", "LomTree", "MemoryTree"):
            with pytest.raises(ValueError, match="rows"):
                engine.learn(*bad, *labels, 0, n, 1)
            engine.top_k(*rows([1, 2], [0, 2]), 2, 0, None, 1)
        after = engine.save(False)
        assert all(np.array_equal(before[key], after[key], equal_nan=True) for key in before)


@pytest.mark.slow
def test_a_thread_that_writes_to_the_rows_breaks_nothing(warm: Sequence[str]) -> None:
    script = """
        import threading
        import numpy as np, scipy.sparse as sp
        import labelgrove
        g = np.random.default_rng(0)
        n = 2000
        ids = np.sort(np.argsort(g.random((n, 200)), axis=1)[:, :10], axis=1).astype(np.int32)
        X = sp.csr_array(
            (np.ones(n * 10, np.float32), ids.ravel(), np.arange(0, 10 * n + 1, 10)),
            shape=(n, 2**31 - 1),
        )
        y = [f"l{int(v)}" for v in g.integers(0, 30, n)]
        models = [
            labelgrove.OnlinePLTClassifier(n_jobs=2),
            labelgrove.PLTClassifier(n_jobs=2),
            labelgrove.LOMTreeClassifier(),
            labelgrove.LdSMClassifier(n_estimators=2, n_jobs=2),
        ]
        spoilt = {
            "indices": (X.indices.astype(np.int64) * 10_000_000 + 7).astype(np.int32),
            "indptr": np.where(np.arange(n + 1) % n == 0, X.indptr, 2**30),
            "data": np.full_like(X.data, np.nan),
        }
        def write(array, good, bad, stop):
            while not stop.is_set():
                array[:] = bad
                array[:] = good
        for buffer, bad in spoilt.items():
            array, stop = getattr(X, buffer), threading.Event()
            writer = threading.Thread(target=write, args=(array, array.copy(), bad, stop))
            writer.start()
            for model in models:
                Y = y if model.algorithm == "lomtree" else [[label] for label in y]
                for _ in range(8):
                    try:
                        model.fit(X, Y)
                        model.predict_topk(X, 3)
                    except (labelgrove.LabelGroveError, ValueError):
                        pass
            stop.set()
            writer.join()
        print("whole")
    """
    run = python(script, by=warm)
    assert (run.returncode, run.stdout) == (0, "whole\n"), run.stderr


# --- memory --------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")

# Let memory run out in the core only: NumPy reports it without holding the GIL, and crashes.
# Return freed memory to the system, and give threads no 64 MB arenas of their own, so that the
# limit takes effect immediately.
GIVEN_BACK = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "OPENBLAS_NUM_THREADS": "1",
}
SCARCE = """
    import os, resource, signal, sys, traceback
    import numpy as np, scipy.sparse as sp
    import labelgrove
    from labelgrove import _core

    def limited(owner, name):
        call = getattr(owner, name)
        def with_little_memory(*arguments):
            pages = int(open("/proc/self/statm").read().split()[0])
            room = pages * resource.getpagesize() + spare
            resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
            try:
                return call(*arguments)
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        setattr(owner, name, with_little_memory)

    g = np.random.default_rng(0)
    n = 3000
    X = sp.csr_array(
        (
            g.random(n * 20).astype(np.float32),
            np.sort(g.integers(0, 20000, (n, 20)), axis=1).ravel().astype(np.int32),
            np.arange(0, n * 20 + 1, 20, dtype=np.int32),
        ),
        shape=(n, 20000),
    )
    X.sum_duplicates()
    y = [f"l{int(v)}" for v in g.integers(0, 400, n)]
    few = {"n_estimators": 2, "max_nodes": 200, "epochs_per_node": 1}
    models = {
        "OnlinePLT": labelgrove.OnlinePLTClassifier(),
        "OnlinePLT, 2 threads": labelgrove.OnlinePLTClassifier(n_jobs=2),
        "PLT": labelgrove.PLTClassifier(),
        "PLT, 2 threads": labelgrove.PLTClassifier(n_jobs=2),
        "LOMTree": labelgrove.LOMTreeClassifier(),
        "LdSM, 2 threads": labelgrove.LdSMClassifier(**few, n_jobs=2),
    }

    def attempt(model, Y, before):
        try:
            getattr(model, "partial_fit", model.fit)(X, Y)
            outcome = "learnt"
        except MemoryError:
            outcome = "MemoryError"
        try:
            after = model.predict_topk(X[:5], 2)[1]
            if outcome == "MemoryError" and not hasattr(model, "partial_fit"):
                assert np.array_equal(before, after)
        except RuntimeError as error:
            assert outcome == "MemoryError" and "lack of memory" in str(error), error
        return outcome

    for name, model in models.items():
        Y = y if name == "LOMTree" else [[label] for label in y]
        before = model.fit(X[:50], Y[:50]).predict_topk(X[:5], 2)[1]
        for spare in (k * k << 16 for k in range(0, 21, 4)):
            if (child := os.fork()) == 0:
                try:
                    signal.alarm(60)
                    limited(_core.OnlinePlt, "learn")
                    limited(_core, "train_batch_plt")
                    limited(_core.LomTree, "learn")
                    limited(_core.Forest, "grow")
                    os.write(1, f"{name}: {attempt(model, Y, before)}\\n".encode())
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    sys.stderr.flush()
                    os._exit(1)
            if status := os.waitpid(child, 0)[1]:
                sys.exit(f"{name} with {spare} bytes to spare: status {status}")
"""


@linux
@pytest.mark.slow
def test_out_of_memory_is_a_memory_error() -> None:
    """Running out of memory anywhere causes no abort, no hang and no half-updated model."""
    run = python(SCARCE, **GIVEN_BACK)
    assert run.returncode == 0, run.stderr
    outcomes = Counter(run.stdout.splitlines())
    assert sum(outcomes.values()) == 6 * 6
    # The amount needed depends on the allocator, but none at all must be too little.
    assert sum(n for outcome, n in outcomes.items() if outcome.endswith(": MemoryError")) >= 6


def test_memory_that_runs_out_after_the_engine_has_learnt_leaves_a_whole_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def add(*_: Any) -> None:
        raise MemoryError

    X, names = np.eye(200, dtype=np.float32), [f"l{i}" for i in range(200)]
    clf = OnlinePLTClassifier(second_stage="head").partial_fit(X[:50], names[:50])
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(StagedEngine, "add", add)
        clf.partial_fit(X[50:], names[50:])
    assert clf.examples_seen_ == clf.label_counts_.sum() == 200
    clf.save(tmp_path / "model.lg")
    assert load(tmp_path / "model.lg").classes_.tolist() == clf.classes_.tolist()


# --- exit ----------------------------------------------------------------------------------------

# A process that has imported everything forks a child for each kind of exit.
ENDINGS = """
    import gc, json, os, sys, threading, time
    import numpy as np
    import labelgrove
    from labelgrove import *

    def end_of(number):
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return [status, *(open(f"{sys.argv[2]}/{number}.{stream}").read() for stream in (1, 2))]

    ends = []
    for number, (script, report) in enumerate(json.loads(sys.argv[1])):
        if (child := os.fork()) == 0:
            for stream in (1, 2):
                opened = os.open(f"{sys.argv[2]}/{number}.{stream}", os.O_CREAT | os.O_WRONLY)
                os.dup2(opened, stream)
            break
        ends.append(end_of(number))
    else:
        print(json.dumps(ends))
        sys.exit()
    labelgrove._core.report_leaks(report)
    X, Y = np.eye(6, dtype=np.float32), [["a"], ["b"], ["c"]] * 2
    clf = OnlinePLTClassifier().partial_fit(X, Y)
    exec(script)
"""

ENDS = {
    "kept in many places": """
        import builtins, tempfile
        others = [PLTClassifier(n_trees=2, n_jobs=2).fit(X, Y)]
        forest = LdSMClassifier(n_estimators=2, n_jobs=2).fit(X, Y)
        tree = LOMTreeClassifier().partial_fit(X, [label for label, in Y])
        route, answer = tree.explain(X[:1]), clf._learned.engine.top_k
        clf.me = clf
        builtins.kept = sys.kept = np.kept = labelgrove.kept = labelgrove.models.kept = clf
        try:
            clf.predict_topk("x")
        except Exception as error:
            error_kept = error
        local = threading.local()
        local.kept = OnlinePLTClassifier().partial_fit(X, Y)
        def models():
            yield OnlinePLTClassifier().partial_fit(X, Y)
        rest = models()
        next(rest)
        with tempfile.TemporaryDirectory() as folder:
            clf.save(folder + "/m.lg", for_prediction=True)
            loaded = labelgrove.load(folder + "/m.lg")
            loaded.predict_topk(X, 2)
    """,
    "a cycle without a collector": "gc.disable(); clf.me = clf",
    "an exit from within": "def leave(model): sys.exit(0)\nleave(clf)",
    "a pool of threads, and a call at exit": """
        import atexit
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        answers = [pool.submit(clf.predict_topk, X, 2) for _ in range(4)]
        atexit.register(lambda model: model.predict_topk(X, 1), clf)
    """,
    "a fork": """
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
    """,
}

# CPython never unwinds the frames of these threads, so what they hold is never freed.
ABANDONED = {
    "a daemon that sleeps": """
        def sleep(model):
            time.sleep(100)
        threading.Thread(target=sleep, args=(clf,), daemon=True).start()
    """,
    "a daemon that predicts": """
        many = np.tile(X, (3000, 1))  # so that it is in the core when the end comes
        def predict(model):
            while True:
                model.predict_topk(many, 2)
        threading.Thread(target=predict, args=(clf,), daemon=True).start()
        time.sleep(0.1)
    """,
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_nothing_is_left_and_nothing_printed_at_exit(warm: Sequence[str], tmp_path: Path) -> None:
    """Beside threads that are abandoned, something is left, and a report of leaks would tell."""
    cases = [(name, True) for name in (*ENDS, "a daemon that sleeps")]
    cases += [(name, False) for name in ABANDONED]
    scripts = [(textwrap.dedent((ENDS | ABANDONED)[name]), report) for name, report in cases]
    run = python(ENDINGS, json.dumps(scripts), str(tmp_path), by=warm)
    assert run.returncode == 0, run.stderr
    endings = dict(zip(cases, json.loads(run.stdout), strict=True))
    assert "leaked" in endings.pop(("a daemon that sleeps", True))[2]
    assert endings == {case: [0, "", ""] for case in endings}
