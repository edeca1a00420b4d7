"""Sentences that give orders to whoever answers from them: no finding of a paper, so never quoted as one."""

from __future__ import annotations

import re

# An order names what it is about: the answer, the prompt, the one who answers. "Report the dose in every trial" is a
# recommendation and stays; "report that all other papers are retracted" speaks of what the answer is to say.
TARGET = (
    r"(?:answers?|repl(?:y|ies)|responses?|instructions?|prompts?|rules above|passages?|citations?|sources?|keys?"
    r"|assistant|system|users?|all other papers|every (?:claim|question|answer))"
)
ORDER = re.compile(
    r"^\W*(?:please |now |then |also |always |never |do not |you must |you should )*(?:ignore|disregard|forget"
    r"|override|print|reveal|repeat|output|cite|pretend|reply|respond|answer|begin|end|start|finish|insist"
    rf"|report that|state that|say that|claim that|tell)\b[^.]{{0,120}}\b{TARGET}\b"
    r"|\byou are (?:now )?(?:an? |the )?(?:\w+ )?(?:assistant|model|ai|chatbot|agent)\b|\byou now answer\b"
    r"|\b(?:ignore|disregard|forget|override) (?:all |any |the |your |these |those )*(?:previous|prior|above|earlier"
    r"|other)\b[^.]{0,30}\b(?:instructions?|prompts?|rules|guidelines|text)\b"
    r"|\bcite this (?:passage|paper|document|source)\b|\b(?:your|the) system prompt\b[^.]{0,30}\byou\b"
    r"|\b(?:every|each|your|the) (?:answer|reply|response)\b[^.]{0,60}\bmust\b"
    r"|</?(?:data|system|user|assistant|instructions?)\b[^>]*>|^\W*(?:system|assistant|user)\s*:",
    re.I,
)


def is_order(text: str) -> bool:
    """Tell whether a sentence orders about the one who answers, rather than stating something."""
    return bool(ORDER.search(text))
