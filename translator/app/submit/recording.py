"""How a job was submitted: the run record, and the job file for `submit --again`."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm import __version__
from paislurm.backends.base import LOCAL

from ...errors import Diagnostic, FolderError, UsageError
from ...files.names import JOB_FILE
from ...protocol.overrides import value_of
from ...reading.read import read
from ...state.run_record import HIDDEN, FileDigest, RunRecord
from ..input.secret_files import secret_texts
from ..input.source import STDIN
from ..sites.find import profile_files, read_at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ...pipeline import Compiled
    from ...reading.document import Document, Value
    from ...state.job_folder import JobFolder
    from ..input.source import Source
    from ..session import Session


MIN_HIDDEN = 4
"""A shorter secret is masked only as a whole word or value, because it could occur inside any word."""


def run_record(
    session: Session, source: Source, text: bytes, kept: bytes, compiled: Compiled, hidden: Collection[str]
) -> RunRecord:
    """Return the run record: `text` is the job file, `kept` its masked copy, `hidden` its secrets."""
    hide = masking({*hidden, *compiled.secrets.values(), *secret_texts(source.secrets)})
    overrides = dict(source.parameters)
    parameters = parameters_of(compiled.document, overrides)
    return RunRecord(
        parameters={name: hide(text) for name, text in parameters.items()},
        overrides={name: hide(word) for name, word in overrides.items()},
        suffix=source.suffix,
        argv=tuple(map(hide, session.argv)),
        submit_folder=source.submit_folder or current_folder(),
        job_file=FileDigest(file=absolute_path(source.file), sha256=digest(text)),
        kept_sha256=digest(kept),
        script_sha256=digest(compiled.script.encode(errors="surrogateescape")),
        site_profiles=profiles_of(session, source),
        secrets_file=absolute_path(source.secrets) if source.secrets else "",
        paislurm_version=__version__,
        submitted_by=f"{session.user}@{os.uname().nodename}",
        slurm_options=dict(source.slurm),
        result_pattern=hide(compiled.job.slurm_options.result) or None,
    )


def parameters_of(document: Document, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters in effect as text: those of the file, overridden by `--set`."""
    given: dict[str, Value] = {name: value_of(word) for name, word in overrides.items()}
    return {str(name): _as_text(value) for name, value in {**document.mapping(("parameters",)), **given}.items()}


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return sha256(data).hexdigest()


def profiles_of(session: Session, source: Source) -> tuple[FileDigest, ...]:
    """Return the files of the source's site profile, the extending one first."""
    if source.backend == LOCAL and source.site is None:
        return ()
    try:
        return tuple(
            FileDigest(file=absolute_path(str(path)), sha256=digest(read_at_most(path)))
            for path in profile_files(session, source.site, host=source.host)
        )
    except OSError:
        return ()


def current_folder() -> str:
    """Return the current folder, "" if it is gone."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""


def absolute_path(file: str) -> str:
    """Return the absolute path of a file (`-` unchanged), with links, and without `..` if that is the same file."""
    if file == STDIN:
        return file
    path = os.path.join(current_folder(), file)  # noqa: PTH118
    plain = os.path.normpath(path)
    return plain if os.path.realpath(plain) == os.path.realpath(path) else path


def _as_text(value: Value) -> str:
    """Return a value as text: text unchanged, other values as JSON."""
    return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def masking(secrets: Collection[str]) -> Callable[[str], str]:
    """Return a function that masks secrets in a word, also after a `=`."""
    texts = sorted(filter(None, set(secrets)), key=len, reverse=True)
    long = [text for text in texts if len(text) >= MIN_HIDDEN]
    within = re.compile("|".join(map(re.escape, long))) if long else None

    def hide_within(word: str) -> str:
        return within.sub(HIDDEN, word) if within else word

    def hide(word: str) -> str:
        for text in texts:
            if word == text or word.endswith(f"={text}"):
                return hide_within(word.removesuffix(text)) + HIDDEN
        return hide_within(word)

    return hide


def file_again(session: Session, folder: JobFolder, run: RunRecord, *, secrets_given: bool) -> bytes:
    """Return the text of the job file at the time of the submit.

    If the copy lacks secrets, use the original file if unchanged, else the copy with the given secrets. Raises
    FolderError if both have changed, and UsageError if secrets are missing.
    """
    copy, original = folder.path / JOB_FILE, Path(run.job_file.file)
    kept = _unchanged(copy, run.kept_sha256)
    if kept is not None and not run.masks_secrets:
        _tell_of_change(session, copy, run)
        return kept
    text = None if run.job_file.file == STDIN else _unchanged(original, run.job_file.sha256)
    if text is not None:
        if run.masks_secrets and not secrets_given:
            session.say(f"using the secrets in {original}, which has not changed")
        return text
    if kept is None:
        message = f"neither {copy} nor the job file {_shown(run)} is unchanged since the submit of {folder.name}"
        raise FolderError(Diagnostic(code="E578", message=message, hint="submit a job file: `paislurm submit FILE`"))
    return _with_given_secrets(session, folder, run, kept, secrets_given=secrets_given)


def _with_given_secrets(
    session: Session, folder: JobFolder, run: RunRecord, kept: bytes, *, secrets_given: bool
) -> bytes:
    """Return the copy without secrets, if `--secrets` can supply all of them."""
    document = read(kept, file=JOB_FILE)
    auths = [value.get("auth") == HIDDEN for _, value in document.mappings(("prerequisites",))]
    if secrets_given and not any(auths):
        _tell_of_change(session, folder.path / JOB_FILE, run)
        return kept
    what = "logins of registries" if any(auths) else "secrets"
    message = f"{folder.name} had {what} in {_shown(run)}, which {_fate(run)}; paislurm does not record them"
    hint = "submit the job file itself: `paislurm submit FILE`" if any(auths) else "give them with `--secrets FILE`"
    raise UsageError(Diagnostic(code="E576", message=message, hint=hint))


def _tell_of_change(session: Session, copy: Path, run: RunRecord) -> None:
    """Send an event if the original file has changed and the copy is used."""
    if run.job_file.file != STDIN and _unchanged(Path(run.job_file.file), run.job_file.sha256) is None:
        session.say(f"{run.job_file.file} {_fate(run)}: using the recorded copy {copy}")


def _fate(run: RunRecord) -> str:
    if run.job_file.file == STDIN:
        return "is gone"
    return "has changed since" if Path(run.job_file.file).exists() else "no longer exists"


def _shown(run: RunRecord) -> str:
    return "standard input" if run.job_file.file == STDIN else run.job_file.file


def _unchanged(path: Path, sha256: str) -> bytes | None:
    """Return the contents of an unchanged file, else None."""
    try:
        text = read_at_most(path) if path.is_file() else b""
    except OSError:
        return None
    return text if digest(text) == sha256 else None
