#!/usr/bin/env bash
# What was truncated, altered or made by another version is found: --verify ends with 5 and names it, reading with 3.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

head -c 300000 /dev/zero | tr '\0' x >text
expect_exit 0 dt-shard-data --out whole --shard-tokens 100K --val-fraction 0 text

# fresh: a copy to damage
fresh() {
  rm -rf data
  cp -r whole data
}
# verify_names REGEX...
verify_names() {
  expect_exit 5 dt-shard-data --verify data
  local pattern
  for pattern in "$@"; do expect_match stdout "$pattern"; done
  expect_match stderr 'data is damaged: .*; '
}

fresh
truncate -s -1 data/train-00001.h5
verify_names 'train-00001.h5'
expect_exit 3 dt-shard-data --show data
expect_match stderr 'train-00001.h5'

for size in 0 100 4096 100000; do
  fresh
  truncate -s "$size" data/train-00001.h5
  verify_names 'train-00001.h5'
  expect_exit 3 dt-shard-data --decode data/train-00001.h5:0:10
  expect_match stderr 'train-00001.h5'
done

fresh
printf 'y' | dd of=data/train-00002.h5 bs=1 seek=100000 conv=notrunc status=none
printf 'y' | dd of=data/tokenizer.json bs=1 seek=30 conv=notrunc status=none
rm data/train-00000.h5
verify_names 'train-00002.h5: is corrupt: block 0 of its tokens' 'tokenizer.json: its digest' 'train-00000.h5'
expect_equal "$(wc -l <stdout)" 3
expect_exit 5 dt-shard-data --verify data --json
expect_match stdout '^\{"ok":false,"problems":\[".*\]\}$'
expect_exit 3 dt-shard-data --decode data/train-00002.h5:0:10
expect_match stderr 'train-00002.h5 is corrupt'

fresh
cp data/train-00000.h5 data/train-00001.h5
verify_names 'train-00001.h5: its .* does not match dataset.json'

fresh
sed -i 's/"tokens": 300001/"tokens": 300002/' data/dataset.json
verify_names 'dataset.json is damaged'
expect_exit 3 dt-shard-data --show data
expect_match stderr 'dataset.json is damaged'
head -c 200 whole/dataset.json >data/dataset.json
verify_names 'dataset.json is damaged'

fresh
sed -i 's/"version": 1/"version": 2/' data/dataset.json
expect_exit 3 dt-shard-data --show data
expect_match stderr 'dataset.json has version 2; this dt reads version 1'
verify_names 'has version 2'

fresh
count=$((100001))
expect_exit 3 dt-shard-data --decode "data/train-00000.h5:0:$count"
expect_match stderr 'tokens 0 to 100001 are out of range; the shard has 100,?000 tokens'
expect_exit 0 dt-shard-data --decode data/train-00000.h5:99K:1K
expect_equal "$(wc -c <stdout)" 1000
expect_exit 0 dt-shard-data --decode data/train-00000.h5:100K:0
