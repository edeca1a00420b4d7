"""From a question to a plan, by rules: intent, shape, self-contained sub-queries, and what is missing from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from corpus_assets.errors import BadInputError
from retrieval.answer import Intent
from retrieval.terms import QUESTION_WORDS, STOP_WORDS, content_words, fold, stem, word_set

MAX_SUB_QUERIES = 5
MAX_QUESTION_CHARS = 200_000
MAX_PAIR_CHARS = 1000  # nobody compares two things in a longer question, and patterns would take seconds over it
CHARS_OF_A_NOUN = 200  # within which a noun follows its "this"
MAX_QUERY_WORDS = 400
MIN_WORDS_WITHOUT_SCOPE = 3

AUXILIARIES = "is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|might|must"
WH_WORDS = "what|which|who|whom|whose|why|how|when|where"
CLAUSE_START = rf"(?:(?:in|to|for|by|with|at|on|of|from) )?(?:{WH_WORDS}|{AUXILIARIES})\b"
ACT_CUES = re.compile(
    r"\b(how (?:should|can|could|do|would|might) (?:we|i|you|one|clinicians?|doctors?|practitioners?|patients|they)\b"
    r"|how to\b|what (?:should|can|could) (?:we|i|you|one|be done)|should (?:we|i|one|clinicians?|patients)\b|recommend"
    r"|best (?:way|practice|practices|treatment|choice|option|strategy)|(?:which|what) \w+ should\b|steps? to\b"
    r"|next steps?|guidelines?|how (?:can|could|should) \w[\w -]* be \w+(?:ed|en|own|un|ilt)\b|in practice\b|action)",
    re.IGNORECASE,
)
COMPARISON_CUES = re.compile(
    r"\b(compar(?:e|ed|es|ing|ison)|versus|vs\.?|v\.|differ(?:s|ence|ences|ent from)?|better than|worse than"
    r"|superior|inferior"
    r"|rather than|(?:more|less|higher|lower|greater|fewer|larger|smaller|longer|shorter|faster"
    r"|slower) \w* ?\w* ?than)\b",
    re.IGNORECASE,
)
SCOPE = re.compile(r"\s(?:in|among|within|across)\s(?!which\b|what\b|how\b)(?:[\w-]+\s){0,4}[\w-]+\W*$", re.I)
ANAPHORA = re.compile(r"\b(it|its|itself|they|their|them|theirs|he|she|him|his|her|hers|this|that|these|those)\b", re.I)
EXPLETIVE = re.compile(
    r"\b(?:is|was|would|could|can|does|how|why|makes?|if|when|where|that)\b[^.?!]{0,12}\bit\b(?: is| was| be| not)? ?"
    r"(?:really |also |still |more |even )?"
    r"(?:true|possible|known|necessary|safe|important|likely|clear|likelier|difficult|hard|easy|useful|take|takes"
    r"|feasible)"
    r"\b",
    re.I,
)
CORPUS_NOUNS = word_set(
    """
    paper papers study studies article articles corpus collection document documents trial trials literature
    review reviews source sources publication publications library text texts author authors
    """
)
FOLLOW_UP = re.compile(
    r"^\W*(?:and|but|or|so|then|also|what about|how about|and what about|what else|why not|why|how so|really"
    r"|go on|more)\b",
    re.I,
)
BARE_REPLIES = word_set(
    """
    yes no ok okay maybe sure true false none continue more why how what who when where
    """
)
COORDINATED = re.compile(
    r"(?P<head>\b(?:effects?|impacts?|roles?|influence|benefits?|risks?|harms?|toxicity|efficacy|safety"
    r"|mechanisms?|advantages?"
    r"|limitations?|properties|causes?)) (?P<prep>of|for) (?:both )?(?P<a>[^,?;]+?),? and (?P<b>[^,?;]+?)"
    r"(?P<tail> (?:on|in|for|to|with|among|during|after|against|at) [^?;]+)?\??$",
    re.I,
)
VERSUS = re.compile(
    r"(?P<a>[^,?;]+?) (?:versus|vs\.?|v\.|compared (?:with|to)|rather than) (?P<b>[^,?;]+?)"
    r"(?P<tail> (?:in|on|for|with|among|during|after|as|at|when) [^?;]+)?\??$",
    re.I,
)
DIFFERENCE = re.compile(
    r"(?:differences?|comparison) (?:in (?P<aspect>[^?,;]+?) )?between (?P<a>[^,?;]+?) and (?P<b>[^,?;]+?)"
    r"(?P<tail> (?:in|on|for|with|among|during|after|as|at|when) [^?;]+)?\??$",
    re.I,
)
COMPARE = re.compile(
    r"^\W*(?:how (?:do|does|did) )?compare (?P<a>[^,?;]+?) (?:and|with|to|against) (?P<b>[^,?;]+?)"
    r"(?P<tail> (?:in|on|for|with|among|during|after|as|at|when) [^?;]+)?\??$"
    r"|^\W*how (?:do|does|did) (?P<a2>[^,?;]+?) (?:and (?P<b2>[^,?;]+?) (?:compare|differ)|(?:compare|differ) "
    r"(?:with|to|from) (?P<b3>[^,?;]+?))(?P<tail2> (?:in|on|for|with|among|during|after|as|at|when) [^?;]+)?\??$",
    re.I,
)
LEADING_QUESTION = re.compile(
    rf"^\W*(?:(?:in|to|for|by|with|at|on|of|from) )?(?:(?:{WH_WORDS})\b ?(?:(?:{AUXILIARIES})\b)?"
    rf"|(?:{AUXILIARIES})\b) ?"
    r"(?:there )?(?:the |a |an )?",
    re.I,
)
PREPOSITIONS = "of|to|in|for|with|on|against|among|between|from|during|after|by|at|under|within"
VERBS_THAT_END_A_TOPIC = re.compile(
    rf"\b(?:{AUXILIARIES}|be|been|arise|arises|occur|occurs|work|works|work|cause|causes|change|changes|develop"
    rf"|develops"
    r"|affect|affects|influence|influences|differ|differs|compare|compares|improve|improves|reduce|reduces|increase"
    r"|increases|lead|leads|respond|responds|predict|predicts|matter|matters)\b",
    re.I,
)


@dataclass(frozen=True)
class SubQuery:
    """A question that can be searched on its own; ``label`` is its plain heading in an answer.

    ``focus`` is what it asks beyond what it shares with the others, to tell their evidence apart; "" if it is alone.
    """

    text: str
    label: str
    rewordings: tuple[str, ...] = ()
    focus: str = ""


@dataclass(frozen=True)
class Plan:
    """How a question will be answered. ``clarification`` is set when it cannot be: what to ask the person."""

    question: str
    intent: Intent = "understand"
    is_claim: bool = False
    is_yes_no: bool = False
    is_comparison: bool = False
    is_multi_hop: bool = False
    sub_queries: tuple[SubQuery, ...] = ()
    clarification: str = ""
    planner: str = "rules"
    expansions: dict[str, str] = field(default_factory=dict)  # acronym -> long form, from the corpus
    counter_queries: tuple[str, ...] = ()  # a model's own, for evidence against a claim
    readings: dict[str, str] = field(default_factory=dict)  # asked name -> what the papers call it, already replaced


def check_question(question: str) -> str:
    """Return the question with white space tidied, or raise ``BadInputError``."""
    tidy = " ".join("".join(ch if ch.isprintable() or ch.isspace() else " " for ch in question).split())
    tidy = tidy.encode("utf-8", "replace").decode("utf-8")
    if not tidy:
        raise BadInputError("The question is empty.", hint="Ask a question in words.")
    if len(tidy) > MAX_QUESTION_CHARS:
        raise BadInputError(
            f"The question has {len(tidy):,} characters.", hint=f"Keep it under {MAX_QUESTION_CHARS:,}."
        )
    if not any(ch.isalnum() for ch in tidy):
        raise BadInputError("The question holds no words.", hint="Ask a question in words.")
    return tidy


def plan_by_rules(question: str) -> Plan:
    """Plan ``question`` without a model. Deterministic."""
    question = check_question(question)
    clarification = find_missing_antecedent(question)
    is_yes_no = bool(re.match(rf"^\W*(?:{AUXILIARIES})\b", question, re.I)) and not re.match(
        r"^\W*(?:may|might|will|can) \d", question, re.I
    )
    starts_wh = bool(re.match(rf"^\W*{CLAUSE_START}", question, re.I))
    is_statement = not question.rstrip().endswith("?") and not starts_wh and len(question.split()) >= 4
    looks_imperative = bool(
        re.match(r"^\W*(?:explain|describe|list|compare|summari[sz]e|discuss|give|tell|show|find)\b", question, re.I)
    )
    sub_queries = decompose(question) if not clarification else (SubQuery(question, label_for(question)),)
    sub_queries = tuple(replace(item, rewordings=(*item.rewordings, *without_scope(item.text))) for item in sub_queries)
    return Plan(
        question=question,
        intent="act" if ACT_CUES.search(question) else "understand",
        is_claim=is_yes_no or (is_statement and not looks_imperative and has_verb(question)),
        is_yes_no=is_yes_no,
        is_comparison=bool(COMPARISON_CUES.search(question)),
        is_multi_hop=len(sub_queries) > 1,
        sub_queries=sub_queries,
        clarification=clarification,
    )


def without_scope(question: str) -> tuple[str, ...]:
    """Return a question without the setting it ends in ("… in lung cancer"), if enough of it is left.

    Papers on the setting match such words whatever they say of the subject; papers on the subject seldom repeat them.
    """
    match = SCOPE.search(question)
    if match is None:
        return ()
    rest = question[: match.start()].rstrip(" ,")
    return (rest,) if len(content_words(rest)) >= MIN_WORDS_WITHOUT_SCOPE else ()


def has_verb(sentence: str) -> bool:
    """Guess whether a phrase is a statement: it has an auxiliary or a word with a verb's ending past its first."""
    tail = sentence.split()[1:]
    return any(
        re.fullmatch(rf"(?:{AUXILIARIES})", word, re.I) or re.fullmatch(r"[a-z]{3,}(?:s|ed)", word.strip(".,;"))
        for word in tail
    )


