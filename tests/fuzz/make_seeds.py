#!/usr/bin/env python3
"""make_seeds.py: writes the files of corpus/ that are called seed-…: small sound files of every format, from which
fuzzing begins and which replay holds to be read. The others are inputs that once did harm.
make_seeds.py --large TARGET FOLDER: writes inputs of a target of up to 1 MB, with many of whatever it may have many of."""
import base64, bz2, gzip, io, json, lzma, pathlib, struct, subprocess, sys, tarfile, zipfile

corpus = pathlib.Path(__file__).parent / "corpus"


def seed(target, name, content):
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(content, (dict, list)):
        content = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    (folder / f"seed-{name}").write_bytes(content.encode() if isinstance(content, str) else content)


def byte_alphabet():
    """GPT-2's letters for bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def hugging_face():
    letters = byte_alphabet()
    vocab = {letter: i for i, letter in enumerate(letters)} | {"he": 256, "ll": 257, "hell": 258, "Ġw": 259}
    merges = ["h e", "l l", "he ll", "Ġ w"]
    end = {"id": 260, "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False,
           "special": True}
    split = {"type": "Split", "pattern": {"Regex": "[a-z]+|\\s|[^a-z\\s]"}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "byte_fallback": False, "ignore_merges": True,
             "vocab": vocab, "merges": merges}
    seed("hugging_face", "byte-level", {"version": "1.0", "added_tokens": [end], "normalizer": {"type": "NFC"},
         "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "decoder": {"type": "ByteLevel"},
         "model": model})
    after = {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Contiguous"}, level,
             {"type": "Digits", "individual_digits": False}, {"type": "Split", "pattern": {"Regex": "[0-9][0-9]|Ġ"}, "behavior": "Removed"}]}
    word = {"id": 261, "content": "abc", "single_word": True, "lstrip": True, "rstrip": False, "normalized": True, "special": False}
    letters = [{"type": "Lowercase"}, {"type": "NFD"}, {"type": "StripAccents"}]
    seed("hugging_face", "after-byte-level", {"added_tokens": [end, word], "normalizer": {"type": "Sequence", "normalizers": letters},
         "pre_tokenizer": after, "decoder": {"type": "ByteLevel"}, "model": model})
    seed("hugging_face", "gpt2", {"normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True},
         "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocab, "merges": [m.split() for m in merges]}})
    steps = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    back = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    seed("hugging_face", "characters", {"added_tokens": [{"id": 0, "content": "<unk>", "special": True}],
         "normalizer": {"type": "Sequence", "normalizers": steps}, "pre_tokenizer": None,
         "decoder": {"type": "Sequence", "decoders": back},
         "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
                   "vocab": {"<unk>": 0, "a": 1, "▁": 2, "▁a": 3, "<0x0A>": 4}, "merges": ["▁ a"]}})
    own = [{"type": "StripUntilText", "content": "▁", "each": True}, *back[:3]]
    seed("hugging_face", "own-decoders", {"pre_tokenizer": None, "decoder": {"type": "Sequence", "decoders": back, "dt_decoders": own},
         "model": {"type": "BPE", "unk_token": "a", "vocab": {"a": 0, "▁": 1, "▁a": 2}, "merges": ["▁ a"]}})
    seed("hugging_face", "metaspace", {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]},
         "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
         "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
         "model": {"type": "BPE", "unk_token": "a", "vocab": {"a": 0, "▁": 1, "▁a": 2}, "merges": ["▁ a"]}})


def token_bytes():
    return [bytes([b]) for b in range(256)] + [b"he", b"ll", b" w", b"hell"]


def tiktoken():
    ranks = "".join(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(token_bytes()))
    seed("tiktoken", "gpt2", "gpt2\n" + ranks)
    seed("tiktoken", "regex", "[a-z]+|[^a-z]\n" + ranks)


def tekken():
    vocab = [{"rank": i, "token_bytes": base64.b64encode(t).decode()} for i, t in enumerate(token_bytes())]
    seed("tekken", "plain", {"config": {"pattern": "[a-z]+|[^a-z]", "default_vocab_size": 263,
         "default_num_special_tokens": 3}, "vocab": vocab, "special_tokens": [{"rank": 1, "token_str": "<s>"}]})


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, bool) or isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text, score=0.0, kind=1):
    return field(1, field(1, text.encode()) + field(2, score) + field(3, kind))


def charsmap(byte, to):
    """One rule: `byte` becomes `to`; the double array of sentencepiece's precompiled maps."""
    units = [0] * 768
    units[0] = 256 << 10
    units[256 ^ byte] = ((256 ^ byte) ^ 512) << 10 | 1 << 8 | byte
    units[512] = 1 << 31
    packed = struct.pack("<768I", *units)
    return struct.pack("<I", len(packed)) + packed + to + b"\0"


