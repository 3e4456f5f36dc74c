"""Every sentence that a page's script puts together is listed; scenes are made in a browser (`test_sentences_live`)."""

from __future__ import annotations

import pytest
from sentence_scripts import CHARTS, CLAIMS, NO_SENTENCES, SCRIPTS, literals, script_templates

LISTED = (*CHARTS, *NO_SENTENCES, *(claim.template for claim in CLAIMS))


def test_every_sentence_of_a_script_is_listed() -> None:
    templates = [template for name in SCRIPTS for template in script_templates(name)]
    assert [f"{one.module}:{one.line}: {one.text}" for one in templates if one.text not in LISTED] == []
    assert sorted(set(LISTED) - {one.text for one in templates}) == []


@pytest.mark.parametrize(
    ("source", "strings"),
    [
        ('say("one \'two\'") // not "this"\n', ["one 'two'"]),
        ("/* nor 'that' */ 'it\\'s so'", ["it's so"]),
        ("`about ${n} of ${m.map((x) => { return `${x} of` })}`;'then'", ["about {} of {}", "{} of", "then"]),
        ('`${one ? " a" : "b"}c`', ["{}c", " a", "b"]),
        ("`\\`${x}`", ["`{}"]),
    ],
)
def test_strings_are_found_in_all_their_forms(source: str, strings: list[str]) -> None:
    assert sorted(text for _, text in literals(source) if text) == sorted(strings)


@pytest.mark.parametrize("source", ["'ends nowhere\n'", "`nor ${this}", '"'])
def test_a_string_without_an_end_is_no_string(source: str) -> None:
    with pytest.raises(ValueError, match="does not end"):
        list(literals(source))
