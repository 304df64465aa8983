"""What a user can do, by thing: the classes behind the properties of a Session."""
