"""List all codes of faults, with what each means. A code never changes its meaning.

A warning W9xx keeps a job from being submitted.
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
    "E310": "a job file that cannot be converted",
    "E311": "a reference without an end",
    "E312": "a tag of mustache that is no reference",
    "E313": "a reference that leads to nothing",
    "E314": "a reference to a mapping",
    "E315": "an event that callbacks cannot have",
    "E316": "callbacks and preCommands or postCommands in one",
    "E317": "a plugin that OpenPAI does not have",
    "E318": "two choices of nodes for one role",
    "E319": "credentials that no registry can take",
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
    "W314": "userssh of the plugin ssh",
    "W315": "a barrier of tasks without gang allocation",
    "E320": "a reference in a value, in whose place OpenPAI put nothing",
    "W320": "a reference in a value that is kept",
    "W321": "a path of protocol v1 that moves with the name of its job",
    "E331": "a port label that stands twice",
    "E332": "a completion threshold above the number of tasks",
    "E333": "more shared memory than memory",
    "E334": "fixed ports that overlap or do not exist",
    "E335": "a fixed port of a label that the role does not have",
    "W331": "keys that OpenPAI's documents require are left out",
    "W332": "a switch that is text",
    "W333": "killAllOnCompletedTaskNumber without effect",
    "W334": "a shell without input as the command",
    "W335": "a name that no shell variable can have",
    "W336": "a switch or table that protocol v1 has no use for",
    "W341": "a name of protocol v1 that v2 cannot have",
    "W342": "an extra of protocol v1 that means something in v2",
}
"""Source: PAI rest-server, semantic checks of jobs; E331 to W342 are protocol v1."""

SITE = {
    "E451": "an unknown key",
    "E452": "a missing key",
    "E453": "a value of the wrong kind",
    "E455": "an empty list",
    "E461": "a partition that the profile does not list",
    "E462": "a port range that ends before it begins",
    "E463": "a state of the exit specification that ends no job, or twice",
    "E464": "two notifiers",
}
"""Source: this project's docs, site profile."""

LATER = {
    "W916": "extras.slurm.exportEnv",
    "W917": "extras.slurm.workdir",
}
"""What a later version brings: a job that asks for it can be looked at, but not submitted."""

PLANNING = {
    "E401": "a virtual cluster that the site profile does not have",
    "E402": "a partition that the site profile does not have",
    "E403": "a time limit above that of the partition",
    "E404": "a storage that the site profile does not have",
    "E405": "a node type that the site profile does not have",
    "E406": "a job that is restarted for ever, where the site sets no bound",
    "E410": "a role of which no node can hold a task, or whose tasks need more nodes than there are",
    "E411": "the layout that the job asks for can never start",
    "E412": "the shared layout without a site profile",
    "E413": "more roles than srun can address as components",
    "E414": "no layout holds all tasks at once",
    "E415": "an image that is not on the site",
    "E416": "an MPI plugin that the site does not have",
    "E417": "a native MPI launch that cannot be",
    "E418": "an image that is no path and no reference",
    "E419": "an image of a kind that the container runtime does not read",
    "W401": "a virtual cluster that is not known, without a site profile",
    "W402": "the container image is not used",
    "W403": "components need more nodes than are known to be there",
    "W404": "more peers than the environment of a process can hold",
    "W405": "default storages, of which the site has none",
    "W406": "storages that must be in their place on the nodes already",
    "W407": "a priority class without effect",
    "W408": "a node type without effect",
    "W409": "nobody is told of changes of the job",
    "W410": "the site bounds how often the job is restarted",
    "W411": "InfiniBand, of which the site profile says nothing",
    "W412": "a role without InfiniBand beside one that has it",
    "W413": "whether the site has the MPI plugin is not known",
    "W414": "an MPI world over components",
    "W421": "fixed ports of tasks that share nodes",
    "W423": "what the container runtime cannot do",
    "W422": "a path on a file system that the site does not name",
    "W430": "the layout het, which the job asks for, meets a fault of the site's Slurm",
    "W431": "the layout het meets a fault of the site's Slurm, and there is no other",
    "W432": "a fault of the site's Slurm that the job can meet",
}
"""What a site cannot do for a job, or only in part."""

PROGRAM = {
    "E100": "the job file cannot be read",
    "E115": "the file of secrets cannot be used: its mode, its owner, what is in it",
    "E350": "bash cannot read the commands",
    "W350": "bash warns of the commands",
    "E460": "the site profile cannot be read",
    "E500": "a file cannot be read or written",
    "E501": "a program of Slurm is not there",
    "E502": "Slurm does not answer; whether it took the job is not known, and found out later by the job's tag",
    "E503": "sbatch refuses the job; its words, and where the option comes from",
    "E504": "a folder that Slurm could not write to, or a script that cannot be started",
    "E505": "a backend that there is not",
    "E506": "Slurm's controller cannot be reached; nothing was sent",
    "E510": "the job's folder cannot be written",
    "E511": "a job of this name has not ended",
    "E512": "another submit of this name was faster",
    "E513": "whether a job of this name has ended is not known",
    "E514": "the job asks for what is not yet supported; `--allow-partial` submits it anyway",
    "E515": "a folder of the job's name holds no job",
    "E520": "there is no such job",
    "E521": "the job has no such task or role",
    "E522": "the job has no such attempt",
    "E523": "nothing is known of the job any more",
    "E524": "no exit code, and no state of Slurm",
    "E525": "the task does not run",
    "E530": "interrupted while waiting; the job goes on",
    "E531": "interrupted while submitting; whether the job was taken is found out later",
    "E540": "there is no home folder",
    "E541": "the job is another user's, or others can write to its script",
    "E542": "PAISLURM_HOME belongs to another user, or others can write to it",
    "E543": "sacct did not print the columns that it was asked for",
    "E544": "what `-o` names is no file, pipe or terminal",
    "E599": "a fault of paislurm itself: please report it",
}
"""What goes wrong around job files. Source: this project's command line."""

CODES: dict[str, str] = {**READING, **SCHEMA, **MEANING, **SITE, **LATER}
"""The codes of faults in job files and site profiles."""

ALL: dict[str, str] = {**CODES, **PLANNING, **PROGRAM}
