"""Generated true statements with their evidence, and edits that make them false."""

from __future__ import annotations

from dataclasses import dataclass

DRUGS = ("gefitinib", "metformin", "rituximab", "atorvastatin", "zinc", "IL-6 blockade", "warfarin", "T790M testing")
OTHERS = (
    "erlotinib",
    "sitagliptin",
    "infliximab",
    "simvastatin",
    "copper",
    "TNF-α blockade",
    "heparin",
    "C797S testing",
)
OUTCOMES = (
    "progression-free survival",
    "fasting glucose",
    "joint damage",
    "tumour volume",
    "root length",
    "relapse rate",
)
GROUPS = ("adults", "older women", "untreated patients", "smokers", "infants", "dialysis patients")


@dataclass(frozen=True)
class Statement:
    """A claim that its evidence bears out, and (kind, false claim) edits of it."""

    evidence: str
    claim: str
    edits: tuple[tuple[str, str], ...]


def make_statements() -> list[Statement]:
    """Return statements over all templates; the evidence stands among other sentences."""
    found = []
    for index, drug in enumerate(DRUGS):
        other = OTHERS[index]
        for step, outcome in enumerate(OUTCOMES):
            group = GROUPS[(index + step) % len(GROUPS)]
            number = 11 + 3 * index + step
            found.extend(statements_about(drug, other, outcome, group, number))
    return found


def statements_about(drug: str, other: str, outcome: str, group: str, number: int) -> list[Statement]:
    """Return one statement a template, each worded otherwise than its evidence."""
    title = drug[:1].upper() + drug[1:]
    filler = "Baseline visits took place at the clinic."
    dose = Statement(
        f"{filler} In the trial, {drug} at {number} mg per day increased {outcome} in {group}.",
        f"{title} at {number} mg per day increased {outcome} in {group}.",
        (
            ("number", f"{title} at {number + 7} mg per day increased {outcome} in {group}."),
            ("unit", f"{title} at {number} μg per day increased {outcome} in {group}."),
            ("entity", f"{other[:1].upper() + other[1:]} at {number} mg per day increased {outcome} in {group}."),
            ("direction", f"{title} at {number} mg per day decreased {outcome} in {group}."),
            ("negation", f"{title} at {number} mg per day did not increase {outcome} in {group}."),
        ),
    )
    denied = Statement(
        f"{title} was not associated with {outcome} in {group} after {number} weeks. {filler}",
        f"{title} was not associated with {outcome} in {group}.",
        (
            ("negation", f"{title} was associated with {outcome} in {group}."),
            ("entity", f"{other[:1].upper() + other[1:]} was not associated with {outcome} in {group}."),
            ("unit", f"{title} was not associated with {outcome} in {group} after {number} months."),
            ("number", f"{title} was not associated with {outcome} in {group} after {number + 5} weeks."),
        ),
    )
    hedged = Statement(
        f"{filler} {title} may improve {outcome} in some of the {group}.",
        f"{title} may improve {outcome} in some {group}.",
        (
            ("hedge", f"{title} improves {outcome} in some {group}."),
            ("hedge", f"{title} may improve {outcome} in all {group}."),
            ("hedge", f"{title} is proven to improve {outcome} in some {group}."),
            ("direction", f"{title} may worsen {outcome} in some {group}."),
        ),
    )
    bounded = Statement(
        f"More than {number} % of the {group} given {drug} reached the target for {outcome}, as planned.",
        f"More than {number} % of the {group} given {drug} reached the target for {outcome}.",
        (
            ("comparator", f"Less than {number} % of the {group} given {drug} reached the target for {outcome}."),
            ("comparator", f"At most {number} % of the {group} given {drug} reached the target for {outcome}."),
            ("number", f"More than {number * 2} % of the {group} given {drug} reached the target for {outcome}."),
            ("negation", f"More than {number} % of the {group} given {drug} did not reach the target for {outcome}."),
        ),
    )
    return [dose, denied, hedged, bounded]
