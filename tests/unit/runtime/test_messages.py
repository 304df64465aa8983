"""Messages between the shells of a job, over pipes: none is lost or torn, whatever the processors do besides."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import bashes

from .bash import run, sourced

RUNTIME = Path(__file__).parents[3] / "templates" / "runtime"
MESSAGES = 150
EXCHANGE = """
PSL_NODE_FOLDER=$1 PSL_ROLE=0 PSL_SLOT=0 PSL_RANKS=2 PSL_EXPORTS='' PSL_STOPPED=0
mkfifo "$1/0.0.rank.1" "$1/go" && exec {in}<>"$1/0.0.rank.1" {go}<>"$1/go"
exec {PSL_REPORT_FD}>/dev/null {PSL_CONTROL_FD}>/dev/null
has_reader() { ((++tries < 1000)); }
read() {
  local i
  local -a words=("$@")
  for ((i = 1; i < $#; i++)); do
    [[ ${words[i - 1]}${words[i]} != -t1 ]] || words[i]=0.002
  done
  builtin read "${words[@]}"
}
trap 'kill %1' EXIT
for ((sent = 0; sent < $2; sent++)); do
  builtin read -r _ <&"$go"
  sleep "0.00$((RANDOM % 9))"
  SEND
done &
for ((got = 0; got < $2; got++)); do
  printf '\\n' >&"$go"
  tries=0
  until RECEIVE; do
    has_reader || { echo "$got of $2 is lost"; exit; }
  done
done
echo all
"""
EXCHANGES = {
    "message": ('send "$in" "$sent"', 'read_words "$in"'),
    "release": ("release_ranks", 'await_release "" "$in"'),
}


@pytest.mark.parametrize("bash", bashes.BASHES)
@pytest.mark.parametrize("kind", EXCHANGES)
def test_nothing_is_lost_when_the_time_of_a_read_is_over(kind: str, bash: str, tmp_path: Path) -> None:
    """All comes when the time limit of the reader, 2 ms here, is about over, as the usual second is at times."""
    try:
        words = bashes.find(bash)
    except bashes.NoBashError as reason:
        pytest.skip(str(reason))
    send, receive = EXCHANGES[kind]
    code = EXCHANGE.replace("SEND", send).replace("RECEIVE", receive)
    command = [*words, "-p", "-c", f"{sourced()}\n{code}", "bash", str(tmp_path), str(MESSAGES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "all\n", done.stderr


def test_a_line_that_comes_in_two_parts_is_one_message(tmp_path: Path) -> None:
    code = """
        mkfifo "$1" && exec {PSL_EVENT_FD}<>"$1"
        { printf 'exit 0 0 0'; sleep 1.5; printf ' 0 7 255 unknown 1\\nfree 0 0\\n'; } >"$1" &
        until read_words "$PSL_EVENT_FD"; do :; done
        echo "${PSL_WORDS[*]}"
        read_words "$PSL_EVENT_FD"; echo "${PSL_WORDS[*]}"
    """
    assert run(code, str(tmp_path / "events")) == "exit 0 0 0 0 7 255 unknown 1\nfree 0 0\n"


def test_a_message_without_a_blank_before_it_is_whole(tmp_path: Path) -> None:
    code = """
        mkfifo "$1" && exec {in}<>"$1"
        { sleep 0.1; printf 'free 0 1\\n' >"$1"; } &
        until read_words "$in" 5; do :; done
        echo "${PSL_WORDS[*]}"
    """
    assert run(code, str(tmp_path / "events")) == "free 0 1\n"


def test_messages_are_written_by_one_function() -> None:
    """A trap may call none, and begins them with a blank."""
    written = re.compile(r"printf (?!\" )[^|]*>&\"\$PSL_(?:CONTROL|EVENT|REPORT)_FD\"")
    found = [(path.name, line) for path in RUNTIME.rglob("*.sh") for line in written.findall(path.read_text())]
    assert found == []
