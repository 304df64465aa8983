"""Site profiles in layers: each adds to those below it, and what those lock stays."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.errors import Diagnostic, PlanError, SiteError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.reading.document import Document
from paislurm.translator.site.layers import layered
from paislurm.translator.site.load import load_layers, load_site, read_layer
from paislurm.translator.site.profile import Site

from ..cli.running import JOB

ORGANISATION = """\
retry: {maxTransientRetries: 3}
containers: {certificates: /etc/ssl/ours.pem}
"""
SYSTEM = """\
name: centre
partitions:
  gpu: {nodes: [{count: 4, cpus: 16, memoryMB: 64000}]}
virtualClusters:
  default: {partition: gpu, account: research}
containers: {runtime: apptainer, mounts: [/data]}
locked: [partitions, containers.runtime, workdir]
"""


def layers(*texts: str) -> list[Document]:
    return [read_layer(text, file=f"{number}.yaml") for number, text in enumerate(texts)]


def site(*texts: str) -> Site:
    return load_layers(layers(*texts))


def refused(*texts: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SiteError) as caught:
        load_layers(layers(*texts))
    return caught.value.diagnostics


def at(fault: Diagnostic) -> tuple[str, int, int]:
    """Return the place of a fault."""
    assert fault.location is not None
    return fault.location.file, fault.location.line, fault.location.column


def test_each_profile_extends_the_lower_ones() -> None:
    found = site(ORGANISATION, SYSTEM, "containers: {mounts: [/home]}\nstorages: {mine: {path: /scratch}}\n")
    assert (found.name, found.retry.max_transient_retries) == ("centre", 3)
    settings = found.containers
    assert (settings.runtime, settings.certificates, settings.mounts) == ("apptainer", "/etc/ssl/ours.pem", ("/home",))
    assert found.storages["mine"].path == "/scratch"
    assert found.locked == ("partitions", "containers.runtime", "workdir")


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ("name: mine\ncontainers:\n  runtime: podman\n", "$.containers.runtime", (3, 3)),
        ("containers: null\n", "$.containers.runtime", (1, 1)),
        ("partitions: {gpu: {maxNodes: 9}}\n", "$.partitions.gpu.maxNodes", (1, 20)),
        ("partitions: {more: {}}\n", "$.partitions.more", (1, 14)),
        ("workdir: submit\n", "$.workdir", (1, 1)),
    ],
)
def test_locked_settings_cannot_be_changed(text: str, path: str, place: tuple[int, int]) -> None:
    found = [each for each in refused(SYSTEM, text) if each.code == "E466"]
    assert [(each.path, at(each)) for each in found] == [(path, ("1.yaml", *place))]
    assert found[0].message.endswith("is locked by 0.yaml, line 7")


def test_locked_settings_may_be_repeated() -> None:
    again = "partitions: {gpu: {nodes: [{count: 4, cpus: 16, memoryMB: 64000}]}}\ncontainers: {runtime: apptainer}\n"
    assert site(SYSTEM, again) == site(SYSTEM)


def test_locks_of_all_profiles_apply_to_higher_ones() -> None:
    found = site(ORGANISATION + "locked: [retry]\n", SYSTEM, "locked: [compat]\n")
    assert found.locked == ("retry", "partitions", "containers.runtime", "workdir", "compat")
    (fault,) = refused("locked: [retry]\n", SYSTEM, "retry: {submitWait: 1}\n")
    assert (fault.code, fault.message) == ("E466", "`retry` is locked by 0.yaml, line 1")


@pytest.mark.parametrize("text", ["locked: none\n", "locked: [[retry]]\n", "locked: {retry: true}\n"])
def test_locks_that_are_not_a_list_of_texts_are_refused(text: str) -> None:
    assert "E453" in {each.code for each in refused(SYSTEM, text)}
    assert "E453" in {each.code for each in refused(text)}


@pytest.mark.parametrize(
    ("lock", "hint"),
    [
        ("containers.runtim", "did you mean `runtime`?"),
        ("partitons", "did you mean `partitions`?"),
        ("partitions.gpu.nodes.count", "use a key of `paislurm schema site`, such as `containers.runtime`"),
        ("address.suffix", "use a key of `paislurm schema site`, such as `containers.runtime`"),
        ("", ""),
    ],
)
def test_a_lock_that_is_not_a_key_is_refused(lock: str, hint: str) -> None:
    (fault,) = refused(f"name: x\nlocked: [{lock!r}]\n")
    assert (fault.code, fault.message) == ("E469", f"`{lock}` is not a key of a site profile")
    assert at(fault) == ("0.yaml", 2, 10)
    assert fault.hint == hint or not lock


@pytest.mark.parametrize("lock", ["address", "partitions.gpu", "partitions.gpu.timeLimit", "monitor.background"])
def test_keys_of_all_kinds_can_be_locked(lock: str) -> None:
    assert load_site(f"locked: [{lock}]\n", file="site.yaml").locked == (lock,)


def test_errors_name_the_file_that_contains_them() -> None:
    faults = refused("nmae: x\nports: {first: 20000}\n", "retry: {submitWait: soon}\nports: {last: 19000}\n")
    places = {(each.code, each.location.file, each.location.line) for each in faults if each.location}
    assert places == {("E451", "0.yaml", 1), ("E453", "1.yaml", 1), ("E462", "1.yaml", 2)}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from("abc"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
PROFILES = st.dictionaries(st.sampled_from("abc"), JSON, min_size=1, max_size=3)


def over(lower: object, upper: object) -> object:
    """Say in another way what a value over another one is."""
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    both = {key: over(lower[key], upper[key]) for key in lower.keys() & upper.keys()}
    return {**lower, **upper, **both}


@given(st.lists(PROFILES, min_size=1, max_size=3))
def test_merged_profiles_equal_the_model(profiles: list[dict[str, object]]) -> None:
    document, faults = layered(layers(*(yaml.safe_dump(each) for each in profiles)))
    wanted: object = {}
    for each in profiles:
        wanted = over(wanted, each)
    assert document.root == wanted
    assert faults == ()


@given(PROFILES, PROFILES)
def test_a_value_has_the_location_of_the_highest_profile(lower: dict[str, object], upper: dict[str, object]) -> None:
    document, _ = layered(layers(yaml.safe_dump(lower), yaml.safe_dump(upper)))
    for key in {**lower, **upper}:
        assert document.location((key,)).file == ("1.yaml" if key in upper else "0.yaml")


def plan_error(job: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(PlanError) as caught:
        compile_job(job, site=load_site(WITH_CLUSTERS, file="site.yaml"))
    return caught.value.diagnostics


OPEN = SYSTEM.replace("containers: {runtime: apptainer, mounts: [/data]}\n", "").replace("containers.runtime", "compat")
WITH_CLUSTERS = OPEN.replace("workdir", "virtualClusters")
OVERRIDDEN = (
    "locked: [layout, binding, preflight.check, avoidNodes, workdir, retryWith]\nlayout: shared\nworkdir: submit\n"
)


@pytest.mark.parametrize(
    ("key", "extras", "said"),
    [
        ("compat.gpuType", "compat: {gpuType: any}", "`compat.gpuType` to error"),
        ("compat.nounset", "compat: {nounset: false}", "`compat.nounset` to true"),
        ("account", "account: other", "`virtualClusters.default.account` to research"),
        (
            "taskRoles.worker.partition",
            "taskRoles: {worker: {partition: cpu}}",
            "`virtualClusters.default.partition` to gpu",
        ),
    ],
)
def test_a_job_cannot_change_locked_settings(key: str, extras: str, said: str) -> None:
    (found,) = plan_error(JOB + f"extras: {{slurm: {{{extras}}}}}\n")
    assert (found.code, found.path) == ("E467", f"$.extras.slurm.{key}")
    assert found.message == f"the site locks {said}"
    assert at(found)[1] == JOB.count("\n") + 1


OF_ROLES = [
    ("workdir", "workdir: task", "workdir: submit"),
    ("binding", "binding: none", ""),
    ("retryWith", "retryWith: {outOfMemory: {}}", ""),
    ("preflight.check", "preflight: {check: [disk]}", "preflight: true"),
]


@pytest.mark.parametrize(
    ("key", "asked", "equal"),
    [
        ("layout", "layout: het", "layout: shared"),
        ("avoidNodes", "avoidNodes: {for: 2d}", ""),
        ("retryWith", "retryWith: {timeout: {}}", ""),
        *OF_ROLES,
        *((key, *(f"taskRoles: {{worker: {{{each}}}}}" for each in values)) for key, *values in OF_ROLES),
    ],
)
def test_a_job_cannot_override_a_locked_key_that_it_has_too(key: str, asked: str, equal: str) -> None:
    """The value of the profile itself is not refused."""
    site = load_site(OVERRIDDEN, file="site.yaml")
    with pytest.raises(PlanError) as caught:
        compile_job(JOB + f"extras: {{slurm: {{{asked}}}}}\n", site=site)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E467", f"the site locks `{key}`")
    assert found.path.endswith(f".{key}")
    compile_job(JOB + f"extras: {{slurm: {{{equal}}}}}\n", site=site)


def test_a_virtual_cluster_missing_in_a_locked_table_is_refused() -> None:
    job = JOB + "defaults: {virtualCluster: gpu}\n"
    (found,) = plan_error(job)
    assert (found.code, found.path) == ("E467", "$.defaults.virtualCluster")
    assert (found.message, found.hint) == (
        "the site locks `virtualClusters`, which has no `gpu`",
        "use one of default",
    )
    plan = compile_job(job, site=load_site(OPEN, file="site.yaml")).plan
    assert dict(plan.components[0].directives)["partition"] == "gpu"
    listed = JOB + "defaults: {virtualCluster: default}\n"
    assert compile_job(listed, site=load_site(WITH_CLUSTERS, file="site.yaml")).job.virtual_cluster == "default"


@pytest.mark.parametrize("extras", ["qos: long", "account: research", "compat: {nounset: true}", "time: 1:00:00"])
def test_a_job_may_set_unlocked_or_equal_values(extras: str) -> None:
    site = load_site(WITH_CLUSTERS, file="site.yaml")
    assert compile_job(JOB + f"extras: {{slurm: {{{extras}}}}}\n", site=site).job.name == "demo"


def test_a_job_may_change_unlocked_settings() -> None:
    site = load_site(OPEN, file="site.yaml")
    found = compile_job(JOB + "extras: {slurm: {account: other}}\n", site=site).plan
    assert dict(found.components[0].directives)["account"] == "other"
