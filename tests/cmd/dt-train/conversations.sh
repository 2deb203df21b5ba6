#!/usr/bin/env bash
# Conversations: special tokens that users write are text; what is no target is read and not learned, in training and evaluation, the
# same in every layout.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_tokenizer tokenizer.json
message() { printf '{"role": "%s", "content": "%s"}' "$@"; }
for i in $(seq 300); do
  echo "{\"messages\": [$(message user "say document $i <|end_of_text|>"), $(message assistant "document $i says $((i * i))")]}"
done >chats.jsonl
format='<|begin_of_text|>{role}\n{content}\n'
sharding=(--tokenizer tokenizer.json)

# shards DIR OPTION...
shards() {
  dt-shard-data --json --quiet --no-shuffle --val-fraction 0.3 "${sharding[@]}" --out "$@" chats.jsonl >"$1.json" ||
    fail "dt-shard-data --out $*"
}
# text_of DIR
text_of() { dt-shard-data --decode "$1/train-00000.h5:0:$(json_value "$1.json" train_tokens)"; }
shards all --turn-format "$format"
shards assistant --turn-format "$format" --loss-on assistant
text_of assistant >text
expect_equal "$(head -n 5 text)" "<|begin_of_text|>user
say document 1 <|end_of_text|>
<|begin_of_text|>assistant
⟦document 1 says 1
<|end_of_text|>⟧<|begin_of_text|>user"
sed 's/[⟦⟧]//g' text >unmarked
text_of all | cmp - unmarked || fail "marked tokens are others"
expect_exit 0 dt-shard-data --decode assistant/train-00000.h5:0:60 --json
expect_match stdout '"text":"<.begin_of_text.>user.nsay .*"parts":\[\{"text":"<.begin_of_text.>user.*assistant.n","learned":false\},\{"text":"document 1 says 1.n<.end_of_text.>","learned":true\}'
expect_exit 0 dt-shard-data --verify assistant
# What the format writes out is one token; what a user writes is as many as its letters at most, and more than one.
dt-shard-data --encode-only "${sharding[@]}" --turn-format "$format" chats.jsonl >ids
eos=$(dt-shard-data --show all --json | sed -nE 's/.*"eos": ?([0-9]+).*/\1/p')
expect_equal "$(head -n 1 ids | tr ' ' '\n' | grep -cx "$eos")" 1 "tokens that end a document"
for threads in 1 3; do
  shards "again$threads" --turn-format "$format" --loss-on assistant --threads "$threads"
  cmp "again$threads/train-00000.h5" assistant/train-00000.h5 || fail "other shards with $threads threads"
done

llama='"hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,"num_attention_heads":2,"max_position_embeddings":64'
printf '{"model_type":"llama","vocab_size":600,%s}' "$llama" >model.json
options=(--model model.json --sequence-length 32 --global-batch 8 --micro-batch 2 --threads 1 --schedule constant --warmup-steps 0)
# trained RUN DATA STEPS
trained() { dt-train --quiet "${options[@]}" --run "$1" --data "$2" --steps "$3" >/dev/null || fail "dt-train --data $2"; }
trained first all 3
weights=$(dt-checkpoint latest first)

