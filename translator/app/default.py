"""The functions of the package: those of a client that has the home and the site profile of the environment."""

from __future__ import annotations

from .client import Client

_client = Client()
load = _client.load
check = _client.check
compile = _client.compile  # noqa: A001 - as `re.compile`
submit = _client.submit
find = _client.find
jobs = _client.jobs
status = _client.status
wait = _client.wait
logs = _client.logs
cancel = _client.cancel