def find_missing_antecedent(question: str) -> str:
    """Return a counter-question when ``question`` points at something it does not name, else an empty string."""
    plain = fold(question).strip(" ?.!,;:")
    content = [word for word in content_words(question) if word not in BARE_REPLIES]
    if plain in BARE_REPLIES or not plain:
        return f"“{question}” on its own is not a question I can search for. Ask it in full, and name the subject."
    follow_up = FOLLOW_UP.match(question)
    if follow_up and len(content) <= 2 and not re.match(r"^\W*(?:why|how)\b.*\b(?:do|does|is|are)\b", question, re.I):
        return f"“{question}” seems to follow on from something I was not told. What is it about? Name the subject."
    if re.match(r"^\W*(?:and|but|what about|how about)\b", question, re.I) and (
        len(content) <= 3 and not re.search(r"[A-Z]{2,}|\d", question)
    ):
        return f"“{question}” seems to follow on from something I was not told. What is it about? Name the subject."
    if EXPLETIVE.search(question):
        return ""
    end = 0
    for match in ANAPHORA.finditer(question):
        pronoun = match.group(0)
        if any(word not in QUESTION_WORDS for word in content_words(question[end : match.start()])):
            return ""  # a subject is named before it, and so before every later one
        end = match.end()
        following = content_words(question[end : end + CHARS_OF_A_NOUN])
        demonstrative = pronoun.casefold() in {"this", "that", "these", "those"}
        if demonstrative and following[:1] and following[0] in CORPUS_NOUNS:
            continue
        return f"I cannot tell what “{pronoun}” refers to. What is it? Ask again and name the subject."
    return ""


