"""The lint of a Dockerfile: each rule by an example that breaks it and one that keeps it."""

import pytest
from gpulab.contract.dockerfile import RULES, lint
from gpulab.contract.dockerfile.syntax import parse
from hypothesis import given, settings
from hypothesis import strategies as st

LANE = "ARG LANE=gpulab.local/runtime-cpu:0.1.0\nFROM ${LANE}\n"
DIGEST = f"@sha256:{'a' * 64}"
CUDA = f"FROM nvidia/cuda:13.2.1-base-ubuntu24.04{DIGEST}\n"
INSTALL = "apt-get install -y --no-install-recommends"

# rule -> (breaks it, with the lines where), (keeps it)
CASES: dict[str, tuple[list[tuple[str, list[int]]], list[str]]] = {
    "no-from": ([("", [1]), ("# only a comment\n", [1]), ("RUN true\nFROM ${LANE}\n", [1])], [LANE]),
    "unknown-instruction": ([(f"{LANE}RUNN true\n", [3]), (f"{LANE}apt-get update\n", [3])], [f"{LANE}run true\n"]),
    "from-lane": (
        [
            ("FROM python:3.12-slim\n", [1]),
            ("FROM gpulab.local/runtime-cpu:0.1.0\n", [1]),
            ("ARG LANE=ubuntu:24.04\nFROM $LANE\n", [2]),
            ("FROM ${NOT_DECLARED}\n", [1]),
            (f"{LANE}FROM python:3.12 AS other\nFROM other\n", [3]),
        ],
        [
            LANE,
            "ARG LANE\nFROM ${LANE}\n",
            f"FROM python:3.12-slim{DIGEST}\n",
            f"ARG LANE=python{DIGEST}\nFROM --platform=linux/amd64 ${{LANE}} AS build\nFROM build\n",
            "ARG LANE=gpulab.local/runtime-current:0.1.0\nFROM ${LANE} AS a\nFROM scratch\nCOPY --from=a / /\n",
        ],
    ),
    "from-latest": (
        [
            ("FROM ubuntu\n", [1]),
            ("FROM ubuntu:latest\n", [1]),
            ("ARG LANE=gpulab.local/runtime-cpu\nFROM ${LANE}\n", [2]),
            ("FROM localhost:5000/team/base\n", [1]),
        ],
        [LANE, f"FROM ubuntu{DIGEST}\n", "FROM localhost:5000/team/base:1.0\n"],
    ),
    "cuda-tag": (
        [
            ("FROM nvidia/cuda:11.7.1-base\n", [1]),
            ("FROM nvidia/cuda:11.8.0-base\n", [1]),
            ("FROM nvidia/cuda:12.6-base-ubuntu24.04\n", [1]),
            ("FROM docker.io/nvidia/cuda:13.2.1\n", [1]),
        ],
        [CUDA, f"FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu22.04{DIGEST}\n"],
    ),
    "cuda-end-of-life": (
        [("FROM nvidia/cuda:11.8.0-base-ubuntu22.04\n", [1]), (f"FROM nvidia/cuda:10.2-base{DIGEST}\n", [1])],
        [CUDA],
    ),
    "apt-yes": (
        [
            (f"{LANE}RUN apt-get install cuda-toolkit-11-8\n", [3]),
            (f"{LANE}RUN apt-get update && \\\n    apt-get install git\n", [3]),
            (f"{LANE}RUN <<EOF\napt-get update\napt install git\nEOF\n", [3]),
        ],
        [
            f"{LANE}RUN apt-get update && {INSTALL} git\n",
            f"{LANE}RUN apt-get update; apt-get -qy install git\n",
            f'{LANE}RUN ["apt-get", "install", "--yes", "git"]\n',
        ],
    ),
    "apt-update": (
        [
            (f"{LANE}RUN {INSTALL} git\n", [3]),
            (f"{LANE}RUN apt-get update\nRUN {INSTALL} git\n", [4]),
            (f"{LANE}RUN {INSTALL} git && apt-get update\n", [3]),
        ],
        [f"{LANE}RUN apt-get update && {INSTALL} git && apt-get install -y vim\n"],
    ),
    "apt-cuda": (
        [
            (f"{LANE}RUN apt-get install cuda-toolkit-11-8\n", [3]),
            (f"{LANE}RUN apt-get update && apt-get install -y nvidia-driver-580 git\n", [3]),
        ],
        [f"{LANE}RUN apt-get update && apt-get install -y git libcurl4\n"],
    ),
    "pip-missing": (
        [
            (f"{CUDA}RUN apt-get update && apt-get install -y python3.9\nRUN pip3 install torch==1.13.0\n", [3]),
            (f"FROM ubuntu:24.04{DIGEST}\nRUN python3 -m pip install -r requirements.txt\n", [2]),
        ],
        [
            f"{LANE}RUN pip3 install --no-deps .\n",
            f"{CUDA}RUN apt-get update && apt-get install -y python3-pip && pip3 install --no-deps .\n",
            f"{CUDA}RUN python3 -m venv /venv\nRUN /venv/bin/pip install --no-deps .\n",
        ],
    ),
    "pip-unpinned": (
        [
            (f"{LANE}RUN pip install transformers\n", [3]),
            (f"{LANE}RUN pip install --index-url https://x.org/simple 'numpy>=2' six==1.17.0\n", [3]),
            (f"{LANE}RUN python3 -m pip install requests\n", [3]),
            (f"{LANE}RUN uv pip install requests\n", [3]),
        ],
        [
            f"{LANE}RUN pip install six==1.17.0 -r requirements.txt -e . ./wheels/a.whl\n",
            f"{LANE}RUN pip install -c constraints.txt transformers\n",
            f"{LANE}RUN pip install 'x @ git+https://example.org/x@abc' $EXTRA\n",
            f"{LANE}RUN pip list\n",
        ],
    ),
    "pip-torch": (
        [
            (f"{LANE}RUN pip install torch==2.15.0\n", [3]),
            (f"{LANE}RUN pip install six==1.17.0 'torch>2'\n", [3]),
            # ends of line to Python, and to neither Docker nor the shell: what follows is no comment
            *((f"{LANE}RUN echo a{end}#; pip install torch==2.15.0\n", [3]) for end in "\u2028\u0085\x0b\x0c\x1c"),
        ],
        [f"{LANE}RUN pip install torchmetrics==1.8.0\n", f"{CUDA}RUN pip install torch==2.15.0\n"],
    ),
    "pipe-to-shell": (
        [
            (f"{LANE}RUN curl -sSL https://x.org/install.sh | bash\n", [3]),
            (f"{LANE}RUN true && wget -qO- https://x.org \\\n  | sudo sh -s -- -y\n", [3]),
            (f"{LANE}RUN curl https://x.org|python3 -\n", [3]),
        ],
        [
            f"{LANE}RUN curl -fsSLo x.sh https://x.org/x.sh && sha256sum -c sums && sh x.sh\n",
            f'{LANE}RUN echo "curl x | sh" > note\n',
            f"{LANE}RUN curl https://x.org/x.tar | tar x\n",
        ],
    ),
    "privileged": (
        [(f"{LANE}RUN --security=insecure true\n", [3]), (f"{LANE}RUN docker run --privileged x\n", [3])],
        [f"{LANE}RUN --mount=type=cache,target=/root/.cache true\n"],
    ),
    "add-url": (
        [
            (f"{LANE}ADD https://x.org/data.tar.gz /data/\n", [3]),
            (f"{LANE}ADD git@github.com:a/b.git /b\n", [3]),
        ],
        [f"{LANE}ADD --checksum=sha256:aa https://x.org/data /data\n", f"{LANE}ADD data.tar /data\n"],
    ),
    "secret-name": (
        [
            (f"{LANE}ARG HF_TOKEN\n", [3]),
            (f"{LANE}ENV A=1 \\\n    DB_PASSWORD=x\n", [3]),
            (f"{LANE}ENV OPENAI_API_KEY x\n", [3]),
            (f"{LANE}ARG AWS_SECRET_ACCESS_KEY=x\n", [3]),
        ],
        [f'{LANE}ENV TOKENIZERS_PARALLELISM=false MAX_TOKENS=5 PAD_TOKEN="<pad>"\n', f"{LANE}ARG KEYBOARD\n"],
    ),
    "secret-value": (
        [
            (f"{LANE}ENV X=hf_{'a' * 30}\n", [3]),
            (f"{LANE}RUN git clone https://ghp_{'A1' * 18}@github.com/a/b\n", [3]),
        ],
        [f"{LANE}ENV X=hf_home\n"],
    ),
    "visible-devices": ([(f"{LANE}ENV NVIDIA_VISIBLE_DEVICES=all\n", [3])], [f"{LANE}ENV CUDA_HOME=/usr\n"]),
    "user-root": (
        [
            (f"{LANE}USER 1000\nUSER root\n", [4]),
            (f"{LANE}USER 0:0\n", [3]),
            (f"{CUDA}RUN true\n", [2]),
        ],
        [LANE, "ARG LANE\nFROM ${LANE}\n", f"{LANE}USER root\nRUN true\nUSER 10001:10001\n", f"{CUDA}USER 1000\n"],
    ),
    "user-name": ([(f"{LANE}USER app\n", [3])], [f"{LANE}USER 1000\n", f"{LANE}USER ${{UID}}\n"]),
    "shell-form": (
        [(f"{LANE}CMD python3 serve.py\n", [3]), (f"{LANE}ENTRYPOINT exec serve\n", [3])],
        [f'{LANE}CMD ["python3", "serve.py"]\n', f"{LANE}CMD old\nFROM ${{LANE}}\n"],
    ),
}

