"""Benchmarks: ratios of times within one run, because machines are noisy. `make bench` runs them."""
