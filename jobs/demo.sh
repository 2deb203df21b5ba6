#!/usr/bin/env bash
# demo.sh DIR: runs the whole pipeline on one machine, with the tools on PATH. It makes token shards of text that this machine has, trains
# a small model on them with two ranks, kills one rank, resumes the run, verifies a checkpoint, and exports it to a folder that Hugging Face
# transformers loads.
set -euo pipefail

out=${1:?usage: demo.sh DIR}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ $here != */share/dt ]] || PATH=${here%/share/dt}/bin:$PATH # the tools that were installed with this script
steps=600
kill_at=250
bold='' plain=''
[[ ! -t 1 ]] || bold=$'\033[1m' plain=$'\033[0m'
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

rm -rf "$out"
mkdir -p "$(dirname "$out")"
mkdir "$out" # fails if another user creates it meanwhile

say "1. Text: documentation and headers of this machine's packages"
bash "$here/datasets/debian-text.sh" "$out/text"

say "2. Token shards: dt-shard-data"
dt-shard-data --out "$out/shards" --val-fraction 0.02 "$out/text"

say "3. Training: dt-train, two ranks, $steps steps; one rank is killed (SIGKILL) after step $kill_at"
cat >"$out/config.json" <<'JSON'
{"model_type": "llama", "vocab_size": 257, "hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 4,
 "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256, "tie_word_embeddings": true}
JSON
# Open MPI needs two variables to run as root, and an option to let ranks share a core. MPICH's libraries have ABI version 12.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=(mpirun --oversubscribe)
if [[ $(ldd "$(command -v dt-train)") =~ libmpi[a-z0-9_]*\.so\.12 ]]; then
  launch=("$(command -v mpiexec.mpich || command -v mpiexec)")
fi
train=("${launch[@]}" -n 2 dt-train --model "$out/config.json" --data "$out/shards" --run "$out/run" --steps "$steps"
  --global-batch 16 --micro-batch 8 --sequence-length 128 --lr 3e-3 --warmup-steps 50 --save-every 100 --keep-last 3
  --eval-batches 20 --log-every 25)
echo "${train[*]}"
"${train[@]}" &
launcher=$!
until grep -qs "\"kind\":\"train\",\"step\":$kill_at," "$out/run/metrics.jsonl"; do
  kill -0 "$launcher" || { wait "$launcher"; exit 1; }
  sleep 0.05
done
proxies=$(pgrep -d , -P "$launcher") # MPICH's launcher starts ranks through proxies
kill -KILL "$(pgrep -P "$launcher,$proxies" -x dt-train | tail -n 1)"
wait "$launcher" 2>/dev/null || true

say "4. Resume: the same command continues from the newest checkpoint"
"${train[@]}"

say "5. Checkpoints: dt-checkpoint"
dt-checkpoint list "$out/run"
last=$(dt-checkpoint latest "$out/run")
dt-checkpoint verify "$last"

say "6. Export: dt-merge"
dt-merge "$last" --out "$out/model"
dt-merge "$last" --out "$out/model.h5"

say "Output"
cat <<END
text          $out/text
token shards  $out/shards
metrics       $out/run/metrics.jsonl
checkpoints   $out/run/checkpoints
model         $out/model      (transformers: AutoModelForCausalLM.from_pretrained("$out/model"))
              $out/model.h5   (h5dump, h5py)
END
