#!/usr/bin/env bash
# Each optimizer trains, saves and goes on with its own state and settings, in any layout, and refuses what is another's.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

# state_kinds RUN: the kinds beside the weights in the newest checkpoint.
state_kinds() {
  dt-checkpoint show "$(dt-checkpoint latest "$1")" | awk '$2 ~ /_[mvrc]$/ { print $2 }' | sort -u | xargs
}
shown() { dt-checkpoint show "$(dt-checkpoint latest "$1")" | sed -n 's/^optimizer  *//p'; }

# goes_on NAME KINDS SHOWN [options]: eight steps at once, and four and four, of which the second start names no option.
goes_on() {
  local name=$1 kinds=$2 line=$3
  shift 3
  expect_exit 0 train "$name" --steps 8 --schedule constant "$@"
  expect_exit 0 train "${name}_halves" --steps 4 --schedule constant "$@"
  expect_exit 0 dt-train --run "${name}_halves" --threads 1 --peak-flops 1e9 --steps 8
  expect_same_model "$name" "${name}_halves"
  expect_equal "$(losses "${name}_halves")" "$(losses "$name")" "losses of $name"
  expect_equal "$(state_kinds "${name}_halves")" "$kinds" "kinds of state of $name"
  expect_equal "$(shown "${name}_halves")" "$line" "what is shown of $name"
}
goes_on adamw "adam_m adam_v" 'adamw {"weight_decay":0.1,"beta1":0.9,"beta2":0.95,"adam_eps":1e-08}'
goes_on lion lion_m 'lion {"weight_decay":0.1,"beta1":0.9,"beta2":0.99}' --optimizer lion --lr 1e-4
goes_on sgd sgd_m 'sgd {"weight_decay":0.0,"momentum":0.9,"nesterov":false}' --optimizer sgd --lr 0.1
goes_on nesterov sgd_m 'sgd {"weight_decay":0.01,"momentum":0.8,"nesterov":true}' --optimizer sgd --lr 0.1 --momentum 0.8 --nesterov \
  --weight-decay 0.01
goes_on muon "adam_m adam_v muon_m" \
  'muon {"weight_decay":0.1,"beta1":0.9,"beta2":0.95,"adam_eps":1e-08,"momentum":0.95,"adam_lr":0.001}' \
  --optimizer muon --lr 2e-3 --adam-lr 1e-3
goes_on adafactor "adafactor_c adafactor_r adafactor_v" \
  'adafactor {"weight_decay":0.0,"beta2_decay":0.8,"clip_threshold":1.0,"scale_parameter":false,"relative_step":true}' \
  --optimizer adafactor --lr 2e-3 --relative-step
goes_on plain "" 'sgd {"weight_decay":0.0,"momentum":0.0,"nesterov":false}' --optimizer sgd --lr 0.1 --momentum 0

# Each learns, and no two alike.
for run in adamw lion sgd nesterov muon adafactor plain; do
  losses "$run" | awk -v run="$run" 'NR == 1 { first = $NF } { last = $NF } END { if (!(last < first)) { print run, first, last; exit 1 } }' ||
    fail "$run learns nothing"
done
expect_equal "$(for run in adamw lion sgd nesterov muon adafactor plain; do losses "$run" | tail -n 1; done | sort -u | wc -l)" 7 "different losses"

# Any layout: equal bits where that is promised.
for options in "--optimizer lion --lr 1e-4" "--optimizer muon --lr 2e-3" "--optimizer adafactor --scale-parameter" "--optimizer sgd --lr 0.1 --nesterov" "--optimizer sgd --lr 0.1 --momentum 0"; do
  # shellcheck disable=SC2086 # words
  expect_exit 0 compare threads=4 "dp=1; pp=2,dp=1; dp=2; dp=4,zero=1; dp=4,zero=2; dp=4,zero=3; pp=2,dp=2,zero=1" --micro-batch 1 \
    --global-batch 4 --steps 6 --json $options
  expect_equal "$(equal_layouts)" 7 "layouts with equal weights ($options)"
  expect_equal "$(grep -c '"promised_equal":true' stdout)" 7 "layouts of which that is promised ($options)"
  # shellcheck disable=SC2086
  expect_exit 0 compare threads=4 "tp=2,dp=1; tp=2,dp=2,zero=1; tp=2,dp=2,zero=3; tp=2,pp=2,dp=1" --micro-batch 1 --global-batch 2 \
    --steps 6 --json $options
  expect_equal "$(equal_layouts)" 4 "layouts with equal weights under tp ($options)"
done

# Adafactor beside all other parts of an update.
expect_exit 0 compare threads=2 "dp=1; pp=2,dp=1; dp=2,zero=1; dp=2,zero=3" --micro-batch 1 --global-batch 2 --steps 4 --json \
  --optimizer adafactor --scale-parameter --precision bf16 --grad-dtype bf16 --weight-decay 0.1 --lr-scale embedding=0.5,norm=2 \
  --no-decay embedding --ema 0.8 --qk-clip 0.05 --lr 0.01
