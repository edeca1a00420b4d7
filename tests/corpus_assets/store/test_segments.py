"""Which segments a generation is made of: shared where nothing changed, few, and each paper in exactly one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.settings import fingerprint
from corpus_assets.store import segments
from corpus_assets.store.segments import MAX_SEGMENTS, Member, SegmentPlan, choose_plan, plan_segments


def name(members):
    return fingerprint([[paper_id, member.key] for paper_id, member in sorted(members.items())])


def papers(num, num_chunks=40, version="a"):
    return {f"paper-{number:05}": Member(f"{number}{version}", num_chunks) for number in range(num)}


def live(plan):
    found = {}
    for segment in plan.segments:
        assert not found.keys() & segment.live.keys(), "a paper counts in two segments"
        found |= segment.live
    return found


def test_a_first_build_is_one_segment():
    plan = plan_segments(papers(5000), (), name)
    assert [len(segment.members) for segment in plan.segments] == [5000]
    assert plan.num_to_write == 200_000


def test_one_more_paper_writes_that_paper_and_touches_no_other_segment():
    first = plan_segments(papers(5000), (), name)
    plan = plan_segments(papers(5001), first.segments, name)
    assert plan.segments[0] == first.segments[0]
    assert [list(segment.members) for segment in plan.segments[1:]] == [["paper-05000"]]
    assert plan.num_to_write == 40


def test_a_removed_paper_writes_nothing():
    first = plan_segments(papers(5000), (), name)
    wanted = papers(5000)
    del wanted["paper-00007"]
    plan = plan_segments(wanted, first.segments, name)
    assert [(segment.name, segment.removed) for segment in plan.segments] == [(first.segments[0].name, {"paper-00007"})]
    assert plan.num_to_write == 0


def test_an_edited_paper_leaves_its_old_segment_and_comes_back_when_undone():
    first = plan_segments(papers(5000), (), name)
    edited = papers(5000) | {"paper-00003": Member("3b", 40)}
    second = plan_segments(edited, first.segments, name)
    assert second.segments[0].removed == {"paper-00003"}
    assert live(second) == edited
    assert plan_segments(papers(5000), second.segments, name).segments == first.segments


def test_a_small_segment_keeps_nothing_of_what_was_removed():
    first = plan_segments(papers(20), (), name)
    plan = plan_segments(papers(19), first.segments, name)
    assert [(len(segment.members), segment.removed) for segment in plan.segments] == [(19, frozenset())]


def test_a_segment_of_which_much_was_removed_is_written_anew():
    first = plan_segments(papers(1000), (), name)
    plan = plan_segments(papers(600), first.segments, name)
    assert [(len(segment.members), segment.removed) for segment in plan.segments] == [(600, frozenset())]


def test_the_generation_that_needs_least_is_built_upon():
    small, large = plan_segments(papers(10), (), name), plan_segments(papers(5000), (), name)
    wanted = papers(5001)
    plan = choose_plan(wanted, [small.segments, large.segments], name)
    assert plan.num_to_write == 40
    assert live(plan) == wanted


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_papers_that_come_and_go_are_each_in_one_of_few_segments(seed):
    chance = random.Random(seed)
    wanted: dict[str, Member] = {}
    plan = plan_segments(wanted, (), name)
    for step in range(40):
        for _ in range(chance.choice((1, 1, 2, 60, 300))):
            wanted[f"p{chance.randrange(3000)}"] = Member(f"{step}", chance.randint(1, 120))
        for paper_id in chance.sample(sorted(wanted), min(len(wanted), chance.choice((0, 0, 1, 80)))):
            del wanted[paper_id]
        plan = plan_segments(wanted, plan.segments, name)
        assert live(plan) == wanted
        assert len(plan.segments) <= MAX_SEGMENTS


def test_a_growing_corpus_writes_each_passage_few_times():
    wanted: dict[str, Member] = {}
    plan = plan_segments(wanted, (), name)
    written = 0
    for number in range(600):
        wanted[f"p{number}"] = Member(f"{number}", 40)
        plan = plan_segments(wanted, plan.segments, name)
        written += plan.num_to_write
    few = segments.SMALL_SEGMENT / 40  # a paper is rewritten this often, half of it on average, while it is in the tail
    assert written / (600 * 40) < few
    assert len(plan.segments) <= MAX_SEGMENTS


@pytest.mark.parametrize("num", [0, 1])
def test_a_generation_has_a_segment_even_when_empty(num):
    assert len(plan_segments(papers(num), (), name).segments) == 1


def test_a_paper_kept_by_two_segments_counts_once():
    one = SegmentPlan("one", papers(3))
    two = SegmentPlan("two", papers(3))
    assert live(plan_segments(papers(3), [one, two], name)) == papers(3)
