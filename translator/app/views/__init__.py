"""How jobs stand, in records that are printed and returned to programs."""
