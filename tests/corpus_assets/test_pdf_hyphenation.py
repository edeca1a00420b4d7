import pytest

from corpus_assets.pdf.hyphenation import Joiner


def join(*lines: str, document: tuple[str, ...] = ()) -> str:
    joiner = Joiner([*document, *lines])
    text = lines[0]
    for line in lines[1:]:
        text, joint = joiner.join(text, line)
        text += joint + line
    return text


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("undecanal and n-", "tridecanal", "undecanal and n-tridecanal"),
        ("the interferon-", "dependent pathway", "the interferon-dependent pathway"),
        ("seen by immuno-", "histochemistry", "seen by immunohistochemistry"),
        ("a compu-", "tational model", "a computational model"),
        ("the IL-", "17 pathway", "the IL-17 pathway"),
        ("a Kaplan-", "Meier plot", "a Kaplan-Meier plot"),
        ("state-of-the-", "art methods", "state-of-the-art methods"),
        ("a well-", "known fact", "a well-known fact"),
        ("EGFR-", "mutant tumours", "EGFR-mutant tumours"),
        ("TRANS-", "FORMATION", "TRANSFORMATION"),
        ("soft hy\u00ad", "phen", "soft hyphen"),
        ("pages 3-", "5 of it", "pages 3-5 of it"),
        ("over the", "line", "over the line"),
        ("and/", "or", "and/or"),
        ("the under-", "represented group", "the under-represented group"),
        ("an under-", "standing of it", "an understanding of it"),
        ("the over-", "expression of it", "the overexpression of it"),
        ("not to be under-", "stated by us", "not to be understated by us"),
        ("an anti-", "inflammatory drug", "an anti-inflammatory drug"),
        ("were dis-", "satisfied with it", "were dissatisfied with it"),
    ],
)
def test_b01_a_hyphen_at_a_line_end_is_kept_where_it_belongs_to_the_word(before, after, joined):
    assert join(before, after) == joined


def test_the_document_itself_decides_when_it_writes_the_word_elsewhere():
    assert join("the bio-", "marker", document=("a bio-marker was", "this bio-marker")) == "the bio-marker"
    assert join("the data-", "driven", document=("datadriven datadriven",)) == "the datadriven"


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (
            ("https://doi.org/10.5555/", "TIDE-2020-10-", "311704. Received 3 May"),
            "https://doi.org/10.5555/TIDE-2020-10-311704. Received 3 May",
        ),
        (("see https://github.com/some-", "one/thing"), "see https://github.com/some-one/thing"),
        (("doi:10.1371/journal.", "pone.0123456"), "doi:10.1371/journal.pone.0123456"),
        (("at https://example.org.", "The next"), "at https://example.org. The next"),
        (("at https://example.org", "and then"), "at https://example.org and then"),
    ],
)
def test_b32_an_address_cut_at_a_line_end_is_made_whole_with_its_own_hyphens(lines, joined):
    assert join(*lines) == joined


def test_text_without_spaces_is_joined_without_one():
    assert join("国際標準化に関する", "動向を調べた。") == "国際標準化に関する動向を調べた。"
