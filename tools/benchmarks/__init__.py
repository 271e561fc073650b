"""The benchmarks behind `tools/bench`: one module per group of rows, one script per peer under `peers/`."""
