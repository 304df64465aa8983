"""Commands for the site and for the program itself, one module each."""
