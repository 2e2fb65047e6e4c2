"""The architecture page shows which files a call enters ("walks"). These lists match the code."""

import pytest

from tests import walks

pytestmark = pytest.mark.long


def test_the_walks_on_the_architecture_page_are_up_to_date() -> None:
    assert walks.PAGE.read_text("utf-8") == walks.page(), "run: python -m tests.walks"


def test_a_recall_uses_at_most_ten_packages() -> None:
    entered = walks.walks()["A query finds memories: `recall`"]
    assert len({file.split("/")[0] for file in entered}) <= 10
