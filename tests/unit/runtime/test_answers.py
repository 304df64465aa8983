"""Calls whose callers are gone."""

from __future__ import annotations

from pathlib import Path

from .bash import run

IN_A_SESSION_OF_ITS_OWN = """
PSL_SERVE_WITH=run_apart
run_apart() {
  setsid bash -c 'trap : TERM; echo "$$" >"$1/pid"; while :; do sleep 0.1; done' bash "$1" &
  wait
}
cd -- "$1"
mkfifo in out err life status
exec {life}<>life {status}<>status
serve_call "$1" {life}>&- &
read -r word <&"$status"
exec {in}>in {out}<out {err}<err
until [[ -s pid ]]; do sleep 0.01; done
read -r pid <pid
exec {life}>&-
for ((tries = 0; tries < 1000; tries++)); do
  [[ -e $1 || -e /proc/$pid ]] || break
  sleep 0.01
done
[[ -e $1 ]] || printf '%s folder gone\\n' "$word"
[[ -e /proc/$pid ]] || printf 'process gone\\n'
kill -KILL "$pid" 2>/dev/null || :
"""
LEFT_RUNNING = """
PSL_SERVE_WITH=run_in_background
run_in_background() { bash -c 'sleep 60 >/dev/null 2>&1 & echo "$!" >"$1/pid"' bash "$1"; }
cd -- "$1"
mkfifo in out err life status
exec {life}<>life {status}<>status
serve_call "$1" {life}>&- &
read -r word <&"$status"
exec {in}>in {out}<out {err}<err
read -r word _ <&"$status"
exec {life}>&-
wait "$!"
read -r pid <pid
read -r _ _ state _ <"/proc/$pid/stat"
printf '%s %s\\n' "$word" "${state/Z/killed}"
kill -KILL "$pid"
"""


def test_a_process_with_terminal_is_killed_when_its_caller_is_gone(tmp_path: Path) -> None:
    """The process that made the terminal ends by TERM at once, and says so to who still listens."""
    folder = tmp_path / "call"
    folder.mkdir()
    assert run(IN_A_SESSION_OF_ITS_OWN, str(folder)).splitlines() == ["open folder gone", "process gone"]


def test_background_processes_outlive_the_caller_after_a_reported_end(tmp_path: Path) -> None:
    folder = tmp_path / "call"
    folder.mkdir()
    word, state = run(LEFT_RUNNING, str(folder)).split()
    assert (word, state in {"R", "S", "D"}) == ("end", True)
