"""What is refused today is read when what it lacked is there: a password, OCR."""

from __future__ import annotations

import pytest

from corpus_assets.build import ingest
from corpus_assets.errors import BadInputError
from corpus_assets.pdf import ocr
from corpus_assets.settings import ParseSettings
from corpus_assets.steps import raw_text
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_paper
from tests.integration.small_corpus import SmallCorpus, small_settings


@pytest.fixture
def corpus(tmp_path):
    """A readable paper and one locked with "sesame"; the home is empty."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "open.pdf").write_bytes(make_paper(2))
    pdf = Pdf().add_page().write_lines([f"Locked {line}" for line in FILLER])
    kind = pdf.pymupdf.PDF_ENCRYPT_AES_256
    (folder / "locked.pdf").write_bytes(pdf.to_bytes(encryption=kind, user_pw="sesame", owner_pw="owner"))
    return folder, small_settings(tmp_path / "home", folder)


def status_of(folder, settings, name):
    report = ingest(settings, folder)
    return SmallCorpus(settings.home, folder, report).records()[name].status.value, report.num_parsed


def test_a_password_added_to_the_folders_file_opens_what_was_locked_and_reads_nothing_else_again(corpus):
    folder, settings = corpus
    assert status_of(folder, settings, "locked.pdf") == ("refused", 2)
    assert status_of(folder, settings, "locked.pdf") == ("refused", 0), "not tried again while nothing changed"
    (folder / "passwords.txt").write_text("guess\n")
    assert status_of(folder, settings, "locked.pdf") == ("refused", 1)
    (folder / "passwords.txt").write_text("guess\nsesame\n")
    assert status_of(folder, settings, "locked.pdf") == ("ready", 1)
    assert status_of(folder, settings, "locked.pdf") == ("ready", 0)


def test_the_passwords_file_of_the_settings_comes_first_and_must_be_readable(corpus, tmp_path):
    folder, settings = corpus
    (folder / "passwords.txt").write_text("sesame\n")
    other = tmp_path / "other.txt"
    chosen = settings.model_copy(update={"parse": ParseSettings(passwords_path=other)})
    with pytest.raises(BadInputError, match=r"other\.txt could not be read"):
        ingest(chosen, folder)
    other.write_text("wrong\n")
    assert status_of(folder, chosen, "locked.pdf")[0] == "refused"


def test_a_killed_reading_is_done_again_when_a_password_was_new(corpus, monkeypatch):
    folder, settings = corpus
    status_of(folder, settings, "locked.pdf")
    (folder / "passwords.txt").write_text("sesame\n")

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(raw_text, "parse_files", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(settings, folder)
    assert status_of(folder, settings, "locked.pdf") == ("ready", 1)


@pytest.mark.ocr
def test_scanned_pages_are_read_once_ocr_is_switched_on(tmp_path, monkeypatch):
    if ocr.find_tesseract() is None:
        pytest.skip("the tesseract program is not installed")
    folder = tmp_path / "papers"
    folder.mkdir()
    pdf = Pdf().add_page().draw_picture_of(make_paper(1))
    (folder / "scan.pdf").write_bytes(pdf.to_bytes())
    (folder / "open.pdf").write_bytes(make_paper(2, title="On the ferns of southern walls", topic="ferns"))
    settings = small_settings(tmp_path / "home", folder)
    off = settings.model_copy(update={"parse": ParseSettings(ocr="off")})
    assert status_of(folder, off, "scan.pdf")[0] == "refused"
    assert status_of(folder, settings, "scan.pdf")[0] == "ready"