def sentencepiece():
    few = piece("<unk>", 0.0, 2) + piece("<s>", 0.0, 3) + piece("▁", -10.0) + piece("a", -11.0) + piece("b", -12.0)
    few += piece("ab", -1.0) + piece("▁a", -2.0)
    trainer = field(2, field(3, 2))
    seed("sentencepiece", "plain", few + trainer + field(3, field(3, 1) + field(4, 0)))
    seed("sentencepiece", "user-defined", few + piece("<x>", 0.0, 4) + trainer + field(3, field(3, 0) + field(4, 1)))
    seed("sentencepiece", "charsmap", few + trainer + field(3, field(2, charsmap(ord("A"), b"a")) + field(3, 1)))
    every = b"".join(piece(f"<0x{b:02X}>", 0.0, 6) for b in range(256))
    seed("sentencepiece", "bytes", few + every + field(2, field(3, 2) + field(35, 1)) + field(3, field(3, 1)))


def regular_expression():
    llama3 = ("'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
              "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
    seed("regular_expression", "llama3", llama3 + "\nHello, world's 12345  \u00e9 \u4e2d\u6587")
    seed("regular_expression", "back-reference", "(a+)\\1[cd]\naaaaaaaaaaaaad")
    seed("regular_expression", "repeated-look", "(?:(?=a*+b?)a)*+[cd]\naaaaaaaaaaad")
    seed("regular_expression", "rare", "(?~ab)|(?<q>a|b)\\k<q>|\\p{^L}++|[[:^digit:]&&[^x]]\nccabccaab1")


def encoded_text():
    text = "Hello the world's  12345 in\r\n\n\ting 日本語 e\u0301 \U0001F600 WE'LL aaaa-aba\u00a0 x \u2028 ſ'S "
    for number, name in enumerate(["gpt2", "cl100k", "llama3", "qwen2", "regex"]):
        seed("encoded_text", name, bytes([number]) + text.encode())
        seed("encoded_text", name + "-chunks", bytes([130 + number]) + text.encode())  # 130 is a multiple of five


def json_lines():
    seed("json_lines", "texts", '{"text":"a"}\n\n{"id":1.5e3,"text":"\\u00e4\\ud83d\\ude00\\n","x":[true,null,{}]}\n')
    turns = [{"role": r, "content": c} for r, c in [("user", "hi <|end|>"), ("assistant", "hello")]]
    seed("json_lines", "odd-numbers", '{"a":NaN,"b":[-Infinity,1e999],"text":"a"}\n{"a":1NaN,"text":"b"}\n')
    seed("json_lines", "messages", {"messages": turns})


def invalid_utf8():
    seed("invalid_utf8", "mixed", b"\x02a\xc3\xa4\xff\xe6\x97\xed\xa0\x80\xf0\x9f\x98\x80\xf0\x9f\xc0\xaf\xf4\x90\xe6\x97")
    seed("invalid_utf8", "valid", "\x00ä日本😀\n".encode())


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()[:-8192]  # it pads to 10 KiB


def filtered(content, *command):
    return subprocess.run(command, input=content, stdout=subprocess.PIPE, check=True).stdout


def zstd(content):
    return filtered(content, "zstd", "-q", "--check")


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)
    return out.getvalue()


def npy(ids, shape=None):
    header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({len(ids) if shape is None else shape},), }}".ljust(117)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + b"\n" + struct.pack(f"<{len(ids)}H", *ids)


def llmc(ids):
    return struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253) + struct.pack(f"<{len(ids)}H", *ids)


