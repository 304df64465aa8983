"""Jobs that are rehearsed: five that resume, and seven with a planted bug in resuming."""

JOB = """\
protocolVersion: 2
name: steps
type: job
jobRetryCount: 2
prerequisites: [{name: plain, type: dockerimage, uri: debian}]
taskRoles:
  w:
    instances: INSTANCES
    dockerImage: plain
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - |
        cd "$PAISLURM_SUBMIT_DIR"; mkdir -p run; n=0
        LOAD
        while [ "$n" -lt 10000 ]; do n=$((n + 1)); PRINT; SAVE; sleep 0.2; done
extras: {slurm: {EXTRAS resumes: {RESUMES}}}
"""
LIST = 'list() { ls run | sed "s/[^0-9]//g" | sort -n; }'
NUMBERS, FILES, ONE = 'log: "step ([0-9]+)"', 'file: "./run/step-*"', 'file: "./run/last"'
MANY = {"LOAD": f"{LIST}; n=$(list | tail -n 1); n=${{n:-0}}", "SAVE": "touch run/step-$n"}
LAST = {"LOAD": "[ ! -e run/last ] || n=$(cat run/last)", "SAVE": "echo $n >run/new; mv run/new run/last"}
SAYS = {"LOAD": '[ ! -e run/last ] || { n=$(cat run/last); echo "resumed after step $n"; }', "SAVE": LAST["SAVE"]}
RIGHT: dict[str, dict[str, str]] = {
    "a file for each step": {**MANY, "RESUMES": f"{FILES}, {NUMBERS}"},
    "only files are known": {**MANY, "RESUMES": FILES},
    "one file": {**LAST, "RESUMES": f"{ONE}, {NUMBERS}"},
    "a line about it": {**SAYS, "RESUMES": f'{ONE}, log: "resumed after"', "PRINT": ":"},
    "saves each second step": {
        "LOAD": LAST["LOAD"], "SAVE": f"if [ $((n % 2)) = 0 ]; then {LAST['SAVE']}; fi", "RESUMES": f"{ONE}, {NUMBERS}",
        "INSTANCES": "1",
    },
}  # fmt: skip
WRONG: dict[str, tuple[str, dict[str, str]]] = {
    "it loads nothing": ("began again", {**MANY, "LOAD": ":", "RESUMES": f"{FILES}, {NUMBERS}"}),
    "it loads nothing, and only files are known": ("began again", {**MANY, "LOAD": ":", "RESUMES": FILES}),
    "it loads the oldest": (
        "went back",
        {**MANY, "LOAD": f"{LIST}; n=$(list | head -n 1); n=${{n:-0}}", "RESUMES": f"{FILES}, {NUMBERS}"},
    ),
    "it sorts names as text": (
        "went back",
        {**MANY, "LOAD": MANY["LOAD"].replace("sort -n", "sort"), "RESUMES": f"{FILES}, {NUMBERS}"},
    ),
    "one rank loads nothing": (
        "began again",
        {
            "LOAD": f"i=$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX; [ $i = 1 ] || {{ {LAST['LOAD']}; }}",
            "SAVE": f"[ $i = 1 ] || {{ {LAST['SAVE']}; }}",
            "RESUMES": f"{ONE}, {NUMBERS}",
            "INSTANCES": "2",
        },
    ),
    "it skips work": (
        "skipped work",
        {**LAST, "LOAD": f"{LAST['LOAD']}; [ $n = 0 ] || n=$((n + 10))", "RESUMES": f"{ONE}, {NUMBERS}"},
    ),
    "it looks in another folder": (
        "began again",
        {
            **SAYS,
            "LOAD": SAYS["LOAD"].replace("run/last", "$PAI_WORK_DIR/last"),
            "RESUMES": f'{ONE}, log: "resumed after"',
            "PRINT": ":",
        },
    ),
}


def rehearsed_text(job: dict[str, str]) -> str:
    """Return the job file of a job of the tables."""
    text = JOB
    for name, value in ({"INSTANCES": "1", "PRINT": "echo step $n", "EXTRAS": ""} | job).items():
        text = text.replace(name, value)
    return text
