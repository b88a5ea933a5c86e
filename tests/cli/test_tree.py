from __future__ import annotations

import json
from pathlib import Path

import pytest

import labelgrove
from cli.conftest import LABELS, as_json, run, write_jsonl
from labelgrove import LabelTree
from labelgrove.cli._trees import BUILDERS, read_tree
from labelgrove.models import OnlinePLTClassifier, TextClassifier
from labelgrove.text import HashedText
from labelgrove.trees import hierarchy_tree

FROM_EXAMPLES = [name for name, builder in BUILDERS.items() if builder.reads == "examples"]


@pytest.mark.parametrize("kind", FROM_EXAMPLES)
def test_every_builder_takes_texts_and_vectors(
    texts: Path, vectors: Path, tmp_path: Path, kind: str
) -> None:
    for data, labels in ((texts, LABELS), (vectors, list(range(20)))):
        output = tmp_path / f"{data.stem}.json"
        run("tree", "build", data, "--kind", kind, "-o", output)
        tree = LabelTree.from_json(output.read_text(encoding="utf-8"))
        assert sorted(tree.leaf_labels.tolist()) == labels


def test_settings_reach_the_builder(texts: Path, tmp_path: Path) -> None:
    output = tmp_path / "tree.json"
    words = ["tree", "build", texts, "-o", output]
    found = as_json(*words, "--set", "arity=5", "--set", "max_leaf_size=8")
    assert found["arities"] == {"5": 1, "8": 5} and found["n_labels"] == 40
    again = as_json(*words, "--set", "arity=40", "--set", "text.n_features=64")
    assert again["arities"] == {"40": 1}


def test_the_tree_of_texts_follows_their_words(texts: Path, tmp_path: Path) -> None:
    """Labels share no words, so that only common examples make them similar."""
    outputs = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for output, kind in zip(outputs, ("pifa", "pifa", "cooccurrence"), strict=True):
        run("tree", "build", texts, "-o", output, "--embeddings", kind, "--set", "max_leaf_size=3")
    a, b, c = (output.read_bytes() for output in outputs)
    assert a == b != c


@pytest.mark.parametrize("kind", ["interpolated", "cost", "kmeans"])
def test_threads_and_seeds(vectors: Path, tmp_path: Path, kind: str) -> None:
    trees = {}
    for jobs, seed in ((1, 0), (2, 0), (1, 3)):
        output = tmp_path / f"{jobs}-{seed}.json"
        words = ["--jobs", jobs, "--seed", seed, "--set", "interpolation=0.8"]
        words = words[:4] if kind == "kmeans" else words
        run("tree", "build", vectors, "--kind", kind, "-o", output, *words)
        trees[jobs, seed] = output.read_bytes()
    assert trees[1, 0] == trees[2, 0]


def test_fano_frequencies_have_a_method(texts: Path, tmp_path: Path) -> None:
    output = tmp_path / "tree.json"
    words = ["--kind", "interpolated", "--set", "interpolation=2", "--set", "max_leaf_size=1"]
    found = {}
    for method in ("marginal", "greedy", "all"):
        run("tree", "build", texts, "-o", output, "--fano-frequencies", method, *words)
        found[method] = output.read_bytes()
    assert len(set(found.values())) >= 2


def test_a_hierarchy_has_a_line_a_pair(tmp_path: Path) -> None:
    pairs, output = tmp_path / "pairs.tsv", tmp_path / "tree.json"
    pairs.write_text("animal\tcat\nanimal\tdog\n\nplant\toak\n")
    words = ["tree", "build", pairs, "--kind", "hierarchy", "-o", output]
    run(*words, "--set", "labels=leaves")
    assert read_tree(str(output)).labels == {3: "cat", 4: "dog", 5: "oak"}
    pairs.write_text("0\t12\n0\t13\n")
    run(*words)
    assert read_tree(str(output)).labels == {1: 0, 2: 12, 3: 13}
    pairs.write_text("01\t011\n1\t11\n")  # codes of ISCO, whose zeros count
    run(*words)
    assert read_tree(str(output)).labels == {3: "01", 4: "011", 5: "1", 6: "11"}
    pairs.write_text("\t5\n6\t7\n")  # 5 is a root
    run(*words)
    assert read_tree(str(output)) == hierarchy_tree([(None, 5), (6, 7)])
    pairs.write_text("a\u2028b\tc\n", encoding="utf-8")
    run(*words)
    assert read_tree(str(output)).labels == {1: "a\u2028b", 2: "c"}
    pairs.write_bytes(b"a\tb\na\t\xff\n")
    assert f"{pairs}:2: byte 3 of the line is not UTF-8" in run(*words, status=1).stderr
    pairs.write_text("a\tb\na\t\n")
    assert f"{pairs}:2: found no child" in run(*words, status=1).stderr
    pairs.write_text("0\t1\n0 2\n")
    assert f"{pairs}:2: found 1 field; expected" in run(*words, status=1).stderr
    pairs.write_text("a\tb\nb\ta\n")
    assert "is a cycle" in run(*words, status=1).stderr


