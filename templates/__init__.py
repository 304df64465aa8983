"""What is rendered: the outline, its parts, and the static bash runtime."""