expect_equal "$(equal_layouts)" 4 "layouts with all parts of Adafactor's update"

# A checkpoint goes on in another layout, its state divided anew: here from one rank to ZeRO 1 on two.
train whole --optimizer lion --lr 1e-4 --grad-lanes 2 --schedule constant --steps 8 >/dev/null || fail "one rank"
train moved --optimizer lion --lr 1e-4 --grad-lanes 2 --schedule constant --steps 4 >/dev/null || fail "one rank, half"
expect_exit 0 dt-train --run moved --threads 1 --peak-flops 1e9 --steps 8 --comm threads=2 --zero 1
expect_same_model whole moved
train whole_muon --optimizer muon --lr 2e-3 --grad-lanes 2 --schedule constant --steps 8 >/dev/null || fail "Muon on one rank"
train moved_muon --optimizer muon --lr 2e-3 --grad-lanes 2 --schedule constant --steps 4 >/dev/null || fail "Muon on one rank, half"
expect_exit 0 dt-train --run moved_muon --threads 1 --peak-flops 1e9 --steps 6 --comm threads=2 --zero 1
expect_exit 0 dt-train --run moved_muon --threads 1 --peak-flops 1e9 --steps 8
expect_same_model whole_muon moved_muon
expect_match "$(dt-checkpoint latest whole_muon)/manifest.json" '"matrices": ?"weights whole'

# So does state with one number for each row or column, which is whole on each rank.
train whole_factored --optimizer adafactor --grad-lanes 2 --schedule constant --steps 8 >/dev/null || fail "Adafactor on one rank"
train moved_factored --optimizer adafactor --grad-lanes 2 --schedule constant --steps 3 >/dev/null || fail "Adafactor on one rank, part"
expect_exit 0 dt-train --run moved_factored --threads 1 --peak-flops 1e9 --steps 5 --comm threads=2 --zero 1
expect_exit 0 dt-checkpoint verify "$(dt-checkpoint latest moved_factored)"
expect_exit 0 dt-train --run moved_factored --threads 1 --peak-flops 1e9 --steps 7 --comm threads=2 --zero 0 --pp 2
expect_exit 0 dt-train --run moved_factored --threads 1 --peak-flops 1e9 --steps 8 --pp 1
expect_same_model whole_factored moved_factored
expect_match "$(dt-checkpoint latest whole_factored)/manifest.json" '"state_shapes": ?\{"adafactor_r": ?"rows", ?"adafactor_c": ?"columns"\}'
expect_exit 0 dt-checkpoint diff "$(dt-checkpoint latest whole_factored)" "$(dt-checkpoint latest moved_factored)"
for layout in dp=3,zero=1 pp=2,tp=2; do
  expect_exit 0 dt-checkpoint reshard "$(dt-checkpoint latest whole_factored)" "factored_$layout" --layout "$layout"
  expect_exit 0 dt-checkpoint diff "$(dt-checkpoint latest whole_factored)" "factored_$layout"
  expect_exit 0 dt-checkpoint verify "factored_$layout"
done
expect_exit 0 dt-merge --quiet "$(dt-checkpoint latest whole_factored)" --out factored.hf --format hf --with-optimizer
grep -q '"adafactor_c.layers.0.mlp.up.weight"' factored.hf/optimizer.safetensors || fail "no moments of columns"
grep -q '"adafactor_v.model.norm.weight"' factored.hf/optimizer.safetensors || fail "no moments of vectors"
expect_exit 0 dt-merge --quiet "$(dt-checkpoint latest whole_factored)" --out factored.h5 --with-optimizer

# A kind of state that some parameters have: resharded, compared, exported.
expect_exit 0 dt-checkpoint reshard "$(dt-checkpoint latest whole_muon)" resharded --layout dp=3,zero=1
expect_exit 0 dt-checkpoint diff "$(dt-checkpoint latest whole_muon)" resharded
expect_exit 0 dt-checkpoint verify resharded
expect_exit 0 dt-merge --quiet "$(dt-checkpoint latest whole_muon)" --out muon.hf --format hf --with-optimizer
grep -q '"muon_m.model.layers.0.mlp.up_proj.weight"' muon.hf/optimizer.safetensors || fail "no momentum of matrices"
grep -q '"adam_v.model.layers.0.mlp.up_proj.weight"' muon.hf/optimizer.safetensors && fail "moments of matrices"
expect_exit 0 dt-merge --quiet "$(dt-checkpoint latest whole_muon)" --out muon.h5 --with-optimizer

