# Find memory errors of GPUs, for the exit specification.

# has_ecc_error: succeed if a GPU had an uncorrectable memory error since its driver was loaded. For
# GPUs before Turing nvidia-smi prints these errors below a separate heading. Source: nvidia-smi(1),
# ECC Errors.
has_ecc_error() {
  command -v nvidia-smi >/dev/null &&
    timeout 1 nvidia-smi -q -d ECC 2>/dev/null |
    sed -nE '/Volatile/,/Aggregate/{ /Double Bit/,/Single Bit|Aggregate/s/^/double bit/; p; }' |
    grep -qiE '(double bit|dram uncorrectable|sram uncorrectable).*: *[1-9]'
}
