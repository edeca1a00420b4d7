"""How often a file has run into the limits of time or memory, so that it is not tried at every ingest for ever."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from corpus_assets.model import PaperStatus
from corpus_assets.pdf.worker import ParseOutcome, is_over_limit
from corpus_assets.store.working import WorkingStore

MAX_TRIES = 2  # a busy machine can be to blame for one
GIVEN_UP = "it is not tried again until the file, the limit or the parser changes"
_META = "tries_over_limit"  # sha256 -> [parse key, number of tries]


class LimitTries:
    """Counts, kept in the working store, of readings of the same bytes with the same settings that hit a limit."""

    def __init__(self, store: WorkingStore) -> None:
        self.store = store
        self.tries: dict[str, tuple[str, int]] = {
            sha256: (key, num) for sha256, (key, num) in (store.get_meta(_META) or {}).items()
        }

    def is_given_up(self, sha256: str, parse_key: str) -> bool:
        key, num = self.tries.get(sha256, ("", 0))
        return key == parse_key and num >= MAX_TRIES

    def judge(self, outcome: ParseOutcome, parse_key: str) -> ParseOutcome:
        """Count an outcome, and return it as a lasting one, which says so, when a limit was hit once too often."""
        if not is_over_limit(outcome):
            if self.tries.pop(outcome.sha256, None):
                self._save()
            return outcome
        key, num = self.tries.get(outcome.sha256, ("", 0))
        num = num + 1 if key == parse_key else 1
        self.tries[outcome.sha256] = (parse_key, num)
        self._save()  # at once: a killed run has counted it
        if num < MAX_TRIES:
            return outcome
        return replace(outcome, status=PaperStatus.REFUSED, reason=f"{outcome.reason}, {num} times; {GIVEN_UP}")

    def forget_others(self, sha256s: Collection[str]) -> None:
        """Drop the counts of files that are gone."""
        kept = {sha256: tries for sha256, tries in self.tries.items() if sha256 in sha256s}
        if kept != self.tries:
            self.tries = kept
            self._save()

    def _save(self) -> None:
        self.store.set_meta(_META, self.tries)
