import pytest

from corpus_assets.errors import BadInputError
from retrieval.copilot import finish, start
from retrieval.feedback import draft_cases, give_feedback, list_feedback
from retrieval.pipeline import run_stages
from tests.retrieval.fakes import fake_context, paper


@pytest.fixture
def answered(tmp_path):
    ctx = fake_context(tmp_path, [paper("z", "Zinc increased root growth in maize by 12 %.")])
    return ctx.store, finish(run_stages(start("Does zinc increase root growth?"), ctx), ctx)


def test_feedback_is_stored_once(answered) -> None:
    store, record = answered
    first, is_new = give_feedback(store, record.answer_id, rating=2, issues=["wrong_fact"], correct_answer="By 15 %.")
    again, is_new_again = give_feedback(
        store, record.answer_id, rating=2, issues=["wrong_fact"], correct_answer="By 15 %."
    )
    assert is_new and not is_new_again and first.feedback_id == again.feedback_id
    assert [item.question for item in list_feedback(store)] == ["Does zinc increase root growth?"]
    assert list_feedback(store, "other") == []


def test_only_what_can_be_checked_becomes_a_case(answered) -> None:
    store, record = answered
    give_feedback(store, record.answer_id, rating=1, comment="I do not like it.")
    assert draft_cases(list_feedback(store)) == []
    give_feedback(store, record.answer_id, rating=1, missing_papers=["z"])
    (case,) = draft_cases(list_feedback(store))
    assert case.expected_paper_ids == ("z",) and case.difficulty == "user_reported" and not case.reviewed


@pytest.mark.parametrize(
    "wrong",
    [{"rating": 0}, {"rating": 6}, {"rating": 3, "issues": ["typo"]}, {"rating": 3, "missing_papers": ["nope"]}],
)
def test_bad_feedback_is_refused(answered, wrong) -> None:
    store, record = answered
    with pytest.raises(BadInputError):
        give_feedback(store, record.answer_id, known_papers=frozenset({"z"}), **wrong)


def test_feedback_on_an_unknown_answer_is_refused(answered) -> None:
    with pytest.raises(BadInputError, match="No answer"):
        give_feedback(answered[0], "0000", rating=3)
