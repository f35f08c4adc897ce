"""What every forge does alike: the local one, and a real Gitea when there is one."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpulab.errors import InputError, PlatformError
from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING
from gpulab.forges import Forge, Status
from gpulab.forges.contents import new_commit
from gpulab.forges.hosted import HostedForge
from gpulab.forges.local import LocalForge
from gpulab.forges.local.git import Git
from gpulab.forges.start import START
from gpulab.home import Home

if TYPE_CHECKING:
    from conftest import Gitea


@dataclass(frozen=True)
class Place:
    """A forge, another view of the same one, and the head of its main branch, which holds src/model.py."""

    forge: Forge
    other: Callable[[], Forge]
    source: str


def local(tmp_path: Path) -> Place:
    home = Home(tmp_path / ".gpulab")
    Git(tmp_path).run("init", "--quiet", "--bare", "-b", "main", str(home.repository))
    git = Git(home.repository)
    blob = git.text("hash-object", "-w", "--stdin", stdin=b"print('hello')\n")
    inner = git.text("mktree", stdin=f"100644 blob {blob}\tmodel.py\n".encode())
    tree = git.text("mktree", stdin=f"040000 tree {inner}\tsrc\n".encode())
    source = git.text("commit-tree", tree, "-m", "start\n\nbody")
    git.run("update-ref", "refs/heads/main", source)

    def forge() -> Forge:
        return LocalForge(home, lambda event: None)

    return Place(forge(), forge, source)


def hosted(gitea: "Gitea", repository: str) -> Place:
    """Over HTTP, with the deploy branches as `gpulab project connect` leaves them."""
    made = gitea.started(repository)
    return Place(made, lambda: gitea.forge(repository), made.head("main") or "")


@pytest.fixture(params=["local", pytest.param("gitea", marks=pytest.mark.cluster)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "local":
        yield local(tmp_path)
    else:
        yield hosted(request.getfixturevalue("gitea"), request.getfixturevalue("repository"))


def test_a_branch_that_holds_no_release_is_none(place: Place) -> None:
    assert place.forge.head(TEACHING) is None
    assert place.forge.history(TEACHING) == []
    assert place.forge.heads() == {"main": place.source}
    assert place.forge.head("no/such") is None


def test_content_of_a_commit(place: Place, tmp_path: Path) -> None:
    assert place.forge.files(place.source) == ["src/model.py"]
    assert place.forge.read(place.source, "src/model.py") == b"print('hello')\n"
    assert place.forge.read(place.source, "src/none.py") is None
    assert place.forge.read("f" * 40, "src/model.py") is None
    assert place.forge.message(place.source).splitlines()[0] == "start"
    assert place.forge.message("f" * 40) == ""
    place.forge.checkout(place.source, tmp_path / "tree")
    found = {file.relative_to(tmp_path / "tree").as_posix() for file in (tmp_path / "tree").rglob("*")}
    assert found == {"src", "src/model.py"}
    with pytest.raises(PlatformError):
        place.forge.checkout("f" * 40, tmp_path / "none")


def test_releases_follow_each_other(place: Place) -> None:
    first = place.forge.commit(TEACHING, {"a": b"1", "b": b"\x00\xff"}, "one\n\nRun: r", None)
    second = place.other().commit(TEACHING, {"b": b"3"}, "two", first)
    assert place.forge.head(TEACHING) == second
    assert place.forge.history(TEACHING) == [second, first]
    assert place.forge.files(second) == ["b"]
    assert place.forge.read(first, "b") == b"\x00\xff"
    assert place.forge.is_ancestor(first, second)
    assert not place.forge.is_ancestor(second, first)
    assert not place.forge.is_ancestor("f" * 40, second)
    assert place.forge.is_ancestor(place.source, "refs/heads/main")


def test_of_releases_at_the_same_time_one_is_made_and_the_others_are_told(place: Place) -> None:
    first = place.forge.commit(TEACHING, {"a": b"0"}, "zero", None)

    def release(number: int) -> str | None:
        try:
            return place.other().commit(TEACHING, {"a": str(number).encode()}, f"release {number}", first)
        except PlatformError as error:
            assert "another release was faster" in str(error)
            return None

    with ThreadPoolExecutor(4) as pool:
        made = [commit for commit in pool.map(release, range(1, 5)) if commit]
    assert len(made) == 1
    assert place.forge.history(TEACHING) == [made[0], first]


def test_a_first_release_does_not_overwrite_another_first_one(place: Place) -> None:
    first = place.other().commit(TEACHING, {"a": b"1"}, "one", None)
    with pytest.raises(PlatformError, match="another release was faster"):
        place.forge.commit(TEACHING, {"a": b"2"}, "late", None)
    assert place.forge.head(TEACHING) == first


def test_a_push_with_an_old_lease_is_refused_by_the_forge_itself(place: Place) -> None:
    """Between the look at the branch and the push, somebody else may push."""
    if not isinstance(place.forge, HostedForge):
        pytest.skip("the local forge looks and moves in one git command")
    first = place.forge.commit(TEACHING, {"a": b"1"}, "one", None)
    second = place.other().commit(TEACHING, {"a": b"2"}, "two", first)
    late = new_commit(place.forge.clone.git, {"a": b"3"}, "late", first)
    for expected in (first, START, None):
        with pytest.raises(PlatformError, match="another release was faster"):
            place.forge.clone.push(TEACHING, late, expected)
    assert place.forge.head(TEACHING) == second
    place.forge.clone.push(TEACHING, second, first)  # the answer to the first try got lost


@pytest.mark.parametrize("branch", ["main", "topic", "deployment"])
def test_the_bot_writes_no_branch_of_peoples(place: Place, branch: str) -> None:
    with pytest.raises(PlatformError, match="does not write"):
        place.forge.commit(branch, {"a": b"1"}, "one", None)
    assert place.forge.heads() == {"main": place.source}


def test_the_latest_status_per_context_counts(place: Place) -> None:
    place.forge.set_status(place.source, Status("gpulab/push", "pending", "…", "push-1"))
    place.forge.set_status(place.source, Status("gpulab/check", "error", "other", ""))
    place.forge.set_status(place.source, Status("gpulab/push", "success", "done: 2 × faster", "push-2"))
    assert place.other().statuses(place.source) == {
        "gpulab/push": Status("gpulab/push", "success", "done: 2 × faster", "push-2"),
        "gpulab/check": Status("gpulab/check", "error", "other", ""),
    }
    assert place.forge.statuses("") == {}


def test_statuses_of_many_contexts(place: Place) -> None:
    for number in range(53):
        place.forge.set_status(place.source, Status(f"c/{number}", "success", "", "r"))
    assert len(place.forge.statuses(place.source)) == 53


def proposed(place: Place, text: bytes = b"1", parent: str | None = None) -> int:
    place.forge.commit("promote/1", {"a": text}, "one", parent)
    return place.forge.open_pull_request(PRODUCTION, "promote/1", "title", "body").number


def checked(place: Place) -> None:
    head = place.forge.pull_requests()[-1].head
    place.forge.set_status(head, Status(PROMOTION_CHECK, "success", "yes", "r"))


def test_a_pull_request_is_opened_once_and_brought_up_to_date(place: Place) -> None:
    number = proposed(place)
    second = place.forge.commit("promote/1", {"a": b"2"}, "again", None)
    again = place.other().open_pull_request(PRODUCTION, "promote/1", "new title", "new body | `x`")
    assert (again.number, again.head, again.state) == (number, second, "open")
    assert place.forge.pull_requests() == [again]
    assert (again.title, again.body, again.base, again.branch) == (
        "new title",
        "new body | `x`",
        PRODUCTION,
        "promote/1",
    )
    with pytest.raises(PlatformError, match="no branch"):
        place.forge.open_pull_request(PRODUCTION, "promote/none", "t", "b")


def test_a_pull_request_merges_only_with_its_check(place: Place) -> None:
    number = proposed(place)
    with pytest.raises(InputError, match="required check"):
        place.forge.merge(number)
    head = place.forge.pull_requests()[0].head
    place.forge.set_status(head, Status(PROMOTION_CHECK, "failure", "no", "r"))
    with pytest.raises(InputError, match="failure: no"):
        place.forge.merge(number)
    assert place.forge.head(PRODUCTION) is None
    checked(place)
    assert place.forge.merge(number) == head == place.forge.head(PRODUCTION)
    assert place.forge.history(PRODUCTION) == [head]
    assert place.forge.files(head) == ["a"]
    assert place.forge.pull_requests()[0].state == "merged"
    with pytest.raises(InputError, match="merged"):
        place.forge.merge(number)
    with pytest.raises(InputError, match="unknown"):
        place.forge.merge(999)


def test_one_promotion_after_another(place: Place) -> None:
    number = proposed(place)
    checked(place)
    first = place.forge.merge(number)
    place.forge.commit("promote/2", {"b": b"2"}, "two", first)
    second = place.forge.open_pull_request(PRODUCTION, "promote/2", "two", "").number
    checked(place)
    head = place.forge.merge(second)
    assert place.forge.history(PRODUCTION) == [head, first]
    assert place.forge.files(head) == ["b"]
    assert [pull.state for pull in place.forge.pull_requests()] == ["merged", "merged"]


def test_a_pull_request_whose_base_moved_does_not_merge(place: Place) -> None:
    number = proposed(place)
    checked(place)
    place.other().commit(PRODUCTION, {"b": b"1"}, "elsewhere", None)
    with pytest.raises(InputError, match="moved on"):
        place.forge.merge(number)
