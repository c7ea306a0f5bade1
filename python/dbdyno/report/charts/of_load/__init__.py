"""Kinds of chart that choose their figures themselves: a module each, called like its kind, with
`draw(analysis, *, name)`."""
