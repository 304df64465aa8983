"""The pages of the documentation: what they say is tried."""
