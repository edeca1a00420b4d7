"""Our stemmer is DuckDB's."""

import json
import random

from corpus_assets.duckdb_files import load_full_text
from corpus_assets.porter import stem

_ENDINGS = [
    "s", "es", "ies", "ed", "ing", "eed", "ational", "tional", "enci", "izer", "ization", "ation", "ator", "alism",
    "fulness", "ousness", "iveness", "aliti", "biliti", "icate", "ative", "alize", "iciti", "ical", "ful", "ness",
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize", "e", "ll", "y",
]  # fmt: skip


def test_stems_equal_those_of_the_extension():
    import duckdb

    chance = random.Random(5)
    words = {
        "caresses",
        "ponies",
        "agreed",
        "plastered",
        "hopping",
        "sky",
        "y",
        "yes",
        "t790m",
        "10.5555/tides",
        "国際",
    }
    for _ in range(20_000):
        base = "".join(chance.choice("aeiouybcdlstwxz1é") for _ in range(chance.randint(0, 6)))
        words.add(base + chance.choice(_ENDINGS) + chance.choice(["", *_ENDINGS]))
    with duckdb.connect() as con:
        load_full_text(con)
        rows = con.execute(
            "SELECT w, stem(w, 'porter') FROM (SELECT unnest(from_json(?, '[\"VARCHAR\"]')) AS w)",
            [json.dumps(sorted(words))],
        ).fetchall()
    assert len(rows) == len(words)
    assert [(word, theirs) for word, theirs in rows if stem(word) != theirs] == []
