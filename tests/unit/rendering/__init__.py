"""Of the last step: plan -> script."""
