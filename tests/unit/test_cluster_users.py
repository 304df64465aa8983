"""The test cluster's users are its own, whoever the machine has by their names and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.config import without_groups, without_users
from tests.cluster.instance import GROUP_ID, GROUP_NAME, USERS

ROOT = "root:x:0:0:root:/root:/bin/bash\n"
WORDS = st.text(st.characters(categories=("Ll", "Nd")), max_size=8)


@pytest.mark.parametrize("name", USERS)
def test_machine_users_with_the_name_of_a_cluster_user_are_removed(name: str) -> None:
    assert without_users(f"{ROOT}{name}:x:1000:1000:Somebody:/home/{name}:/bin/sh\n", numbered=True) == ROOT
    assert (
        without_users(f"root:*:19000:0:99999:7:::\n{name}:secret:19000:0:99999:7:::\n") == "root:*:19000:0:99999:7:::\n"
    )


@pytest.mark.parametrize("uid", [user.uid for user in USERS.values()])
def test_entries_with_the_uid_of_a_cluster_user_are_removed(uid: int) -> None:
    assert without_users(f"{ROOT}carol:x:{uid}:1000::/home/carol:/bin/sh\n", numbered=True) == ROOT
    # In shadow the third word is a day.
    assert without_users(f"carol:*:{uid}:0:99999:7:::\n") == f"carol:*:{uid}:0:99999:7:::\n"


def test_cluster_users_are_removed_from_groups_of_the_machine() -> None:
    groups = f"root:x:0:\ndocker:x:999:alice,carol,bob\nusers21000:x:5:\nother:x:{GROUP_ID}:carol\nbob:x:1001:\n"
    assert without_groups(groups) == "root:x:0:\ndocker:x:999:carol\nbob:x:1001:\n"


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 20000), WORDS), max_size=5))
def test_other_users_are_kept(rows: list[tuple[str, str, int, str]]) -> None:
    text = "".join(f"{name}:{word}:{number}:{more}\n" for name, word, number, more in rows if name not in USERS)
    assert without_users(text, numbered=True) == text
    if GROUP_NAME not in text and not any(more in USERS for *_, more in rows):
        assert without_groups(text) == text
