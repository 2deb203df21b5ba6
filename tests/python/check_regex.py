#!/usr/bin/env python3
"""check_regex.py SPLIT_TEXTS COUNT [SEED]: hold what SPLIT_TEXTS splits texts of many scripts into to Hugging Face's tokenizers and to
tiktoken, by COUNT random patterns over all of the syntax that people use, and by those of known models.

Half of the patterns are a tokenizer.json's: a Split with any behavior, inverted or not, or a Replace. The other half are tiktoken's: the
pieces are compared, and those that tokenizers make by the translation that dt writes into a tokenizer.json.

Exit codes: 0 no differences and at most 1 % of the patterns refused, 1 otherwise.
"""

import collections
import json
import os
import random
import subprocess
import sys

import tiktoken
from tokenizers import Regex, normalizers, pre_tokenizers

TEXTS = ["Hello, World's 12 it'S", "αβγ ΣΑΣ ς Ώρα µ", "Привет, МИР ёж 7", "שלום עולם, 3", "مرحبا ٣٤٥ عالم", "हिन्दी १२ भाषा।", "สวัสดี ๑๒๓ ครับ",
         "中文、文々 一二3。", "ひらがな カタカナー", "한국어 텍스트 12", "ქართული հայերեն", "a\nb\r\n \t\n\nc  ", "if(x_1==0){y[i]+=2;}", "😀👍🏽 👩\u200d👩\u200d👧",
         "1234567 ½ ² Ⅷ ①", "straße ſt K Å İı ǅ", "camelCaseXMLFile", "e\u0301 \u1c89\u1c8a \ua7cb\u0264", "aaabbb aab abab", "..?!-- <b>#&~^]["]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
NAMES = {"removed": "Removed", "isolated": "Isolated", "merged_with_previous": "MergedWithPrevious", "merged_with_next": "MergedWithNext",
         "contiguous": "Contiguous"}
PROPERTIES = ["L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "C",
              "Cc", "Cf", "Cn", "Han", "Latin", "Greek", "Cyrillic", "Arabic", "Hebrew", "Devanagari", "Thai", "Hiragana", "Katakana", "Hangul", "Common", "Inherited",
              "Georgian", "Armenian", "Letter", "Uppercase_Letter", "Punctuation", "Alphabetic", "Uppercase", "Lowercase", "White_Space", "Emoji",
              "Extended_Pictographic", "Ideographic", "Cased", "Alnum", "Alpha", "Digit", "Punct", "Space", "Upper", "Lower", "Word", "Any", "^L", "^Nd", "^Han"]
POSIX = ["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit", "word"]
LITERALS = list("abcABCstdmlvre'x_ 0129.,;:!#&~-") + ["é", "ß", "ſ", "K", "σ", "ς", "Σ", "я", "Я", "ש", "ا", "ह", "न", "्", "ส", "中", "文", "、", "ひ", "カ", "ー", "한",
                                                      "٣", "१", "½", "²", "Ⅷ", "😀", "\u200d", "\u0301", "İ", "ǅ", "\u1c89", "\ua7cb", "\\n", "\\r", "\\t"]
