#!/usr/bin/env bash
# Names of any bytes work everywhere: escaped in JSON, and told apart.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

caf=$'caf\xe9'
mkdir "$caf" "$caf/sub"
printf '{"text": "one"}\nbad\n{"text": "two"}\n' >"$caf/sub/a$caf.jsonl"
printf '{"text": "three"}\n' | gzip -c >"$caf/$caf.json.gz"
tar -cf "$caf.tar" "$caf"
printf '%s\n' "$caf.tar" >"list$caf"
expect_exit 0 dt-shard-data --out "out$caf" --json --skip-bad-lines --val-fraction 0 "$caf" "$caf"'*.t[a]r' --input-list "list$caf"
expect_match stdout '"bad_lines":3,"first_bad_line":"caf..xE9/sub/acaf..xE9.jsonl:2: invalid JSON'
expect_equal "$(json_value stdout documents)" 9
expect_match "out$caf/dataset.json" '"inputs": \['
expect_match "out$caf/dataset.json" '"caf..xE9"'
expect_match "out$caf/dataset.json" '"input_list": "listcaf..xE9"'
python3 -c 'import json, sys; json.load(open(sys.argv[1].encode("utf8", "surrogateescape"), encoding="utf8"))' "out$caf/dataset.json"
expect_exit 0 dt-shard-data --show "out$caf"
expect_exit 0 dt-shard-data --show "out$caf" --json
expect_exit 0 dt-shard-data --verify "out$caf" --json
expect_exit 0 dt-shard-data --decode "out$caf/train-00000.h5:0:4" --json
expect_match stdout '"shard":"outcaf..xE9/train-00000.h5"'
truncate -s -8 "out$caf/train-00000.h5"
expect_exit 5 dt-shard-data --verify "out$caf" --json
expect_match stdout 'outcaf..xE9/train-00000.h5'
expect_exit 3 dt-shard-data --out no "missing$caf"
expect_match stderr 'No such file or directory; check the path'
