"""The cache of verified steps: what holds is known again, what was changed is not, and nothing can break a run."""

import json
import threading
from pathlib import Path

import pytest
import sympy as sp

from symbolic.derivation import Derivation, StepFailed
from symbolic.step_cache import StepCache, Verdict

x, y = sp.symbols("x y")
VERDICT = Verdict(3, ((("d", 2), ("n", 3)), (("d", 3), ("n", 2))))


def check(given, result):
    yield given.rhs**2 - result.rhs


def derivation(conclusion: sp.Expr = x**2 + 2 * x + 1) -> Derivation:
    made = Derivation("square")
    made.define("sum", "A sum", sp.Eq(y, x + 1))
    made.conclude(
        "squared", "Its square", sp.Eq(y**2, conclusion), step="squaring", premises=["sum"], why="-", check=check
    )
    return made


def test_without_a_cache_every_check_runs():
    assert [result.cached for result in derivation().verify()] == [False]


def test_a_second_run_knows_the_step(tmp_path):
    cache = StepCache(tmp_path)
    (first,), (second,) = derivation().verify(cache), derivation().verify(cache)
    assert (first.cached, second.cached) == (False, True)
    assert first.verdict == second.verdict


def test_the_check_of_a_known_step_does_not_run(tmp_path, monkeypatch):
    from symbolic import derivation as module

    cache = StepCache(tmp_path)
    derivation().verify(cache)
    monkeypatch.setattr(module, "nonzero_witness", lambda residuals: pytest.fail("the check ran"))
    assert derivation().verify(cache)[0].cached


def test_a_tampered_conclusion_is_not_in_the_cache(tmp_path):
    cache = StepCache(tmp_path)
    derivation().verify(cache)
    with pytest.raises(StepFailed):
        derivation(x**2 - 2 * x + 1).verify(cache)


def test_a_failure_is_not_kept(tmp_path):
    cache = StepCache(tmp_path)
    for _ in range(2):
        with pytest.raises(StepFailed):
            derivation(x**2).verify(cache)
    assert list(tmp_path.iterdir()) == []


def test_a_step_without_a_digest_is_verified_each_time(tmp_path):
    values = iter(range(10))
    made = derivation()
    made.conclude(
        "again", "Again", sp.Eq(y, x), step="odd", premises=["sum"], why="-", check=lambda a, b: [0 * next(values)]
    )
    for _ in range(2):
        assert not made.verify_step("odd", StepCache(tmp_path)).cached
    assert list(tmp_path.iterdir()) == []


def test_sizes_come_back_as_they_were(tmp_path):
    cache = StepCache(tmp_path / "deep" / "er")
    assert cache.get("key") is None
    cache.put("key", VERDICT)
    assert cache.get("key") == VERDICT


GOOD = {"step": "key", "identities": 3, "sizes": []}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        "\x00\xff",
        json.dumps(GOOD)[:-5],
        json.dumps({**GOOD, "step": "other"}),
        json.dumps({**GOOD, "identities": 0}),
        json.dumps({**GOOD, "identities": "many"}),
        json.dumps({**GOOD, "identities": None}),
        json.dumps({**GOOD, "sizes": 3}),
        json.dumps({**GOOD, "sizes": [["d"]]}),
        json.dumps({"step": "key"}),
    ],
)
def test_a_damaged_file_is_no_evidence_and_is_replaced(tmp_path, content):
    cache = StepCache(tmp_path)
    (tmp_path / "key").write_text(content, encoding="latin-1")
    assert cache.get("key") is None
    cache.put("key", VERDICT)
    assert cache.get("key") == VERDICT


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = StepCache(blocked / "steps")
    assert [result.cached for result in derivation().verify(cache)] == [False]
    (tmp_path / "folder" / "key").mkdir(parents=True)
    StepCache(tmp_path / "folder").put("key", VERDICT)
    assert StepCache(tmp_path / "folder").get("key") is None
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["key"]


def test_writers_at_the_same_time_leave_whole_files(tmp_path):
    """Every read sees nothing or a whole file, while eight threads write the same two."""
    cache, keys, seen = StepCache(tmp_path), ("a" * 64, "b" * 64), []

    def work() -> None:
        for i in range(50):
            cache.put(keys[i % 2], VERDICT)
            seen.append(cache.get(keys[i % 2]))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {VERDICT}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(keys)


def test_the_folder_is_the_users_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path))
    assert StepCache.of_user() == StepCache(tmp_path)
    monkeypatch.setenv("ATTNFLOW_CACHE", "")
    assert StepCache.of_user() is None
    monkeypatch.delenv("ATTNFLOW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert StepCache.of_user() == StepCache(tmp_path / "xdg" / "attnflow" / "steps")


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", Path(".cache")),
        ("darwin", Path("Library/Caches")),
        ("win32", Path("AppData/Local")),
    ],
)
def test_without_a_choice_it_is_where_the_platform_keeps_caches(monkeypatch, tmp_path, platform, expected):
    for name in ("ATTNFLOW_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert StepCache.of_user() == StepCache(tmp_path / expected / "attnflow" / "steps")