def decompose(question: str) -> tuple[SubQuery, ...]:
    """Split a question into at most five sub-queries that each carry the entities they need."""
    if len(question.split()) > MAX_QUERY_WORDS:
        return (SubQuery(question, "What the papers say"),)
    clauses = split_clauses(question)
    if len(clauses) > 1:
        carried = [clauses[0], *(carry_entities(clauses[0], clause) for clause in clauses[1:])]
        focuses = [topic_of(clauses[0])[0], *clauses[1:]]
        return tuple(
            SubQuery(as_question(text), label_for(text), focus=focus.strip(" ?"))
            for text, focus in list(zip(carried, focuses, strict=True))[:MAX_SUB_QUERIES]
        )
    pair = split_pair(question)
    if pair:
        return pair
    return (SubQuery(question, label_for(question)),)


def split_clauses(question: str) -> list[str]:
    """Split at sentence ends, semicolons and "and how / and what …"."""
    pieces = re.split(r"(?<=[?!])\s+(?=\S)|;\s+", question)
    clauses: list[str] = []
    for piece in pieces:
        clauses.extend(
            re.split(
                rf",? (?:and|but|or)(?: also)?,? (?=(?:(?:in|to|for|by|with|at|on|of|from) )?(?:{WH_WORDS})\b)"
                rf"|, (?:and |but )(?=(?:{AUXILIARIES}) \w+)",
                piece,
                flags=re.I,
            )
        )
    kept = [clause.strip(" ,;") for clause in clauses if len(content_words(clause)) >= 1]
    merged: list[str] = []
    for clause in kept:  # "what and how much X …": a clause with no subject of its own belongs to the next one
        if merged and not content_words(merged[-1]):
            merged[-1] = f"{merged[-1]} and {clause}"
        else:
            merged.append(clause)
    is_asking = [bool(re.match(rf"^\W*{CLAUSE_START}", clause, re.I)) for clause in merged]
    # A statement that leads up to the question is context, not a question of its own.
    if len(merged) > 1 and not all(is_asking) and not all(len(content_words(c)) >= 2 for c in merged):
        return [question]
    return merged or [question]


