#!/usr/bin/env bash
# Token ids that other programs made become the dataset that their text would: NumPy's, nanoGPT's, llm.c's, Megatron's.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

command -v python3 >/dev/null || skip "there is no python3"
# The ids of 3000 documents of bytes, some empty, one longer than a block, in every format.
cat >make.py <<'END'
import array
import os
import struct

eos = 256
documents = [("document %d says ä%d\n" % (i, i * i)).encode() * (i % 4) for i in range(3000)]
documents[7] = documents[7] * 50000
with open("text", "wb") as file:
    file.write(b"\0".join(documents))


def npy(name, dtype, code, ids, version=1, shape=None):
    header = str({"descr": dtype, "fortran_order": False, "shape": shape or (len(ids),)})
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]) + size + header.encode() + array.array(code, ids).tobytes())


def raw(name, code, ids, head=b""):
    with open(name, "wb") as file:
        file.write(head + array.array(code, ids).tobytes())


def megatron(name, dtype, code, sequences, ends, version=1, pointer=0):
    raw(name + ".bin", code, [i for sequence in sequences for i in sequence])
    pointers = [pointer]
    for sequence in sequences:
        pointers.append(pointers[-1] + len(sequence) * array.array(code).itemsize)
    with open(name + ".idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", version, dtype, len(sequences), len(ends)))
        file.write(array.array("i", [len(sequence) for sequence in sequences]).tobytes())
        file.write(array.array("q", pointers[:-1]).tobytes() + array.array("q", ends).tobytes())


after = [i for document in documents for i in [*document, eos]]
before = [i for document in documents for i in [eos, *document]]
for dtype, code in (("<u2", "H"), ("<u4", "I"), ("<i4", "i"), ("<i8", "q")):
    npy(dtype[1:] + ".npy", dtype, code, after)
npy("v2.npy", "<u2", "H", before, 2)
npy("v3.npy", "<u2", "H", before[1:], 3)
raw("nano.bin", "H", after)
raw("wide.bin", "I", after)
head = array.array("i", [20240520, 1, len(before)] + 253 * [0]).tobytes()
raw("gpt2.bin", "H", before, head)
raw("llama3.bin", "I", before, array.array("i", [20240801, 7, len(before)] + 253 * [0]).tobytes())
os.mkdir("with_eos")
megatron("with_eos/x", 8, "H", [[*document, eos] for document in documents], list(range(len(documents) + 1)))
megatron("plain", 4, "i", documents, list(range(len(documents) + 1)))
# Two sequences a document.
halves = [half for document in documents for half in (document[:5], document[5:])]
megatron("halves", 5, "q", halves, list(range(0, len(halves) + 1, 2)))
megatron("bytes", 1, "B", documents, list(range(len(documents) + 1)))

npy("outside.npy", "<u2", "H", [1] * 200000 + [257])
npy("negative.npy", "<i4", "i", [1, -1])
npy("float.npy", "<f4", "f", [1.0])
npy("big.npy", ">u2", "H", [1])
npy("flat.npy", "<u2", "H", [1, 2], shape=(1, 2))
npy("fewer.npy", "<u2", "H", [1, 2], shape=(3,))
npy("more.npy", "<u2", "H", [1, 2], shape=(1,))
npy("v9.npy", "<u2", "H", [1], 9)
raw("header.npy", "B", b"\x93NUMPY\1\0\xff")
raw("long.npy", "B", b"\x93NUMPY\2\0" + struct.pack("<I", 1 << 20) + b"{'descr': '" + bytes(1 << 20))
raw("narrow.bin", "H", [i % 200 for i in range(100)])
raw("wide64.bin", "q", after)
raw("odd.bin", "B", [1, 0, 2])
raw("cut_gpt2.bin", "H", before[:-1], head)
raw("head_gpt2.bin", "H", [], head[:100])
megatron("order", 8, "H", [[1], [2]], [0, 1, 2], pointer=2)
megatron("version", 8, "H", [[1]], [0, 1], version=2)
megatron("floats", 7, "f", [[1]], [0, 1])
megatron("begin", 8, "H", [[1], [2]], [1, 2])
megatron("end", 8, "H", [[1], [2]], [0, 3])
megatron("rest", 8, "H", [[1], [2]], [0, 1])
megatron("short", 8, "H", [[1], [2]], [0, 2])
raw("short.bin", "H", [1])
megatron("long", 8, "H", [[1], [2]], [0, 2])
raw("long.bin", "H", [1, 2, 3])
megatron("cut", 8, "H", [[1], [2]], [0, 2])
os.truncate("cut.idx", 50)
raw("none.bin", "H", [1])
raw("magic.bin", "H", [1])
raw("magic.idx", "H", [1] * 100)
END
python3 make.py

# digest_of NAME ARGUMENT...
digest_of() {
  expect_exit 0 dt-shard-data --out "$@" --json --quiet
  expect_exit 0 dt-shard-data --verify "$1"
  json_value "$1/dataset.json" digest | sed -n 2p # after the tokenizer's
}
tr '\0' '\1' <text >separated
expect=$(digest_of expected --document-separator "$(printf '\1')" separated)
tokenizer=(--tokenizer bytes)
for file in u2.npy u4.npy i4.npy i8.npy v2.npy v3.npy gpt2.bin llama3.bin; do
  expect_equal "$(digest_of "auto_$file" "${tokenizer[@]}" "$file")" "$expect" "$file"
