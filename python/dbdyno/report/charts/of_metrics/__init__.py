"""Kinds of chart that draw sampled metrics, which the study names as `metrics`: a module each,
called like its kind, with `draw(analysis, metrics, *, name)`."""
