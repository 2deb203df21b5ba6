// The prose of dt-allreduce-bench's man page.

#include "cmd/dt-allreduce-bench/options.hpp"

namespace dt::allreduce_bench {

Manual manual() {
  return {
      .description =
          "dt-allreduce-bench measures collective operations among ranks, checks their results, and prints a "
          "table in the form of nccl-tests. mpirun or srun starts the ranks, one process each: srun with "
          "--mpi=pmix for Open MPI, and --mpi=pmi2 for MPICH. The program "
          "measures the MPI library's own operations, the operations that dt-train uses, and NCCL's.\n\n"
          "With --devices it measures each rank's device. With --pairs it measures the link between every "
          "two ranks. Both report devices or links that are slower than their peers.\n\n"
          "The table goes to standard output, with --json as one JSON object per row. Messages go to "
          "standard error.",
      .sections =
          {{"OUTPUT",
            "Lines that begin with # describe the run: versions, command, hosts, devices, and the "
            "environment variables that affect communication. Each row of the table is one size of one "
            "operation. n is the number of ranks. A time is the mean over the iterations on the slowest "
            "rank.",
            {{"size",
              "Total bytes of the operation. For all_gather, reduce_scatter, gather, scatter and all_to_all "
              "this is the sum over the parts of all ranks."},
             {"count",
              "Number of elements: of one rank's part for the operations above, otherwise of the whole."},
             {"type, redop, root",
              "The type of the elements, the reduction, and the root. If the operation has no reduction or "
              "no root, they are none and -1."},
             {"time",
              "Microseconds of one operation. Out of place, input and output are different memory; in place, "
              "they are the same. N/A: the operation has no in-place form."},
             {"algbw", "Algorithm bandwidth in GB/s, 10^9 bytes per second:\n\n  algbw = size / time"},
             {"busbw",
              "Bus bandwidth in GB/s: the rate at which the busiest link must carry data. It can be compared "
              "with the bandwidth of the hardware at any n:\n\n"
              "  all_reduce                       busbw = algbw x 2 (n - 1) / n\n"
              "  all_gather, reduce_scatter       busbw = algbw x (n - 1) / n\n"
              "  gather, scatter, all_to_all      busbw = algbw x (n - 1) / n\n"
              "  broadcast, reduce, send_receive  busbw = algbw"},
             {"#wrong", "Number of elements with a wrong value; N/A with --check 0."},
             {"Avg bus bandwidth", "The mean of busbw over all rows of the operation."}}},
           {"DEVICES AND LINKS",
            "Each row of the table of --devices is a rank's device. The medians over devices with the same "
            "name follow. SLOW marks values below --slow-below times the median.",
            {{"product", "TFLOP/s of a matrix product: in bf16 on GPUs, in fp32 on CPUs."},
             {"copy, to host, from host",
              "GB/s of copies of --max-bytes: within the device's memory, to host memory, and from host "
              "memory."},
             {"latency", "With --pairs: microseconds of a message of --min-bytes between rank and peer."},
             {"bandwidth", "With --pairs: GB/s of --max-bytes, in both directions at once."}}}},
      .files = {{"FILE of --csv",
                 "A line for each row of the table, after a line of column names. Each line also identifies "
                 "the run: date, command, hosts, devices, versions."},
                {"FILE of --json-file", "One JSON object with all results."}},
      .exit_codes =
          {{"5", "Results were wrong, or a device, link or operation was too slow. The output is complete."}},
      .see_also = {"dt-train(1)", "dt-environment(7)", "dt-layouts(7)"}};
}

}  // namespace dt::allreduce_bench
