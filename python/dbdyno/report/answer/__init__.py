"""The answer in words, and reasons not to rely on it."""
