"""The settings of a script: the meaning, value and source of each."""
