"""List all codes of faults in job files and site profiles. A code never changes its meaning.

Planning has the codes from E401 and W401 on; a warning W9xx keeps a job from being submitted.
"""

from __future__ import annotations

READING = {
    "E101": "the file is not UTF-8",
    "E102": "a character that no job file can hold",
    "E103": "the file is too large",
    "E104": "the file is not YAML",
    "E105": "a key stands twice in a mapping",
    "E106": "a list or a mapping is used as a key",
    "E107": "a tag that means nothing, or does not fit its value",
    "E108": "an alias that repeats nothing, or itself",
    "E109": "too deep a nesting, or too many values",
    "E110": "a merge key without a mapping",
    "E111": "the file is empty",
    "E112": "the file is not a mapping",
    "E113": "too many documents, or a second one that is no mapping",
    "E114": "the file is not JSON",
    "E122": "a job file of a draft that OpenPAI gave up",
    "W101": "a second document is read as secrets",
    "W102": "a comma after the last value",
}
"""Source: YAML 1.1, and js-yaml 3.13 where it differs; RFC 8259 for job files of protocol v1."""

SCHEMA = {
    "E201": "an unknown key",
    "E202": "a missing key",
    "E203": "a value of the wrong kind",
    "E204": "a name with characters that it cannot have",
    "E205": "an empty list or mapping",
    "E206": "secrets that OpenPAI has hidden",
    "E207": "a raw sbatch option that paislurm sets itself",
    "W201": "a completion threshold without a value",
    "W202": "a job of several roles that leaves out minSucceededInstances",
    "W203": "a completion threshold above the number of instances",
    "W204": "no CPU",
    "W205": "a negative number of GPUs",
    "W206": "no memory",
    "W207": "a negative size of /dev/shm",
    "W208": "a number of ports below one",
}
"""Source: PAI protocol v2, the schema of PAI's rest-server."""

MEANING = {
    "E301": "two prerequisites of one type and name",
    "E302": "two deployments of one name",
    "E303": "a prerequisite that does not exist is listed",
    "E304": "a prerequisite of a type that does not exist is selected",
    "E305": "the default deployment does not exist",
    "E306": "prerequisites require each other in a circle",
    "E307": "role names that variables cannot tell apart, or without a letter or digit",
    "E308": "extras.slurm names a role that does not exist",
    "E309": "a parameter or name of the command line that does not fit",
    "E311": "a reference without an end",
    "E312": "a tag of mustache that is no reference",
    "E313": "a reference that leads to nothing",
    "E314": "a reference to a mapping",
    "E315": "an event that callbacks cannot have",
    "E316": "callbacks and preCommands or postCommands in one",
    "E317": "a plugin that OpenPAI does not have",
    "E318": "two choices of nodes for one role",
    "W301": "taskRetryCount with gang allocation",
    "W302": "deployments, but none is active",
    "W303": "a role that does not exist is named",
    "W304": "a prerequisite name that means several",
    "W305": "a reference that leads to nothing is kept",
    "W306": "a placeholder of OpenPAI's controller",
    "W307": "a key under extras that looks like another",
    "W308": "slots with gang allocation",
    "W309": "a requirement that is a container image",
    "W310": "a plugin that OpenPAI does not have, its failure ignored",
    "W311": "a prerequisite whose plugin is no runtime plugin",
    "W312": "a failure policy that there is not",
    "W313": "the plugin git without a folder",
    "E331": "a port label that stands twice",
    "E332": "a completion threshold above the number of tasks",
    "E333": "more shared memory than memory",
    "E334": "fixed ports that overlap or do not exist",
    "W331": "keys that OpenPAI's documents require are left out",
    "W332": "a switch that is text",
    "W333": "killAllOnCompletedTaskNumber without effect",
    "W334": "a shell without input as the command",
    "W335": "a name that no shell variable can have",
    "W336": "a compat switch that protocol v1 has no use for",
}
"""Source: PAI rest-server, semantic checks of jobs; E331 to W336 are protocol v1."""

SITE = {
    "E451": "an unknown key",
    "E452": "a missing key",
    "E453": "a value of the wrong kind",
    "E461": "a partition that the profile does not list",
    "E462": "a port range that ends before it begins",
    "E463": "a state of the exit specification that ends no job, or twice",
    "E464": "two notifiers",
}
"""Source: this project's docs, site profile."""

LATER = {
    "W903": "the plugin ssh",
    "W909": "credentials of a registry",
    "W913": "infiniband",
    "W914": "extras.slurm.mpi",
    "W916": "extras.slurm.exportEnv",
    "W917": "extras.slurm.workdir",
    "W918": "codeDir",
    "W919": "authFile",
    "W920": "isDebug",
}
"""What a later version brings: a job that asks for it can be looked at, but not submitted."""

CODES: dict[str, str] = {**READING, **SCHEMA, **MEANING, **SITE, **LATER}
