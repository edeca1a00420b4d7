from corpus_assets.memory import Memory


def test_what_was_used_longest_ago_goes_first() -> None:
    memory: Memory[str, int] = Memory(2)
    memory.put({"a": 1, "b": 2})
    assert memory.get(["a", "x"]) == {"a": 1}
    memory.put({"c": 3})
    assert memory.get(["a", "b", "c"]) == {"a": 1, "c": 3}


def test_a_value_put_again_replaces_the_old_one() -> None:
    memory: Memory[str, int] = Memory(2)
    memory.put({"a": 1})
    memory.put({"a": 4, "b": 2})
    assert memory.get("ab") == {"a": 4, "b": 2}
