"""Commands on jobs that change something: a module for each."""
