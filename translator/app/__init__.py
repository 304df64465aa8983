"""What a user can do: nothing here prints."""