def test_a_thesaurus(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    thesaurus, output = tmp_path / "thesaurus.nt", tmp_path / "tree.json"
    broader = "<http://www.w3.org/2004/02/skos/core#broader>"
    thesaurus.write_text(f"<urn:cat> {broader} <urn:animal> .\n")
    run("tree", "build", thesaurus, "--kind", "skos", "-o", output)
    assert read_tree(str(output)).labels == {1: "urn:animal", 2: "urn:cat"}


@pytest.mark.parametrize("suffix", [".json", ".tsv"])
def test_formats_go_by_the_name(texts: Path, tmp_path: Path, suffix: str) -> None:
    plain, output = tmp_path / "plain.json", tmp_path / f"tree{suffix}"
    run("tree", "build", texts, "-o", plain)
    run("tree", "build", texts, "-o", output)
    assert read_tree(str(output)) == read_tree(str(plain))
    assert run("tree", "show", output).stdout == run("tree", "show", plain).stdout
    whole = run("tree", "build", texts, "-o", "-").stdout
    assert LabelTree.from_json(whole) == read_tree(str(plain))
    drawing = tmp_path / "tree.dot"
    run("tree", "build", texts, "-o", drawing)
    assert drawing.read_text() == read_tree(str(plain)).to_dot()


def test_show_prints_an_outline(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    names = [*"abcde", "f" * 30, "g" * 100]
    file.write_text(LabelTree([-1, 0, 0, 0, 1, 1, 1, 1, 2, 2], names).to_json())
    assert run("tree", "show", file, "--labels", "3").stdout.splitlines() == [
        "7 labels, 3 children",
        "├─ 4 labels: b, c, d, …",
        f"├─ 2 labels: {'f' * 30}, {'g' * 59}…",
        "└─ a",
    ]
    assert run("tree", "show", file, "--children", "1").stdout.splitlines() == [
        "7 labels, 3 children",
        "├─ 4 labels: b, c, d, e",
        "└─ … 2 more with 3 labels",
    ]
    assert run("tree", "show", file, "--levels", "0", "--labels", "1").stdout == "7 labels: b, …\n"


def test_models_have_trees(text_model: Path) -> None:
    tree = labelgrove.load(text_model).tree_
    found = as_json("tree", "stats", text_model)
    assert found["n_nodes"] == tree.n_nodes and "expected_depth" not in found
    assert run("tree", "show", text_model).stdout.startswith("40 labels")


def test_stats_of_searches(texts: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat.json"
    run("tree", "build", texts, "--kind", "flat", "-o", flat)
    found = as_json("tree", "stats", flat, "--data", texts)
    assert found["expected_depth"] == found["expected_blocks"] == 1
    assert found["expected_classifiers"] == 40 and found["arities"] == {"40": 1}
    shown = run("tree", "stats", flat, "--data", texts).stdout
    assert "opens at least 1.00 blocks with 40.0 classifiers" in shown
    assert "1 × 40" in shown


def test_stats_leave_out_labels_that_the_tree_lacks(texts: Path, tmp_path: Path) -> None:
    flat, more = tmp_path / "flat.json", tmp_path / "more.jsonl"
    run("tree", "build", texts, "--kind", "flat", "-o", flat)
    before = as_json("tree", "stats", flat, "--data", texts)
    more.write_text(
        '{"text": "new", "labels": ["unheard-of"]}\n' + texts.read_text("utf-8"), encoding="utf-8"
    )
    found = run("tree", "stats", flat, "--data", more, "--json")
    assert json.loads(found.stdout) == before
    assert "ignoring 1 label that the tree lacks, first 'unheard-of'" in found.stderr
    write_jsonl(more, [{"text": "new", "labels": ["unheard-of"]}])
    refused = run("tree", "stats", flat, "--data", more, status=1).stderr
    assert "the tree has none of the labels in this file" in refused


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_plot_draws_a_picture(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    file, picture = tmp_path / "tree.json", tmp_path / f"tree{suffix}"
    file.write_text(LabelTree.flat(["a", "b"]).to_json())
    run("tree", "plot", file, "-o", picture)
    begin = picture.read_bytes()[:300]
    assert b"<svg" in begin or b"PNG" in begin
    assert "expected a name that ends in" in run("tree", "plot", file, "-o", "t", status=1).stderr


def test_failures_are_one_sentence(texts: Path, vectors: Path, tmp_path: Path) -> None:
    output = tmp_path / "tree.json"
    build = ["tree", "build", texts, "-o", output]
    turtle = tmp_path / "thesaurus.ttl"
    turtle.write_text("@prefix : <http://a/> .")
    for words, message in (
        ([*build, "--kind", "kmean"], "--kind kmean: no such builder"),
        ([*build, "--set", "arity=1"], "arity=1: expected an integer from 2"),
        ([*build, "--set", "n_jobs=2"], "use the option --jobs instead"),
        ([*build, "--set", "text.words=3"], "error: text.words=3: expected two"),
        (
            [*build, "--kind", "flat", "--set", "arity=2"],
            "--set arity: no such parameter (expected none)",
        ),
        ([*build, "--kind", "fano", "--set", "text.idf=false"], "text.idf: no such parameter"),
        (
            [*build, "--embeddings", "cooccurrence", "--set", "text.idf=false"],
            "--set text.idf: no such parameter",
        ),
        (
            ["tree", "build", vectors, "-o", output, "--set", "text.idf=false"],
            "--set text.idf: expected text; the data holds numbered features",
        ),
        ([*build[:3], "-o", "-", "--json"], "--json: expected a file for -o"),
        ([*build[:3], "-o", texts], "would overwrite"),
        (
            [*build, "--kind", "fano", "--embeddings", "cooccurrence"],
            "--embeddings cooccurrence: a",
        ),
        ([*build, "--fano-frequencies", "all"], "does not use this; expected --kind interpolated"),
        ([*build, "--kind", "skos", "--limit", "5"], "--kind skos: reads a thesaurus; expected"),
        (
            ["tree", "stats", texts, "--limit", "5"],
            "--limit and options that say how to read examples require --data",
        ),
        (["tree", "show", tmp_path / "none.json"], "no such file"),
        (["tree", "show", texts], "tree"),
        (["tree", "show", turtle], "expected a tree in JSON, edges in a .tsv file, or a model"),
    ):
        result = run(*words, status=1)
        assert message in result.stderr and result.stderr.count("\n") == 1
    write_jsonl(texts, [{"text": "nothing", "labels": []}])
    assert "contains no labels" in run(*build, status=1).stderr
    assert not output.exists()


def test_a_group_without_a_command_says_what_is_missing() -> None:
    assert "error: missing command (see" in run("tree", status=2).stderr


def test_codes_that_are_numbers_fit_texts(tmp_path: Path) -> None:
    hierarchy, data, tree = (tmp_path / name for name in ("h.tsv", "d.jsonl", "h.json"))
    hierarchy.write_text("100\t1\n100\t2\n0\t100\n")
    lines = ('{"text": "rice", "labels": ["1"]}', '{"text": "oak", "labels": ["2"]}')
    data.write_text("\n".join(lines * 10) + "\n")
    run("tree", "build", hierarchy, "--kind", "hierarchy", "-o", tree)
    assert "expected_cost" in as_json("tree", "stats", tree, "--data", data)
    run("train", data, "-o", tmp_path / "m.lg", "--set", f"tree={tree}")
    assert labelgrove.load(tmp_path / "m.lg").classes_.tolist() == ["0", "1", "100", "2"]


def test_the_tree_of_a_model_whose_pattern_is_trusted(tmp_path: Path) -> None:
    model = TextClassifier(OnlinePLTClassifier(), HashedText(token_pattern="[a-z]+"))
    model.fit(["red apple", "green lime"], [["apple"], ["lime"]])
    model.save(path := tmp_path / "model.lg")
    assert "--trust-pattern" in run("tree", "stats", path, status=1).stderr
    assert "labels" in run("tree", "stats", path, "--trust-pattern").stdout
