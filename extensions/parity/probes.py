"""Texts by which causes are told apart."""

import random

PLAIN = (
    "the moon pulls the water of the sea so that it rises and falls twice a day",
    "the moon pulls the water of the sea so that it rises and falls, as sailors know",
    "bees gather nectar from flowers and turn it into honey in the hive",
    "why does bread rise before it is baked",
    "salt",
    "a treaty of peace was signed by both kings in the autumn of that year",
    "glass is made by melting sand with soda and lime in a hot furnace",
    "ice",
)
"""Texts in lower case and ASCII, which every tokenizer reads alike; two begin alike, for caches that read beginnings only."""

SPECIAL = {
    "capitals": "The European Parliament met NASA in Strasbourg",
    "accents": "café crème brûlée, naïve jalapeño, Ångström",
    "combining": "cafe\u0301 cre\u0300me bru\u0302le\u0301e",
    "compatibility": "o\ufb03ce \uff21\uff22\uff23 \u2460 \u338f ½",
    "emoji": "🍳 breakfast 👩‍🍳 for two 🥓",
    "Chinese and Japanese": "漢字とかなの料理を作る方法",
    "Arabic and Hebrew": "كيف حالك اليوم שלום לכולם",
    "Cyrillic and Greek": "Москва слезам не верит, η θάλασσα",
    "control characters": "one\u0000two\u200bthree\ufeff four\u0007",
    "line breaks": "first line\nsecond line\n\n\tthird line",
    "spaces": "   spaces  between   words   ",
    "code": "def f(x): return x**2  # A_b-c @user http://a.b/c?d=e",
    "one letter": "a",
    "digits": "3.14 1,234,567 2026-11-28",
}
"""Texts that tokenizers read differently, by what they have."""

BLANK = {"empty": "", "blank": "   "}
"""Texts that servers may refuse."""


def long_text(words: int) -> str:
    """Return a text of so many words, whose beginning and end have other words than the rest, always the same one."""
    known = sorted({word for text in PLAIN for word in text.replace(",", "").split()})
    return " ".join(random.Random(1).choices(known, k=words))  # noqa: S311 - no secret
