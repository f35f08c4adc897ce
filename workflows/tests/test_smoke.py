import pytest
from gpulab.clusters.protocol import Golden
from gpulab.clusters.smoke import compare

GOLDEN = Golden(inputs={"x": [[1]]}, outputs=[[3.0, 4.0]], rtol=1e-3)


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ([[3.0, 4.0]], True),
        ([3.0, 4.001], True),
        ([[3.0, 4.1]], False),
        ([[3.0]], False),
        ([[3.0, 4.0, 0.0]], False),
        ([[float("nan"), 4.0]], False),
        ([[float("inf"), 4.0]], False),
        ([["3", 4.0]], False),
        ([[None, 4.0]], False),
        ({"a": 1}, False),
        ("text", False),
        ([], False),
    ],
)
def test_an_answer_passes_only_near_the_proven_one(answer: object, passed: bool) -> None:
    result = compare(answer, GOLDEN)
    assert result.passed is passed
    assert result.message
