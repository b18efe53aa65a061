"""A part of its room."""
