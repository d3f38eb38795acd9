# SPDX-License-Identifier: Apache-2.0
"""Payloads with random changes: for every one the guard has an answer and none gets out."""

import os
import random

import corpus

ROUNDS = int(os.environ.get("BRIG_FUZZ_ROUNDS", "250"))
PIECES = ["__class__", "__globals__", "_x", "eval", "lambda:", "(", ")", "[", "]", "{0.__class__}",
          ".format(", "f'{", "}'", "\\\n", "\n ", "import os\n", "match x:\n case", "yield ", "*", "**",
          ":=", "@", "ｅ", "\u2028", "\x0c", "\r", "\t", "# coding: latin-1\n", "async ", "await ",
          "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "\ufeff", "'" * 3,
          "class A:\n", "type(", "getattr(x, ", "0x", "1e999", "9" * 5000, "nonlocal x\n", "\0"]
ENDS = {"ok", "failed", "rejected", "timeout", "memory_limit", "output_limit", "cpu_limit", "denied"}


def change(text, other, dice):
    for _ in range(dice.randint(1, 5)):
        at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
        way = dice.randrange(5)
        if way == 0:
            text = text[:at] + dice.choice(PIECES) + text[at:]
        elif way == 1:
            text = text[:at] + text[min(to, at + 8):]
        elif way == 2:
            text = text[:at] + other[:to] + text[at:]
        elif way == 3:
            text = text[:at] + text[at:to] * 2 + text[to:]
        else:
            text = text[:at] + chr(dice.choice([0x41, 0x5F, 0x22, 0xE9, 0x2028, 0x1D452])) + text[at + 1:]
    return text[:20000]


def test_changed_payloads(many):
    seed = int(os.environ.get("BRIG_FUZZ_SEED", "1"))
    dice = random.Random(seed)
    texts = [text for name, text in corpus.payloads("/nowhere", 1) if len(text) < 5000
             and not name.startswith("bombs")]
    texts += [text for _, text in corpus.ordinary()]
    changed = [change(dice.choice(texts), dice.choice(texts), dice) for _ in range(ROUNDS)]
    changed = [it for it in changed if it]
    asks = [((it, dice.choice(["strict", "strict", "imports"])), {"timeout_ms": 500})
            for it in changed]
    for number, (text, result) in enumerate(zip(changed, many.all(asks))):
        assert result.get("status") in ENDS, (seed, number, text, result)
        assert result["signal"] is None, (seed, number, text)
        if result["status"] == "rejected":
            assert result["verdict"]["refusal"]["reason"], (seed, number, text)
            assert result["stdout"] == ""