def inputs():
    text = "Some text, ä.\n".encode()
    packed = {"gzip": lambda b: gzip.compress(b, mtime=0), "zstd": zstd, "xz": lzma.compress, "bzip2": bz2.compress,
              "lz4": lambda b: filtered(b, "lz4", "-q"), "lzma": lambda b: lzma.compress(b, format=lzma.FORMAT_ALONE)}
    seed("inputs", "text", b"\xef\xbb\xbf" + text)
    for name, pack in packed.items():
        seed("inputs", name, pack(text))
        if name != "lzma":
            seed("inputs", f"two-frames-{name}", pack(text) + b"\0\0" + pack(text))
    skipped = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"
    seed("inputs", "skippable-zstd", skipped + zstd(text))
    seed("inputs", "skippable-lz4", skipped + filtered(text, "lz4", "-q"))
    seed("inputs", "window-zstd", filtered(text, "zstd", "-q", "--long=27", "--no-content-size"))
    seed("inputs", "zip", zipped({"a.txt": text, "b.jsonl": b'{"text":"a"}\n', "c.txt.gz": gzip.compress(text, mtime=0)}))
    seed("inputs", "office", zipped({"[Content_Types].xml": b"<Types/>"}))
    seed("inputs", "7zip", b"7z\xbc\xaf\x27\x1c and more")
    seed("inputs", "json-lines", b'\n{"id":NaN,"text":"a"}\n{"text":"b"}\n')
    seed("inputs", "json-array", b'[{"text":"a"}]')
    seed("inputs", "json-pretty", b'{\n  "text": "a"\n}\n')
    seed("inputs", "json-other-key", b'{"id":1,"content":"a"}\n')
    seed("inputs", "zeros", b"a\0b\0c\0d\0e\0f\0g\0h\0i\0")
    seed("inputs", "tar", tar({"a.txt": text, "b.jsonl": b'{"text":"a"}\n', ".hidden": b"", "c.txt.gz": gzip.compress(text, mtime=0)}))
    seed("inputs", "tar-long-name", tar({"d/" * 60 + "ä.txt": text}))
    seed("inputs", "tar-gzip", gzip.compress(tar({"a.jsonl.xz": lzma.compress(b'{"text":"a"}\n')}), mtime=0))
    seed("inputs", "parquet", b"PAR1\x15\x04PAR1")
    seed("inputs", "arrow", b"ARROW1\0\0\xff\xff\xff\xff\x10\0\0\0")
    seed("inputs", "arrow-stream", b"\xff\xff\xff\xff\x10\0\0\0\0\0\0\0")
    seed("inputs", "feather", b"FEA1\0\0")
    seed("inputs", "npy", npy([1, 2, 256, 3]))
    seed("inputs", "llmc", llmc([1, 2, 256, 3]))


def token_ids():
    seed("token_ids", "npy", npy([1, 2, 256, 3]))
    seed("token_ids", "llmc", llmc([1, 2, 256, 3]))
    seed("token_ids", "raw", b"\x05\0\0\0\x01\0\0\0")


def megatron():
    lengths, ends = [2, 3, 1], [0, 1, 3]
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(ends)) + struct.pack("<3i", *lengths)
    index += struct.pack("<3q", 0, 4, 10) + struct.pack("<3q", *ends)
    seed("megatron", "two-documents", bytes([12]) + struct.pack("<6H", *range(6)) + index)


DATASET = {"format": "dt-dataset", "version": 1,
           "tokenizer": {"name": "bytes", "digest": "e34d6d5c5e766ff4", "vocabulary_size": 257, "eos": 256},
           "documents": 1, "tokens": 7, "digest": "b590fa03077ef931",
           "splits": {"train": {"tokens": 6, "documents": 1, "digest": "16b84ea10195504a"},
                      "validation": {"tokens": 1, "documents": 0, "digest": "d6645fc3051a9457"}},
           "shards": [{"file": "train-00000.h5", "split": "train", "tokens": 6, "documents": 1, "bytes": 5632,
                       "digest": "f1310c158281ebf5"},
                      {"file": "validation-00000.h5", "split": "validation", "tokens": 1, "documents": 0, "bytes": 5632,
                       "digest": "177a2be93183cb4b"}],
           "made": {"tool": "dt", "seed": 0}}


def dataset_json():
    seed("dataset_json", "two-shards", DATASET)


def input_list():
    seed("input_list", "names", "a\n\nsub/x\nb.jsonl")
    seed("input_list", "crlf", "a\r\nsub\r\n\r\nb.jsonl\r\n")
    seed("input_list", "patterns", "*\nsub/[xy]\n?\n[ab]\n*/deep/*\nlink/x\n")
    seed("input_list", "zero-bytes", "a\0sub/x\0")
    seed("input_list", "nothing-matches", "a\nnowhere/*\n")


