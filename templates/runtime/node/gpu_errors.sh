# Look for errors of the memory of GPUs, for the exit specification.

# has_ecc_error: tell whether a GPU had an uncorrectable memory error since its driver was loaded.
# GPUs before Turing print these errors below a heading of their
# own. Source: nvidia-smi(1), ECC Errors.
has_ecc_error() {
  command -v nvidia-smi >/dev/null &&
    timeout 1 nvidia-smi -q -d ECC 2>/dev/null |
    sed -nE '/Volatile/,/Aggregate/{ /Double Bit/,/Single Bit|Aggregate/s/^/double bit/; p; }' |
    grep -qiE '(double bit|dram uncorrectable|sram uncorrectable).*: *[1-9]'
}
