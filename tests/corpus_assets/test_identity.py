"""Which files are one paper: duplicates, near duplicates, versions, supplements, and what must stay apart."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.identity import Identity, IdentityInput, assign_identities, make_slug
from corpus_assets.manifest import ManifestRow
from corpus_assets.model import PaperMetadata, PaperStatus
from corpus_assets.similarity import candidate_pairs, compute_signature, containment, read_signature

WORDS = [f"{stem}{ending}" for stem in ("mos", "bas", "lich", "ston", "crus") for ending in range(200)]
AUTHORS = ("Anna Okonkwo", "Bea Mensah")
TITLE = "Lichen growth on basalt in the far north"


def prose(seed: int, num_words: int = 1500) -> str:
    chooser = random.Random(seed)
    return " ".join(chooser.choice(WORDS) for _ in range(num_words))


def doc(
    path: str, text: str, *, bytes_of: str = "", status: PaperStatus = PaperStatus.READY, **metadata: object
) -> IdentityInput:
    fields = {"sources": dict.fromkeys(metadata, "first_page"), **metadata}
    return IdentityInput(
        path=path,
        sha256=hashlib.sha256((bytes_of or path).encode()).hexdigest(),
        metadata=PaperMetadata(**fields),  # type: ignore[arg-type]
        text_sha256=hashlib.sha256(text.encode()).hexdigest() if text else "",
        signature=compute_signature(text),
        num_pages=max(1, len(text) // 3000),
        num_chars=len(text),
        status=status,
    )


def assign(*docs: IdentityInput, manifest: Mapping[str, ManifestRow] | None = None) -> dict[str, Identity]:
    """Assign, and hold to it in every order of the input (of six for more than three)."""
    found = assign_identities(docs, manifest)
    for order in list(permutations(docs))[:6]:
        assert assign_identities(order, manifest) == found
    for identity in found.values():
        assert re.fullmatch(r"[a-z0-9.-]+", identity.paper_id)
    return found


def served(found: Mapping[str, Identity]) -> set[str]:
    return {path for path, identity in found.items() if identity.status in (PaperStatus.READY, PaperStatus.PARTIAL)}


@pytest.mark.parametrize("flag", ["hidden_text", "instruction_like_text"])
@pytest.mark.parametrize("flagged", ["a.pdf", "b.pdf"])
def test_of_two_copies_the_one_without_hidden_text_is_served(flag: str, flagged: str) -> None:
    copies = [doc(path, prose(1), title=TITLE) for path in ("a.pdf", "b.pdf")]
    found = assign(*(replace(copy, flags=(flag,)) if copy.path == flagged else copy for copy in copies))
    assert served(found) == {"a.pdf", "b.pdf"} - {flagged}


class TestDuplicates:
    def test_the_same_bytes_under_two_names_are_one_paper(self) -> None:
        text = prose(1)
        found = assign(doc("b.pdf", text, bytes_of="x", title=TITLE), doc("a.pdf", text, bytes_of="x", title=TITLE))
        assert found["a.pdf"].also_at == ("b.pdf",)
        assert found["a.pdf"].status is PaperStatus.READY
        assert found["b.pdf"].paper_id == found["a.pdf"].paper_id
        assert (found["b.pdf"].status, found["b.pdf"].reason) == (PaperStatus.DUPLICATE, "the same bytes as a.pdf")

    def test_the_same_text_in_other_bytes_is_a_duplicate(self) -> None:
        text = prose(1, 30)  # however short
        found = assign(doc("a.pdf", text, title=TITLE), doc("b.pdf", text, title=TITLE))
        (loser,) = found.keys() - served(found)
        (winner,) = served(found)
        assert (found[loser].status, found[loser].relation) == (PaperStatus.DUPLICATE, "duplicate")
        assert winner in found[loser].reason and found[loser].version_of == found[winner].paper_id

    def test_of_a_paper_and_its_copy_without_the_last_page_the_whole_one_is_served(self) -> None:
        text = prose(1, 3000)
        cut = text[: int(len(text) * 0.9)]
        found = assign(doc("a.pdf", cut, title=TITLE), doc("b.pdf", text, title=TITLE))
        assert served(found) == {"b.pdf"}
        assert (found["a.pdf"].status, found["a.pdf"].relation) == (PaperStatus.SUPERSEDED, "near_duplicate")

    def test_a_two_page_paper_and_its_first_page_are_near_duplicates_too(self) -> None:
        text = prose(1, 800)
        found = assign(doc("a.pdf", text[: len(text) // 2]), doc("b.pdf", text))
        assert served(found) == {"b.pdf"}

    def test_papers_from_one_template_stay_apart(self) -> None:
        """Nine tenths of the words are the same; what was found is not."""
        frame, first, second = prose(1, 900), prose(2, 100), prose(3, 100)
        found = assign(
            doc("a.pdf", f"{frame} {first}", title="Report"), doc("b.pdf", f"{frame} {second}", title="Report")
        )
        assert served(found) == {"a.pdf", "b.pdf"}

    def test_one_result_that_differs_in_a_short_text_keeps_both(self) -> None:
        texts = [f"Paper {i}: lentils contain {9 + i} g of protein per cup." for i in range(5)]
        found = assign_identities([doc(f"{i}.pdf", text) for i, text in enumerate(texts)])
        assert len(served(found)) == len({identity.paper_id for identity in found.values()}) == 5

    def test_a_short_text_inside_another_is_no_evidence(self) -> None:
        text = prose(1, 60)
        assert served(assign(doc("a.pdf", text), doc("b.pdf", f"{text} but not in winter"))) == {"a.pdf", "b.pdf"}

    def test_a_paper_inside_a_proceedings_volume_stays_a_paper(self) -> None:
        paper = prose(1, 1000)
        volume = " ".join([prose(2, 800), paper, prose(3, 800)])
        one, other = (read_signature(compute_signature(text)) for text in (paper, volume))
        assert list(candidate_pairs([one, other])) == [(0, 1)] and containment(one, other) > 0.98
        found = assign(doc("paper.pdf", paper, title=TITLE), doc("volume.pdf", volume))
        assert served(found) == {"paper.pdf", "volume.pdf"}

    def test_printed_dois_that_differ_keep_alike_texts_apart(self) -> None:
        text = prose(1)
        found = assign(doc("a.pdf", text, doi="10.5555/a"), doc("b.pdf", text + " end", doi="10.5555/b"))
        assert served(found) == {"a.pdf", "b.pdf"}


class TestVersions:
    def test_the_newest_arxiv_version_is_served(self) -> None:
        docs = [
            doc(
                f"v{n}.pdf",
                f"{prose(1, 800)} {prose(n + 10, 700 - 200 * n)}",
                arxiv_id="2001.00001",
                arxiv_version=n,
                title=TITLE,
            )
            for n in (1, 2, 3)
        ]
        found = assign(*docs)
        assert served(found) == {"v3.pdf"}
        assert found["v3.pdf"].paper_id == "arxiv-2001.00001"
        assert {found[path].paper_id for path in ("v1.pdf", "v2.pdf")} == {"arxiv-2001.00001-v1", "arxiv-2001.00001-v2"}
        assert found["v1.pdf"].version_of == found["v2.pdf"].version_of == "arxiv-2001.00001"
        assert found["v1.pdf"].status is PaperStatus.SUPERSEDED and found["v1.pdf"].relation == "version"

    def test_the_published_paper_is_served_rather_than_its_preprint(self) -> None:
        shared = prose(1, 900)
        preprint = doc(
            "pre.pdf", f"{shared} {prose(2, 900)}", title=TITLE, authors=AUTHORS, arxiv_id="2001.00001", year=2022
        )
        published = doc(
            "pub.pdf", f"{shared} {prose(3, 600)}", title=TITLE.upper(), authors=AUTHORS, doi="10.5555/a", year=2021
        )
        found = assign(preprint, published)
        assert served(found) == {"pub.pdf"} and found["pub.pdf"].paper_id == "doi-10.5555-a"
        assert "another version of pub.pdf" in found["pre.pdf"].reason

    def test_a_preprint_dois_paper_gives_way_to_a_journals(self) -> None:
        shared = prose(1, 900)
        found = assign(
            doc("pre.pdf", shared + prose(2, 200), title=TITLE, authors=AUTHORS, doi="10.1101/2020.01.01.123456"),
            doc("pub.pdf", shared + prose(3, 200), title=TITLE, authors=AUTHORS, doi="10.5555/a"),
        )
        assert served(found) == {"pub.pdf"}

    def test_nothing_is_merged_on_a_title_alone(self) -> None:
        found = assign(
            doc("a.pdf", prose(1), title=TITLE, authors=AUTHORS),
            doc("b.pdf", prose(2), title=TITLE, authors=AUTHORS),
            doc("c.pdf", prose(3), title=TITLE),
        )
        assert served(found) == {"a.pdf", "b.pdf", "c.pdf"}

    def test_the_same_title_and_much_text_by_other_authors_stays_apart(self) -> None:
        shared = prose(1, 900)
        found = assign(
            doc("a.pdf", shared + prose(2, 900), title=TITLE, authors=AUTHORS),
            doc("b.pdf", shared + prose(3, 900), title=TITLE, authors=("Cy Young", "Di Wu")),
        )
        assert served(found) == {"a.pdf", "b.pdf"}

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Moss and stone, part I: the field", "Moss and stone, part II: the field"),
            (TITLE, f"Correction: {TITLE}"),
            (TITLE, f"Retraction: {TITLE}"),
            (TITLE, f"Comment on {TITLE}"),
        ],
    )
    def test_parts_and_notices_are_papers_of_their_own(self, one: str, other: str) -> None:
        shared = prose(1, 600)
        found = assign(
            doc("a.pdf", shared + prose(2, 600), title=one, authors=AUTHORS, doi="10.5555/a"),
            doc("b.pdf", shared + prose(3, 300), title=other, authors=AUTHORS),
        )
        assert served(found) == {"a.pdf", "b.pdf"}

    def test_a_doi_read_wrongly_merges_nothing_and_both_get_an_id(self) -> None:
        found = assign(
            doc("a.pdf", prose(1), doi="10.5555/vol", title="A"), doc("b.pdf", prose(2), doi="10.5555/vol", title="B")
        )
        assert served(found) == {"a.pdf", "b.pdf"}
        ids = sorted(identity.paper_id for identity in found.values())
        assert ids[0] == "doi-10.5555-vol" and ids[1].startswith("doi-10.5555-vol-")


class TestSupplements:
    @pytest.mark.parametrize(
        ("path", "metadata"),
        [
            ("anything.pdf", {"title": f"Supplementary Material for: {TITLE}"}),
            ("paper_supplement.pdf", {"title": "Tables and further figures"}),
            ("paper-SI.pdf", {}),
            ("other.pdf", {"title": "Supporting Information", "doi": "10.5555/a"}),
        ],
    )
    def test_supplementary_material_is_its_own_paper_linked_to_its_main(
        self, path: str, metadata: dict[str, str]
    ) -> None:
        main = doc("paper.pdf", prose(1), title=TITLE, authors=AUTHORS, doi="10.5555/a")
        found = assign(main, doc(path, prose(2), **metadata))
        assert served(found) == {"paper.pdf", path}
        assert (found[path].relation, found[path].version_of) == ("supplement", "doi-10.5555-a")
        assert found["paper.pdf"].paper_id == "doi-10.5555-a"

    def test_a_paper_about_supplements_is_not_one(self) -> None:
        found = assign(
            doc("zinc.pdf", prose(1), title="Zinc supplementation and growth"),
            doc("b.pdf", prose(2), title="Zinc in soil"),
        )
        assert {identity.relation for identity in found.values()} == {""}


class TestManifest:
    def test_its_paper_id_is_used_and_keeps_alike_papers_apart(self) -> None:
        text = prose(1)
        manifest = {"a.pdf": ManifestRow("a.pdf", paper_id="Moss 1"), "b.pdf": ManifestRow("b.pdf", paper_id="Moss 2")}
        found = assign(doc("a.pdf", text), doc("b.pdf", text + " end"), manifest=manifest)
        assert {path: identity.paper_id for path, identity in found.items()} == {"a.pdf": "moss-1", "b.pdf": "moss-2"}

    def test_what_it_says_of_versions_and_supplements_is_obeyed(self) -> None:
        manifest = {
            "main.pdf": ManifestRow("main.pdf", paper_id="main"),
            "old.pdf": ManifestRow("old.pdf", version_of="main"),
            "older.pdf": ManifestRow("older.pdf", version_of="old.pdf"),
            "tables.pdf": ManifestRow("tables.pdf", supplement_of="10.5555/A"),
        }
        found = assign(
            doc("main.pdf", prose(1), doi="10.5555/a"),
            doc("old.pdf", prose(2)),
            doc("older.pdf", prose(3)),
            doc("tables.pdf", prose(4)),
            manifest=manifest,
        )
        assert served(found) == {"main.pdf", "tables.pdf"}
        assert found["old.pdf"].version_of == found["older.pdf"].version_of == "main"
        assert (found["tables.pdf"].relation, found["tables.pdf"].version_of) == ("supplement", "main")

    def test_two_papers_that_each_call_themselves_the_others_version_are_both_served(self) -> None:
        manifest = {
            "a.pdf": ManifestRow("a.pdf", version_of="b.pdf"),
            "b.pdf": ManifestRow("b.pdf", version_of="a.pdf"),
        }
        assert served(assign(doc("a.pdf", prose(1)), doc("b.pdf", prose(2)), manifest=manifest))


class TestIds:
    def test_an_id_comes_from_doi_then_arxiv_then_title_and_survives_a_rename(self) -> None:
        text = prose(1)
        for metadata, expected in (
            ({"doi": "10.1016/s0140-6736(05)67889-3", "arxiv_id": "2001.00001"}, "doi-10.1016-s0140-6736-05-67889-3"),
            ({"arxiv_id": "hep-th/9901001"}, "arxiv-hep-th-9901001"),
            ({"title": "Über Moos & Stein"}, "uber-moos-stein-"),
            ({"title": "国際標準化"}, "paper-"),
        ):
            first = assign(doc("a.pdf", text, bytes_of="x", **metadata))["a.pdf"].paper_id
            assert first.startswith(expected)
            assert assign(doc("z/renamed.pdf", text, bytes_of="x", **metadata))["z/renamed.pdf"].paper_id == first

    def test_a_new_paper_elsewhere_changes_no_id(self) -> None:
        docs = [doc(f"{i}.pdf", prose(i), title=f"Title number {i} of many") for i in range(6)]
        before = assign_identities(docs[:5])
        after = assign_identities(docs)
        assert {path: after[path] for path in before} == before

    def test_files_that_are_no_papers_have_ids_and_keep_their_status(self) -> None:
        found = assign(
            doc("bad.pdf", "", status=PaperStatus.REFUSED),
            doc("slow.pdf", "", status=PaperStatus.FAILED),
            doc("part.pdf", prose(1), status=PaperStatus.PARTIAL),
            IdentityInput("unhashed.pdf", "", status=PaperStatus.FAILED),
        )
        assert {path: identity.status for path, identity in found.items()} == {
            "bad.pdf": PaperStatus.REFUSED,
            "slow.pdf": PaperStatus.FAILED,
            "part.pdf": PaperStatus.PARTIAL,
            "unhashed.pdf": PaperStatus.FAILED,
        }
        assert found["bad.pdf"].paper_id.startswith("file-") and found["bad.pdf"].reason == ""
        assert len({identity.paper_id for identity in found.values()}) == 4

    @given(st.text(max_size=120))
    def test_slugs_are_safe(self, text: str) -> None:
        assert re.fullmatch(r"(?:[a-z0-9][a-z0-9.-]*)?", make_slug(text))


class TestSignature:
    def test_it_is_the_same_for_the_same_words_however_they_are_set(self) -> None:
        assert compute_signature("The ﬁrst Lichen,\ngrew on BASALT!") == compute_signature(
            "the first lichen grew on basalt"
        )
        assert compute_signature("") != compute_signature("one")
        with pytest.raises(ValueError, match="not a text signature"):
            read_signature(b"something else")

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10**6), st.integers(300, 6000), st.floats(0.05, 1.0))
    def test_containment_is_estimated_within_a_few_hundredths(self, seed: int, num_words: int, share: float) -> None:
        whole = prose(seed, num_words).split(" ")
        kept = whole[: max(20, int(num_words * share))]
        part = " ".join([*kept, *prose(seed + 1, 500).split(" ")])

        def shingles(words: list[str]) -> set[str]:
            return {" ".join(words[i : i + 5]) for i in range(len(words) - 4)}

        mine, theirs = shingles(part.split(" ")), shingles(whole)
        estimate = containment(
            read_signature(compute_signature(part)), read_signature(compute_signature(" ".join(whole)))
        )
        assert estimate == pytest.approx(len(mine & theirs) / len(mine), abs=0.06)

    def test_pairs_that_share_half_are_found_and_strangers_are_not(self) -> None:
        texts = [prose(i, 1200) for i in range(30)]
        halves = [f"{text} {prose(100 + i, 600)}" for i, text in enumerate(texts[:10])]
        signatures = [read_signature(compute_signature(text)) for text in [*texts, *halves, ""]]
        pairs = set(candidate_pairs(signatures))
        assert {(i, 30 + i) for i in range(10)} <= pairs
        assert len(pairs) <= 12
