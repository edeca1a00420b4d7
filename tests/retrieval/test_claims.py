from collections import Counter

import pytest

from retrieval.claims.check import check_claim
from retrieval.claims.numbers import find_quantities, parse_number
from tests.retrieval.statements import make_statements

LOCALES = "Die Dosis betrug 0,05 mg. We enrolled 1,250 patients. The pressure was 12 345,6 Pa."
EXPONENTS = "The association held (p = 5.8 x 10⁻⁴⁸) in 910 samples. The source emits 10⁴⁸ photons per second."
METALS = "Zinc had no significant effect on growth (p = 0.41). Copper significantly increased growth (p = 0.003)."
DENIED = "Compound X is not associated with hepatic failure in adults. Follow-up lasted 31 weeks."
RETOLD = "Mensah et al. (2011) reported that drug Q halves relapse. We could not reproduce this in 90 patients."


@pytest.mark.parametrize("claim", ["0.05 mg", "1250 patients", "12 345.6 Pa", "We enrolled 1250 patients."])
def test_numbers_are_read_in_any_locale(claim: str) -> None:
    assert check_claim(claim, LOCALES).verdict == "supported"


def test_a_decimal_comma_is_no_thousands_mark() -> None:
    assert check_claim("5 mg", LOCALES).verdict == "unsupported"
    assert check_claim("1.25 patients", LOCALES).verdict == "unclear"
    assert parse_number("0,05") == (0.05, None, 2)
    assert parse_number("1,250") == (1250.0, 1.25, 0)


def test_exponents_are_numbers_whatever_their_spelling() -> None:
    assert check_claim("p = 5.8e-48", EXPONENTS).verdict == "supported"
    assert check_claim("p = 5.8 × 10^-48", EXPONENTS).verdict == "supported"


@pytest.mark.parametrize("claim", ["1048 photons", "p = 5.8 × 1048"])
def test_a_flattened_exponent_is_not_supported(claim: str) -> None:
    assert check_claim(claim, EXPONENTS).verdict == "unsupported"


@pytest.mark.parametrize("mark", ["survival¹²,¹³", "survival12,13", "survival [12,13]"])
def test_reference_marks_are_no_data(mark: str) -> None:
    evidence = f"Drug Q improved {mark} in 40 patients."
    assert check_claim("12 patients improved", evidence).verdict == "unsupported"
    assert check_claim("40 patients", evidence).verdict == "supported"


def test_micro_is_not_milli_and_both_micro_signs_are_one() -> None:
    evidence = "Cells received 5 µg/mL of the toxin."
    assert check_claim("Cells received 5 μg/mL.", evidence).verdict == "supported"
    assert check_claim("Cells received 5 mg/mL.", evidence).verdict == "unsupported"


@pytest.mark.parametrize(
    ("claim", "is_supported"),
    [
        ("Zinc significantly increased growth", False),
        ("Copper significantly increased growth", True),
        ("Copper had no significant effect", False),
        ("Zinc had no significant effect on growth", True),
    ],
)
def test_negation_counts_for_its_own_subject(claim: str, is_supported: bool) -> None:
    assert (check_claim(claim, METALS).verdict == "supported") is is_supported


@pytest.mark.parametrize(
    "claim",
    [
        "Compound X is ... associated with hepatic failure",
        "associated with hepatic failure in adults",
        "31 weeks ... Compound X",
        "Compound X is associated with hepatic failure in adults.",
    ],
)
def test_a_swallowed_not_is_caught(claim: str) -> None:
    assert check_claim(claim, DENIED).verdict != "supported"


def test_a_finding_of_others_that_is_taken_back_supports_nothing() -> None:
    assert check_claim("Drug Q halves relapse.", RETOLD).verdict == "unsupported"
    assert check_claim("Mensah et al. (2011) reported that drug Q halves relapse.", RETOLD).verdict == "supported"


def test_an_association_is_no_cause_and_mice_are_no_people() -> None:
    assert check_claim("Tea causes sleep loss.", "Tea is associated with sleep loss.").verdict == "unsupported"
    assert check_claim("Compound X cures colitis.", "Compound X cures colitis in mice.").verdict == "unsupported"


def test_units_are_converted() -> None:
    assert check_claim("The dose was 0.5 g.", "The dose was 500 mg.").verdict == "supported"
    assert check_claim("It took 2 weeks.", "It took 14 days.").verdict == "supported"


def test_identifiers_labels_and_ordinals_are_no_quantities() -> None:
    assert find_quantities("T790M and IL-17 in Figure 3, the 2nd visit, p53") == []
    assert [q.unit for q in find_quantities("50 to 60 % of cases and 18.9 v 10.2 months")] == ["%", "%", "", "month"]


def test_edits_of_true_statements_are_caught_and_true_ones_pass() -> None:
    num_caught: Counter[str] = Counter()
    num_edits: Counter[str] = Counter()
    statements = make_statements()
    num_passed = 0
    for statement in statements:
        num_passed += check_claim(statement.claim, statement.evidence).verdict == "supported"
        for kind, edit in statement.edits:
            num_edits[kind] += 1
            num_caught[kind] += check_claim(edit, statement.evidence).verdict != "supported"
    assert sum(num_edits.values()) >= 300
    shares = {kind: num_caught[kind] / num for kind, num in num_edits.items()}
    assert min(shares.values()) >= 0.95, shares
    assert num_passed >= 0.95 * len(statements), (num_passed, len(statements))