BROKEN = [(rule, text, lines) for rule, (broken, _) in CASES.items() for text, lines in broken]
KEPT = [(rule, text) for rule, (_, kept) in CASES.items() for text in kept]


def hits(rule: str, text: str) -> list[int]:
    """The lines where a rule is broken."""
    places = [finding.where.split() for finding in lint(text)]
    return [int(line) for _, line, name in places if name == f"[{rule}]"]


def test_every_rule_has_an_example() -> None:
    assert list(CASES) == [rule.name for rule in RULES]


@pytest.mark.parametrize(("rule", "text", "lines"), BROKEN)
def test_a_broken_rule_is_found_on_its_line(rule: str, text: str, lines: list[int]) -> None:
    assert hits(rule, text) == lines


@pytest.mark.parametrize(("rule", "text"), KEPT)
def test_a_kept_rule_says_nothing(rule: str, text: str) -> None:
    assert hits(rule, text) == []


def test_every_finding_says_what_to_type() -> None:
    for _, text, _ in BROKEN:
        assert all(finding.hint for finding in lint(text))
        assert all("\n" not in str(finding) for finding in lint(text))


def test_the_dockerfile_of_a_course_that_nobody_tried_to_build() -> None:
    """The lines of published course material, with what is wrong with each."""
    text = """FROM nvidia/cuda:11.7.1-base
RUN apt-get update && apt-get install -y python3.9
RUN pip3 install torch==1.13.0+cu117 transformers
RUN apt-get install cuda-toolkit-11-8
"""
    assert [finding.where for finding in lint(text) if finding.level == "error"] == [
        "line 1 [from-lane]",
        "line 1 [cuda-tag]",
        "line 1 [cuda-end-of-life]",
        "line 3 [pip-missing]",
        "line 4 [apt-yes]",
        "line 4 [apt-update]",
        "line 4 [apt-cuda]",
        "line 4 [user-root]",
    ]


