"""Submit a job with two parameters, wait for it, and print what it found: `python api.py [BACKEND]`."""

from __future__ import annotations

import sys

import paislurm

JOB = b"""
protocolVersion: 2
name: area
type: job
parameters: {width: 1, height: 1}
prerequisites:
  - {name: plain, type: dockerimage, uri: debian}
taskRoles:
  worker:
    instances: 1
    dockerImage: plain
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - echo $((<% $parameters.width %> * <% $parameters.height %>))
"""


def area(width: int, height: int, *, backend: str) -> int:
    """Return what a job on a cluster says of a rectangle."""
    parameters = {"width": width, "height": height}
    run = paislurm.submit(JOB, parameters=parameters, suffix=f"-{width}x{height}", backend=backend)
    status = run.wait()
    if not status.succeeded:
        raise SystemExit(f"{status.name} {status.state}: {status.reason}")
    return int(run.logs("worker-0")["worker-0"])


if __name__ == "__main__":
    try:
        print("area:", area(6, 7, backend=sys.argv[1] if len(sys.argv) > 1 else "local"))
    except paislurm.PaislurmError as error:
        raise SystemExit(str(error)) from None