def copies():
    """The first byte says whose words follow: a stranger's to a receiver, a false receiver's, or a rank's."""
    hello = b"dt-chan1" + bytes(range(32))
    seed("copies", "hello", b"\0" + hello + bytes(32))
    seed("copies", "zeros-for-an-answer", b"\1" + bytes(64))
    no_file = 2**64 - 1

    def request(writer, file_bytes, part_bytes, step=10):
        return b"\2" + struct.pack("<qqqQQ", step, 1, writer, file_bytes, part_bytes)

    head = '{"format": "dt-checkpoint-part",\n"version": 1,\n"step": 10,\n"generation": 1,\n"writer": 0,\n'
    alone = (head + '"files": [\n],\n"pieces": [\n],\n"digest": "35dafcaa565d6ae5"\n}\n').encode()
    file = '{"name": "rank-00000.h5", "bytes": 8, "metadata_digest": "0000000000000000"}'
    both = (head + f'"files": [\n{file}\n],\n"pieces": [\n],\n"digest": "637a5c79e853487e"\n}}\n').encode()
    seed("copies", "welcome", request(-1, no_file, 0))
    seed("copies", "part-alone", request(0, no_file, len(alone)) + alone)
    seed("copies", "file-and-part", request(0, 8, len(both)) + bytes(8) + both)
    seed("copies", "part-of-another-writer", request(1, no_file, len(alone)) + alone)
    seed("copies", "another-step", request(0, no_file, len(alone), 11) + alone)
    seed("copies", "too-long", request(0, 2**40, 2**40))
    seed("copies", "broken-off", request(0, 100, 100) + bytes(50))


def input_ranges():
    lines = '{"text":"ä"}\n\n{"text":"b"}\r\n{"text":""}\n{"text":"c\\n"}'
    texts = ["a\n\nb\nc", "a\n\n\nb\n\n\n\nc\n", "a---b-----c--", "xababababaxaba", "abcabcabcab", "﻿aä\n日本", "<|end|>a<|end|><|end|>b<|end"]
    for number, content in enumerate([*texts, lines]):
        for name, chunks in [("small", 1), ("large", 7)]:
            seed("input_ranges", f"{number}-{name}-chunks", bytes([number + 8 * chunks, 2]) + content.encode())
    seed("input_ranges", "bad-lines", bytes([128 + 7, 2]) + b'{"text":"a"}\nx\n[]\n{"text":"b"}\n{}')
    for name, content in [("lines", lines), ("array", '[{"text":"a"}]'), ("text", "a\nb\n"), ("pretty", '{\n"text":"a"}\n')]:
        seed("input_ranges", f"automatic-{name}", bytes([192 + 7, 2]) + content.encode())
    seed("input_ranges", "not-utf8", bytes([0, 3]) + b"abc\ndef\n\xff\nghi\n")


def large_objects(count):
    """JSON of many names: sorted, unsorted, twice the same, long, deep, and numbers of many digits."""
    names = [f"k{i * 7919 % count:05d}" for i in range(count)]
    return {"names": "{" + ",".join(f'"{n}":1' for n in names) + "}",
            "twice": "{" + ",".join(f'"{n}":1' for n in names + names[:1]) + "}",
            "items": "[" + "1," * 400000 + "1]",
            "digits": '{"a":1' + "0" * 900000 + "}",
            "fraction": '{"a":0.' + "1" * 900000 + "}",
            "deep": "[" * 500000 + "]" * 500000,
            "long-name": '{"' + "a" * 900000 + '":1}'}


def large_hugging_face():
    letters = byte_alphabet()
    tokens = letters + [a + b for a in letters[:150] for b in letters[:150]]
    merges = [f"{a} {b}" for a in letters[:150] for b in letters[:150]]
    added = [{"id": 30000 + i, "content": f"<{i}>"} for i in range(9000)]
    model = {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}
    head = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "decoder": {"type": "ByteLevel"}}
    split = {"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)|a++[cd]"}, "behavior": "Isolated"}
    replace = {"type": "Replace", "pattern": {"Regex": "a*[cd]"}, "content": "b"}
    small = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    in_sequence = lambda kind, steps: {"type": "Sequence", kind: steps}
    nested = in_sequence("pretokenizers", [in_sequence("pretokenizers", [split] * 60)] * 60)
    return {"vocabulary": head | {"model": model}, "added": head | {"added_tokens": added, "model": model | {"merges": []}},
            "splits": small | {"pre_tokenizer": in_sequence("pretokenizers", [split] * 128)},
            "replaces": small | {"normalizer": in_sequence("normalizers", [replace] * 128)}, "nested": small | {"pre_tokenizer": nested}}