# State goes along where that is asked, and is refused where there is none.
expect_exit 0 dt-merge --quiet "$(dt-checkpoint latest lion)" --out lion.hf --format hf --with-optimizer
grep -q '"lion_m.model.norm.weight"' lion.hf/optimizer.safetensors || fail "no state beside the weights"
expect_exit 3 dt-merge --quiet "$(dt-checkpoint latest plain)" --out plain.h5 --with-optimizer
expect_match stderr 'has no optimizer state'

# Another optimizer, or another state, is refused by name; its weights can begin a run.
expect_exit 3 train adamw --steps 9 --optimizer lion
expect_match stderr 'step-00000008.g1 was trained with adamw: --optimizer lion cannot continue its state'
expect_match stderr -- 'use --optimizer adamw to resume; a new run can start from its weights: --run NEW --init-from CHECKPOINT'
expect_exit 3 train lion --steps 9 --optimizer adamw --dry-run
expect_match stderr 'was trained with lion: --optimizer adamw cannot continue its state'
expect_exit 3 train plain --steps 9 --momentum 0.9
expect_match stderr 'step-00000008.g1 holds the sgd state \[\], but this command needs \[sgd_m\]'
expect_exit 0 train begun --steps 1 --optimizer lion --init-from "$(dt-checkpoint latest adamw)"
expect_exit 0 dt-train --eval-only --run lion --threads 1 --json

# Options that the optimizer does not use.
unused() {
  local what=$1
  shift
  expect_exit 2 dt-train --model llama-tiny --data nowhere --run unused --steps 1 "$@"
  expect_match stderr "error: $what$"
}
unused "--momentum needs --optimizer sgd or muon" --momentum 0.5
unused "--nesterov needs --optimizer sgd" --nesterov --optimizer lion
unused "--adam-eps needs --optimizer adamw or muon" --adam-eps 1e-6 --optimizer lion
unused "--adam-lr needs --optimizer muon" --adam-lr 0.1
unused "--clip-threshold needs --optimizer adafactor" --clip-threshold 2
unused "--beta1 needs --optimizer adamw or lion or muon" --beta1 0.8 --optimizer sgd
unused "--nesterov needs a --momentum above 0" --nesterov --optimizer sgd --momentum 0
unused "--optimizer muon needs a --momentum above 0" --optimizer muon --momentum 0
unused "--momentum 1 must be below 1" --optimizer sgd --momentum 1
expect_exit 2 dt-train --model llama-tiny --data nowhere --run unused --steps 1 --optimizer adan
expect_match stderr "--optimizer.*adamw, sgd, lion.* muon"
expect_absent unused
dt-train --help-all | tr -s '[:space:]' ' ' >help
expect_match help 'default: 0.95; lion: 0.99'

# Plans count each optimizer's state: masters are the weights, so 8, 4 and 0 bytes a parameter.
for pair in adamw:8 lion:4 sgd:4 "sgd --momentum 0:0"; do
  # shellcheck disable=SC2086
  expect_exit 0 dt-train --model llama-tiny --steps 1 --dry-run --ranks 1 --optimizer ${pair%:*} --json
  parameters=$(json_value stdout parameters)
  expect_equal "$(($(json_value stdout optimizer_bytes) / parameters))" "${pair#*:}" "bytes of state, ${pair%:*}"
  expect_equal "$(json_value stdout checkpoint_bytes)" $(((4 + ${pair#*:}) * parameters)) "bytes of a checkpoint, ${pair%:*}"
done

# Muon has 4 bytes for an element of blocks' matrices and 8 for others; padding is in the estimate alone.
expect_exit 0 dt-train --model llama-tiny --steps 1 --dry-run --ranks 1 --optimizer muon --json
state=$(($(json_value stdout checkpoint_bytes) - 4 * parameters))
((4 * parameters < state && state < 8 * parameters)) || fail "$state bytes of Muon's state in a checkpoint of $parameters parameters"
((state <= $(json_value stdout optimizer_bytes) && $(json_value stdout optimizer_bytes) < state + 4096)) || fail "bytes of Muon's state"

# Adafactor has a number for each row and column of a matrix.
expect_exit 0 dt-train --model llama-tiny --steps 1 --dry-run --ranks 1 --optimizer adafactor --json
state=$(($(json_value stdout checkpoint_bytes) - 4 * parameters))
((0 < state && 20 * state < 4 * parameters)) || fail "$state bytes of Adafactor's state in a checkpoint of $parameters parameters"
((state <= $(json_value stdout optimizer_bytes) && $(json_value stdout optimizer_bytes) < state + 8192)) || fail "bytes of Adafactor's state"
expect_exit 2 dt-train --model llama-tiny --steps 1 --dry-run --ranks 1 --optimizer adafactor --device cuda
expect_match stderr "--optimizer adafactor has no kernels for GPUs"