def topic_of(clause: str) -> tuple[str, list[str]]:
    """Return the head phrase of a question and its prepositional tails ("to EGFR inhibitors", "in lung cancer")."""
    body = LEADING_QUESTION.sub("", clause.strip(" ?."), count=1).strip(" ?.")
    passive = VERBS_THAT_END_A_TOPIC.search(body)
    phrase = body[: passive.start()].strip() if passive and passive.start() > 3 else body
    parts = re.split(rf"\s+(?=(?:{PREPOSITIONS})\s)", phrase)
    head = parts[0]
    tails = [part for part in parts[1:] if content_words(part)]
    rest = body[len(phrase) :]
    tails += [
        match.group(0).strip()
        for match in re.finditer(rf"\b(?:in|with|among|to|for|against) (?:(?!\b(?:{PREPOSITIONS})\b)[^,?;])+", rest)
        if content_words(match.group(0))
    ]
    return head, tails


def carry_entities(first: str, clause: str) -> str:
    """Return ``clause`` with what it silently takes over from ``first``, so that it can be searched alone."""
    head, tails = topic_of(first)
    own = {stem(word) for word in content_words(clause)}
    missing = [tail for tail in tails if not {stem(word) for word in content_words(tail)} & own]
    pronoun = re.search(
        r"\b(it|they|them|this|these|those|its|their)\b(?! (?:is|was) (?:possible|known|true))", clause, re.I
    )
    subject = " ".join([head, *tails]).strip()
    if pronoun and subject:
        word = pronoun.group(1).casefold()
        following = clause[pronoun.end() :]
        if word in {"this", "these", "those"} and re.match(r"\s+[a-z]+", following) and tails:
            return insert_after(clause, " ".join(missing), pronoun.end() + len(re.match(r"\s+\S+", following).group(0)))  # type: ignore[union-attr]
        text = f"{subject}'s" if word in {"its", "their"} else subject
        return clause[: pronoun.start()] + text + following
    if not missing:
        if own & {stem(word) for word in content_words(first)} or not head:
            return clause
        return f"{clause.rstrip(' ?.')} ({head})"
    shared = [stem(word) for word in content_words(head) if stem(word) in own]
    for match in re.finditer(r"[^\W_][\w-]*", clause):
        if stem(fold(match.group(0))) in shared:
            return insert_after(clause, " ".join(missing), match.end())
    context = ", ".join(re.sub(rf"^(?:{PREPOSITIONS})\s+", "", tail, flags=re.I) for tail in missing)
    if head and not shared and not {stem(w) for w in content_words(head)} <= set(map(stem, QUESTION_WORDS)):
        context = f"{head}; {context}" if len(content_words(head)) <= 4 else context
    return f"{clause.rstrip(' ?.')} ({context})"