def test_a_missing_dockerfile_is_an_error() -> None:
    (finding,) = lint(None)
    assert str(finding).startswith("Dockerfile: missing.")


@pytest.mark.parametrize(
    ("lane", "accelerators", "mismatch"),
    [
        ("cpu", ["cpu"], False),
        ("cpu", ["t4"], True),
        ("current", ["cpu"], False),
        ("current", ["cpu", "t4"], False),
        ("current", ["v100-16"], True),
        ("legacy", ["v100-16", "t4"], False),
    ],
)
def test_the_lane_of_the_image_has_to_run_on_the_accelerators(
    lane: str, accelerators: list[str], mismatch: bool
) -> None:
    text = LANE.replace("runtime-cpu", f"runtime-{lane}") + "FROM ${LANE} AS other\nFROM other\n"
    assert ["lane-mismatch" in finding.where for finding in lint(text, accelerators)] == [True] * mismatch


def test_lines_are_counted_through_continuations_comments_and_here_documents() -> None:
    text = """# syntax=docker/dockerfile:1

FROM a
RUN one \\
    # between

    two
RUN <<EOF cat
USER not-an-instruction
EOF
USER 1
"""
    assert [(entry.line, entry.name, entry.text) for entry in parse(text).instructions] == [
        (3, "FROM", "a"),
        (4, "RUN", "one two"),
        (8, "RUN", "<<EOF cat\nUSER not-an-instruction"),
        (11, "USER", "1"),
    ]


def test_the_escape_directive_is_respected() -> None:
    text = "# escape=`\nFROM a\nRUN one `\n  C:\\\nUSER 1\n"
    assert [entry.text for entry in parse(text).instructions] == ["a", "one C:\\", "1"]


INSTRUCTIONS = st.sampled_from(["FROM ", "RUN ", "ENV ", "ARG ", "USER ", "CMD [", "apt-get install ", "pip install "])
SIGNS = st.sampled_from(
    ["\n", "\\\n", "&&", "|", "'", '"', "<<EOF", "EOF", "${", "}", "=", "#", " ", "@", ":", "\t", "é"]
)


@given(st.lists(INSTRUCTIONS | SIGNS, max_size=40).map("".join))
@settings(max_examples=500)
def test_any_text_can_be_linted(text: str) -> None:
    for finding in lint(text, ["t4"]):
        line = int(finding.where.split()[1])
        assert 1 <= line <= max(1, len(text.splitlines()))
        assert "\n" not in str(finding)
