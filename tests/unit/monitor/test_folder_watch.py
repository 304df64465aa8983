"""One stat of a folder shows whatever comes into it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.monitor.folder_watch import FolderWatch

NAMES = ("a", "b", "c")


def settled(watch: FolderWatch) -> None:
    """Let the watch see what there is, until it is sure."""
    while watch.changed():
        pass


@given(happens=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["claim", "result", "gone"])), max_size=12))
def test_any_change_is_reported_by_one_of_the_next_two_polls(
    tmp_path_factory: pytest.TempPathFactory, happens: list[tuple[str, str]]
) -> None:
    """Two, because a change within the same tick of the clock as another does not show."""
    root = tmp_path_factory.mktemp("watch")
    for name in NAMES:
        (root / name).mkdir()
    watch = FolderWatch()
    watch.keep((name, root / name) for name in NAMES)
    settled(watch)
    for number, (name, what) in enumerate(happens):
        folder = root / name
        if what == "gone" and folder.exists():
            folder.rename(root / f"{name}.{number}")
        else:
            folder.mkdir(exist_ok=True)
            (folder / f"{what}.{number}").write_text("")
            os.utime(folder, ns=(number + 1, number + 1))
        assert watch.changed() == {name}
        assert watch.changed() == {name}
        assert watch.changed() == set()


def test_a_change_in_the_same_clock_tick_is_reported_by_the_second_poll(tmp_path: Path) -> None:
    watch = FolderWatch()
    watch.keep([("a", tmp_path)])
    settled(watch)
    (tmp_path / "claim").touch()
    stamp = tmp_path.stat().st_mtime_ns
    assert watch.changed() == {"a"}
    (tmp_path / "result").touch()
    os.utime(tmp_path, ns=(stamp, stamp))
    assert watch.changed() == {"a"}


def test_a_new_path_for_a_name_counts_as_a_change(tmp_path: Path) -> None:
    watch = FolderWatch()
    watch.keep([("a", tmp_path / "0"), ("b", tmp_path)])
    settled(watch)
    watch.keep([("a", tmp_path / "1"), ("b", tmp_path)])
    assert watch.changed() == {"a"}
    watch.keep([("b", tmp_path)])
    assert watch.changed() == set()


def test_a_listed_file_is_reported_until_it_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the kernel remembers that a name was missing longer than the times of its folder."""
    watch, missing = FolderWatch(), {f"{tmp_path}/result.json", f"{tmp_path}/srun"}
    watch.keep([("a", tmp_path), ("b", tmp_path / "none")])
    settled(watch)
    monkeypatch.setattr(os.path, "lexists", lambda path: path not in missing)
    for name in ("srun", "result.json"):
        (tmp_path / name).touch()
    assert [watch.changed() for _ in range(4)] == [{"a"}] * 4
    missing.remove(f"{tmp_path}/result.json")
    # Who reads now may have looked a moment before.
    assert watch.changed() == {"a"}
    assert watch.changed() == set()
