"""Tests of the estimate before a submit: the start of a job, and free GPUs."""