done
expect_equal "$(digest_of npy "${tokenizer[@]}" --format npy --threads 1 u2.npy)" "$expect"
expect_equal "$(digest_of npy_pipe "${tokenizer[@]}" < <(cat i8.npy))" "$expect"
gzip -c u2.npy >u2.npy.gz
expect_equal "$(digest_of npy_gz "${tokenizer[@]}" u2.npy.gz)" "$expect"
expect_equal "$(digest_of nano "${tokenizer[@]}" --format bin nano.bin)" "$expect"
expect_equal "$(digest_of nano_pipe "${tokenizer[@]}" --format bin < <(cat nano.bin))" "$expect"
expect_equal "$(digest_of wide "${tokenizer[@]}" --format bin --token-type u32 wide.bin)" "$expect"
expect_equal "$(digest_of gpt2 "${tokenizer[@]}" --format bin --token-type u32 gpt2.bin)" "$expect"
for name in with_eos/x.bin with_eos plain.bin halves.bin bytes.bin; do
  expect_equal "$(digest_of "megatron_${name////_}" "${tokenizer[@]}" --format megatron "$name")" "$expect" "$name"
done
cmp auto_u2.npy/train-00000.h5 expected/train-00000.h5
expect_equal "$(digest_of bare "${tokenizer[@]}" --no-append-eos u2.npy)" \
  "$(digest_of bare_text --no-append-eos --document-separator "$(printf '\1')" separated)"
dt-shard-data --encode-only --quiet "${tokenizer[@]}" u2.npy >ids
dt-shard-data --encode-only --quiet --document-separator "$(printf '\1')" separated | cmp ids

mkdir work
# refused REGEX ARGUMENT...
refused() {
  local pattern=$1
  shift
  expect_exit 3 dt-shard-data --out work/out "${tokenizer[@]}" "$@"
  expect_match stderr "$pattern"
  expect_equal "$(ls -A work)" ""
}
refused 'outside.npy: token id 257 at position 200000 is outside the tokenizer.s vocabulary of 257 tokens' outside.npy
refused 'negative.npy: token id -1 at position 1 is outside' negative.npy
refused "float.npy holds numbers of type '<f4'; .*astype" float.npy
refused "big.npy holds numbers of type '>u2'" big.npy
refused 'flat.npy has shape \(1, 2\), .*reshape' flat.npy
refused 'fewer.npy is truncated: it has 2 of 3 tokens' fewer.npy
refused 'more.npy has data after the 1 tokens' more.npy
refused 'v9.npy has version 9' v9.npy
refused 'header.npy is truncated' header.npy
refused 'long.npy has a header of 1048576 bytes, which is not valid for the NumPy format' long.npy
refused 'text is not a NumPy .npy file' --format npy text
refused 'odd.bin ends in the middle of a 2-byte token; .*--token-type' --format bin odd.bin
refused 'cut_gpt2.bin is truncated: it has' cut_gpt2.bin
refused 'head_gpt2.bin is truncated: it ends within its header' head_gpt2.bin
refused 'order.idx: sequence 0 does not begin where' --format megatron order.bin
refused 'version.idx has version 2; dt reads version 1' --format megatron version.bin
refused 'floats.idx states the token type 7' --format megatron floats.bin
refused 'begin.idx is damaged: its first document' --format megatron begin.bin
refused 'end.idx is damaged: a document ends at sequence 3' --format megatron end.bin
refused 'long.bin has more tokens than the documents in its index' --format megatron long.bin
refused 'short.bin is truncated' --format megatron short.bin
refused 'rest.idx is damaged: the sequences from 1 on' --format megatron rest.bin
refused 'cut.idx is truncated' --format megatron cut.bin
refused 'none.idx: No such file' --format megatron none.bin
refused 'magic.idx is not a Megatron index' --format megatron magic.bin
refused 'standard input is not a Megatron .bin file' --format megatron <plain.bin
refused 'plain.idx is a Megatron index, which dt reads together with its .bin file; give plain.bin instead' --format megatron plain.idx
expect_equal "$(digest_of megatron_both "${tokenizer[@]}" --format megatron plain.bin plain.idx)" "$expect"
refused 'wide.bin seems to hold ids wider than 16 bits: .*--token-type u32' --format bin wide.bin
refused 'wide64.bin seems to hold ids wider than 16 bits' --format bin wide64.bin
refused 'wide64.bin seems to hold ids wider than 32 bits: .*astype' --format bin --token-type u32 wide64.bin
refused 'narrow.bin: token id [0-9]+ at position 0 is outside' --format bin --token-type u32 narrow.bin
refused 'nano.bin is neither text nor an llm.c file of token ids; .*--format bin' nano.bin
cp nano.bin memmap.npy
refused 'memmap.npy has no NumPy header.*--format bin' memmap.npy
refused 'plain.idx is a Megatron index; use --format megatron' plain.idx

tokenizer=()
refused 'u2.npy holds token ids, but their tokenizer is unknown; .*--tokenizer' u2.npy
# wrong REGEX ARGUMENT...
wrong() {
  expect_exit 2 dt-shard-data --out work/out "${@:2}" u2.npy
  expect_match stderr "$1"
}
wrong '--format bin needs --tokenizer' --format bin
wrong '--text-key applies to JSON lines, not to --format npy' --format npy --tokenizer bytes --text-key x
wrong '--invalid applies to text, not to --format megatron' --format megatron --tokenizer bytes --invalid skip
wrong '--token-type applies to --format bin, not to --format auto' --token-type u16
wrong "'u64'.*u16 or u32" --format bin --tokenizer bytes --token-type u64
