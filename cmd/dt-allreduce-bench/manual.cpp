// The prose of dt-allreduce-bench's man page.

#include "cmd/dt-allreduce-bench/options.hpp"

namespace dt::allreduce_bench {

Manual manual() {
  return {
      .description =
          "dt-allreduce-bench measures collective operations among ranks, checks their results, and prints a "
          "table in the form of nccl-tests. mpirun or srun starts the ranks, one process each. The program "
          "measures the MPI library's own operations, the operations that dt-train uses, and NCCL's.\n\n"
          "With --devices it measures each rank's device alone. With --pairs it measures the link between "
          "every two ranks. Both name what is slower than its peers.\n\n"
          "The table goes to standard output; with --json each row is an object on a line of its own. "
          "Messages go to standard error.",
      .sections = {{"OUTPUT",
                    "Lines that begin with # describe the run: versions, command, hosts, devices, and the "
                    "environment variables that affect communication. A row of the table is one size of one "
                    "operation. n is the number of ranks. Times are the mean over the iterations, on the "
                    "slowest rank.",
                    {{"size",
                      "Bytes of the operation in all. For all_gather, reduce_scatter, gather, scatter and "
                      "all_to_all these are the parts of all ranks together."},
                     {"count", "Elements: those of one rank's part for operations in parts, else all."},
                     {"type, redop, root",
                      "The type of the elements, the reduction, and the root; none and -1 where the "
                      "operation has none."},
                     {"time",
                      "Microseconds of one operation. Out of place, input and output are different memory. "
                      "In place, they are the same; N/A where an operation cannot be."},
                     {"algbw", "Algorithm bandwidth in GB/s, 10^9 bytes a second:\n\n  algbw = size / time"},
                     {"busbw",
                      "Bus bandwidth in GB/s: the rate at which the busiest link must carry data, which can "
                      "be compared with the hardware's whatever n is:\n\n"
                      "  all_reduce                       busbw = algbw x 2 (n - 1) / n\n"
                      "  all_gather, reduce_scatter       busbw = algbw x (n - 1) / n\n"
                      "  gather, scatter, all_to_all      busbw = algbw x (n - 1) / n\n"
                      "  broadcast, reduce, send_receive  busbw = algbw"},
                     {"#wrong", "Elements with a wrong value; N/A with --check 0."},
                     {"Avg bus bandwidth", "The mean of busbw over all rows of the operation."}}},
                   {"DEVICES AND LINKS",
                    "A row of the table of --devices is a rank's device; the medians of devices of the same "
                    "name follow. SLOW names what is below --slow-below times the median.",
                    {{"product", "TFLOP/s of a matrix product: in bf16 on GPUs, in fp32 on CPUs."},
                     {"copy, to host, from host",
                      "GB/s of copies within the device's memory, to the host's memory and from there, of "
                      "--max-bytes."},
                     {"latency",
                      "With --pairs: microseconds of a message of --min-bytes between rank and peer."},
                     {"bandwidth", "With --pairs: GB/s of --max-bytes, both ways at once."}}}},
      .files = {{"FILE of --csv",
                 "A line for each row of the table, after a line of column names. Each line also identifies "
                 "the run: date, command, hosts, devices, versions."},
                {"FILE of --json-file", "One JSON object with all results."}},
      .exit_codes =
          {{"5", "Results were wrong, or a device, link or operation was too slow. All output is complete."}},
      .see_also = {"dt-train(1)", "dt-environment(7)", "dt-layouts(7)"}};
}

}  // namespace dt::allreduce_bench
