"""Nothing runs or steers that `verify` does not list: each attack changes a script of the compiler in one place."""

from __future__ import annotations

from functools import cache

import pytest

from paislurm.translator.rendering.runtime_bundle import SEAL
from paislurm.translator.rendering.verify import verify
from tests.golden.remake import CASES, whole_script

VERSION = "1.0"
"""That of the golden scripts."""


@cache
def script(name: str) -> str:
    return whole_script(next(case for case in CASES if case.name == name))


HET = "parameter-server-het"
SETTING = "\nPSL_JOB_NAME="
VALUE_THAT_ENDS_THE_DOCUMENT = """\
export PAI_X='
END_OF_ENVIRONMENT
}
id
x() {
# '
END_OF_ENVIRONMENT
}
"""
ATTACKS = {
    "a quoted value that ends its here-document": (HET, "END_OF_ENVIRONMENT\n}\n", VALUE_THAT_ENDS_THE_DOCUMENT),
    "a NUL in a delimiter": (HET, "\nEND_OF_COMMANDS\n", "\nEND_OF\0_COMMANDS\n}\nid\nx() {\n  :\nEND_OF_COMMANDS\n"),
    "bytes that are no UTF-8": (HET, "\nEND_OF_COMMANDS\n", "\n\udce2\nEND_OF_COMMANDS\n"),
    "a number that bash calculates": (HET, "PSL_GRACE=5", "PSL_GRACE='a[$(id)]'"),
    "an octal number": (HET, "PSL_GRACE=5", "PSL_GRACE=010"),
    "a number of a role": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_MIN_FAILED[0]='a[$(id)]'\nPSL_ROLE_NAME[0]="),
    "a count of ports": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_PORT_COUNTS[0]='ssh:a[$(id)]'\nPSL_ROLE_NAME[0]="),
    "a label of ports": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_PORT_COUNTS[0]='x;id:1'\nPSL_ROLE_NAME[0]="),
    "a limit of memory": (
        "infiniband",
        "memlock:unlimited",
        "memlock:a[$(id)]",
    ),
    "a name of variables": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_ROLE_ALIASES[0]='x=;id;y'\nPSL_ROLE_NAME[0]="),
    "options of bash": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_SHELL_OPTIONS[0]='-c id'\nPSL_ROLE_NAME[0]="),
    "a folder elsewhere": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_ROLE_FOLDER[0]='../../x'\nPSL_ROLE_NAME[0]="),
    "a job elsewhere": (HET, "PSL_JOB_NAME='parameter-server'", "PSL_JOB_NAME='../../x'"),
    "secrets elsewhere": ("hooks", "PSL_SECRET_NAMES='token'", "PSL_SECRET_NAMES='../../x'"),
    "a program for containers": ("apptainer", "RUNTIME='apptainer'", "RUNTIME='/evil'"),
    "containers that are left out": ("apptainer", "PSL_CONTAINER_RUNTIME='apptainer'", "PSL_CONTAINER_RUNTIME='none'"),
    "a runtime that is not there": (HET, SETTING, "\nPSL_CONTAINER_RUNTIME='podman'\nPSL_JOB_NAME="),
    "a part that is not there": (HET, SETTING, "\nPSL_GANG=0\nPSL_JOB_NAME="),
    "an array": (HET, "PSL_GRACE=5", "PSL_GRACE=(5 6)"),
    "a digit that is none of bash's": (HET, "PSL_ROLE_NAME[0]=", "PSL_ROLE_NAME[\u0660]="),
    "a subscript with a nought": (HET, "PSL_ROLE_NAME[0]=", "PSL_ROLE_NAME[00]="),
    "a role that is not there": (HET, "\nPSL_ROLE_NAME[0]=", "\nPSL_INSTANCES[7]=2\nPSL_ROLE_NAME[0]="),
    "one role without a name": (HET, "PSL_ROLE_NAME[0]='ps'", "PSL_INSTANCES[0]=1"),
    "a setting twice": (HET, SETTING, "\nPSL_JOB_NAME='x'\nPSL_JOB_NAME="),
    "a step that is not there": (
        "hooks",
        "start.1.prerequisite.tools.fail",
        "start.9.prerequisite.tools.fail",
    ),
    "a step that is a program": ("hooks", "start.1.prerequisite.tools.fail", "/evil.1.prerequisite.tools.fail"),
    "a function twice": (
        HET,
        "\ncommands_of_role_0() {\n",
        "\ncommands_of_role_0() {\n  cat_stdin <<'END_OF_COMMANDS'\nEND_OF_COMMANDS\n}\ncommands_of_role_0() {\n",
    ),
    "no srun": (HET, "srun_of_role_0()", "start_9_of_role_0()"),
    "the tasks of another role": (HET, '"$PSL_ATTEMPT" 0\n', '"$PSL_ATTEMPT" 1\n'),
    "more words for a task": (HET, '"$PSL_ATTEMPT" 0\n', '"$PSL_ATTEMPT" 0 --uid=0\n'),
    "an option behind two blanks": (HET, "exec srun ", "exec srun  --uid=0 "),
    "a blank, and an option": (HET, " --mpi=none", "  --multi-prog --mpi=none"),
    "a component without a task": (HET, '"$PSL_ATTEMPT" 0\n', '"$PSL_ATTEMPT" 0 :\n'),
    "a component with another task": (HET, '"$PSL_ATTEMPT" 0\n', '"$PSL_ATTEMPT" 0 : id\n'),
    "an ampersand": (HET, '"$PSL_ATTEMPT" 0\n', '"$PSL_ATTEMPT" 0 &\n'),
    "a command behind srun": (HET, '"$PSL_ATTEMPT" 0\n', '"$PSL_ATTEMPT" 0\n  id\n'),
    "a command before srun": (HET, "srun_of_role_0() {\n", "srun_of_role_0() {\n  id\n"),
    "a plugin of MPI by its path": (HET, "--mpi=none", "--mpi=../../evil"),
    "an option of srun twice": (HET, "--mpi=none", "--mpi=none --mpi=pmix"),
    "the beginning of an option of srun": (HET, "--mpi=none", "--mpi=none --multi"),
    "tasks started in another folder": (HET, '--chdir="$PSL_ATTEMPT_FOLDER"', "--chdir=/evil"),
    "a variable of ours": (HET, "export PAI_JOB_NAME=", "export PSL_GRACE='a[$(id)]'\nexport PAI_JOB_NAME="),
    "a variable of ours in a role": (HET, "  export PAI_TASK_ROLE_NAME=", "  export PSL_FOLDER='/x'\n  export PAI_X="),
    "a variable of ours in all roles": (
        HET,
        "environment_of_every_role() {\n",
        "environment_of_every_role() {\n  export PSL_FOLDER='/x'\n",
    ),
    "a node that bash calculates": ("parameter-server-shared", "PLACEMENT[0]='0:1'", "PLACEMENT[0]='a[$(id)]:1'"),
    "slots that bash calculates": ("parameter-server-shared", "PLACEMENT[0]='0:1'", "PLACEMENT[0]='0:a[$(id)]'"),
    "an option of sbatch twice": (HET, "#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --nodes=2\n"),
    "the beginning of an option of sbatch": (HET, "#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --wra=id\n"),
    "nodes by a file": (HET, "#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --nodelist=/etc/passwd\n"),
    "a signal to somebody else": (HET, "#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --signal=KILL@9\n"),
    "options of another batch system": (HET, "#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#PBS -q evil\n"),
    "a CR behind a function": (HET, "srun_of_role_0() {\n", "srun_of_role_0() {\r\n"),
    "a tab for a blank": (HET, "#SBATCH --nodes=1\n", "#SBATCH\t--nodes=1\n"),
    "a value of two lines": (HET, "PSL_JOB_NAME='parameter-server'", "PSL_JOB_NAME='x\n'"),
    "a second seal before the runtime": (HET, f"\n{SEAL}", f"\n{SEAL}1.0, sha256 x ----\nid\n{SEAL}"),
    "the parts in another order": (
        "apptainer",
        "that uses: apptainer, registry",
        "that uses: registry, apptainer",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_bash_or_srun_would_take_otherwise_is_a_fault(attack: str) -> None:
    case, before, after = ATTACKS[attack]
    whole = script(case)
    assert before in whole
    assert verify(whole.replace(before, after, 1), VERSION).diagnostics


EDITS = {
    "an option that is not ours": (0, "--ntasks=2", "--ntasks=2 --uid=0"),
    "another command": (0, "exec srun", "srun"),
    "a command before it": (0, "  SLURM_HOSTFILE", "  id; SLURM_HOSTFILE"),
    "an option twice": (1, "--mpi=none", "--mpi=none --mpi=none"),
    "a value that is none": (1, "--cpus-per-task=1", "--cpus-per-task=x"),
    "no end of the line": (1, " \\\n", "\n"),
    "a colon": (1, "--wait=0", "--wait=0 : id"),
    "another folder": (2, '--chdir="$PSL_ATTEMPT_FOLDER"', "--chdir=/"),
    "another bash": (3, "bash -p", "bash"),
    "another role": (3, '"$PSL_ATTEMPT" 1', '"$PSL_ATTEMPT" 0'),
    "no way to wait": (3, '"$PSL_ATTEMPT" 1', '"$PSL_ATTEMPT" 1 &'),
    "another end": (4, "}", "} #"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_of_a_srun_that_was_edited_one_line_is_named_and_no_other(edit: str) -> None:
    offset, before, after = EDITS[edit]
    lines = script(HET).splitlines(keepends=True)
    first = lines.index("srun_of_role_1() {\n") + 1
    assert before in lines[first + offset]
    lines[first + offset] = lines[first + offset].replace(before, after, 1)
    ((line, told),) = verify("".join(lines), VERSION).diagnostics
    assert line == first + offset + 1
    assert "worker" in told or "role" not in told


def test_text_behind_the_runtime_is_a_fault() -> None:
    assert verify(script("hello") + "id\n", VERSION).diagnostics
    assert verify(script("hello") + script("hello"), VERSION).diagnostics


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "BASH_ENV", "IFS", "OMPI_MCA_plm_rsh_agent", "PAI_CODE_DIR"])
@pytest.mark.parametrize("before", ["\nexport PAI_JOB_NAME=", "\n  export PAI_TASK_ROLE_NAME="])
def test_variables_that_are_not_openpais_are_to_read(name: str, before: str) -> None:
    whole = script(HET)
    after = before.replace("export ", f"export {name}='/x'\nexport ", 1)
    verdict = verify(whole.replace(before, after, 1), VERSION)
    assert verdict.diagnostics == ()
    assert f"variable {name}" in {each.what for each in verdict.to_read}


def test_characters_that_hide_others_are_told() -> None:
    whole = script(HET)
    verdict = verify(whole.replace("\nEND_OF_COMMANDS\n", "\n\x1b[2K\nEND_OF_COMMANDS\n", 1), VERSION)
    assert [each.what for each in verdict.to_read if "do not show" in each.what] == [
        "commands of task role ps, with characters that terminals do not show"
    ]
