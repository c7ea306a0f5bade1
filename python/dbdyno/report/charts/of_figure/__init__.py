"""Kinds of chart that draw one figure, which the study names as `metric`: a module each, called
like its kind, with `draw(analysis, metric, *, name)`."""
