#!/usr/bin/env python3
"""make_unicode_properties.py FILE [NAME…]: write FILE, libcore/tokenizer/unicode/unicode_properties.cpp, anew: the characters of every class
that a regular expression can name, for the names that FILE holds already and for NAMEs.

Sources: Oniguruma as it is in Hugging Face's tokenizers 0.23.3 (onig 6.9.10, Unicode 16), asked class by class which characters match;
for (?i) Rust's regex as it is in tiktoken 0.14.0 (Unicode 16), asked character by character.
"""

import re
import sys

import tiktoken
from tokenizers import Regex, pre_tokenizers

# Planes 4 to 13, 15 and 16 hold one kind of character each, up to the last two, which are noncharacters. They are asked for by their first
# and their last three characters.
UNIFORM = [*range(4, 14), 15, 16]
POINTS = [c for plane in range(17) for c in
          ([plane << 16, *range((plane << 16) + 0xFFFD, (plane + 1) << 16)] if plane in UNIFORM else range(plane << 16, (plane + 1) << 16))
          if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, POINTS))
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/"
HEAD = '''// Made by tests/python/make_unicode_properties.py from Oniguruma 6.9.10, as it is in Hugging Face's
// tokenizers 0.23.3, and, for case, from Rust's regex, as it is in tiktoken 0.14.0: Unicode 16.

#include "tokenizer/unicode/unicode_properties.hpp"

namespace dt::tokenizer {

'''


def normalized(name):
    return re.sub("[ _-]", "", name).lower()


def is_known(name):
    try:
        Regex(f"[{name}]" if name.startswith("[:") else f"\\p{{{name}}}")
        return True
    except Exception:
        return False


def ranges_of(name):
    """Half open, those of surrogates left out. Brackets, since \\p{Word} alone has the characters of \\w alone, which are a few more."""
    splitter = pre_tokenizers.Split(Regex(f"[{name}]+" if name.startswith("[:") else f"[\\p{{{name}}}]+"), "removed", invert=True)
    found = []
    for _, (begin, end) in splitter.pre_tokenize_str(TEXT):
        for first, last in joined(POINTS[begin:end]):
            if found and found[-1][1] == first:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
    return found


def joined(points):
    first = previous = points[0]
    for point in points[1:]:
        gap_is_inside = point >> 16 in UNIFORM and previous == (point >> 16) << 16
        if point != previous + 1 and not gap_is_inside:
            yield first, previous + 1
            first = point
        previous = point
    yield first, previous + 1


def written(ranges):
    """Each boundary as its distance from the one before, in digits of 5 bits, the lowest first; a sixth bit says that another follows."""
    text, at = "", 0
    for boundary in (boundary for both in ranges for boundary in both):
        step, at = boundary - at, boundary
        while step >= 32:
            text += DIGITS[step % 32 + 32]
            step //= 32
        text += DIGITS[step]
    return text


def case_pairs():
    """Each character that matches another under (?i), with the next greater one that it matches."""
    ranks = {bytes([i]): i for i in range(256)}
    cased = "".join(chr(c) for name in ("changeswhencasefolded", "changeswhencasemapped") for first, last in ranges_of(name) for c in range(first, last))
    cased = "".join(sorted(set(cased)))
    for c in cased:
        encoding = tiktoken.Encoding("case", pat_str=f"(?i:\\u{{{ord(c):x}}})", mergeable_ranks=ranks, special_tokens={})
        greater = [other for other in encoding.decode(encoding.encode_ordinary(cased)) if other > c]
        if greater:
            yield ord(c), ord(min(greater))


def shifts(pairs):
    """Runs of pairs that are as far apart and follow each other at the same distance: (first, last, step, shift)."""
    runs = []
    for low, high in pairs:
        if runs and high - low == runs[-1][3]:
            first, last, step, shift = runs[-1]
            if low - last in (1, 2) and (first == last or low - last == step):
                runs[-1] = (first, low, low - last, shift)
                continue
        runs.append((low, low, 1, high - low))
    return runs


def literal(text, width=110):
    parts = [text[i:i + width] for i in range(0, len(text), width)] or [""]
    return "\n     ".join(f'"{part}"' for part in parts)


def main():
    path, *names = sys.argv[1:]
    try:
        with open(path, encoding="utf-8") as file:
            names += re.findall(r'^    \{"([^"]+)", \d+\}', file.read(), re.M)
    except FileNotFoundError:
        pass
    sets, index_of, lists = {}, {}, []
    for name in sorted({normalized(name) for name in names}):
        if not is_known(name):
            print(f"{name} is unknown", file=sys.stderr)
            continue
        text = written(ranges_of(name))
        if text not in sets:
            sets[text] = len(lists)
            lists.append(text)
        index_of[name] = sets[text]
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD + "// clang-format off\nconst char* const property_sets[] = {\n")
        file.writelines(f"    // {i}\n    {literal(text)},\n" for i, text in enumerate(lists))
        file.write("};\n\nconst PropertyName property_names[] = {\n")
        file.writelines(f'    {{"{name}", {index}}},\n' for name, index in sorted(index_of.items()))
        file.write("};\n\nconst CaseShift case_shifts[] = {\n")
        file.writelines(f"    {{{first:#x}, {last:#x}, {step}, {shift}}},\n" for first, last, step, shift in shifts(case_pairs()))
        file.write("};\n// clang-format on\n\n")
        file.write("const std::size_t num_property_names = sizeof property_names / sizeof property_names[0];\n")
        file.write("const std::size_t num_case_shifts = sizeof case_shifts / sizeof case_shifts[0];\n\n}  // namespace dt::tokenizer\n")


if __name__ == "__main__":
    main()
