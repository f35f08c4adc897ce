"""This machine's own GPUs, and the memory of this project's own code: what a catalogue cannot know."""
