"""Positions of keys, for any document the parser accepts."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from dbdyno.formats.toml_lines import key_lines

DOCUMENT = '''\
# a comment with [brackets] and = signs
title = "a # b" # comment
"quoted key" = 'x = [1]'
a.b.c = 1

[table] # comment
inline = { x = 1, y = { z = "}" } }
text = """
[not.a.table]
key = "no"
"""
list = [
  1, # one
  { deep = "yes" },
]
[[array]]
name = 1
[[array]]
name = 2
[array.below]
key = true
'''


def test_every_key_stands_on_its_line() -> None:
    tomllib.loads(DOCUMENT)
    lines = key_lines(DOCUMENT)

    assert lines["title",] == 2
    assert lines["quoted key",] == 3
    assert lines["a", "b", "c"] == 4
    assert lines["table",] == 6
    assert lines["table", "inline", "y", "z"] == 7
    assert lines["table", "list"] == 12
    assert lines["table", "list", "1", "deep"] == 14
    assert lines["array", "0", "name"] == 17
    assert lines["array", "1", "name"] == 19
    assert lines["array", "1", "below", "key"] == 21
    assert ("not", "a", "table") not in lines
    assert ("table", "key") not in lines


KEYS = st.text("abcdefgh_-", min_size=1, max_size=6)
SCALARS = st.sampled_from(["1", "-2.5", "true", '"s # ]"', "'l = }'", '"""m\n]"""', "1979-05-27"])


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, SCALARS, max_size=4), max_size=5))
def test_each_pair_is_found_where_it_was_written(tables: dict[str, dict[str, str]]) -> None:
    text, expected = "", {}
    for table, pairs in tables.items():
        text += f"\n[{table}]\n"
        for key, value in pairs.items():
            expected[table, key] = text.count("\n") + 1
            text += f"{key} = {value}\n"
    tomllib.loads(text)

    lines = key_lines(text)

    assert {path: line for path, line in lines.items() if len(path) == 2} == expected
