// Names that other trainers give dt-train's options: Transformers' Trainer, Megatron-LM, DeepSpeed,
// torchtitan, nanoGPT, LitGPT and axolotl.

#include "cmd/dt-train/options.hpp"

namespace dt::train_tool {

void add_other_names(OptionTable& t) {
  t.also_called("model", {"model-name", "model-name-or-path", "model-config", "config-name", "base-model"})
      .also_called("data", {"data-path", "data-dir", "dataset", "dataset-name", "dataset-path", "train-data",
                            "train-data-path", "train-file"})
      .also_called("run",
                   {"output", "output-dir", "out-dir", "save", "save-dir", "checkpoint-dir", "run-dir"})
      .also_called("init-from", {"load", "pretrained", "pretrained-checkpoint", "finetune-from"})
      .also_called("resume", {"load", "resume-from", "resume-from-checkpoint", "load-checkpoint"})
      .also_called("steps", {"max-steps", "train-iters", "max-iters", "num-steps", "iterations",
                             "total-steps", "training-steps"})
      .also_called("tokens", {"max-tokens", "train-tokens", "total-tokens"})
      .also_called("epochs", {"num-epochs", "num-train-epochs", "max-epochs"})
      .also_called("sequence-length",
                   {"seq-len", "seq-length", "sequence-len", "max-seq-len", "max-seq-length", "block-size",
                    "context-length", "context-size", "max-length"})
      .also_called("global-batch", {"batch-size", "global-batch-size", "train-batch-size"})
      .also_called("micro-batch", {"batch-size", "micro-batch-size", "per-device-train-batch-size",
                                   "local-batch-size", "train-micro-batch-size-per-gpu"})
      .also_called("lr", {"learning-rate", "max-lr", "peak-lr"})
      .also_called("min-lr", {"min-learning-rate", "lr-min", "end-lr"})
      .also_called("warmup-steps", {"warmup", "warmup-iters", "num-warmup-steps", "lr-warmup-iters",
                                    "lr-warmup-steps", "warmup-ratio"})
      .also_called("schedule",
                   {"scheduler", "lr-scheduler", "lr-scheduler-type", "lr-schedule", "lr-decay-style"})
      .also_called("decay-steps", {"lr-decay-iters", "lr-decay-steps", "lr-wsd-decay-iters", "decay-iters"})
      .also_called("weight-decay", {"wd", "adam-weight-decay"})
      .also_called("beta1", {"adam-beta1"})
      .also_called("beta2", {"adam-beta2"})
      .also_called("adam-eps", {"eps", "epsilon", "adam-epsilon"})
      .also_called("clip-norm", {"clip-grad", "grad-clip", "grad-clip-norm", "max-grad-norm", "max-norm",
                                 "gradient-clipping", "gradient-clip-val"})
      .also_called("precision", {"dtype", "mixed-precision", "bf16", "fp16", "torch-dtype"})
      .also_called("matmul", {"tf32", "float32-matmul-precision"})
      .also_called("recompute",
                   {"gradient-checkpointing", "activation-checkpoint", "activation-checkpointing",
                    "recompute-activations", "recompute-granularity"})
      .also_called("tp", {"tensor-parallel", "tensor-parallel-size", "tensor-parallel-degree",
                          "tensor-model-parallel-size"})
      .also_called("cp", {"context-parallel", "context-parallel-size", "context-parallel-degree"})
      .also_called("pp", {"pipeline-parallel", "pipeline-parallel-size", "pipeline-parallel-degree",
                          "pipeline-model-parallel-size"})
      .also_called("zero", {"zero-stage", "fsdp", "sharding-strategy", "use-distributed-optimizer"})
      .also_called("virtual-stages", {"num-virtual-stages-per-pipeline-rank", "num-model-chunks"})
      .also_called("comm", {"backend", "dist-backend", "distributed-backend"})
      .also_called("device", {"accelerator"})
      .also_called("threads", {"num-threads"})
      .also_called("save-every", {"save-steps", "save-interval", "checkpoint-every", "checkpoint-interval",
                                  "checkpointing-steps"})
      .also_called("keep-last", {"save-total-limit", "keep-latest-k"})
      .also_called("eval-every", {"eval-steps", "eval-interval", "val-check-interval"})
      .also_called("eval-batches", {"eval-iters", "limit-val-batches", "max-eval-samples"})
      .also_called("log-every", {"log-interval", "logging-steps", "log-freq", "log-every-n-steps"})
      .has_no({"dp", "data-parallel", "data-parallel-size"},
              "data-parallel ranks are what remains: ranks ÷ (--tp × --cp × --pp)")
      .has_no({"gradient-accumulation-steps", "grad-accum", "grad-accum-steps", "accumulate-grad-batches"},
              "what a step accumulates follows: --global-batch ÷ (--micro-batch × data-parallel ranks)")
      .has_no({"nnodes", "num-nodes", "nproc-per-node", "num-gpus", "gpus", "devices", "ngpus", "world-size"},
              "the launcher says how many ranks there are: srun -n N or mpirun -n N dt-train …")
      .has_no({"num-layers", "n-layer", "n-layers", "hidden-size", "n-embd", "d-model", "num-attention-heads",
               "n-head", "n-heads", "ffn-hidden-size", "max-position-embeddings", "vocab-size"},
              "the model's shape is in the config.json that --model names")
      .has_no({"tokenizer", "tokenizer-path", "tokenizer-model", "tokenizer-type"},
              "the data know their tokenizer: dt-shard-data --tokenizer");
}

}  // namespace dt::train_tool
