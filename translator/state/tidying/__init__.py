"""Tidy, remove and measure the folders of ended jobs."""
