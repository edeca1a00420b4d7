"""Suites over whole answers and the rules behind them, run by one command with a table of results."""
