import pytest

from retrieval.stance import find_opposition, rule_stance


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (
            "ctDNA-guided early switch prolonged progression-free survival: median 14.1 v 9.8 months.",
            "ctDNA-guided early switch did not prolong progression-free survival: median 11.0 v 10.8 months.",
            "negation",
        ),
        ("Vitamin D reduced mortality in adults.", "Vitamin D had no effect on mortality in adults.", "negation"),
        ("Zinc increased root growth in maize.", "Zinc decreased root growth in maize.", "direction"),
        (
            "Zinc increased root growth in maize.",
            "Whereas the cost was the same, zinc did not increase root growth in maize.",
            "negation",
        ),
        (
            "Cover crops reduced soil erosion in vineyards.",
            "We saw no benefit of cover crops for soil erosion in vineyards.",
            "negation",
        ),
        (
            "Relapse rate after drug Q in adult patients was 10 %.",
            "Relapse rate after drug Q in adult patients was 48 %.",
            "numbers",
        ),
    ],
)
def test_opposite_statements_on_one_outcome_are_seen(first, second, kind) -> None:
    found = find_opposition(first, second)
    assert found is not None and found.kind == kind


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Zinc increased root growth in maize.", "Copper decreased root growth in wheat."),
        ("MET amplification was found in 15 % of tumours.", "MET amplification was found in 18 % of tumours."),
        ("Drug Q reduced relapse in adults.", "Drug Q did not reduce mortality in infants."),
        ("Zinc increased root growth.", "Zinc raised root growth by 12 %."),
        ("Zinc did not change root growth.", "Zinc had no effect on root growth."),
        (
            "Zinc increased root growth in maize.",
            "Zinc increased root growth in maize, whereas its cost did not change.",
        ),
        ("Zinc increased root growth in maize.", "Zinc increased root growth in maize; no harm of zinc was seen."),
        ("Zinc increased root growth in maize.", "Without zinc, root growth in maize stayed as it was."),
        ("Zinc increased root growth in maize.", "In plots with no zinc root growth in maize was slow."),
    ],
)
def test_other_subjects_conditions_or_agreement_are_no_opposition(first, second) -> None:
    assert find_opposition(first, second) is None


def test_rules_never_give_a_verdict() -> None:
    stance = rule_stance("drug Q reduces relapse", "Drug Q did not reduce relapse in 90 patients.")
    assert stance.label == "possible_disagreement" and not stance.is_verdict and "check" in stance.reason
    assert rule_stance("drug Q reduces relapse", "Drug Q reduced relapse.").label == "neutral"
    assert rule_stance("drug Q reduces relapse", "Moss did not grow on the north wall.").label == "neutral"