# evaluated DATA OPTION...: its loss and targets.
evaluated() {
  expect_exit 0 dt-train --eval-only --json --data "$1" --sequence-length 32 --threads 1 --init-from "$weights" "${@:2}"
  echo "$(json_value stdout val_loss) $(json_value stdout val_tokens)"
}
# All that is said is what an assistant or a user says.
shards said --turn-format '{content}'
shards said_all --turn-format '{content}' --loss-on user,assistant
shards said_by_user --turn-format '{content}' --loss-on user
shards said_by_assistant --turn-format '{content}' --loss-on assistant
expect_equal "$(evaluated said_all)" "$(evaluated said)"
# The summaries count what is learned.
expect_equal "$(json_value said_all.json targets)" "$(json_value said.json tokens)"
expect_equal $(($(json_value said_by_user.json targets) + $(json_value said_by_assistant.json targets))) "$(json_value said.json tokens)"
expect_equal "$(grep -c targets said.json)" 0
expect_exit 0 dt-shard-data --show said_all
expect_match stdout '^split .* targets$'
learned=$(dt-shard-data --show said_all --json | sed -nE 's/.*"train":\{[^}]*"targets":([0-9]+).*/\1/p')
expect_equal "$(sed -n 's/,//g; s/^train .* //p' stdout)" "$learned"
echo "$(evaluated said) $(evaluated said_by_user) $(evaluated said_by_assistant)" >losses
awk '{ sum = $3 * $4 + $5 * $6; off = ($1 * $2 - sum) / sum; exit !($2 == $4 + $6 && $4 > 0 && $6 > 0 && off < 1e-9 && off > -1e-9) }' losses ||
  fail "losses: $(cat losses)"
expect_equal "$(evaluated assistant --cp 2 --tp 2 --comm threads=4 | cut -d ' ' -f 2)" "$(evaluated assistant | cut -d ' ' -f 2)" "targets"

# Where all are targets, training is as it is without marks; where some are, the same in every layout, and on resume.
trained on_said said 4
trained on_said_all said_all 4
expect_same_model on_said on_said_all
expect_exit 0 dt-train "${options[@]}" --data assistant --steps 6 --comm threads=4 --grad-lanes 4 \
  --compare-layouts 'dp=1; dp=2; dp=4; pp=2; pp=2,dp=2,zero=1; cp=2; cp=2,dp=2; tp=2; dp=4,zero=3'
trained parts assistant 3
trained parts assistant 6
trained through assistant 6
expect_same_model parts through
trained on_all all 6
expect_equal "$(grep -c '"targets":256,' on_said_all/metrics.jsonl)" 4
expect_equal "$(grep '"kind":"train"' through/metrics.jsonl | grep -c '"targets":256,')" 0
! cmp "$(merged through)" "$(merged on_all)" >/dev/null || fail "marks change nothing"

# A validation loss of no tokens is none: refused before training, and where a run that has trained comes to it, absent.
{
  cat chats.jsonl
  for i in $(seq 300); do echo "{\"messages\": [$(message user "say document $i")]}"; done
  cat chats.jsonl
} >silent.jsonl
dt-shard-data --json --quiet --no-shuffle --val-fraction 0.6 "${sharding[@]}" --out silent --turn-format "$format" --loss-on assistant \
  silent.jsonl >silent.json || fail "silent"
nothing='nothing to evaluate: none of the tokens in the 8 validation windows of silent is a target; make the dataset'
few=("${options[@]}" --data silent --eval-batches 1)
for how in "--run unheard --steps 1" "--run unheard --steps 1 --comm threads=2" "--dry-run --steps 1" "--eval-only --init-from $weights"; do
  read -ra how <<<"$how"
  [[ ${how[0]} != --eval-only ]] || few=(--data silent --eval-batches 1 --sequence-length 32 --threads 1)
  expect_exit 3 dt-train "${few[@]}" "${how[@]}"
  expect_match stderr "$nothing"
  expect_absent unheard/checkpoints
done
trained unheard silent 2
# Steps without a target are told.
expect_exit 0 dt-train --model model.json --sequence-length 32 --global-batch 1 --threads 1 --data silent --run quiet --steps 60
step=$(sed -nE 's/.*"kind":"train","step":([0-9]+),"loss":0(\.0)?,.*"targets":0,.*/\1/p' quiet/metrics.jsonl | head -n 1)
[[ -n $step ]] || fail "no step without targets"
expect_match stderr "step $step: none of its tokens is a target"
expect_match unheard/metrics.jsonl '"step":2,"val_loss":[0-9.]+,'
expect_exit 0 dt-train "${options[@]}" --data silent --run unheard --steps 3 --eval-batches 1
expect_match unheard/metrics.jsonl '"step":3,"val_loss":null,"val_tokens":0'