KNOWN = [
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r""" ?[^(\s|[.,!?…。，、।۔،])]+""",
    r"""\p{N}{1,3}""",
    r"""[一-龥぀-ゟ゠-ヿ]+""",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""(?=(\d{3})+(?!\d))""",
    r"""[0-9][0-9][0-9]""",
    r"""(?<=[a-z])(?=[A-Z])""",
    r"""\w+|[^\w\s]+""",
    r"""\b""",
    r""" ?\w+| ?[^\s\w]+|\s+""",
]


class Patterns:
    """Random patterns; for tiktoken, what fancy-regex reads alone is among them."""

    def __init__(self, generator, is_tiktokens):
        self.random = generator
        self.is_tiktokens = is_tiktokens
        self.num_groups = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def pattern(self):
        self.num_groups = 0
        if self.chance(0.1):
            return self.mutated()
        pattern = self.alternatives(0)
        if self.chance(0.06):
            pattern = self.pick("(?i)", "(?m)", "(?x)", *(["(?s)", "(?U)", "(?im)"] if self.is_tiktokens else ["(?im)"])) + pattern
        if self.is_tiktokens and self.chance(0.85):
            pattern += self.pick("|[\\s\\S]", "|\\s+|\\S", "|(?s:.)", "|\\n|.", "|\\O", "|\\W|\\w")
        return pattern

    def mutated(self):
        parts = self.random.choice(KNOWN).split("|")
        part = self.random.randrange(len(parts))
        parts[part] = self.pick(parts[part] + self.quantifier(), self.branch(1), parts[part] + self.atom(1), "(?i:" + parts[part] + ")")
        return "|".join(parts)

    def alternatives(self, depth):
        return "|".join(self.branch(depth) for _ in range(self.pick(1, 1, 2, 3) if depth else self.pick(1, 2, 3, 4)))

    def branch(self, depth):
        return "".join(self.piece(depth) for _ in range(self.pick(1, 1, 2, 2, 3)))

    def piece(self, depth):
        if self.chance(0.12):
            return self.anchor(depth)
        return self.atom(depth) + (self.quantifier() if self.chance(0.5) else "")

    def quantifier(self):
        low, more = self.random.randint(0, 3), self.random.randint(0, 2)
        count = self.pick("?", "*", "+", "+", f"{{{low}}}", f"{{{low},}}", f"{{{low},{low + more}}}", f"{{,{low + 1}}}", "{1,3}")
        return count + self.pick("", "", "", "?", "+", "+" if self.is_tiktokens else "*" if self.chance(0.2) else "")

    def anchor(self, depth):
        plain = self.pick("^", "$", "\\A", "\\z", "\\Z", "\\b", "\\B", "\\b", "\\G" if self.chance(0.3) else "\\b")
        if depth > 2 or self.chance(0.5):
            return plain
        return "(" + self.pick("?=", "?!", "?=", "?!") + self.alternatives(depth + 2) + ")" if self.chance(0.6) else \
            "(" + self.pick("?<=", "?<!") + self.atom(3) + ")"

    def literal(self):
        text = self.random.choice(LITERALS)
        return "\\" + text if text in ".-#&~" and self.chance(0.7) else text

    def escape(self):
        choices = ["\\d", "\\D", "\\s", "\\S", "\\w", "\\W", "\\s", "\\w", "\\h", "\\H", "\\x41", "\\x{4e00}", "\\u4e00", "\\x61", "\\t", "\\n", "\\e"]
        return self.random.choice(choices) if self.chance(0.5) else "\\" + self.pick("p", "p", "p", "P") + "{" + self.random.choice(PROPERTIES) + "}"

    def atom(self, depth):
        kind = self.random.random()
        if kind < 0.35:
            return self.literal()
        if kind < 0.55:
            return self.escape()
        if kind < 0.7 or depth > 2:
            return self.set(0)
        if kind < 0.75:
            return self.pick(".", ".", "\\R", "\\O", "\\N", "(?m:.)" if not self.is_tiktokens else "(?s:.)")
        return self.group(depth)

    def group(self, depth):
        kind = self.random.random()
        if kind < 0.02 and self.num_groups == 0:
            self.num_groups = 1  # those without a number would change what it refers to
            return f"(?<r>{self.alternatives(3)})\\k<r>"
        inner = self.alternatives(depth + 1)
        if kind < 0.4:
            return f"(?:{inner})"
        if kind < 0.55:
            return f"({inner})"
        if kind < 0.75:
            return f"(?i:{inner})"
        if kind < 0.85:
            return f"(?>{inner})"
        if kind < 0.9:
            return self.pick(f"(?x: {inner} )", f"(?#text){inner}", f"(?-i:{inner})")
        if self.is_tiktokens:
            return self.pick(f"(?m:^{inner}$)", f"(?s:{inner})", f"(?U:{inner})", f"(?P<n{self.random.randrange(10 ** 6)}>{inner})")
        return self.pick(f"(?m:{inner})", f"(?~{self.literal()})", f"(?<n>{inner})", f"(?i){inner}", f"(?W:{inner})", f"(?D:{inner})")

    def set(self, depth):
        items = []
        for _ in range(self.pick(1, 2, 2, 3, 4)):
            kind = self.random.random()
            if kind < 0.4:
                text = self.random.choice(LITERALS)
                items.append("\\" + text if text in "&~-#" else text)
            elif kind < 0.55:
                items.append(self.pick("a-z", "A-Z", "0-9", "а-я", "一-龥", "\\u0600-\\u06ff", "\\x{900}-\\x{97f}", "!-/", "α-ω", "Ａ-Ｚ"))
            elif kind < 0.85:
                items.append(self.escape())
            elif kind < 0.93:
                items.append("[:" + self.pick("", "^") + self.random.choice(POSIX) + ":]")
            elif depth < 2:
                items.append(self.set(depth + 1))
        text = "".join(items) or "a"
        if depth < 2 and self.chance(0.08):
            text += self.pick("&&", "&&", "--", "~~") + self.set(depth + 1) if self.is_tiktokens else "&&" + self.set(depth + 1)
        return "[" + ("^" if self.chance(0.3) else "") + text + "]"


class Splitter:
    """dt's side: a program that answers a line with a line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Comparison:
    def __init__(self, splitter):
        self.splitter = splitter
        self.counts = collections.Counter()
        self.refused = collections.Counter()
        texts = {text[i:j].encode() for text in TEXTS for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
        self.ranks = {bytes([i]): i for i in range(256)}
        for text in sorted(texts - set(self.ranks)):
            self.ranks[text] = len(self.ranks)

    def differs(self, what, *details):
        self.counts["differences"] += 1
        if self.counts["differences"] <= 40:
            print("DIFFERENT", what, *(repr(detail) for detail in details))

    def refuses(self, pattern, reason):
        self.counts["refused"] += 1
        self.refused[reason.replace(pattern, "PATTERN").split(": ")[-1][:60]] += 1
        if self.counts["refused"] <= 40:
            print("refused", repr(pattern), reason.replace(pattern, "…"))

    def split(self, pattern, behavior, invert):
        step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": NAMES[behavior], "invert": invert}
        answer = self.splitter.ask({"pre_tokenizer": step, "texts": TEXTS})
        try:
            reference = pre_tokenizers.Split(Regex(pattern), behavior, invert=invert)
        except Exception as error:
            return self.neither(pattern, answer, error)
        self.compare(pattern, answer, (behavior, invert), lambda text: [piece for piece, _ in reference.pre_tokenize_str(text)])

    def replace(self, pattern, content):
        step = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
        answer = self.splitter.ask({"normalizer": step, "texts": TEXTS})
        try:
            reference = normalizers.Replace(Regex(pattern), content)
        except Exception as error:
            return self.neither(pattern, answer, error)
        self.compare(pattern, answer, content, lambda text: [reference.normalize_str(text)])

    def neither(self, pattern, answer, error):
        self.counts["no patterns"] += 1
        if "refused" not in answer:
            self.differs("accepted", pattern, str(error))

    def compare(self, pattern, answer, how, split):
        self.counts["patterns"] += 1
        if "refused" in answer:
            return self.refuses(pattern, answer["refused"])
        for text, pieces in zip(TEXTS, answer["pieces"]):
            try:
                expected = split(text)
            except BaseException:
                expected = None
            self.counts["texts"] += 1
            if pieces is None and any(" over" in error for error in answer["errors"]):
                self.counts["texts left out"] += 1  # Oniguruma gave up, which tokenizers takes for no match
                continue
            if pieces != expected:
                return self.differs("pieces", pattern, how, text, pieces, "tokenizers:", expected, answer["errors"][:1])

    def tiktoken(self, pattern):
        try:
            encoding = tiktoken.Encoding("compared", pat_str=pattern, mergeable_ranks=self.ranks, special_tokens={})
        except BaseException:
            self.counts["no patterns"] += 1
            return
        answer = self.splitter.ask({"tiktoken": pattern, "texts": TEXTS})
        if "refused" in answer and "can match the empty text" in answer["refused"]:
            self.counts["left out"] += 1
            return
        self.counts["patterns"] += 1
        if "refused" in answer:
            return self.refuses(pattern, answer["refused"])
        written = pre_tokenizers.Split(Regex(answer["regex"]), "removed", invert=True)
        errors = iter(answer["errors"])
        for text, pieces in zip(TEXTS, answer["pieces"]):
            gave_up = False
            try:
                expected = [encoding.decode([token]) for token in encoding.encode_ordinary(text)]
            except BaseException as error:
                expected = None
                gave_up = "BacktrackLimitExceeded" in str(error)
            if pieces is None and (expected is None or "".join(expected) != text):
                next(errors)
                self.counts["texts left out"] += 1
                continue
            self.counts["texts"] += 1
            by_file = [piece for piece, _ in written.pre_tokenize_str(text)]
            if gave_up and pieces == by_file:  # tiktoken has no answer to compare with
                self.counts["gave up"] += 1
                continue
            if pieces != expected or by_file != expected:
                return self.differs("pieces", pattern, answer["regex"][:300], text, pieces, "written:", by_file, "tiktoken:", expected, answer["errors"][:1])


def main():
    program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 37
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Rust prints what it panics of
    generator = random.Random(seed)
    comparison = Comparison(Splitter(program))
    for pattern in KNOWN:
        comparison.tiktoken(pattern)
        for behavior in BEHAVIORS:
            for invert in (False, True):
                comparison.split(pattern, behavior, invert)
        comparison.replace(pattern, "-")
    of_file, of_tiktoken = Patterns(generator, False), Patterns(generator, True)
    tried = 0
    while comparison.counts["patterns"] < count and tried < 20 * count:
        tried += 1
        if tried % 2:
            comparison.tiktoken(of_tiktoken.pattern())
        elif tried % 10:
            comparison.split(of_file.pattern(), generator.choice(BEHAVIORS), generator.random() < 0.3)
        else:
            comparison.replace(of_file.pattern(), generator.choice(["", "-", "▁", "ab"]))
    counts = comparison.counts
    print(f"seed {seed}: {counts['patterns']} patterns, {counts['texts']} texts, {counts['differences']} differences, {counts['refused']} patterns refused; "
          f"no patterns: {counts['no patterns']}; tiktoken's left out: {counts['left out']} patterns that can match the empty text, "
          f"{counts['texts left out']} texts that are not covered, {counts['gave up']} at which it gives up")
    for reason, times in comparison.refused.most_common(8):
        print(f"  {times} refused: {reason}")
    return 0 if counts["differences"] == 0 and counts["patterns"] >= count and counts["refused"] * 100 <= counts["patterns"] else 1


if __name__ == "__main__":
    sys.exit(main())
