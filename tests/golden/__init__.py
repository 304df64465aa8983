"""Golden tests: plans and scripts that a person has read."""
