"""A chat template is a stranger's program: it becomes fixed texts, or is refused within seconds and little memory."""

from pathlib import Path
from time import monotonic

import pytest

from beirflow.core.errors import ModelError
from beirflow.families.rerank.scorers.prompts import Prompt, read_template

FOLDER = Path("model")


def test_a_template_is_rendered_in_a_process_of_its_own() -> None:
    template = "a{{ messages[0].content }}b{{ messages[1].content }}c"
    assert read_template(FOLDER, template, False, "", {}) == Prompt("a", "b", "c", special_tokens=False)


@pytest.mark.usefixtures("rendered_here")
@pytest.mark.parametrize(
    ("template", "system", "expected"),
    [
        ("{{ messages[0].content | trim }}b{{ messages[1].content | trim }}", "", ("", "b", "", True)),
        ("{% for m in messages %}[{{ m.content }}]{% endfor %}{{ bos_token }}", "S", ("[S][", "][", "]<s>", False)),
    ],
)
def test_a_template_is_what_it_writes_around_the_texts(template: str, system: str, expected: tuple[str, str, str, bool]) -> None:
    *texts, strip = expected
    assert read_template(FOLDER, template, False, system, {"bos_token": "<s>"}) == Prompt(
        *texts, strip=strip, special_tokens=False
    )


@pytest.mark.usefixtures("rendered_here")
@pytest.mark.parametrize(
    "template",
    [
        "nothing",
        "{{ messages[1].content }}{{ messages[0].content }}",
        "{{ messages[0].content | upper }}{{ messages[1].content }}",
        "{{ messages[0].content }}{{ messages[1].content or 'empty' }}",
        "{{ messages[0].content }}{{ messages[1].content[:200] }}{{ messages[0].content[200:] }}",
    ],
)
def test_a_template_that_does_more_with_texts_is_refused(template: str) -> None:
    with pytest.raises(ModelError, match="does more with a query and a document than to write both once"):
        read_template(FOLDER, template, False, "", {})


@pytest.mark.usefixtures("rendered_in_fork")
@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}" * 2 + "{% endfor %}{% endfor %}" * 2, "takes longer"),
        ("{{ 'a' * 3000000000 }}", "fails: MemoryError"),
        ("{% for i in range(9999) %}{{ 'a' * 9999 }}{% endfor %}", "fails: ValueError: it writes more than"),
        ("{{ messages.__class__.__mro__ }}", "fails: SecurityError"),
        ("{{ raise_exception('no\n such') }}", "fails: TemplateError: no such"),
        ("{{ strftime_now('%d') }}", "writes the time"),
    ],
)
def test_a_template_that_takes_much_or_fails_is_refused_soon(template: str, says: str) -> None:
    start = monotonic()
    with pytest.raises(ModelError, match=f"the chat template in model {says}"):
        read_template(FOLDER, template, False, "", {})
    assert monotonic() - start < 60
