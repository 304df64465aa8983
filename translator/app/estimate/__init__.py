"""The expected start of a job before its submission, and the free GPUs."""