def insert_after(clause: str, phrase: str, position: int) -> str:
    return f"{clause[:position]} {phrase}{clause[position:]}" if phrase else clause


def split_pair(question: str) -> tuple[SubQuery, ...]:
    """Return the question and one sub-query a compared or coordinated entity, or nothing when there is no pair."""
    if len(question) > MAX_PAIR_CHARS:
        return ()
    for pattern in (DIFFERENCE, COMPARE, VERSUS, COORDINATED):
        match = pattern.search(question)
        if not match:
            continue
        groups = match.groupdict()
        first = (groups.get("a") or groups.get("a2") or "").strip()
        second = (groups.get("b") or groups.get("b2") or groups.get("b3") or "").strip()
        tail = (groups.get("tail") or groups.get("tail2") or "").strip()
        aspect = (groups.get("aspect") or "").strip()
        if pattern is VERSUS:  # "does X improve survival compared with Y": the first part is a clause, not an entity
            first, aspect = entity_before(first)
        if not content_words(first) or not content_words(second) or len(second.split()) > 8 or len(first.split()) > 8:
            continue
        if pattern is COORDINATED:
            head = f"{groups['head']} {groups['prep']}"
            return tuple(
                SubQuery(
                    as_question(f"What are the {head} {entity} {tail}".strip()), label_for(f"{head} {entity} {tail}")
                )
                for entity in (first, second)
            )
        entities = [" ".join(part for part in (entity, aspect, tail) if part) for entity in (first, second)]
        return (
            SubQuery(question, label_for(f"{first} and {second} compared")),
            *(SubQuery(text, label_for(text)) for text in entities),
        )
    return ()


def entity_before(clause: str) -> tuple[str, str]:
    """Return the entity and the rest of "does the entity verb object", e.g. ("osimertinib", "improve survival")."""
    body = LEADING_QUESTION.sub("", clause, count=1)
    match = re.search(
        r"\b(improves?|reduces?|increases?|prolongs?|lowers?|raises?|decreases?|better|worse|more|less|superior"
        r"|work|works)\b",
        body,
        re.I,
    )
    if match and match.start() > 1:
        return body[: match.start()].strip(), body[match.start() :].strip()
    return body.strip(), ""


def as_question(text: str) -> str:
    """Return ``text`` with a capital letter at the start and a question mark at the end."""
    text = text.strip(" ,;.")
    text = text[:1].upper() + text[1:]
    return text if text.endswith("?") else f"{text}?"


def label_for(question: str) -> str:
    """Return a short plain heading: the noun phrase of "what is/are …", else the question itself, cut to 14 words."""
    body = re.sub(r"^\W*(?:and|but|or)\b\W*", "", question.strip(), flags=re.I)
    noun_phrase = re.match(r"^\W*what (?:is|are|was|were) (?:the |a |an )?(?P<rest>[^?]+)\??$", body, re.I)
    if noun_phrase and content_words(noun_phrase.group("rest")):
        body = noun_phrase.group("rest")
    body = body.strip(" .,;:")
    parts = body.split()
    if len(parts) > 14:
        cut = parts[:14]
        while len(cut) > 4 and (fold(cut[-1]) in STOP_WORDS or cut[-1].endswith(",")):
            cut.pop()
        body = " ".join(cut).rstrip(",;:") + "…"
    return body[:1].upper() + body[1:]