def large_regular_expression():
    """Expressions that take the square of a text, and its cube, in one attempt at a match or over all places."""
    letters = "a" * 16000
    return {"possessive": "a++[cd]\n" + letters + "bd", "back-reference": "(a+)\\1[cd]\n" + letters + "bd",
            "look": "(?=(a{3})+(?!a))\n" + letters, "one-attempt": "(?:(?=a*+b?)a)*+[cd]\n" + letters + "d",
            "each-character": "\\O\n" + letters, "rare": "https?://\\S+|\\s+(?!\\S)\n" + " " * 16000}


def large_dataset_json():
    shards = [{"file": f"train-{i:05d}.h5", "split": "train", "tokens": 0, "documents": 0, "bytes": 1, "digest": "0" * 16}
              for i in range(8000)]
    empty = {"tokens": 0, "documents": 0, "digest": "0" * 16}
    head = {"format": "dt-dataset", "version": 1, "tokenizer": {"name": "bytes", "digest": "0" * 16,
            "vocabulary_size": 257, "eos": 256}, "documents": 0, "tokens": 0, "digest": "0" * 16,
            "splits": {"train": empty, "validation": empty}}
    return {"shards": head | {"shards": shards, "made": {}}, "made": DATASET | {"made": many_members(60000)}}


def many_members(count):
    return {f"k{i * 7919 % count:05d}": i for i in range(count)}


def safetensors(header, data=b""):
    text = (header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))).encode()
    return struct.pack("<Q", len(text)) + text + data


def large_safetensors():
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    return {name: safetensors(text) for name, text in large_objects(60000).items()} | {
        "tensors": safetensors({f"t{i * 7919 % 14000:05d}": entry for i in range(14000)}),
        "dimensions": safetensors({"t": {"dtype": "F32", "shape": [1] * 400000 + [0], "data_offsets": [0, 0]}})}


