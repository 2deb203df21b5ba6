// Names that other trainers give dt-train's options: Transformers' Trainer, Megatron-LM, DeepSpeed,
// torchtitan, nanoGPT, LitGPT and axolotl.

#include "cmd/dt-train/options.hpp"

namespace dt::train_tool {

void add_foreign_option_names(OptionTable& t) {
  t.add_aliases("model", {"model-name", "model-name-or-path", "model-config", "config-name", "base-model"})
      .add_aliases("data", {"data-path", "data-dir", "dataset", "dataset-name", "dataset-path", "train-data",
                            "train-data-path", "train-file"})
      .add_aliases("run",
                   {"output", "output-dir", "out-dir", "save", "save-dir", "checkpoint-dir", "run-dir"})
      .add_aliases("init-from", {"load", "pretrained", "pretrained-checkpoint", "finetune-from"})
      .add_aliases("resume", {"load", "resume-from", "resume-from-checkpoint", "load-checkpoint"})
      .add_aliases("steps", {"max-steps", "train-iters", "max-iters", "num-steps", "iterations",
                             "total-steps", "training-steps"})
      .add_aliases("tokens", {"max-tokens", "train-tokens", "total-tokens"})
      .add_aliases("epochs", {"num-epochs", "num-train-epochs", "max-epochs"})
      .add_aliases("sequence-length",
                   {"seq-len", "seq-length", "sequence-len", "max-seq-len", "max-seq-length", "block-size",
                    "context-length", "context-size", "max-length"})
      .add_aliases("global-batch", {"batch-size", "global-batch-size", "train-batch-size"})
      .add_aliases("micro-batch", {"batch-size", "micro-batch-size", "per-device-train-batch-size",
                                   "local-batch-size", "train-micro-batch-size-per-gpu"})
      .add_aliases("lr", {"learning-rate", "max-lr", "peak-lr"})
      .add_aliases("min-lr", {"min-learning-rate", "lr-min", "end-lr"})
      .add_aliases("warmup-steps", {"warmup", "warmup-iters", "num-warmup-steps", "lr-warmup-iters",
                                    "lr-warmup-steps", "warmup-ratio"})
      .add_aliases("schedule",
                   {"scheduler", "lr-scheduler", "lr-scheduler-type", "lr-schedule", "lr-decay-style"})
      .add_aliases("decay-steps", {"lr-decay-iters", "lr-decay-steps", "lr-wsd-decay-iters", "decay-iters"})
      .add_aliases("decay-shape", {"lr-wsd-decay-style", "decay-type", "lr-decay-type"})
      .add_aliases("lr-scale", {"decoupled-lr", "embedding-lr", "lr-mult", "lr-multiplier"})
      .add_aliases("no-decay", {"no-weight-decay", "no-weight-decay-params"})
      .add_aliases("optimizer", {"optim", "optimizer-name", "optimizer-type"})
      .add_aliases("weight-decay", {"wd", "adam-weight-decay"})
      .add_aliases("beta1", {"adam-beta1"})
      .add_aliases("beta2", {"adam-beta2"})
      .add_aliases("adam-eps", {"eps", "epsilon", "adam-epsilon"})
      .add_aliases("beta2-decay", {"decay-rate", "adafactor-decay-rate"})
      .add_aliases("moments", {"exp-avg-dtype", "exp-avg-sq-dtype", "optim-bits", "optimizer-dtype"})
      .add_aliases("ema", {"ema-decay", "model-ema", "model-ema-decay", "use-ema", "average-weights"})
      .add_aliases("clip-norm", {"clip-grad", "grad-clip", "grad-clip-norm", "max-grad-norm", "max-norm",
                                 "gradient-clipping", "gradient-clip-val"})
      .add_aliases("z-loss", {"z-loss-multiplier", "z-loss-coeff", "z-loss-weight", "softmax-auxiliary-loss"})
      .add_aliases("qk-clip", {"muonclip", "qk-clip-threshold", "qk-clip-tau"})
      .add_aliases("precision", {"dtype", "mixed-precision", "bf16", "fp16", "torch-dtype"})
      .add_aliases("matmul", {"tf32", "float32-matmul-precision"})
      .add_aliases("recompute",
                   {"gradient-checkpointing", "activation-checkpoint", "activation-checkpointing",
                    "recompute-activations", "recompute-granularity"})
      .add_aliases("tp", {"tensor-parallel", "tensor-parallel-size", "tensor-parallel-degree",
                          "tensor-model-parallel-size"})
      .add_aliases("cp", {"context-parallel", "context-parallel-size", "context-parallel-degree"})
      .add_aliases("pp", {"pipeline-parallel", "pipeline-parallel-size", "pipeline-parallel-degree",
                          "pipeline-model-parallel-size"})
      .add_aliases("zero", {"zero-stage", "fsdp", "sharding-strategy", "use-distributed-optimizer"})
      .add_aliases("virtual-stages", {"num-virtual-stages-per-pipeline-rank", "num-model-chunks"})
      .add_aliases("comm", {"backend", "dist-backend", "distributed-backend"})
      .add_aliases("device", {"accelerator"})
      .add_aliases("threads", {"num-threads"})
      .add_aliases("save-every", {"save-steps", "save-interval", "checkpoint-every", "checkpoint-interval",
                                  "checkpointing-steps"})
      .add_aliases("keep-last", {"save-total-limit", "keep-latest-k"})
      .add_aliases("eval-every", {"eval-steps", "eval-interval", "val-check-interval"})
      .add_aliases("eval-batches", {"eval-iters", "limit-val-batches", "max-eval-samples"})
      .add_aliases("log-every", {"log-interval", "logging-steps", "log-freq", "log-every-n-steps"})
      .add_unsupported({"dp", "data-parallel", "data-parallel-size"},
                       "the number of data-parallel ranks is ranks ÷ (--tp × --cp × --pp)")
      .add_unsupported(
          {"gradient-accumulation-steps", "grad-accum", "grad-accum-steps", "accumulate-grad-batches"},
          "dt-train accumulates --global-batch ÷ (--micro-batch × data-parallel ranks) micro-batches")
      .add_unsupported(
          {"nnodes", "num-nodes", "nproc-per-node", "num-gpus", "gpus", "devices", "ngpus", "world-size"},
          "the launcher sets the number of ranks: srun -n N or mpirun -n N dt-train …")
      .add_unsupported(
          {"num-layers", "n-layer", "n-layers", "hidden-size", "n-embd", "d-model", "num-attention-heads",
           "n-head", "n-heads", "ffn-hidden-size", "max-position-embeddings", "vocab-size"},
          "the config.json of --model has the model's shape")
      .add_unsupported({"tokenizer", "tokenizer-path", "tokenizer-model", "tokenizer-type"},
                       "the dataset has its tokenizer; choose it with dt-shard-data --tokenizer");
}

}  // namespace dt::train_tool
