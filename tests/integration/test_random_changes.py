"""A folder of real small PDFs changed at random: after any ingest the corpus equals a clean build of what is there."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, precondition, rule

from benchmarks.bench_kill import find_differences, read_content
from corpus_assets.build import IngestReport, ingest
from corpus_assets.settings import EmbeddingSettings, RunSettings, Settings
from corpus_assets.store.publish import published_id
from tests.corpus_assets.pdf_factory import FILLER, Pdf

TOPICS = ("gallium", "lichen", "moths", "lentils")
NUM_VARIANTS = 3
NAMES = ("a.pdf", "b.pdf", "c.pdf", "sub/d.pdf")
QUERIES = ("growth of lichen", "melting point of gallium", "lamps and moths", "dose 2 in the second plot", "grey stone")

topics = st.sampled_from(TOPICS)
variants = st.integers(0, NUM_VARIANTS - 1)


@cache
def pdf_bytes(topic: str, variant: int) -> bytes:
    """Return a two-page paper; its variants share the title and most of the text, as an edited paper does."""
    pdf = Pdf()
    pdf.add_page().write(f"What we learned about {topic}", size=16).write("1 Results", y=120, size=12, font="hebo")
    lines = [f"The growth of {topic} was measured at dose {variant} in the second plot.", *FILLER, *FILLER]
    pdf.write_lines(lines, y=145)
    pdf.add_page().write_lines([f"Page two repeats that {topic} fared best.", *FILLER[variant:], *FILLER[::-1]])
    return pdf.to_bytes(garbage=3)


class ChangingFolder(RuleBasedStateMachine):
    """The folder as a person changes it, and one home that follows it."""

    present = Bundle("present")
    deleted = Bundle("deleted")

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="changes-"))
        self.folder = self.root / "papers"
        (self.folder / "sub").mkdir(parents=True)
        (self.folder / "anchor.pdf").write_bytes(pdf_bytes("lentils", 0))  # a folder is never empty
        self.num_clean = 0
        self.is_changed = True

    def teardown(self) -> None:
        if hasattr(self, "root"):
            if self.is_changed:
                self.check_against_a_clean_build()
            again = self.build(self.root / "home")
            assert (again.num_parsed, again.num_embedded, again.num_built) == (0, 0, 0)
            assert again.num_unchanged == again.num_files
            shutil.rmtree(self.root)

    @rule(target=present, name=st.sampled_from(NAMES), topic=topics, variant=variants)
    def add(self, name: str, topic: str, variant: int) -> str:
        (self.folder / name).write_bytes(pdf_bytes(topic, variant))
        self.is_changed = True
        return name

    @rule(name=present, topic=topics, variant=variants)
    def edit(self, name: str, topic: str, variant: int) -> None:
        if (self.folder / name).exists():
            (self.folder / name).write_bytes(pdf_bytes(topic, variant))
            self.is_changed = True

    @rule(target=present, old=consumes(present), new=st.sampled_from(NAMES))
    def rename(self, old: str, new: str) -> str:
        if (self.folder / old).exists():
            (self.folder / old).replace(self.folder / new)
            self.is_changed = True
        return new

    @rule(target=present, name=present, new=st.sampled_from(NAMES))
    def copy(self, name: str, new: str) -> str:
        if name != new and (self.folder / name).exists():
            shutil.copy2(self.folder / name, self.folder / new)
            self.is_changed = True
        return new

    @rule(target=deleted, name=consumes(present))
    def delete(self, name: str) -> tuple[str, bytes]:
        path = self.folder / name
        data = path.read_bytes() if path.exists() else pdf_bytes("moths", 0)
        path.unlink(missing_ok=True)
        self.is_changed = True
        return name, data

    @rule(target=present, gone=consumes(deleted))
    def restore(self, gone: tuple[str, bytes]) -> str:
        name, data = gone
        (self.folder / name).write_bytes(data)
        self.is_changed = True
        return name

    @precondition(lambda self: self.is_changed)
    @rule()
    def ingest_again(self) -> None:
        self.check_against_a_clean_build()

    def check_against_a_clean_build(self) -> None:
        self.num_clean += 1
        clean = self.root / f"clean-{self.num_clean}"
        report = self.build(self.root / "home")
        self.build(clean)
        differences = find_differences(read_content(self.root / "home", QUERIES), read_content(clean, QUERIES))
        assert differences == []
        assert published_id(self.root / "home") == published_id(clean) == report.generation
        shutil.rmtree(clean)
        self.is_changed = False

    def build(self, home: Path) -> IngestReport:
        chosen = Settings(home=home, embedding=EmbeddingSettings(model="hash"), run=RunSettings(workers=1))
        return ingest(chosen, self.folder)


@pytest.mark.slow
def test_changes_in_any_order_equal_a_clean_build():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        ChangingFolder,
        settings=settings(
            max_examples=4,
            stateful_step_count=7,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
