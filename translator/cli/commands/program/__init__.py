"""Commands about the site and the program itself: a module for each."""
