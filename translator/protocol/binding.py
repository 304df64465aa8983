"""The key `binding` of `extras.slurm` and of the site profile: how Slurm binds the tasks of a role.

srun has no choice of the sockets that the tasks of a host file get: it refuses `--distribution=arbitrary:block`.
Source: srun(1), --cpu-bind --mem-bind --gpu-bind --ntasks-per-socket; observed on Slurm 22.05, 24.11 and 26.05.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from ..slurm_options import OnMismatch
from ..validation.strict_model import StrictModel, choice, expected, int_range, pattern

_TIMES = r"(?:\*[1-9][0-9]*)?"
_NUMBERS = rf"(?:0x[0-9A-Fa-f]+|[0-9]+){_TIMES}(?:,(?:0x[0-9A-Fa-f]+|[0-9]+){_TIMES})*"
_MASKS = rf"0x[0-9A-Fa-f]+{_TIMES}(?:,0x[0-9A-Fa-f]+{_TIMES})*"

_CPU_WORDS = ("none", "rank", "rank_ldom", "threads", "cores", "sockets", "ldoms")
CpuBind = Annotated[
    str,
    pattern(
        f"{', '.join(f'`{word}`' for word in _CPU_WORDS)}, or a list such as `map_cpu:0,4`, "
        "`mask_cpu:0xf,0xf0`, `map_ldom:0,1` or `mask_ldom:0x1,0x2`",
        rf"{'|'.join(_CPU_WORDS)}|map_(?:cpu|ldom):{_NUMBERS}|mask_(?:cpu|ldom):{_MASKS}",
    ),
]
MemBind = Annotated[
    str,
    pattern(
        "`none`, `rank`, `local`, or a list such as `map_mem:0,1` or `mask_mem:0x1,0x2`",
        rf"none|rank|local|map_mem:{_NUMBERS}|mask_mem:{_MASKS}",
    ),
]
GpuBind = Annotated[
    str,
    pattern(
        "`none`, `closest`, `per_task:1`, `single:1`, or a list such as `map_gpu:0,1` or `mask_gpu:0x1,0x2`",
        rf"none|closest|(?:per_task|single):[1-9][0-9]*|map_gpu:{_NUMBERS}|mask_gpu:{_MASKS}",
    ),
]
TasksPerSocket = Annotated[int, int_range(1)]


class SlurmBinding(StrictModel):
    """What tasks are bound to. Without a value, Slurm's default applies."""

    cpu: CpuBind | None = None
    """What Slurm binds each task to (srun --cpu-bind)."""
    gpu: GpuBind | None = None
    """Which GPUs of the step Slurm gives to each task (srun --gpu-bind). Default: the GPUs nearest to its CPUs."""
    mem: MemBind | None = None
    """The memory that Slurm binds each task to (srun --mem-bind)."""
    tasks_per_socket: TasksPerSocket | None = None
    """The most tasks of a node whose CPUs are in one socket (srun --ntasks-per-socket)."""
    on_mismatch: Annotated[OnMismatch, choice("warn", "error")] = "warn"
    """What a task does that shares CPUs with others, or whose GPUs or adapters are far: `warn`, or end with `error`."""

    @property
    def step_options(self) -> tuple[tuple[str, str], ...]:
        """The options of srun, none for `auto`."""
        values = {
            "cpu-bind": self.cpu,
            "mem-bind": self.mem,
            "gpu-bind": self.gpu,
            "ntasks-per-socket": str(self.tasks_per_socket) if self.tasks_per_socket else None,
        }
        return tuple((name, value) for name, value in values.items() if value)


_WHOLE = {"auto": SlurmBinding.of(), "none": SlurmBinding.of(cpu="none", mem="none")}


def _binding(value: object) -> object:
    if isinstance(value, str) and value in _WHOLE:
        return _WHOLE[value]
    if isinstance(value, (dict, SlurmBinding)):
        return value
    hint = f"write `{{cpu: {value}}}` for --cpu-bind={value}" if value in _CPU_WORDS else ""
    raise expected("`auto`, `none` or a mapping such as `{cpu: cores, mem: local}`", hint)


BindingChoice = Annotated[
    SlurmBinding, BeforeValidator(_binding, json_schema_input_type=Literal["auto", "none"] | SlurmBinding)
]
