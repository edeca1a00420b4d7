"""Generated question pairs for the answer cache: near in wording but other in meaning, and paraphrases."""

from __future__ import annotations

SUBJECTS = (
    ("osimertinib", "gefitinib", "progression-free survival", "lung cancer"),
    ("metformin", "insulin", "fasting glucose", "type 2 diabetes"),
    ("vitamin D", "vitamin C", "fracture risk", "older women"),
    ("aspirin", "clopidogrel", "stroke recurrence", "atrial fibrillation"),
    ("zinc", "copper", "root growth", "maize"),
    ("TNF-α", "IL-6", "joint damage", "rheumatoid arthritis"),
    ("BERT", "GPT-2", "parsing accuracy", "low-resource languages"),
    ("nitrogen", "phosphorus", "algal bloom", "shallow lakes"),
)


def adversarial_pairs() -> list[tuple[str, str, str]]:
    """Return (kind, question, question) whose answers differ."""
    pairs: list[tuple[str, str, str]] = []
    for one, other, outcome, group in SUBJECTS:
        pairs += [
            ("negation", f"Does {one} improve {outcome} in {group}?", f"Does {one} not improve {outcome} in {group}?"),
            ("negation", f"Which patients with {group} respond to {one}?",
             f"Which patients with {group} do not respond to {one}?"),
            ("negation", f"Is {one} associated with {outcome}?", f"Is {one} not associated with {outcome}?"),
            ("negation", f"How does {group} develop with {one}?", f"How does {group} develop without {one}?"),
            ("antonym", f"Is {one} effective in {group}?", f"Is {one} ineffective in {group}?"),
            ("antonym", f"Is {one} safe in {group}?", f"Is {one} toxic in {group}?"),
            ("antonym", f"What are the benefits of {one} in {group}?", f"What are the harms of {one} in {group}?"),
            ("antonym", f"What makes {group} sensitive to {one}?", f"What makes {group} resistant to {one}?"),
            ("number", f"What is the effect of 10 mg {one} on {outcome}?",
             f"What is the effect of 100 mg {one} on {outcome}?"),
            ("number", f"What is {outcome} after 6 months of {one}?", f"What is {outcome} after 12 months of {one}?"),
            ("number", f"Does {one} work in patients over 65 years?", f"Does {one} work in patients over 75 years?"),
            ("unit", f"Is 5 mg of {one} enough?", f"Is 5 μg of {one} enough?"),
            ("unit", f"What happens after 4 weeks of {one}?", f"What happens after 4 days of {one}?"),
            ("comparator", f"Does {one} help when {outcome} is above 10 %?",
             f"Does {one} help when {outcome} is below 10 %?"),
            ("comparator", f"Does {one} work in more than 50 % of cases?",
             f"Does {one} work in less than 50 % of cases?"),
            ("entity", f"Does {one} improve {outcome} in {group}?", f"Does {other} improve {outcome} in {group}?"),
            ("entity", f"What is the role of {one} in {group}?", f"What is the role of {other} in {group}?"),
            ("entity", f"Is {one} better than {other} in {group}?", f"Is {other} better than {one} in {group}?"),
            ("entity", f"Does {one} increase {other}?", f"Does {other} increase {one}?"),
            ("population", f"Is {one} safe in adults?", f"Is {one} safe in children?"),
            ("population", f"Does {one} work in mice?", f"Does {one} work in humans?"),
            ("population", f"What does {one} do in pregnant women?", f"What does {one} do in women?"),
            ("direction", f"Does {one} increase {outcome}?", f"Does {one} decrease {outcome}?"),
            ("direction", f"Why is {outcome} higher with {one}?", f"Why is {outcome} lower with {one}?"),
            ("direction", f"Does {one} prolong {outcome}?", f"Does {one} shorten {outcome}?"),
            ("asking", f"Why does {one} affect {outcome}?", f"How does {one} affect {outcome}?"),
            ("asking", f"When should {one} be started?", f"When should {one} be stopped?"),
            ("order", f"What is {outcome} before {one}?", f"What is {outcome} after {one}?"),
            ("negation", f"Is {one} the same as {other}?", f"Is {one} not the same as {other}?"),
            ("relation", f"Are levels of {one} above normal?", f"Are levels of {one} below normal?"),
            ("scope", f"Do some patients respond to {one}?", f"Do all patients respond to {one}?"),
            ("scope", f"Does {one} always improve {outcome}?", f"Does {one} improve {outcome}?"),
        ]  # fmt: skip
    return pairs


def paraphrase_pairs() -> list[tuple[str, str]]:
    """Return pairs of questions that one answer serves."""
    pairs: list[tuple[str, str]] = []
    for one, other, outcome, group in SUBJECTS:
        pairs += [
            (f"Does {one} improve {outcome} in {group}?", f"In {group}, does {one} improve {outcome}?"),
            (f"What is the role of {one} in {group}?", f"What role does {one} have in {group}?"),
            (f"What is the effect of {one} on {outcome}?", f"What effect does {one} have on {outcome}?"),
            (f"Does {one} reduce {outcome}?", f"Does {one} lower {outcome}?"),
            (f"Is {one} better than {other} in {group}?", f"is {one} better than {other} in {group}"),
            (f"How is {group} treated with {one}?", f"How do you treat {group} with {one}?"),
            (f"What are the main causes of {group}?", f"What are the key causes of {group}?"),
            (f"What evidence is there that {one} improves {outcome}?",
             f"Is there evidence that {one} improves {outcome}?"),
            (f"Is {one} linked to {outcome}?", f"Is {one} associated with {outcome}?"),
            (f"Does {one} improve {outcome} after 12 weeks?", f"After 12 weeks, does {one} improve {outcome}?"),
            (f"What is known about {one} and {outcome}?", f"Tell me what is known about {one} and {outcome}."),
            (f"What is {outcome} after 6 months of {one}?", f"What is the {outcome} after six months of {one}?"),
        ]  # fmt: skip
    return pairs
