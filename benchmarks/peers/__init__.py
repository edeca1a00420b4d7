"""What a user would pick instead, side by side: ``python -m benchmarks.peers --data DIR``."""