LLAMA = {"model_type": "llama", "vocab_size": 32, "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2,
         "num_key_value_heads": 1, "intermediate_size": 16, "max_position_embeddings": 64, "hidden_act": "silu",
         "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True}
GPT2 = {"model_type": "gpt2", "vocab_size": 32, "n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 16,
        "activation_function": "gelu_new", "eos_token_id": [1, 2], "bos_token_id": 1}


def hf_config():
    seed("hf_config", "gpt2", GPT2)
    seed("hf_config", "llama", LLAMA | {"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
         "high_freq_factor": 4.0, "original_max_position_embeddings": 32}, "torch_dtype": "bfloat16"})
    seed("hf_config", "mistral", LLAMA | {"model_type": "mistral", "sliding_window": 4, "head_dim": 4})
    seed("hf_config", "qwen2", LLAMA | {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4,
         "layer_types": ["full_attention"], "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}})
    seed("hf_config", "qwen2-mixed", LLAMA | {"model_type": "qwen2", "num_hidden_layers": 2, "use_sliding_window": True,
         "sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]})


def large_hf_config():
    many = {f"k{i}": i for i in range(60000)}
    return large_objects(60000) | {"llama": LLAMA | many, "layers": LLAMA | {"num_hidden_layers": 16384},
        "ends": GPT2 | {"eos_token_id": list(range(100000))}, "types": LLAMA | {"model_type": "qwen2",
        "use_sliding_window": True, "layer_types": ["full_attention"] * 40000}}


def safetensors_seeds():
    tensors = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": {"dtype": "BF16", "shape": [1, 2],
               "data_offsets": [8, 12]}, "c": {"dtype": "F8_E4M3", "shape": [], "data_offsets": [12, 13]}}
    seed("safetensors", "three", safetensors({"__metadata__": {"format": "pt"}} | tensors, bytes(13)))
    seed("safetensors", "empty", safetensors({}))


STATE = {"step": 10, "samples_consumed": 20, "tokens_consumed": 640, "data_digest": "0" * 16, "seed": 1, "sequence_length": 32,
         "global_batch": 2, "micro_batch": 1, "grad_lanes": 1, "dataset_digest": "0" * 16, "precision": "fp32", "matmul": "fp32",
         "skipped_steps": 0, "loss_scale": 0.0, "loss_scale_good_steps": 0, "optimizer": {"name": "lion", "state_kinds": ["lion_m"],
         "state_dtypes": {"lion_m": "bf16"}, "state_scopes": {"lion_m": "matrices"}, "state_shapes": {"lion_m": "rows"},
         "hyper_parameters": {"beta1": 0.9}}, "schedule": {"kind": "cosine", "lr": 0.1, "min_lr": 0.0, "warmup_steps": 1,
         "decay_steps": 0, "total_steps": 20}, "conditions": {"tp": 1}}
PIECE = {"tensor": "head.weight", "kind": "weights", "dtype": "f32", "global": [4, 2], "start": [0, 0], "box": [4, 2],
         "begin": 0, "end": 8, "file": "rank-00000.h5", "dataset": "/weights/head.weight", "offset": 0, "digests": ["0" * 16]}
FILE = {"name": "rank-00000.h5", "bytes": 32, "metadata_digest": "0" * 16}


def manifest_of(files, pieces):
    """Without the digest that the target puts at its end."""
    return {"format": "dt-checkpoint", "version": 1, "dt_version": "0", "created": "", "generation": 1, "parent": "",
            "state": STATE, "model": LLAMA, "mesh": {"pp": 1, "dp": 1, "tp": 1, "zero": 0, "zero_group": 0,
            "schedule": "1f1b", "virtual_stages": 1, "stages": [{"stage": 0, "begin": 0, "end": 3}]},
            "files": files, "pieces": pieces}


def part_of(files, pieces):
    return {"format": "dt-checkpoint-part", "version": 1, "step": 10, "generation": 1, "writer": 0, "files": files, "pieces": pieces}


def manifest():
    seed("manifest", "one-file", manifest_of([FILE], [PIECE]))
    seed("manifest", "part", part_of([FILE], [PIECE]))


def large_manifest():
    files = [FILE | {"name": f"rank-{i:05d}.h5"} for i in range(10000)]
    wide = FILE | {"bytes": 1 << 40}
    pieces = [PIECE | {"global": [3000], "start": [0], "box": [3000], "begin": i, "end": i + 1, "offset": 4 * i} for i in range(3000)]
    boxes = [PIECE | {"global": [3000], "start": [i], "box": [1], "begin": 0, "end": 1, "offset": 4 * i} for i in range(3000)]
    same = [PIECE | {"global": [3000], "start": [i], "box": [1], "begin": 0, "end": 1, "offset": 0} for i in range(3000)]
    stages = [{"stage": 0, "begin": i, "end": i + 1} for i in range(15000)]
    layers = manifest_of([FILE], [PIECE])
    states = {name: layers | {"state": STATE | {name: STATE[name] | many_members(60000)}} for name in ["conditions", "optimizer", "schedule"]}
    return large_objects(60000) | states | {"files": manifest_of(files, []), "pieces": manifest_of([wide], pieces), "boxes": manifest_of([wide], boxes),
        "same": manifest_of([wide], same), "layers": layers | {"model": LLAMA | {"num_hidden_layers": 16384}},
        "stages": layers | {"mesh": layers["mesh"] | {"stages": stages}}, "part": part_of([wide], pieces)}


def index_of(num_files, names, tensors, boxes, pieces, by_file, file_starts, digests=()):
    """A pieces.index without its blocks' digests, after the number of files. Dims are filled up to eight."""
    dims = lambda values: struct.pack("<8q", *values, *[0] * (8 - len(values)))
    body = struct.pack("<8s4I3Q2q", b"dtpieces", 1, num_files, len(tensors), len(boxes), len(pieces), len(digests), len(names), 0, 0)
    for section in [b"".join(struct.pack("<4I8s2IQ", *t[:-1]) + dims(t[-1]) for t in tensors), names,
                    b"".join(struct.pack("<Q", b[0]) + dims(b[1]) + dims(b[2]) for b in boxes),
                    b"".join(struct.pack("<qqQQ4I", *p, 0) for p in pieces), struct.pack(f"<{len(digests)}Q", *digests),
                    struct.pack(f"<{len(by_file)}I", *by_file), struct.pack(f"<{len(file_starts)}I", *file_starts)]:
        body += bytes(-len(body) % 64) + section
    return bytes([num_files]) + body


def piece_index():
    seed("piece_index", "two-tensors", index_of(2, b"head.weightweightsadam_m",
         [(0, 11, 11, 7, b"f32", 2, 0, 32, [4, 2]), (0, 11, 18, 6, b"bf16", 2, 1, 16, [4, 2])],
         [(0, [0, 0], [4, 2]), (2, [0, 0], [4, 1]), (3, [0, 1], [4, 1])],
         [(0, 5, 64, 7, 0, 0, 0), (5, 8, 0, 7, 0, 1, 0), (0, 4, 128, 7, 1, 0, 0), (0, 4, 192, 7, 2, 0, 1)],
         [0, 2, 3, 1], [0, 3, 4]))
    seed("piece_index", "empty", index_of(1, b"", [], [], [], [], [0, 0]))


def large_piece_index():
    count = 12000
    tensor = (0, 1, 1, 1, b"f32", 1, 0, 4 * count, [count])
    ones = [(i, i + 1, 4 * i, 0, 0, 0, i) for i in range(count)]
    wide = [(0, 4000, 0, 0, 0, 0, 0)] * count
    boxes = [(i, [i], [1]) for i in range(4000)]
    names = [(i % 10, 1, 0, 1 + i // 10, b"f32", 1, i, 4, [1]) for i in range(3000)]
    return {"pieces": index_of(1, b"ab", [tensor], [(0, [0], [count])], ones, range(count), [0, count]),
            "same": index_of(1, b"ab", [tensor], [(0, [0], [count])], wide, range(count), [0, count]),
            "boxes": index_of(1, b"ab", [tensor], boxes, [(0, 1, 4 * i, 0, i, 0, i) for i in range(4000)], range(4000), [0, 4000]),
            "tensors": index_of(1, b"x" * 400, names, [(i, [0], [1]) for i in range(3000)],
                                [(0, 1, 4 * i, 0, i, 0, 0) for i in range(3000)], range(3000), [0, 3000])}


def run_files():
    seed("run_files", "record", {"format": "dt-run", "version": 1, "created": "", "asked": {"lr": "0.1", "data": "d"}, "given": ["lr"],
         "paths": {"data": "/d"}, "changes": [{"generation": 2, "step": 10, "at": "", "option": "lr", "from": "0.1", "to": "0.2",
         "given": True}], "layouts": [{"generation": 1, "step": 0, "at": "", "layout": "pp=1,dp=1,tp=1,zero=0", "stage_units": [3]}]})
    lines = [{"kind": "start", "generation": 1, "step": 0}, {"kind": "eval", "step": 10, "val_loss": 1.5},
             {"kind": "local_checkpoint", "step": 10, "path": "checkpoints/step-00000010.g1"},
             {"kind": "resume", "generation": 2, "step": 10, "checkpoint": "step-00000010.g1"}, {"kind": "eval", "step": 10}]
    seed("run_files", "metrics", "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def large_run_files():
    resumes = [{"kind": "resume", "generation": i, "step": 10, "checkpoint": f"step-00000010.g{i - 1}"} for i in range(1, 9000)]
    evals = [{"kind": "eval", "step": 10, "generation": i} for i in range(1, 3000)]
    record = {"format": "dt-run", "version": 1}
    names = {f"o{i}": "" for i in range(30000)}
    changes = [{"option": f"o{i}", "to": ""} for i in range(20000)]
    return large_objects(60000) | {
        "lineage": "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in resumes + evals),
        "asked": record | {"asked": names, "given": list(names)}, "changes": record | {"asked": {}, "changes": changes}}


LARGE = {"regular_expression": large_regular_expression, "hugging_face": lambda: large_objects(60000) | large_hugging_face(),
         "tekken": lambda: large_objects(60000),
         "json_lines": lambda: large_objects(60000), "dataset_json": lambda: large_objects(60000) | large_dataset_json(),
         "safetensors": large_safetensors, "hf_config": large_hf_config, "manifest": large_manifest, "piece_index": large_piece_index, "run_files": large_run_files}


def make_large(target, folder):
    for name, content in LARGE.get(target, dict)().items():
        if isinstance(content, dict):
            content = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        content = content.encode() if isinstance(content, str) else content
        (pathlib.Path(folder) / name).write_bytes(content[:1000000])


if sys.argv[1:2] == ["--large"]:
    make_large(*sys.argv[2:])
else:
    for make in [hugging_face, tiktoken, tekken, sentencepiece, regular_expression, encoded_text, json_lines, invalid_utf8, inputs, token_ids, megatron,
                 dataset_json, input_list, input_ranges, copies, hf_config, safetensors_seeds, manifest, piece_index, run_files]:
        make()
