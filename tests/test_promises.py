"""Every promise that a test names in its ``ledger`` mark exists, and ``docs/project/promises.md`` is up to date."""

from tests import promises


def test_every_ledger_mark_names_an_existing_promise() -> None:
    known = {row for section in promises.promises().values() for row in section}
    assert sorted(promises.claims().keys() - known) == []


def test_the_page_of_promises_is_up_to_date() -> None:
    assert promises.PAGE.read_text("utf-8") == promises.page(), "run: python -m tests.promises"