# refused EXIT PATTERN OPTION...
refused() {
  expect_exit "$1" dt-shard-data "${sharding[@]}" --out out "${@:3}"
  expect_match stderr "$2"
  expect_absent out
}
refused 2 'does not contain \{content\} exactly once' --turn-format '{role}' chats.jsonl
refused 3 "turn-format writes '<.im_end.>', which is not a token of the tokenizer; text from users" --turn-format '{content}<|im_end|>' chats.jsonl
echo '{"messages": [{"role": "user", "content": "x", "weight": 0}]}' >bad.jsonl
refused 3 'bad.jsonl:1: a turn of user has weight 0, which excludes it from the loss; name the roles to train on' --turn-format '{content}' bad.jsonl
refused 2 'loss-on needs --turn-format' --loss-on assistant chats.jsonl
refused 2 'loss-on names no role' --turn-format '{content}' --loss-on '' chats.jsonl
refused 2 'turn-format applies to JSON lines' --format text --turn-format '{content}' chats.jsonl
echo '{"text": "x"}' >bad.jsonl
refused 3 'bad.jsonl:1: no "messages"; expected one conversation per line' --turn-format '{content}' bad.jsonl
echo "{\"messages\": [$(message user x), {\"role\": \"user\"}]}" >bad.jsonl
refused 3 'bad.jsonl:1: message 1 has no content' --turn-format '{content}' bad.jsonl
echo "{\"messages\": [$(message '<|x|>' x)]}" >bad.jsonl
refused 3 'message 0 has the role "<.x.>"; expected a name of letters' --turn-format '{content}' bad.jsonl
expect_exit 0 dt-shard-data --json "${sharding[@]}" --out some --val-fraction 0 --skip-bad-lines --turn-format '{content}' bad.jsonl chats.jsonl
expect_match stdout '"bad_lines":1,'

# Whatever the file is called, and without a name.
expect_exit 0 dt-shard-data --encode-only "${sharding[@]}" --turn-format '{content}' chats.jsonl
cp stdout ids
cp chats.jsonl chats.json
expect_exit 0 dt-shard-data --encode-only "${sharding[@]}" --turn-format '{content}' chats.json
cmp stdout ids
expect_exit 0 dt-shard-data --encode-only "${sharding[@]}" --turn-format '{content}' <chats.jsonl
cmp stdout ids
refused 3 'loss-on asistant,tool: no conversation has a turn with any of these roles; the conversations have these roles: assistant, user$' \
  --turn-format '{content}' --loss-on asistant,tool chats.jsonl
# One that is misspelt among others, wherever the others are; a rare one is none.
echo "{\"messages\": [$(message tool x)]}" >tools.jsonl
for order in "chats.jsonl tools.jsonl" "tools.jsonl chats.jsonl"; do
  read -ra order <<<"$order"
  refused 3 'loss-on asistant: no conversation has a turn with that role; the conversations have these roles: assistant, tool, user$' \
    --turn-format '{content}' --loss-on user,asistant,tool "${order[@]}"
done
expect_exit 0 dt-shard-data "${sharding[@]}" --out rare --turn-format '{content}' --loss-on tool,assistant chats.jsonl tools.jsonl
echo "{\"messages\": [$(message user x), $(message tool '')]}" >bad.jsonl
refused 3 'no tokens to train on: all turns of the roles in --loss-on tool are empty; give other' --no-append-eos --turn-format '{content}' --loss-on tool bad.jsonl
echo "{\"messages\": [$(message user x), $(message tool long)]}" >long.jsonl
echo "{\"messages\": [$(message user x)]}" >>long.jsonl
refused 3 'no tokens to train on: all turns of the roles in --loss-on tool are empty or in documents that --min-chars or --max-chars excludes; give other' --max-chars 2 \
  --turn-format '{content}' --loss-on tool long.jsonl
