"""A small synthetic corpus, written for this project, so that the first command works offline."""
