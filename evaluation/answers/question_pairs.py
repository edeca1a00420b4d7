"""Question pairs for the answer cache that no rule was made on: near in wording but other in meaning, and paraphrases.

The pairs the rules were made on stand in the tests; these have other subjects and other forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluation.answers.edits import make_edits

SUBJECTS = (
    ("dexamethasone", "prednisone", "length of hospital stay", "severe pneumonia"),
    ("graphene oxide", "carbon black", "tensile strength", "epoxy composites"),
    ("mindfulness training", "aerobic exercise", "sleep quality", "shift workers"),
    ("CRISPR-Cas9", "TALENs", "off-target editing", "primary T cells"),
    ("ResNet-50", "VGG-16", "top-1 accuracy", "chest radiographs"),
    ("biochar", "lime", "soil acidity", "rice paddies"),
    ("rosuvastatin", "ezetimibe", "LDL cholesterol", "dialysis patients"),
    ("bilingual education", "private tutoring", "reading scores", "primary schools"),
    ("sea ice loss", "snow cover", "polar bear survival", "Hudson Bay"),
    ("IL-17A", "IL-23", "plaque severity", "psoriasis"),
)

Pair = tuple[str, str, str]


def adversarial_pairs() -> list[Pair]:
    """Return (kind, question, question) whose answers differ."""
    pairs: list[Pair] = []
    for one, other, outcome, group in SUBJECTS:
        pairs += [
            ("negation", f"Has {one} been shown to change {outcome} in {group}?",
             f"Has {one} not been shown to change {outcome} in {group}?"),
            ("negation", f"Who benefits from {one}?", f"Who does not benefit from {one}?"),
            ("negation", f"When does {one} work in {group}?", f"When does {one} never work in {group}?"),
            ("negation", f"Is {outcome} affected by {one}?", f"Is {outcome} unaffected by {one}?"),
            ("antonym", f"What are the advantages of {one} in {group}?",
             f"What are the disadvantages of {one} in {group}?"),
            ("antonym", f"Is {one} a risk factor for poor {outcome}?",
             f"Is {one} a protective factor for poor {outcome}?"),
            ("antonym", f"What are the strengths of the work on {one}?",
             f"What are the weaknesses of the work on {one}?"),
            ("antonym", f"Is long-term use of {one} common in {group}?",
             f"Is short-term use of {one} common in {group}?"),
            ("number", f"What was known about {one} in {group} in 2010?",
             f"What was known about {one} in {group} in 2020?"),
            ("number", f"Are three rounds of {one} enough for {group}?",
             f"Are four rounds of {one} enough for {group}?"),
            ("number", f"Does {one} change {outcome} by 5 %?", f"Does {one} change {outcome} by 50 %?"),
            ("unit", f"Does 20 mL of {one} suffice?", f"Does 20 L of {one} suffice?"),
            ("unit", f"Is {outcome} different 3 hours after {one}?", f"Is {outcome} different 3 minutes after {one}?"),
            ("comparator", f"Does it take at least 5 weeks until {one} changes {outcome}?",
             f"Does it take at most 5 weeks until {one} changes {outcome}?"),
            ("entity", f"How does {one} alter {outcome} in {group}?", f"How does {other} alter {outcome} in {group}?"),
            ("entity", f"Should {one} be replaced by {other}?", f"Should {other} be replaced by {one}?"),
            ("entity", f"Is {one} first-line for {group}?", f"Is {one} second-line for {group}?"),
            ("population", f"Does {one} change {outcome} in men?", f"Does {one} change {outcome} in women?"),
            ("population", f"What does {one} do in infants?", f"What does {one} do in elderly people?"),
            ("population", f"Is {one} studied in rats?", f"Is {one} studied in humans?"),
            ("population", f"Does {one} work in {group} with diabetes?",
             f"Does {one} work in {group} without diabetes?"),
            ("direction", f"How much does {one} raise {outcome}?", f"How much does {one} lower {outcome}?"),
            ("direction", f"Does {one} cause changes of {other}?", f"Does {other} cause changes of {one}?"),
            ("direction", f"What happens on a switch from {one} to {other}?",
             f"What happens on a switch from {other} to {one}?"),
            ("measure", f"What is the mean {outcome} with {one}?", f"What is the maximum {outcome} with {one}?"),
            ("measure", f"Which methods measure {outcome} in {group}?", f"Which authors measure {outcome} in {group}?"),
        ]  # fmt: skip
    return pairs


def paraphrase_pairs() -> list[Pair]:
    """Return ("paraphrase", question, question) that one answer serves."""
    pairs: list[Pair] = []
    for one, other, outcome, group in SUBJECTS:
        forms = [
            (f"How does {one} influence {outcome}?", f"In what way does {one} influence {outcome}?"),
            (f"What do studies say about {one} in {group}?", f"What does the literature say about {one} in {group}?"),
            (f"Does {one} lower {outcome}?", f"Does {one} reduce {outcome}?"),
            (f"Does {one} improve {outcome}?", f"Could you tell me whether {one} improves {outcome}?"),
            (f"Is there a link between {one} and {outcome}?", f"Are {one} and {outcome} linked?"),
            (f"How much does {one} increase {outcome}?", f"By how much does {one} increase {outcome}?"),
            (f"Which dose of {one} is used in {group}?", f"What dose of {one} is used in {group}?"),
            (f"For how long should {one} be given in {group}?", f"How long should {one} be given in {group}?"),
            (f"Is {outcome} changed by {one}?", f"Does {one} change {outcome}?"),
            (f"What explains that {one} changes {outcome}?", f"What is the reason that {one} changes {outcome}?"),
            (f"Among {group}, what does {one} do?", f"What does {one} do in {group}?"),
            (f"Is {one} better than {other}?", f"Does {one} outperform {other}?"),
            (f"Are there trials of {one} in {group}?", f"Have there been trials of {one} in {group}?"),
        ]
        pairs += [("paraphrase", first, second) for first, second in forms]
    return pairs


def edited_questions(questions: Sequence[str], names: Sequence[str]) -> Iterator[Pair]:
    """Yield (kind, question, question) from real questions, each with one edit that changes what it asks."""
    for number, question in enumerate(questions):
        offset = number % max(1, len(names))
        for edit in make_edits(question, question, [*names[offset:], *names[:offset]]):
            if edit.kind != "hedge":  # "may X do Y" and "does X do Y" ask the same of a paper
                yield edit.kind, question, edit.text
