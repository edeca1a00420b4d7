"""The twin of an identifier that a gate asks for."""

from __future__ import annotations

from evaluation.index_gates import make_twin


def test_a_twin_is_another_identifier_that_the_text_does_not_hold():
    assert make_twin("T790M", "T790M, T791M and IL-17") == "T792M"
    assert make_twin("IL-17", "IL-17") == "IL-10"
    assert make_twin("A1", " ".join(f"A{digit}" for digit in range(10))) == ""
